"""Words by which rows come to a side are known ones, or an error; what is said of none is a note with its count."""

from dataclasses import replace

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from reports import rendered

import oochub
from oochub import Predictions
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.errors import OochubError

N = 60
RNG = np.random.default_rng(5)
LABEL = RNG.integers(0, 2, N)
LOGITS = np.where(RNG.random(N)[:, None] < 0.7, np.eye(2)[LABEL], np.eye(2)[1 - LABEL])
CHALLENGE = np.where(np.arange(N) % 3, "easy", np.where(LABEL, "hard_positive", "hard_negative"))
RIGHT = LOGITS.argmax(1) == LABEL


def predictions(challenge=CHALLENGE, **named):
    columns = {"challenge": challenge} if challenge is not None else {}
    return Predictions.from_arrays(logits=LOGITS, label=LABEL, class_names=["no", "yes"], **columns, **named)


def evaluated(*parts, **options):
    return oochub.evaluate(*parts, resamples=100, metrics=["accuracy"], **options)


def written(change):
    """The challenges, where a rule changes a word."""
    return [change.get(str(word), str(word)) for word in CHALLENGE]


WRONG = {
    "a hyphen": (written({"hard_positive": "hard-positive"}), "'hard-positive'.*Did you mean 'hard_positive'"),
    "a slip": (written({"easy": "eazy"}), "'eazy'.*Did you mean 'easy'"),
    "upper case": ([word.upper() for word in CHALLENGE], "'HARD_|'EASY'.*Did you mean"),
    "one row": ([*CHALLENGE[:-1], "eazy"], "1 of 60 rows has it, first 59"),
    "two words more": (["eazy", "Hard", "hrd", *CHALLENGE[3:]], "first 0. 2 more words are unknown"),
    "one more": (["eazy", "Hard", *CHALLENGE[2:]], "first 0. 1 more word is unknown"),
    "0 and 1": ((CHALLENGE != "easy").astype(int), "challenge must hold the words easy, .*got int64, first 1"),
    "fractions": (RNG.random(N), "challenge must hold the words easy, .*got double"),
    "bytes": ([b"easy"] * N, "challenge must hold the words"),
}


@pytest.mark.parametrize(("name", "benchmark"), [*((name, None) for name in WRONG), ("a hyphen", "nooch")])
def test_another_word_in_challenge_is_an_error(name, benchmark, tmp_path):
    """Seen before: rows of another word fell out of both sides, or the gap was not there, without a word."""
    values, words = WRONG[name]
    for make in (
        lambda: predictions(values, benchmark=benchmark, config="ce_car"),
        lambda: Predictions.from_pandas(
            pd.DataFrame({"a": LOGITS[:, 0], "b": LOGITS[:, 1], "label": LABEL, "challenge": list(values)}),
            logits=["a", "b"],
            benchmark=benchmark,
            config="ce_car",
        ),
    ):
        made = make()
        with pytest.raises(OochubError, match=words):
            evaluated(made)
    with pytest.raises(OochubError, match=words):
        evaluated(made.save(tmp_path / "p.parquet"))
    with pytest.raises(OochubError, match=words):
        paired_comparison(made, made)


def test_the_allowed_words_give_the_sides():
    """By a loop: the accuracy of easy rows and of the others, "hard" among them; codes of a categorical are words."""
    hard = RIGHT[CHALLENGE != "easy"].mean()
    for given in (CHALLENGE, pd.Categorical(CHALLENGE), written({"hard_negative": "hard"}), pa.array(list(CHALLENGE))):
        report = evaluated(predictions(given))
        assert report["in_context/accuracy"].value == pytest.approx(RIGHT[CHALLENGE == "easy"].mean())
        assert report["out_of_context/accuracy"].value == pytest.approx(hard) and not report.notes


@pytest.mark.parametrize("nothing", [None, ""])
def test_rows_without_a_challenge_are_of_no_side_and_counted(nothing, tmp_path):
    given = [nothing if row % 10 == 0 else str(word) for row, word in enumerate(CHALLENGE)]
    kept = np.arange(N) % 10 != 0
    report = evaluated(predictions(given))
    assert report["in_context/accuracy"].value == pytest.approx(RIGHT[kept & (CHALLENGE == "easy")].mean())
    assert report["out_of_context/accuracy"].value == pytest.approx(RIGHT[kept & (CHALLENGE != "easy")].mean())
    note = "6 rows have no value in challenge: they are neither easy nor hard"
    assert report.notes == (note,)
    shown = rendered(report)
    assert all(note in shown[form] for form in ("markdown", "page")) and "6 rows have no value" in shown["terminal"]


def test_own_data_with_another_word_are_refused_when_they_are_loaded(tmp_path):
    rows = pd.DataFrame(
        {"text": ["a"] * 4, "label": ["x", "y"] * 2, "challenge": ["easy", "hard_pos", "easy", "hard_pos"]}
    )
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(OochubError, match=r"'hard_pos'.*Did you mean 'hard_positive'.*2 of 4 rows, first row 1"):
        oochub.load(tmp_path / "rows.csv")
    for values in ([0, 1, 0, 1], [True, False, True, False]):
        rows.assign(challenge=values).to_csv(tmp_path / "rows.csv", index=False)
        with pytest.raises(OochubError, match="No challenge named"):
            oochub.load(tmp_path / "rows.csv")


