"""The mean of rows in float64, from batches in any order and from several processes."""

from collections.abc import Mapping

import numpy as np

from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks


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
