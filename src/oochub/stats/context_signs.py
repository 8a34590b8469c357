"""What a context is to a class: usual, unusual, or neither."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.stats.lift import lift_of_counts


def context_signs(having: Any, rows: Any, *, confidence: float = 0.95) -> NDArray[np.int8]:
    """1 where a context is usual for a class, -1 where it is unusual, 0 where neither is known.

    Usual: the interval of the lift P(context | class) / P(context | other classes) lies above 1; unusual: below 1.
    Over many contexts a sign is wrong as often as the interval fails. This costs a test on other rows nothing of its
    level, only some of its power.

    Args:
        having: How many rows of each class have each context (classes, contexts).
        rows: How many rows each class has (classes,).
        confidence: Level of the intervals.

    Returns:
        The signs (classes, contexts), int8; all 0 where one class has all rows.

    Raises:
        OochubError: Other shapes, or more rows with a context than rows.

    >>> context_signs([[30, 5], [10, 5]], [40, 40])
    array([[ 1,  0],
           [-1,  0]], dtype=int8)
    """
    having, rows = np.asarray(having), np.asarray(rows)
    if rows.ndim != 1 or having.ndim != 2 or len(having) != len(rows):
        raise OochubError(f"having must be (classes, contexts) and rows (classes,), got {having.shape}, {rows.shape}.")
    other_having, other_rows = having.sum(axis=0) - having, rows.sum() - rows
    signs = np.zeros(having.shape, np.int8)
    for at, count in np.ndenumerate(having):
        lift = lift_of_counts(
            int(count), int(rows[at[0]]), int(other_having[at]), int(other_rows[at[0]]), confidence=confidence
        )
        signs[at] = int(lift.low > 1) - int(lift.high < 1)
    return signs
