"""ReAct: the energy after activations are clipped at a high percentile of the training activations."""

from collections.abc import Mapping

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._kept_rows import KeptRows
from oochub.eval_modules.detectors._quantiles import percentile
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array


class React(Detector):
    """s(x) = log sum_c exp(W min(f, threshold) + b)_c, the threshold a percentile of all training activations.

    The percentile is over all n d numbers together and exact, interpolated as in numpy: a few passes count the digits
    of the features, in memory that does not grow with them. `fit` passes over the array that it is given; batches of
    `partial_fit` are kept in a temporary file until `finalize`. The score is any real number, at most the energy of
    the uncut features where no weight is negative.

    Args:
        percentile: 0 to 100. Default 90, as in the paper.

    Attributes:
        threshold: float.
        weight: float64 (c, d), the head's.
        bias: float64 (c,).

    Raises:
        OochubError: A percentile out of range; something missing or unfit; no room for the temporary file.

    Source: Sun, Guo and Li 2021 (arXiv 2111.12797), Section 3 and Section 4.1; ImageNet-OOD, Section 4.

    >>> head = {"weight": [[1.0, 1.0], [0.0, 0.0]], "bias": [0.0, 0.0]}
    >>> detector = React(percentile=50).fit(features=[[0.0, 1.0], [1.0, 9.0]], **head)
    >>> detector.threshold, detector.score(features=[[0.0, 9.0], [0.0, 1.0]]).round(4).tolist()
    (1.0, [1.3133, 1.3133])
    """

    fit_needs = ("features", "weight", "bias")
    score_needs = ("features",)
    fitted = ("threshold float64", "weight float64 c d", "bias float64 c")
    threshold: float
    weight: Array
    bias: Array

    def __init__(self, *, percentile: float = 90.0) -> None:
        super().__init__()
        self.percentile = check_number("percentile", percentile, low=0, high=100)

    def _empty(self) -> "_Activations":
        return _Activations()

    def _finish(self, gathered: "_Activations") -> None:
        self.weight, self.bias = self._head
        self.threshold = percentile(gathered.kept.blocks, gathered.kept.size, self.percentile)

    def _score(self, rows: dict[str, Array]) -> Array:
        return log_partition(np.minimum(rows["features"], self.threshold) @ self.weight.T + self.bias)


class _Activations:
    """The features of all batches, to be read again."""

    def __init__(self) -> None:
        self.kept = KeptRows()

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        self.kept.append(rows["features"], lasting=lasting)

    def merge(self, other: "_Activations") -> None:
        self.kept.extend(other.kept)
