"""Rows with several right classes (`also_right`): every number against a loop over the rows, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

import oochub
from oochub.data.declaration import find_declaration
from oochub.detection.detector_scores import score_sets
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import check_metric, make_evaluation_rows
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts
from oochub.stats.logits import RightClasses, summarize_answers

_NAMES, _N = list("abcde"), 300


def _draw(*, as_text=False, seed=0):
    rng = np.random.default_rng(seed)
    logits, label = 2 * rng.normal(size=(_N, 5)).astype(np.float32), rng.integers(0, 5, _N)
    also = [[_NAMES[k] for k in rng.integers(0, 5, rng.integers(0, 4))] for _ in range(_N)]  # doubles, labels too
    right = [{_NAMES[y], *names} for y, names in zip(label, also, strict=True)]
    given = ["; ".join(names) for names in also] if as_text else also
    group = [f"{_NAMES[y]}/{'sea' if k % 2 else 'land'}" for k, y in enumerate(label)]
    made = {"logits": logits, "label": label, "class_names": _NAMES, "also_right": given, "group": group}
    return made, right


def _losses(logits, right, among=range(5)):
    """By hand: minus the log of the sum of the right classes' probabilities."""
    losses = []
    for row, names in zip(logits.astype(float), right, strict=True):
        total = sum(np.exp(row[k]) for k in among)
        losses.append(-np.log(sum(np.exp(row[k]) for k in among if _NAMES[k] in names) / total))
    return np.array(losses)


@pytest.mark.parametrize("as_text", [False, True])
def test_numbers_equal_a_loop(as_text, tmp_path):
    made, right = _draw(as_text=as_text)
    predictions = Predictions.from_arrays(**made)
    answers = [_NAMES[k] for k in made["logits"].argmax(axis=1)]
    hits = np.array([answer in names for answer, names in zip(answers, right, strict=True)])
    loaded = Predictions.load(predictions.save(tmp_path / "p.parquet"))
    for each in (predictions, loaded):
        assert ((each.prediction == each.label) == hits).all()
        np.testing.assert_allclose(each.summary.loss, _losses(made["logits"], right), atol=1e-6)
    assert loaded.digest == predictions.digest
    report = oochub.evaluate(loaded, metrics=["accuracy", "nll", "ece", "f1_macro"], resamples=100)
    several = sum(len(names) > 1 for names in right)
    assert any(note.startswith(f"{several} of {_N} rows have several right classes") for note in report.notes)
    counted = np.where(hits, made["label"], made["logits"].argmax(axis=1))
    row = next(row for row in report.slices if row.role == "all")
    np.testing.assert_allclose(row.metrics["accuracy"].value, hits.mean())
    np.testing.assert_allclose(row.metrics["nll"].value, _losses(made["logits"], right).mean(), atol=1e-6)
    np.testing.assert_allclose(row.metrics["f1_macro"].value, f1_score(made["label"], counted, average="macro"))
    probability = np.exp(made["logits"]) / np.exp(made["logits"]).sum(axis=1, keepdims=True)
    assert row.metrics["ece"].value == pytest.approx(_ece(hits, probability.max(axis=1)), abs=1e-6)


def _ece(hits, confidence):
    total = 0.0
    for low in np.arange(15) / 15:
        own = (confidence > low) & (confidence <= low + 1 / 15)
        total += abs(hits[own].sum() - confidence[own].sum())
    return total / len(hits)


def test_among_the_classes_present():
    """Answers among c, d and e, which the build says are present; a right class that is not is no answer."""
    made, right = _draw()
    predictions = Predictions.from_arrays(**made)
    keep = predictions.label >= 2
    some = predictions.select(keep)
    allowed = np.array([2, 3, 4])
    arrays = some.output.arrays(some, allowed)
    logits = made["logits"][keep]
    answers = [_NAMES[k] for k in allowed[logits[:, allowed].argmax(axis=1)]]
    own = [names for names, is_kept in zip(right, keep, strict=True) if is_kept]
    assert arrays["correct"].tolist() == [answer in names for answer, names in zip(answers, own, strict=True)]
    np.testing.assert_allclose(arrays["loss"], _losses(logits, own, among=allowed), atol=1e-6)
    assert not (~arrays["correct"] & (arrays["loss"] == 0)).any()