def test_data_with_another_word_are_refused_before_the_model_runs():
    for words in (["easy", "eazy"], [0, 1], [True, False]):
        data = datasets.Dataset.from_dict({"array": [[1.0], [2.0]], "label": [0, 1], "challenge": words})
        with pytest.raises(OochubError, match="No challenge named"):
            oochub.audit(object(), datasets.DatasetDict(test=data))


@pytest.mark.parametrize(
    ("benchmark", "config", "column", "right", "wrong", "near"),
    [
        ("waterbirds", "default", "group", "waterbird/land", "waterbird/Land", "waterbird/land"),
        ("celebA", "default", "group", None, "blonde/male", "Did you mean"),
        ("imagenet_ood", "imagenet_1k", "shift", "none", "None", "none"),
        ("wilds", "fmow", "region", "Asia", "asia", "Asia"),
        ("wilds", "fmow", "region", "Other", "Antarctica", "Allowed: Africa"),
        ("wilds", "civilcomments", "groups", ["male/toxic"], ["male/toxik"], "male/toxic"),
    ],
)
def test_columns_that_a_benchmark_closes(benchmark, config, column, right, wrong, near):
    """Seen before: the rows fell out of the sides, or were a group of their own, which may be the worst."""
    declared = oochub.get("benchmark", benchmark).of(config)
    right = declared.closed[column][0] if right is None else right
    assert (right[0] if isinstance(right, list) else right) in declared.closed[column]
    given = {"benchmark": benchmark, "config": config}
    evaluated(predictions(None, **given, **{column: [right] * N}))
    with pytest.raises(
        OochubError, match=rf"No word of the column {column} named .*{near}.* 1 of 60 rows has it, first 0"
    ):
        evaluated(predictions(None, **given, **{column: [wrong, *[right] * (N - 1)]}))


def test_another_version_or_config_is_said_in_every_form():
    """Fault seen: nothing of it was said. "0.0.0" and "default" are of arrays that say neither."""
    made = predictions(benchmark="nooch", config="ce_car")
    assert not evaluated(made).notes
    old = replace(made, metadata=replace(made.metadata, version="0.9.0"))
    version = (
        "the rows are from version 0.9.0 of nooch, but version 1.0.0 is installed here; its sides and words are used"
    )
    strange = predictions(benchmark="nooch", config="ce_kar")
    config = "the config ce_kar of nooch is not known here, so the general sides and words of nooch are used"
    for part, note in ((old, version), (strange, config)):
        report = evaluated(part)
        assert report.notes == (note,)
        shown = rendered(report)
        assert note in shown["markdown"].replace("\\", "") and note in shown["page"]
        assert " ".join(note.split()[:6]) in " ".join(shown["terminal"].split())
    assert not evaluated(replace(made, metadata=replace(made.metadata, version="1.0.0"))).notes


def test_a_split_of_no_side_is_said_with_its_count():
    """Fault seen: with `tset` in place of `test` every number was of these rows, without a word."""
    made = predictions(benchmark="nooch", config="ce_car", split=["test"] * 40 + ["tset"] * 20)
    assert evaluated(made).notes == ("20 rows are in the split tset, but the sides are in test",)
    alone = predictions(benchmark="nooch", config="ce_car", split="tset")
    assert evaluated(alone).notes == ("60 rows are in the split tset, but the sides are in test; did you mean test?",)
    for split in ("train", "validation"):
        assert not evaluated(predictions(benchmark="nooch", config="ce_car", split=["test"] * 40 + [split] * 20)).notes
    assert not evaluated(predictions(split=["test"] * 40 + ["tset"] * 20)).notes  # own data have no names of splits


@pytest.mark.parametrize(
    ("config", "column"),
    [("iwildcam", "sequence"), ("camelyon17", "slide"), ("amazon", "user"), ("rxrx1", "experiment")],
)
def test_missing_clusters_are_an_error_that_names_the_column(config, column):
    """Fault seen: a bare KeyError, of the column's name."""
    split = oochub.get("benchmark", "wilds").of(config).out_of_context.split
    given = {"benchmark": "wilds", "config": config, "split": split}
    with pytest.raises(OochubError, match=rf"Intervals of .* are over its clusters, the column {column}, which these"):
        evaluated(predictions(None, **given))
    names = [f"c{row // 2}" for row in range(N)]
    report = evaluated(predictions(None, **given, **{column: names}))
    assert "30 clusters" in report["all/accuracy"].method and not report.notes
    some = [None if row < 4 else name for row, name in enumerate(names)]
    assert (
        f"4 rows have no value in {column}: they count as one cluster"
        in evaluated(predictions(None, **given, **{column: some})).notes
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["True", "False"] * 30, "is_ood must be true or false.*'True'"),
        (["yes", "no"] * 30, "is_ood must be true or false"),
        ([True, None] * 30, "is_ood must be true or false.*None in row 1"),
        ([0, 2] * 30, "is_ood must be true or false.*2"),
        ([0.5, 1.0] * 30, "is_ood must be true or false.*0.5"),
    ],
)
def test_is_ood_is_true_or_false(values, words):
    """Fault seen: the text "False" counted as true, and nothing as false. By hand: 30 rows are out of distribution."""
    with pytest.raises(OochubError, match=words):
        evaluated(predictions(None, is_ood=values), detectors=["msp"])
    for given in ([True, False] * 30, [1, 0] * 30, [1.0, 0.0] * 30):
        row = evaluated(predictions(None, is_ood=given), detectors=["msp"], pairs=[("default", "default")]).detection[0]
        assert (row.n_id, row.n_ood) == (30, 30)
