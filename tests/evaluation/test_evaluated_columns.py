"""Columns are read when they are asked for, and names are numbers: the same values as of whole arrays."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import oochub
from oochub.evaluation.evaluation_rows import EvaluationColumns
from oochub.stats.array_checks import check_group


def _predictions(**columns) -> oochub.Predictions:
    n = len(next(iter(columns.values())))
    return oochub.Predictions.from_arrays(logits=np.zeros((n, 2)), label=np.zeros(n, int), **columns)


NAMES = {
    "few": ["sea", "land", "sea", "land"],
    "missing": ["sea", None, "land", None],
    "a name None": ["None", None, "a", "b"],
    "none": pa.array([None] * 4, pa.string()),
    "letters of others": ["Ä", "海", "a", ""],
    "dictionary": pa.array(["b", "a", None, "b"]).dictionary_encode(),
    "large": pa.array(["b", "a", "c", "b"], pa.large_string()),
}


@pytest.mark.parametrize("values", NAMES.values(), ids=list(NAMES))
def test_names_are_those_of_the_column(values):
    """reference: the list itself, nothing as "None"."""
    listed = [str(value) for value in (values.to_pylist() if isinstance(values, pa.Array) else values)]
    column = EvaluationColumns(_predictions(group=values), {})["group"]
    assert isinstance(column, pd.Categorical) and column.codes.dtype == np.int8
    assert np.asarray(column).tolist() == listed
    assert column.categories.tolist() == sorted(set(listed))
    groups = check_group(column)
    assert [groups.names[code] for code in groups.codes] == listed


def test_a_column_is_read_when_it_is_asked_for(monkeypatch):
    """Planted fault: every column read at once."""
    predictions = _predictions(group=["a", "b"], area=[0.5, 1.0], source_url=["x", "y"], correct=[1, 1])
    read = []
    plain = type(predictions).column
    monkeypatch.setattr(type(predictions), "column", lambda self, name: read.append(name) or plain(self, name))
    columns = EvaluationColumns(predictions, {"label": predictions.label, "correct": np.array([True, False])})
    assert sorted(columns) == ["area", "correct", "group", "label", "source_url", "split"] and len(columns) == 6
    assert columns.shadowed == ["correct"] and "example_id" not in columns and read == []
    assert columns["area"].tolist() == [0.5, 1.0] and columns["area"] is columns["area"] and read == ["area"]
    assert columns["correct"].tolist() == [True, False]
    with pytest.raises(KeyError):
        columns["nothing"]


def test_a_metric_that_knows_nothing_of_them_is_given_arrays():
    """Planted fault: the compact columns for every metric."""
    seen = {}

    def metric(label, probability, group, challenge):
        seen.update(probability=probability, group=group, challenge=challenge)
        return float((probability.max(axis=1) * (group == "a") * np.char.startswith(challenge, "e")).sum())

    predictions = _predictions(group=["a", "b", "a"], challenge=["easy", "easy", "hard"])
    from oochub.data.declaration import find_declaration
    from oochub.evaluation.evaluation_rows import EvaluationRows

    columns = EvaluationColumns(predictions, predictions.output.arrays(predictions))
    rows = EvaluationRows(
        predictions=predictions, benchmark=find_declaration(predictions), columns=columns, known=np.ones(3, bool)
    )
    for chosen, value in (
        (np.array([True, True, True]), 0.5),
        (np.array([0, 2]), 0.5),
        (np.array([False, True, True]), 0),
    ):
        assert metric(**rows.arrays(metric, chosen)) == value
        assert {type(array) for array in seen.values()} == {np.ndarray} and seen["group"].dtype.kind == "U"


@pytest.mark.parametrize(
    ("metric", "why"),
    [("auc", r"needs score, .* \(two classes make a score\)"), ("worst_group", r"needs group, .* \(columns: .*label")],
)
def test_a_metric_says_which_column_it_lacks_and_why(metric, why):
    predictions = oochub.Predictions.from_arrays(logits=np.eye(3), label=[0, 1, 2], class_names=["a", "b", "c"])
    with pytest.raises(oochub.OochubError, match=why):
        oochub.evaluate(predictions, metrics=[metric])


def test_a_metric_cannot_change_what_the_next_one_reads():
    """On all rows and on a slice. Planted fault: columns of a slice that several metrics share may be written."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 100)
    side = np.where(rng.random(100) < 0.5, "easy", np.where(label == 1, "hard_positive", "hard_negative"))
    predictions = oochub.Predictions.from_arrays(logits=np.eye(2)[label], label=label, challenge=side)
    sizes = []

    def forget(label, prediction):
        sizes.append(len(label))
        if len(label) < 100:
            label[:] = 0
        return float((label == prediction).mean())

    with pytest.raises(ValueError, match="read-only"):
        oochub.evaluate(predictions, metrics=[forget, "accuracy"])
    assert sizes[-1] < 100
