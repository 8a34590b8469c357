"""Predictions of boxes, by hand and against scipy's assignment; what a model gives, what is refused.

Written against: a score of 0.5 that counts, or every score; losses upside down; a mistake that needs a score, or
half of the boxes; more boxes called fewer; boxes of a sure score alone stored, or those of no box; x and y changed
over; known images without a box taken for unknown; a truth that is not checked, or of another depth.
"""

import math
import re

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linear_sum_assignment

from oochub.errors import OochubError
from oochub.output import get_output
from oochub.prediction.predictions import Predictions
from oochub.records.given_columns import GivenColumns

_A, _B, _C = [0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 30.0, 10.0], [0.0, 20.0, 10.0, 30.0]
_NEAR = [0.0, 0.0, 10.0, 8.0]  # 8/10 of _A
_HALF, _UNDER_HALF = [0.0, 0.0, 10.0, 5.0], [0.0, 0.0, 10.0, 4.8]  # 5/10 and 4.8/10 of _A
_OFF = [6.0, 0.0, 16.0, 10.0]  # 4/16 of _A
# The true boxes, those of the model, their scores, and TP / (TP + FP + FN) of those above 0.5.
_ROWS = {
    "unknown": ([[math.nan] * 4], [_A], [0.9], math.nan),
    "empty and nothing": ([], [], [], 1.0),
    "empty and a box": ([], [_A], [0.9], 0.0),
    "one missed": ([_A, _B], [_NEAR], [0.9], 1 / 2),
    "one at the threshold": ([_A], [_A], [0.5], 0.0),
    "one too many": ([_A, _B], [_A, _B, _C], [0.9, 0.8, 0.7], 2 / 3),
    "unsure and too many": ([_A, _B], [_A, _B, _C], [0.9, 0.8, 0.2], 1.0),
    "misplaced": ([_A], [_OFF], [0.9], 0.0),
    "found": ([_A], [_NEAR], [0.51], 1.0),
    "half of it": ([_A], [_HALF], [0.9], 1.0),
    "under half of it": ([_A], [_UNDER_HALF], [0.9], 0.0),
}


@pytest.fixture(scope="module")
def predictions():
    true, found, scores, _ = zip(*_ROWS.values(), strict=True)
    return Predictions.from_arrays(
        detected_boxes=list(found), scores=list(scores), boxes=list(true), class_names=["head"], example_id=list(_ROWS)
    )


def test_losses_and_answers_are_those_by_hand(predictions):
    output, arrays = predictions.output, predictions.output.arrays(predictions)
    expected = [1 - accuracy for *_, accuracy in _ROWS.values()]
    np.testing.assert_allclose(arrays["loss"], expected, atol=1e-12)
    assert output.known(predictions.label).tolist() == [not math.isnan(loss) for loss in expected]
    sure = [
        [box for box, score in zip(found, scores, strict=True) if score > 0.5] for _, found, scores, _ in _ROWS.values()
    ]
    assert [[list(box) for box in row] for row in predictions.prediction] == sure
    assert [[list(box) for box in row] for row in arrays["true_boxes"][1:]] == [row[0] for row in _ROWS.values()][1:]
    assert [len(row) for row in arrays["boxes"]] == [len(found) for _, found, *_ in _ROWS.values()]


def test_a_mistake_is_any_box_that_is_missed_or_matches_none(predictions):
    output, arrays = predictions.output, predictions.output.arrays(predictions)
    expected = [accuracy < 1 for *_, accuracy in _ROWS.values()]  # what is unknown is none
    assert output.wrong(arrays).tolist() == expected
    keys = output.mistake_keys(arrays)
    words = {name: output.answer(arrays, row, ["head"]) for row, name in enumerate(_ROWS)}
    signs = {"one missed": (-1, "too_few"), "one too many": (1, "too_many"), "misplaced": (0, "misplaced")}
    for name, (sign, mistake) in signs.items():
        assert keys[list(_ROWS).index(name)] == sign and words[name].mistake == mistake
    assert (words["one missed"].label, words["one missed"].predicted) == ("2 boxes", "1 box")


