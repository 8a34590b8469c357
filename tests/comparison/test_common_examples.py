"""The rows of two predictions in one order, against a loop; what only one of them has is named."""

import numpy as np
import pytest

import oochub
from oochub.comparison.common_examples import RowsDiffer, pair_rows

SPLITS, NAMES = ["a", "a", "a/b", "b"], ["b/c", "x", "c", "x"]  # joined by a slash, the first and the third are alike


def predictions(order, *, change=None):
    names = [change.get(name, name) if change else name for name in NAMES]
    return oochub.Predictions.from_arrays(
        logits=np.arange(8.0).reshape(4, 2)[order],
        label=np.array([0, 1, 0, 1])[order],
        split=[SPLITS[row] for row in order],
        example_id=[names[row] for row in order],
    )


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_rows_are_put_in_the_order_of_the_first(order):
    """Planted fault seen: a slash between split and id."""
    first, second = pair_rows(predictions([0, 1, 2, 3]), predictions(order))
    keys = [
        list(zip(each.predictions.split, each.predictions.column("example_id"), strict=True))
        for each in (first, second)
    ]
    assert keys[0] == keys[1] == list(zip(SPLITS, NAMES, strict=True))
    assert np.array_equal(first.predictions.logits, second.predictions.logits)


def test_what_only_one_has_is_named():
    with pytest.raises(RowsDiffer) as caught:
        pair_rows(predictions([0, 1, 2, 3]), predictions([3, 1, 0, 2], change={"x": "y"}))
    assert "of 6 by split and example_id, 2 only in the first (such as a/x, b/x) and 2 only in the second" in str(
        caught.value
    )
    assert "(such as b/y, a/y)" in str(caught.value)
