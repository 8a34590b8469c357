"""GradNorm: how far the last layer would move towards a uniform prediction; its gradient in closed form."""

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.stats.array_checks import Array


class GradNorm(Detector):
    """s(x) = ||grad_W sum_c -log softmax(l / T)_c||_1 = 1/T ||C p - 1||_1 ||f||_1, with p = softmax(l / T).

    The gradient of the last layer's weight is the outer product of C p - 1 and the features, so its norm is a product
    of two norms: no backward pass. The loss sums over the C classes as in the authors' code and in OpenOOD; the mean
    over classes, the divergence from uniform, is 1/C of it and ranks alike. Nothing is fitted. The score is 0 or more.

    Args:
        temperature: T, above 0. Default 1, as in the paper and in ImageNet-OOD's Table 3.

    Raises:
        OochubError: A temperature of 0 or less; features or logits that are missing or not finite.

    Source: Huang, Geng and Li 2021 (arXiv 2110.00218), Section 3; ImageNet-OOD, Table 3.

    >>> import numpy as np
    >>> GradNorm().score(features=[[1.0, -2.0]], logits=np.log([[1, 3]])).round(6).tolist()  # |-.5| + |.5| times 3
    [3.0]
    """

    score_needs = ("features", "logits")

    def __init__(self, *, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = check_number("temperature", temperature, low=0, above=True)

    def _score(self, rows: dict[str, Array]) -> Array:
        p = rows["logits"] / self.temperature
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p *= p.shape[1] / p.sum(axis=1, keepdims=True)
        length: Array = np.abs(p - 1).sum(axis=1) * np.abs(rows["features"]).sum(axis=1)
        return length / self.temperature