def test_far_apart_boxes_are_matched_as_the_best_assignment_does():
    """On a grid whose cells do not overlap, going to the largest overlap is scipy's assignment of whole overlaps."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        cells = [(20.0 * x, 20.0 * y) for x in range(4) for y in range(4)]
        rng.shuffle(cells)
        true = [[x, y, x + 10, y + 10] for x, y in cells[: rng.integers(1, 9)]]
        moved = [(box[0] + rng.integers(0, 7), box[1], box[2], box[3]) for box in true if rng.random() < 0.7]
        found = [[x1, y1, x1 + 10, y2] for x1, y1, _, y2 in moved] + [[x, y, x + 10, y + 10] for x, y in cells[9:11]]
        costs = np.array([[_overlap(a, b) for b in true] for a in found])
        own, other = linear_sum_assignment(-costs)
        hits = int((costs[own, other] >= 0.5).sum())
        made = Predictions.from_arrays(
            detected_boxes=[found], scores=[[0.9] * len(found)], boxes=[true], class_names=["head"]
        )
        expected = hits / (len(found) + len(true) - hits)
        assert 1 - made.output.arrays(made)["loss"][0] == pytest.approx(expected, abs=1e-6)


def _overlap(a, b):
    width, height = (min(a[k + 2], b[k + 2]) - max(a[k], b[k]) for k in (0, 1))
    both = max(width, 0) * max(height, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def test_what_a_model_gives_is_stored_without_the_boxes_that_are_none():
    """Five numbers each; a score below 0 or nan is no box, one of 0 is."""
    rows = [[*_B, 0.25, *_A, -1.0, *_C, 0.0], [*_A, math.nan, *_B, -1.0, *_C, -1.0]]
    stored = get_output("boxes").store(np.array(rows, np.float32))
    assert stored["detected_boxes"].to_pylist() == [[_B, _C], []]
    assert stored["scores"].to_pylist() == [[0.25, 0.0], []]
    with pytest.raises(OochubError, match=r"must be a detector, or give 5 numbers per box .*this one gave 14"):
        get_output("boxes").store(np.zeros((2, 14), np.float32))


_GOOD = {"detected_boxes": [[_A], [_A]], "scores": [[0.9], [0.9]], "boxes": [[_A], [_A]]}


@pytest.mark.parametrize(
    ("column", "row", "words"),
    [
        ("boxes", [[5, 0, 1, 1]], r": boxes must run from .* \[5.0, 0.0, 1.0, 1.0\] in b"),
        ("boxes", [[math.nan, 0, 1, 1]], ": boxes must hold finite numbers of 32 bits, got another in b"),
        ("detected_boxes", [[0, 5, 1, 1]], r"detected_boxes must run from .* in b"),
        ("detected_boxes", [[math.nan] * 4], "detected_boxes must hold finite numbers .* in b"),
        ("scores", [0.9, 0.9], r"scores must have one value per box, got shape \(2,\) for 1 boxes in b"),
        ("scores", [math.inf], "scores must hold finite numbers of 32 bits, got another in b"),
        ("detected_boxes", None, "detected_boxes empty in some"),
    ],
)
def test_a_wrong_row_is_named(column, row, words):
    """Written against: the truth named where the answer is wrong."""
    columns = {**_GOOD, column: [_GOOD[column][0], row]}
    with pytest.raises(OochubError, match=words):
        Predictions.from_arrays(**columns, class_names=["head"], example_id=["a", "b"])


@pytest.mark.parametrize(
    ("column", "rows", "words"),
    [
        (
            "detected_boxes",
            [[_A], [[0.0, 0.0, 1.0]]],
            "detected_boxes must hold a list of lists of four numbers.* in b",
        ),
        ("detected_boxes", [[[1.0, 2.0]], [[3.0, 4.0]]], "detected_boxes must hold a list of lists .* in a"),
        ("scores", [["a"], ["b"]], "scores must hold a list of numbers per row: .* in a"),
    ],
)
def test_a_wrong_row_of_somebody_elses_answers_is_named(column, rows, words):
    """Written against: the kind of the whole column said, and no row."""
    table = pa.table({**{name: _GOOD[name] for name in ("detected_boxes", "scores")}, column: rows})
    columns = GivenColumns(table, ["a", "b"])
    assert get_output("boxes").given(columns, ["head"]) is None
    assert len(columns.problems) == 1 and re.search(words, columns.problems[0])
