"""Predictions of tokens against loops over rows of several lengths; what a model gives, what is refused.

Written against: tokens that nobody asks for counted as right or as wrong; a loss over the length of the row; token
0 taken for none; rows known where every token is, wrong where every one is; the first mistake at a masked place; the
first row named for a wrong one; an answer that is longer taken; ends filled with token 0.
"""

import numpy as np
import pyarrow as pa
import pytest

from oochub.errors import OochubError
from oochub.output import get_output
from oochub.prediction.predictions import Predictions

_TRUE = [[-100, 0, 3, 2], [-100, -100], [0], [4, -100, 1], [0, 2]]
_SAID = [[9, 0, 3, 3], [1, 2], [0], [5, 1, 7], [1, 2]]
_KINDS = [[-1, 0, 6, 1], [-100, -1], [2], [0, -1, 1], [1, 0]]


@pytest.fixture(scope="module")
def predictions():
    return Predictions.from_arrays(
        predicted_tokens=_SAID, tokens=_TRUE, kinds=_KINDS, example_id=[f"file {row}" for row in range(5)]
    )


def test_arrays_are_those_of_loops(predictions):
    output, arrays = predictions.output, predictions.output.arrays(predictions)
    for row, (true, said, kinds) in enumerate(zip(_TRUE, _SAID, _KINDS, strict=True)):
        asked = [(t, s) for t, s in zip(true, said, strict=True) if t >= 0]
        wrong = [t for t, s in asked if t != s]
        assert arrays["loss"][row] == pytest.approx(len(wrong) / len(asked) if asked else 1)
        assert output.known(predictions.label)[row] == bool(asked)
        assert output.wrong(arrays)[row] == bool(wrong)
        if wrong:
            assert output.mistake_keys(arrays)[row] == wrong[0]
        answer = output.answer(arrays, row, ["tokens"])
        assert answer.label == f"{len(asked)} tokens"
        assert answer.predicted == f"{len(asked) - len(wrong)} of them right"
        fill = 4 - len(true)
        assert arrays["label"][row].tolist() == true + [-100] * fill
        assert arrays["prediction"][row].tolist() == said + [-1] * fill
        assert [max(kind, -1) for kind in arrays["kind"][row].tolist()] == [max(k, -1) for k in kinds] + [-1] * fill


def test_predictions_of_longer_rows_than_any_truth_are_cut():
    """Rows without a truth may have answers; those of the others count alone."""
    made = Predictions.from_arrays(predicted_tokens=[[1, 2, 3, 4], [5]], tokens=[[], [5]])
    arrays = made.output.arrays(made)
    assert arrays["prediction"].tolist() == [[1], [5]] and arrays["loss"].tolist() == [1, 0]
    assert made.output.known(made.label).tolist() == [False, True]
    short = Predictions.from_arrays(predicted_tokens=[[], [5]], tokens=[[], [5]])
    assert short.prediction.shape == short.label.shape == (2, 1)


def test_what_a_model_gives_ends_where_its_row_does():
    """Below 0 is no token; token 0 is one."""
    stored = get_output("tokens").store(np.array([[0, 7, -1], [3, 0, 0], [-1, -1, -1]], np.float32))
    assert stored["predicted_tokens"].to_pylist() == [[0, 7], [3, 0, 0], []]


@pytest.mark.parametrize(
    ("column", "row", "words"),
    [
        ("tokens", [1, -1], "tokens must be numbers of tokens, 0 to 2147483647, or -100 for none, got -1 in c"),
        ("predicted_tokens", [1, -100], "or -1 for none, got -100 in c"),
        ("predicted_tokens", [1], r"c has 2 tokens but 1 predicted_tokens \(1 such rows\)"),
        ("predicted_tokens", [1, 2, 3], r"c has 2 tokens but 3 predicted_tokens \(1 such rows\)"),
        ("predicted_tokens", [0.5, 1], "predicted_tokens"),
    ],
)
def test_a_wrong_row_is_named(column, row, words):
    columns = {"tokens": [[1, 2, 3], [1], [1, 2]], "predicted_tokens": [[1, 2, 3], [1], [1, 2]]}
    columns[column] = [*columns[column][:2], row]
    with pytest.raises(OochubError, match=words):
        Predictions.from_arrays(**columns, example_id=["a", "b", "c"])


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ([0, 1, 2], r"Row 2 has different numbers of kinds and tokens \(1 such rows\)"),
        ([0, 7], r"Row 2: kinds must be 0 \(class\), .* got 7"),
        ([-2, 0], "Row 2: kinds must be .* got -2"),
        ([0, 256], "Row 2: kinds must be .* got 256"),
    ],
)
def test_wrong_kinds_are_named(kinds, words):
    """Written against: 256 held in one byte, which makes a class of it."""
    tokens = [[1, 2, 3], [1], [1, 2]]
    made = Predictions.from_arrays(predicted_tokens=tokens, tokens=tokens, kinds=[[0, 1, 2], [-100], kinds])
    with pytest.raises(OochubError, match=words):
        made.output.arrays(made)


def test_numbers_of_tokens_fit_32_bits():
    """Written against: 2^32 + 1 of a file held as token 1."""
    table = pa.table({"example_id": ["a"], "tokens": [[1]], "predicted_tokens": [[2**32 + 1]]})
    with pytest.raises(OochubError, match="predicted_tokens must be numbers of tokens, 0 to 2147483647"):
        get_output("tokens").check(table, ["tokens"])
