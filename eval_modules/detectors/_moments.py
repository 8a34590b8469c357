"""Counts, means and scatter of rows in float64, from batches in any order and from several processes."""

from collections.abc import Mapping

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.sparse import csr_array

from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks, shift_blocks


def with_gram(total: Array, rows: Array, *, times: float = 1.0) -> Array:
    """A sum of rows' rows, of which only the upper triangle counts, with that of more rows.

    Args:
        total: float64 (d, d), best in Fortran's order, which is changed in place.
        rows: float64 (n, d).
        times: What theirs is multiplied by.

    >>> with_gram(np.eye(2, order="F"), np.array([[1.0, 2.0], [0.0, 3.0]])).tolist()
    [[2.0, 2.0], [0.0, 14.0]]
    """
    sums: Array = dsyrk(times, rows.T, beta=1.0, c=total, overwrite_c=1)
    return sums


class CenteredGram:
    """The Gram matrix of features about a point.

    Args:
        origin: The point, float64 (d,).
    """

    def __init__(self, origin: Array) -> None:
        d = len(origin)
        self.origin, self.gram, self.count = origin, np.zeros((d, d), order="F"), 0

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d)."""
        self.count += len(rows["features"])
        for _, block in shift_blocks(rows["features"], self.origin):
            self.gram = with_gram(self.gram, block)

    def merge(self, other: "CenteredGram") -> None:
        """Takes in the sums of other rows."""
        self.gram += other.gram
        self.count += other.count


class RowMean:
    """Count and sum of the features of all batches.

    >>> mean = RowMean()
    >>> mean.update({"features": np.array([[1.0, 2.0], [3.0, 6.0]])}, lasting=True)
    >>> mean.mean.tolist()
    [2.0, 4.0]
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = np.zeros(0)

    @property
    def mean(self) -> Array:
        """The mean of all rows so far, float64 (d,)."""
        mean: Array = self.total / self.count
        return mean

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d)."""
        features = rows["features"]
        total = np.zeros(features.shape[1])
        for part in fit_blocks(*features.shape):
            total += features[part].sum(axis=0, dtype=np.float64)
        self._add(len(features), total)

    def merge(self, other: "RowMean") -> None:
        """Takes in the sum of other rows."""
        self._add(other.count, other.total)

    def _add(self, count: int, total: Array) -> None:
        self.count += count
        self.total = self.total + total if self.total.size else total.copy()


class ClassSums:
    """How many rows each class has, and their sum: `count` (c,), `total` (c, d) float64."""

    def __init__(self, columns: int) -> None:
        self.count = np.zeros(0)
        self.total = np.zeros((0, columns))

    def add(self, label: Array, rows: Array) -> None:
        """Takes in rows (n, d) float64 with their classes (n,)."""
        label = label.astype(np.int64, copy=False)
        self._grow(int(label.max()) + 1)
        self.count += np.bincount(label, minlength=len(self.count))
        n, k = len(rows), len(self.count)
        if k <= n:
            self.total += csr_array((np.ones(n), (label, np.arange(n))), shape=(k, n)) @ rows
        else:  # the sums of absent classes are left alone, which is slower for each class that is there
            present, of = np.unique(label, return_inverse=True)
            self.total[present] += csr_array((np.ones(n), (of, np.arange(n)))) @ rows

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
    """Products of rows about a point among them, and their sums by class.

    The point is the mean of the first rows, so a large mean costs no digits: what is subtracted later is about as large
    as the spread. Two fits with different points are joined as Chan, Golub and LeVeque 1983 do.

    Attributes:
        origin: The point o, float64 (d,).
        gram: sum of (x - o)(x - o)', float64 (d, d), of which only the upper triangle counts.
        classes: The sums by class of x - o.
    """

    def __init__(self) -> None:
        self.origin = np.zeros(0)
        self.gram = np.zeros((0, 0))
        self.classes = ClassSums(0)

    @property
    def count(self) -> float:
        """Rows so far."""
        return float(self.classes.count.sum())

    @property
    def shift(self) -> Array:
        """The mean of all rows less the origin, float64 (d,)."""
        shift: Array = self.classes.total.sum(axis=0) / self.count
        return shift

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d) with their classes."""
        features, label = rows["features"], rows["label"]
        if not self.origin.size:
            self._start(features[next(fit_blocks(*features.shape))].mean(axis=0, dtype=np.float64))
        for part, block in shift_blocks(features, self.origin):
            self.classes.add(label[part], block)
            self.gram = with_gram(self.gram, block)

    def merge(self, other: "ClassMoments") -> None:
        """Takes in the moments of other rows."""
        if not self.origin.size:
            self._start(other.origin)
        apart = other.origin - self.origin
        total, count = other.classes.total, other.classes.count
        cross = np.outer(total.sum(axis=0) + other.count * apart / 2, apart)
        self.gram += other.gram + cross + cross.T
        moved = ClassSums(len(apart))
        moved.count, moved.total = count, total + np.outer(count, apart)
        self.classes.merge(moved)

    def _start(self, origin: Array) -> None:
        d = len(origin)
        self.origin, self.gram, self.classes = origin, np.zeros((d, d), order="F"), ClassSums(d)
