"""Predictions of a user's own arrays and data frames: the same rows give the same report, wrong ones are said."""

import numpy as np
import pandas as pd
import pytest

import oochub
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(60, 2)).astype(np.float32)
LABEL = RNG.integers(0, 2, 60)
COLUMNS = {"group": np.where(np.arange(60) % 3, "day", "night"), "area": RNG.random(60)}


def test_arrays_and_frame_give_the_same_report(tmp_path):
    arrays = Predictions.from_arrays(logits=LOGITS, label=LABEL, class_names=["cat", "dog"], model="mine", **COLUMNS)
    frame = pd.DataFrame(
        {"cat": LOGITS[:, 0], "dog": LOGITS[:, 1], "label": np.array(["cat", "dog"])[LABEL], **COLUMNS}
    )
    named = Predictions.from_pandas(frame, logits=["cat", "dog"], model="mine")
    listed = Predictions.from_pandas(arrays.to_pandas(), class_names=["cat", "dog"], model="mine")
    assert arrays.digest == named.digest == listed.digest
    reports = [oochub.evaluate(each) for each in (arrays, named, listed)]
    assert len({float(report["gap"]) for report in reports}) == 1 and reports[0].model.id == "mine"
    assert reports[0]["accuracy"] == pytest.approx((LOGITS.argmax(1) == LABEL).mean())
    again = Predictions.load(arrays.save(tmp_path / "mine.parquet"))
    assert again.metadata == arrays.metadata and again.metadata.benchmark is None


def test_own_data_with_groups_compare_all_rows_with_the_worst_group():
    """reference: the accuracy of each group by a plain loop."""
    report = oochub.evaluate(Predictions.from_arrays(logits=LOGITS, label=LABEL, **COLUMNS))
    right = LOGITS.argmax(1) == LABEL
    by_group = {name: right[COLUMNS["group"] == name].mean() for name in ("day", "night")}
    assert report["out_of_context/accuracy"] == pytest.approx(min(by_group.values()))
    assert report["gap"] == pytest.approx(min(by_group.values()) - right.mean())
    assert {row.group: float(row.accuracy) for row in report.groups.rows if row.role == "out"} == by_group


