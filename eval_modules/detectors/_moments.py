"""Counts, means and scatter of rows in float64, from batches in any order and from several processes."""

from collections.abc import Mapping

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array

from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import moved_blocks


def with_gram(total: Array, rows: Array) -> Array:
    """A sum of rows' rows, of which only the upper triangle counts, with that of more rows.

    Args:
        total: float64 (d, d), best in Fortran's order, which is changed in place.
        rows: float64 (n, d).

    >>> with_gram(np.eye(2, order="F"), np.array([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [[2.0, 2.0], [0.0, 14.0]]
    """
    sums: Array = dsyrk(1.0, rows.T, beta=1.0, c=total, overwrite_c=1)
    return sums


class ClassSums:
    """How many rows each class has, and their sum: `count` (c,), `total` (c, d) float64."""

    def __init__(self, columns: int) -> None:
        self.count = np.zeros(0)
        self.total = np.zeros((0, columns))

    def update(self, label: Array, rows: Array) -> None:
        """Takes in rows (n, d) float64 with their classes (n,)."""
        label = label.astype(np.int64, copy=False)
        self._grow(int(label.max()) + 1)
        self.count += np.bincount(label, minlength=len(self.count))
        present, of = np.unique(label, return_inverse=True)
        self.total[present] += csr_array((np.ones(len(of)), (of, np.arange(len(of))))) @ rows

    def merge(self, other: "ClassSums") -> None:
        """Takes in the sums of other rows."""
        self._grow(len(other.count))
        self.count[: len(other.count)] += other.count
        self.total[: len(other.count)] += other.total

    def _grow(self, classes: int) -> None:
        missing = classes - len(self.count)
        if missing > 0:
            self.count = np.concatenate([self.count, np.zeros(missing)])
            self.total = np.concatenate([self.total, np.zeros((missing, self.total.shape[1]))])


class ClassMoments:
    """The scatter of rows about their mean, and their sums by class.

    Batches are joined as Chan, Golub and LeVeque 1983 do, from deviations alone, so that neither a large mean nor the
    order of the batches costs digits.

    Attributes:
        count: Rows so far.
        mean: float64 (d,).
        scatter: sum of (x - mean)(x - mean)', float64 (d, d), of which only the upper triangle counts.
        classes: The sums by class of rows less `origin`.
        origin: A row near all others, float64 (d,): the mean of the first batch.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = self.origin = np.zeros(0)
        self.scatter = np.zeros((0, 0))
        self.classes = ClassSums(0)

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d) with their classes."""
        features, label = rows["features"], rows["label"]
        mean = features.mean(axis=0, dtype=np.float64)
        if not self.count:
            self._start(mean)
        for part, block in moved_blocks(features, self.origin):
            self.classes.update(label[part], block)
            block -= mean - self.origin
            self.scatter = with_gram(self.scatter, block)
        self._join(len(features), mean)

    def merge(self, other: "ClassMoments") -> None:
        """Takes in the moments of other rows."""
        if not self.count:
            self._start(other.origin)
        moved = ClassSums(len(self.origin))
        moved.merge(other.classes)
        moved.total += np.outer(moved.count, other.origin - self.origin)
        self.classes.merge(moved)
        self.scatter += other.scatter
        self._join(other.count, other.mean)

    def _start(self, origin: Array) -> None:
        d = len(origin)
        self.mean, self.origin = np.zeros(d), origin
        self.scatter, self.classes = np.zeros((d, d), order="F"), ClassSums(d)

    def _join(self, count: int, mean: Array) -> None:
        """Adds what moves the scatter of two sets of rows about their means to that about the mean of all."""
        shift, both = mean - self.mean, self.count + count
        self.scatter += np.outer(shift * (self.count * count / both), shift)
        self.mean = self.mean + shift * (count / both)
        self.count = both
