"""Classes that are right beside the label of a row, as where an image shows two things that have a class each."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RightClasses(NamedTuple):
    """Classes that are right beside the label: pairs of a row and a class, sorted by row."""

    rows: NDArray[np.int64]
    classes: NDArray[np.int64]

    def select(self, rows: slice) -> "RightClasses":
        """Those of a block of rows, which are numbered from 0 there."""
        some = slice(*np.searchsorted(self.rows, (rows.start, rows.stop)))
        return RightClasses(self.rows[some] - rows.start, self.classes[some])


def count_as_label(answer: NDArray[np.int64], label: NDArray[np.int64], also: RightClasses | None) -> NDArray[np.int64]:
    """The answers (n,) with the label in place of each that is right beside it.

    Args:
        answer: Class numbers (n,).
        label: True classes (n,), -1 for rows without one.
        also: Classes that are right beside the label; None for none.

    >>> also = RightClasses(np.array([0, 1]), np.array([2, 2]))
    >>> count_as_label(np.array([2, 1, 2]), np.array([0, 0, 0]), also).tolist()
    [0, 1, 2]
    """
    if also is None:
        return answer
    rows = also.rows[(answer[also.rows] == also.classes) & (label[also.rows] >= 0)]
    counted = answer.copy()
    counted[rows] = label[rows]
    return counted