def test_groups_may_overlap():
    """Each row is of its color and, where it is large, of "large": by hand over the rows."""
    groups = [["red", "large"] if k % 4 == 0 else ["red"] if k % 2 == 0 else ["blue"] for k in range(60)]
    report = oochub.evaluate(Predictions.from_arrays(logits=LOGITS, label=LABEL, groups=groups))
    right = LOGITS.argmax(1) == LABEL
    by_group = {name: right[[name in members for members in groups]].mean() for name in ("blue", "large", "red")}
    rows = {row.group: row for row in report.groups.rows if row.role == "out"}
    assert {name: float(row.accuracy) for name, row in rows.items()} == pytest.approx(by_group)
    assert [rows[name].n for name in ("blue", "large", "red")] == [30, 15, 30]
    assert report["out_of_context/accuracy"] == pytest.approx(min(by_group.values()))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Predictions.from_arrays(), "no array"),
        (lambda: Predictions.from_arrays(logits=LOGITS, label=LABEL[:5]), "logits: 60"),
        (lambda: Predictions.from_arrays(logits=LOGITS, label=LABEL, example_id=["a"] * 60), "59 examples occur twice"),
        (lambda: Predictions.from_arrays(logits=LOGITS, label=LABEL, class_names=["a"]), "Every row needs 1 logits"),
        (lambda: Predictions.from_pandas(pd.DataFrame({"label": [0]}), logits=["cat"]), "no column cat"),
        (
            lambda: Predictions.from_pandas(pd.DataFrame({"a": [1.0], "b": [0.0], "label": ["c"]}), logits=["a", "b"]),
            "among the classes a, b; got c",
        ),
        (lambda: Predictions.from_pandas(pd.DataFrame({"logits": [[1.0, 0.0]], "label": ["c"]})), "class numbers"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(OochubError, match=words):
        make()


def test_metadata_of_wrong_types_are_named(tmp_path):
    """Planted fault seen: without the typed metadata the class names were a KeyError in the page."""
    predictions = Predictions.from_arrays(logits=LOGITS, label=LABEL)
    content = {"benchmark": None, "config": "c", "model": {"id": 3}, "class_names": ["a", "b"], "rows": {"test": 60}}
    with pytest.raises(OochubError, match=r"model\.id must be text"):
        Predictions(predictions.table, content)
    with pytest.raises(OochubError, match="the field model is missing"):
        Predictions(predictions.table, {key: value for key, value in content.items() if key != "model"})
    with pytest.raises(OochubError, match="schema version 2"):
        Predictions(predictions.table, content | {"schema_version": 2})


@pytest.mark.parametrize(
    ("arrays", "metric", "words"),
    [
        (
            {"value": [1.0, 2.0, 0.0, 9.0] * 6, "label": [1.0, 1.5, 0.0, 3.0] * 6},
            "mean_absolute_error",
            "b**: mean absol",
        ),
        (
            {"logits": [[1.0, -1.0], [-1.0, 1.0]] * 12, "labels": [[1.0, 0.0], [0.0, 1.0]] * 12, "kind": "labels"},
            "",
            "",
        ),
    ],
)
def test_groups_of_every_kind_are_in_the_tables(arrays, metric, words):
    """By hand: of the numbers, group a is off by 0 and 1/2, group b by 0 and 6."""
    report = oochub.evaluate(Predictions.from_arrays(**arrays, group=["a", "a", "b", "b"] * 6))
    markdown = report.to_markdown()
    assert "| a | in the worst group |" in markdown and "| b | in the worst group |" in markdown
    assert words in markdown
    if metric:
        rows = {row.group: row.metrics[metric] for row in report.groups.rows}
        assert rows == {"a": 0.25, "b": 3.0} and "group test:b" in report.to_pandas()["slice"].tolist()


def test_bytes_of_pictures_are_kept_whatever_holds_them():
    """A JPEG has zeros within. Fault seen: those of a tuple, and of an array of type S, ended at the first zero."""
    picture = [b"\xff\xd8\xff\xe0\x00\x10JFIF", b"\xff\x00\x01"] * 30
    for given in (picture, tuple(picture), np.array(picture), np.array(picture, object)):
        made = Predictions.from_arrays(logits=LOGITS, label=LABEL, thumbnail=given)
        assert made.table["thumbnail"].to_pylist() == picture


def test_choices_need_no_logits():
    """By hand: two of three right in one group, none of one in the other."""
    chosen = {"label": [0, 2, 1, 1], "prediction": [0, 2, 0, 0], "group": ["a", "a", "a", "b"]}
    predictions = Predictions.from_arrays(**chosen)
    assert predictions.metadata.kind == "choices" and predictions.class_names == ["0", "1", "2"]
    report = oochub.evaluate(predictions)
    assert (report["accuracy"], report["out_of_context/accuracy"]) == (0.5, 0.0)
    with pytest.raises(OochubError, match="4 predictions are not one of the 2 classes or -1, first 7"):
        Predictions.from_arrays(prediction=[7] * 4, label=[0, 1, 1, 0], class_names=["a", "b"])
    with pytest.raises(OochubError, match="auc scores classes"):
        oochub.evaluate(predictions, metrics=["auc"])


@pytest.mark.parametrize("how", ["arrays", "frame", "labels"])
def test_probabilities_are_said_and_read(how):
    """Reference: the logits that they are the softmax (sigmoid) of. Faults planted: no note; the numbers as logits."""
    logits = np.random.default_rng(0).normal(size=(40, 3))
    label = np.arange(40) % 3
    if how == "labels":
        given = 1 / (1 + np.exp(-logits))
        held = np.eye(3)[label]
        made = Predictions.from_arrays(logits=given, labels=held, probabilities=True)
        np.testing.assert_allclose(made.logits, logits, atol=1e-5)
        return
    given = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if how == "frame":
        frame = pd.DataFrame({"label": label, **{f"c{k}": given[:, k] for k in range(3)}})
        plain = Predictions.from_pandas(frame, logits=["c0", "c1", "c2"])
        read = Predictions.from_pandas(frame, logits=["c0", "c1", "c2"], probabilities=True)
    else:
        plain = Predictions.from_arrays(logits=given, label=label)
        read = Predictions.from_arrays(logits=given, label=label, probabilities=True)
    np.testing.assert_allclose(read.probability, given, atol=1e-6)
    assert read.metadata.notes == ()
    (note,) = plain.metadata.notes
    assert "as probabilities do, and were read as logits; probabilities=True reads them" in note
    assert note in oochub.evaluate(plain, resamples=100).notes
    with pytest.raises(OochubError, match="those of 40 of 40 rows do not, first row 0"):
        Predictions.from_arrays(logits=2 * given, label=label, probabilities=True)


def test_hard_answers_and_logits_that_sum_to_1_once_are_logits():
    """One-hot rows are answers without a confidence, and one row in two says nothing."""
    assert not Predictions.from_arrays(logits=np.eye(3)[[0, 1, 2]], label=[0, 1, 2]).metadata.notes
    assert not Predictions.from_arrays(logits=[[0.3, 0.7], [1.5, -0.5]], label=[0, 1]).metadata.notes
    assert not Predictions.from_arrays(logits=[[0.3, 0.7], [0.5, 0.4]], label=[0, 1]).metadata.notes
