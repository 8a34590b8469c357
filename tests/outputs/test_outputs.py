"""Kinds of output: what is stored, checked and given to metrics, against plain loops; a contract test of them all."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import ClassLabel, List, Value
from declared_in_tests import declared_in_tests

import oochub
from oochub.errors import OochubError
from oochub.metric import read_facts
from oochub.output import find_output_of_columns, find_output_of_features, get_output
from oochub.prediction.predictions import Predictions
from oochub.records.given_columns import GivenColumns

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(40, 3)).astype(np.float32)
NAMES = ["red", "green", "blue"]
TRUE_LABELS = np.where(RNG.random((40, 3)) < 0.2, np.nan, (RNG.random((40, 3)) < 0.5).astype(float))


BOXES = np.tile(RNG.integers(0, 4, (40, 5, 2)), 2).astype(np.float32) + np.array([0, 0, 5, 5], np.float32)
SCORES = RNG.integers(2, 9, (40, 5)) / 8
DRAWN = [row[: number % 6].tolist() for number, row in enumerate(BOXES)]  # 0 to 5 boxes a row
TRUE_BOXES = [[[math.nan] * 4], *(row[: number % 4].tolist() for number, row in enumerate(BOXES[1:]))]


OWN = declared_in_tests("OUTPUT_EXAMPLES", "outputs")
"""Of the test of a new kind: {"name": (outputs, predictions)}, 40 rows each, the truth of one unknown."""


def outputs_of(kind):
    """What a model of each kind gives, as `store` takes it: of boxes 5 numbers each."""
    if kind in OWN:
        return OWN[kind][0]
    if kind == "boxes":
        return np.concatenate([BOXES, SCORES[:, :, None]], axis=2).reshape(40, 25).astype(np.float32)
    return LOGITS


def predictions_of(kind):
    """Predictions of each kind, of the same outputs of a model: 40 rows, the truth of one unknown."""
    if kind in OWN:
        return OWN[kind][1]
    if kind == "classes":
        return Predictions.from_arrays(logits=LOGITS, label=[-1, *RNG.integers(0, 3, 39)], class_names=NAMES)
    if kind == "choices":
        return Predictions.from_arrays(
            prediction=LOGITS.argmax(1), label=[-1, *RNG.integers(0, 3, 39)], class_names=NAMES
        )
    if kind == "labels":
        return Predictions.from_arrays(logits=LOGITS, labels=TRUE_LABELS, class_names=NAMES, kind="labels")
    if kind == "boxes":
        scores = [row[: len(boxes)].tolist() for row, boxes in zip(SCORES, DRAWN, strict=True)]
        return Predictions.from_arrays(detected_boxes=DRAWN, scores=scores, boxes=TRUE_BOXES, class_names=["head"])
    if kind == "tokens":
        truth = [[-100] * 3, *RNG.integers(0, 5, (38, 3)).tolist(), [1]]
        said = [*RNG.integers(0, 5, (39, 3)).tolist(), [2]]
        return Predictions.from_arrays(predicted_tokens=said, tokens=truth, kinds=[[0, 6, 1]] * 39 + [[1]])
    assert kind == "number", (
        f"OUTPUT_EXAMPLES in the test of {kind}: an example, see OWN in tests/outputs/test_outputs.py"
    )
    return Predictions.from_arrays(value=LOGITS[:, 0], label=np.r_[np.nan, -2.5, RNG.normal(size=38)])


@pytest.mark.parametrize("kind", oochub.names("output"))
def test_a_kind_of_output_keeps_its_contract(kind, tmp_path):
    """Planted faults seen: `Number.known` that drops negative numbers (label >= 0); a metric that scores no numbers."""
    predictions = predictions_of(kind)
    output, n = predictions.output, len(predictions)
    assert predictions.metadata.kind == kind == output.name, f"{kind}: the name of a kind is that of its file"
    for metric in {*output.metrics, *output.group_metrics, output.primary_metric}:
        scored = read_facts(oochub.get("metric", metric)).outputs
        assert kind in scored, f"{kind}: {metric} scores {scored}; name {kind} in outputs= of its FACTS"
    arrays = output.arrays(predictions)
    for name, array in arrays.items():
        assert len(array) == n, f"{kind}: arrays() must give {name} a row an example"
    assert {"label", "prediction", "loss"} <= set(arrays), f"{kind}: metrics and mistakes need these arrays"
    known = output.known(predictions.label)
    assert known.dtype == bool and known.sum() == n - (1 if kind != "labels" else np.isnan(TRUE_LABELS).all(1).sum())
    assert np.isfinite(arrays["loss"][known]).all(), f"{kind}: the loss of a known row is finite"
    assert output.wrong(arrays).dtype == bool and len(output.mistake_keys(arrays)) == n
    answer = output.answer(arrays, int(np.flatnonzero(known)[0]), predictions.class_names)
    assert answer.label and answer.predicted and answer.mistake, f"{kind}: a row must have words"
    again = Predictions.load(predictions.save(tmp_path / "p.parquet"))
    assert again.digest == predictions.digest and again.metadata == predictions.metadata
    pd.testing.assert_frame_equal(again.to_pandas(), predictions.to_pandas())
    stored = pa.table(output.store(outputs_of(kind)))
    assert stored.num_rows == 40 and tuple(stored.column_names) == output.columns, f"{kind}: store() gives columns"


def test_probabilities_of_several_labels_are_sigmoids_not_a_softmax():
    """By hand: sigmoid(0) = 1/2, sigmoid(log 3) = 3/4; a softmax of the same logits would be 1/4 and 3/4."""
    predictions = Predictions.from_arrays(logits=[[0.0, math.log(3.0)]], labels=[[1.0, 0.0]], kind="labels")
    assert predictions.probability[0] == pytest.approx([0.5, 0.75])
    expected = -(math.log(0.5) + math.log(0.25)) / 2
    assert predictions.output.arrays(predictions)["loss"] == pytest.approx([expected])


def test_losses_of_labels_leave_unknown_ones_out():
    predictions = predictions_of("labels")
    loss = predictions.output.arrays(predictions)["loss"]
    for row in range(len(predictions)):
        terms = [
            math.log1p(math.exp(-z if truth == 1 else z))
            for z, truth in zip(LOGITS[row].astype(float).tolist(), TRUE_LABELS[row].tolist(), strict=True)
            if not math.isnan(truth)
        ]
        assert loss[row] == pytest.approx(sum(terms) / max(len(terms), 1), abs=1e-9)


def test_chance_of_labels_is_the_metric_of_equal_scores():
    """Labels that hold everywhere, nowhere or unknown are not ranked. Planted fault seen: one that holds everywhere."""
    labels = np.c_[TRUE_LABELS, np.ones(40), np.zeros(40), np.full(40, np.nan)]
    predictions = Predictions.from_arrays(logits=np.zeros((40, 6)), labels=labels, kind="labels")
    metric = oochub.get("metric", "mean_average_precision")
    assert predictions.output.chance(predictions) == pytest.approx(metric(label=labels, score=np.zeros((40, 6))))


def test_labels_that_hold_are_the_same_as_ones_and_zeros():
    listed = Predictions.from_arrays(logits=LOGITS[:3], labels=[[2, 0], [], [1]], class_names=NAMES, kind="labels")
    assert listed.label.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def test_a_number_may_be_negative_or_unknown():
    predictions = predictions_of("number")
    arrays = predictions.output.arrays(predictions)
    assert predictions.label[1] == -2.5 and arrays["loss"][1] == pytest.approx((-2.5 - float(LOGITS[1, 0])) ** 2)
    assert not predictions.output.known(predictions.label)[0]


def test_the_kind_follows_from_features_and_columns():
    assert find_output_of_features({"label": ClassLabel(names=NAMES)}) == "classes"
    assert find_output_of_features({"label": Value("int64"), "labels": List(ClassLabel(names=NAMES))}) == "classes"
    assert find_output_of_features({"labels": List(ClassLabel(names=NAMES))}) == "labels"
    assert find_output_of_features({"labels": List(Value("float32"))}) == "labels"
    assert find_output_of_features({"label": Value("float64")}) == "number"
    assert find_output_of_features({"text": Value("string")}) is None
    assert find_output_of_columns(["labels", "logits"]) == "labels"
    with pytest.raises(OochubError, match="columns of a kind of output"):
        find_output_of_columns(["label"])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"logits": LOGITS, "label": np.full(40, 0.5)}, "class numbers"),
        ({"logits": LOGITS, "label": np.full(40, True)}, "class numbers"),
        ({"logits": LOGITS.astype(int).tolist(), "label": [0] * 40}, "lists of floats"),
        ({"logits": LOGITS, "label": [3] * 40}, "not one of the 3 classes"),
        ({"logits": LOGITS[:2], "label": [0]}, "one length"),
        ({"logits": LOGITS, "labels": np.full((40, 3), 0.5), "kind": "labels"}, "0, 1 or nan"),
        ({"logits": LOGITS, "labels": [[3]] * 40, "kind": "labels"}, r"0\.\.2"),
        ({"logits": LOGITS, "labels": [["red"]] * 40, "kind": "labels"}, "lists of numbers"),
        ({"value": LOGITS[:, 0], "label": ["a"] * 40}, "label must hold numbers"),
        ({"value": np.full(40, np.inf), "label": LOGITS[:, 0]}, "not finite, first 0"),
        ({"value": LOGITS[:, 0], "label": np.full(40, np.inf)}, "label must be finite"),
    ],
)
def test_what_a_kind_does_not_allow_is_said(arrays, words):
    with pytest.raises(OochubError, match=words):
        Predictions.from_arrays(**arrays)


def test_a_number_has_no_logits_and_no_probability():
    predictions = predictions_of("number")
    for name in ("logits", "probability"):
        with pytest.raises(OochubError, match="number"):
            getattr(predictions, name)
    with pytest.raises(OochubError, match=r"scores classes.* for which there are mean_absolute_error, "):
        oochub.evaluate(predictions, metrics=["accuracy"])
    with pytest.raises(OochubError, match="Did you mean 'number'"):
        get_output("numbr")


def test_a_kind_with_a_truth_of_its_own_name_is_found_by_its_columns(monkeypatch):
    """Fault seen: a kind whose truth is neither `label` nor `labels` was found only without a column `label`."""
    kinds = {name: get_output(name) for name in oochub.names("output")}
    kinds["boxes"] = SimpleNamespace(label_column="boxes", columns=("scores",), rank=0)
    monkeypatch.setattr("oochub.output.get_output", kinds.__getitem__)
    monkeypatch.setattr("oochub.output.catalog.names", lambda kind: list(kinds))
    for others in ([], ["label"], ["labels"]):
        assert find_output_of_columns(["boxes", "scores", *others]) == "boxes"
    assert find_output_of_columns(["label", "labels", "logits"]) == "classes"
    assert find_output_of_columns(["label", "logits", "prediction"]) == "classes"
    assert find_output_of_columns(["label", "value", "prediction"]) == "number"
    assert find_output_of_columns(["label", "prediction"]) == "choices"


def test_tokens_that_somebody_else_predicted_are_whole_numbers():
    """A fraction is no number of a token."""
    output = get_output("tokens")
    given = GivenColumns(pa.table({"predicted_tokens": [[1.0, 7.0], [3.0]]}), ["a", "b"])
    assert output.given(given, ["tokens"])["predicted_tokens"].to_pylist() == [[1, 7], [3]]
    for wrong in ([[1.5]], ["a"], [None], [[float("nan")]]):
        columns = GivenColumns(pa.table({"predicted_tokens": wrong}), ["a"])
        assert output.given(columns, ["tokens"]) is None and "whole numbers" in columns.problems[0]
