"""DICE: the energy of a last layer that keeps only the weights which contribute most on training rows."""

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._moments import RowMean
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array


class Dice(Detector):
    """s(x) = log sum_c exp((M * W) f + b)_c, M_cj = 1 where W_cj m_j is above a percentile of all contributions.

    m is the mean of the training features, and W_cj m_j the mean contribution of feature j to the logit of class c. The
    percentile is over all c d contributions, interpolated as in numpy. The fit is one pass, in memory of c d numbers.
    The score is any real number.

    Args:
        percentile: Percent of the contributions that are dropped, 0 to 100. Default 90, OpenOOD's; the paper takes 70
            for ImageNet with a ResNet-50 and 90 for CIFAR with a DenseNet.

    Attributes:
        weight: M * W, float64 (c, d).
        bias: float64 (c,).

    Raises:
        OochubError: A percentile out of range; something missing or unfit.

    Source: Sun and Li 2022 (arXiv 2111.09805).

    >>> detector = Dice(percentile=50).fit(features=[[1.0, 3.0]], weight=[[4.0, 1.0], [0.0, 2.0]], bias=[0.0, 0.0])
    >>> detector.weight.tolist()  # of the contributions 4, 3, 0 and 6 those above 3.5
    [[4.0, 0.0], [0.0, 2.0]]
    """

    fit_needs = ("features", "weight", "bias")
    score_needs = ("features",)
    fitted = ("weight float64 c d", "bias float64 c")
    gathers = RowMean
    weight: Array
    bias: Array

    def __init__(self, *, percentile: float = 90.0) -> None:
        super().__init__()
        self.percentile = check_number("percentile", percentile, low=0, high=100)

    def _finish(self, gathered: RowMean) -> None:
        weight, self.bias = self._head
        contribution = weight * gathered.mean
        self.weight = np.where(contribution > np.percentile(contribution, self.percentile), weight, 0.0)

    def _score(self, rows: dict[str, Array]) -> Array:
        return log_partition(rows["features"] @ self.weight.T + self.bias)