def test_blocks_and_rows_without_a_label_do_not_matter():
    made, _ = _draw()
    label = np.where(np.arange(_N) % 7 == 0, -1, made["label"])
    also = Predictions.from_arrays(**made).also_right
    whole = summarize_answers([made["logits"]], label, also=also)
    parts = summarize_answers(np.array_split(made["logits"], 13), label, also=also)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.isnan(whole.loss[label < 0]).all()
    assert (whole.prediction[label < 0] == made["logits"].argmax(axis=1)[label < 0]).all()


def test_detectors_know_what_is_right():
    made, right = _draw()
    (scored,) = score_sets([Predictions.from_arrays(**made)], ["msp"])
    answers = [_NAMES[k] for k in made["logits"].argmax(axis=1)]
    assert scored.correct.tolist() == [answer in names for answer, names in zip(answers, right, strict=True)]


def test_choices_count_too():
    made, right = _draw()
    chosen = made.pop("logits").argmax(axis=1)
    chosen[::5] = -1
    predictions = Predictions.from_arrays(prediction=chosen, **made)
    assert predictions.metadata.kind == "choices"
    hits = [k >= 0 and _NAMES[k] in names for k, names in zip(chosen, right, strict=True)]
    assert predictions.output.arrays(predictions)["correct"].tolist() == hits


@pytest.mark.parametrize(
    ("also", "names", "message"),
    [
        ([["a"], ["bb"]], ["a", "b", "bbb"], "also_right: No class named 'bb'"),
        ([[1.5], []], list("abc"), "also_right: No class named '1.5'"),
        ([0.5, 1.0], list("abc"), "also_right must hold lists of names of classes, or text with ; between"),
        ([["b"], []], list("ab"), "also_right needs three classes or more"),
    ],
)
def test_a_wrong_column_is_named(also, names, message):
    logits = np.zeros((2, len(names)))
    with pytest.raises(OochubError, match=message):
        Predictions.from_arrays(logits=logits, label=[0, 0], class_names=names, also_right=also)


def test_an_empty_column_changes_nothing():
    made, _ = _draw()
    plain = {name: each for name, each in made.items() if name != "also_right"}
    one, other = Predictions.from_arrays(**plain), Predictions.from_arrays(**plain, also_right=[None] * _N)
    assert (one.prediction == other.prediction).all() and (one.summary.loss == other.summary.loss).all()


def brier(label, probability):
    """A metric from elsewhere, which reads the probability of one right class."""
    return float(((probability[np.arange(len(label)), label] - 1) ** 2).mean())


def test_a_metric_of_one_right_class_is_refused():
    predictions = Predictions.from_arrays(**_draw()[0])
    with pytest.raises(OochubError, match=r"brier reads the probability of one right class, but \d+ rows have several"):
        check_metric("brier", brier, make_evaluation_rows(predictions, find_declaration(predictions))[0])


def test_two_models_are_compared_on_the_same_truth():
    made, _ = _draw()
    first, second = (
        Predictions.from_arrays(**made),
        Predictions.from_arrays(**_draw(seed=1)[0] | {"label": made["label"]}),
    )
    with pytest.raises(OochubError, match="have a different also_right"):
        oochub.compare(first, second)


def test_a_folder_with_benchmark_toml(tmp_path):
    """A column of own data is read as it is, with no Python: 2 of 3 answers are right."""
    rows = [
        {"text": "one", "label": "cat", "also_right": "dog; cow", "split": "test"},
        {"text": "two", "label": "dog", "also_right": "", "split": "test"},
        {"text": "three", "label": "cow", "also_right": "cat", "split": "test"},
    ]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/test.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "mine/benchmark.toml").write_text('title = "Mine"\n', "utf-8")
    answers = pd.DataFrame({"example_id": ["0", "1", "2"], "prediction": ["cow", "cat", "cat"]})
    answers.to_csv(tmp_path / "answers.csv", index=False)
    report = oochub.evaluate(tmp_path / "answers.csv", benchmark=str(tmp_path / "mine"), resamples=100)
    row = next(row for row in report.slices if row.role == "all")
    assert row.metrics["accuracy"].value == pytest.approx(2 / 3)


def test_classes_that_a_model_lacks_are_left_out_of_it():
    from oochub.records.output_columns import drop_right_classes

    assert [drop_right_classes(each, ["dog"]) for each in (["dog", "cat"], "dog;cat", None)] == [["cat"], "cat", None]


def test_pairs_are_those_of_a_block():
    also = RightClasses(np.array([0, 2, 2, 5]), np.array([1, 3, 4, 0]))
    some = also.select(slice(2, 5))
    assert (some.rows.tolist(), some.classes.tolist()) == ([0, 0], [3, 4])
    assert BuildFacts().border is None
