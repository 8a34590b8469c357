"""The largest activations of each row, which the detectors of activation shaping keep."""

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array


class Shaping(Detector):
    """s(x) = log sum_c exp(W f' + b)_c, by the head alone; a subclass makes W f' in `_project`."""

    fit_needs = ("weight", "bias")
    score_needs = ("features",)
    fitted = ("weight float64 c d", "bias float64 c")
    weight: Array
    bias: Array

    def __init__(self, percentile: float) -> None:
        super().__init__()
        self.percentile = check_number("percentile", percentile, low=0, high=100)

    def _finish(self, gathered: None) -> None:
        self.weight, self.bias = self._head
        count_kept(self.percentile, self.weight.shape[1])

    def _score(self, rows: dict[str, Array]) -> Array:
        features = rows["features"]
        kept = find_largest(features, count_kept(self.percentile, features.shape[1]))
        return log_partition(self._project(features, kept) + self.bias)

    def _project(self, features: Array, kept: Array) -> Array:
        """W f' (n, c) of features (n, d), of which those of `kept` (n, d) are the largest."""
        raise NotImplementedError


def count_kept(percentile: float, d: int) -> int:
    """How many of d activations are kept if `percentile` percent are dropped: d - round(d percentile / 100).

    Raises:
        OochubError: None is kept; the largest whole percentile allowed is given.

    >>> count_kept(65, 40)
    14
    """
    kept = d - round(d * percentile / 100)
    if kept < 1:
        largest = next(p for p in range(99, -1, -1) if d - round(d * p / 100) >= 1)
        raise OochubError(
            f"percentile is {percentile:g}, which keeps none of {d} activations: the largest whole percentile "
            f"allowed is {largest}."
        )
    return kept


def find_largest(features: Array, k: int) -> Array:
    """Which k activations of each row are the largest, bool (n, d); of equal ones those with the lower index.

    >>> find_largest(np.array([[1.0, 5.0, 5.0, 0.0]]), 2).tolist()
    [[False, True, True, False]]
    """
    least = np.partition(features, -k, axis=1)[:, -k, None]
    kept, level = features > least, features == least
    kept |= level & (np.cumsum(level, axis=1) <= k - kept.sum(axis=1, keepdims=True))
    return kept


def compute_sharpening(features: Array, kept: Array) -> Array:
    """exp(sum of a row's activations / sum of those that are kept), (n, 1); 1 where the latter is 0.

    >>> compute_sharpening(np.array([[3.0, 1.0]]), np.array([[True, False]])).round(4).tolist()  # exp(4 / 3)
    [[3.7937]]
    """
    whole, part = features.sum(axis=1, keepdims=True), np.where(kept, features, 0).sum(axis=1, keepdims=True)
    factor: Array = np.exp(np.divide(whole, part, out=np.zeros_like(whole), where=part != 0))
    return factor
