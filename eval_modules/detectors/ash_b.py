"""ASH-B: the energy after small activations are pruned and the rest binarized."""

from oochub.eval_modules.detectors._activations import Shaping, count_kept
from oochub.stats.array_checks import Array


class AshB(Shaping):
    """s(x) = log sum_c exp(W f' + b)_c, f'_j = sum_i f_i / k for the k largest f_j, else 0, k = d - round(d p / 100).

    Exactly k activations are kept; of equal ones those with the lower index, zeros too if fewer than k are above zero.
    The features are not changed. A fit takes the head; it reads no rows. The score is any real number.

    Args:
        percentile: p, 0 or more and so far below 100 that one activation is kept. Default 65, the authors' code's; on
            ImageNet they report 65 for ASH-B and 90 for ASH-S.

    Attributes:
        weight: float64 (c, d), the head's.
        bias: float64 (c,).

    Raises:
        OochubError: A percentile out of range, or so large that no activation is kept; something missing or unfit.

    Source: Djurisic, Bozanic, Ashok and Liu 2022 (arXiv 2209.09858), Section 3, Algorithm 2; ImageNet-OOD, Section 4.

    >>> import numpy as np
    >>> detector = AshB(percentile=50).fit(weight=np.eye(4)[:2], bias=[0.0, 0.0])
    >>> detector.score(features=[[1.0, 0.0, 5.0, 0.0]]).round(4).tolist()  # becomes 3, 0, 3, 0
    [3.0486]
    """

    def __init__(self, *, percentile: float = 65.0) -> None:
        super().__init__(percentile)

    def _project(self, features: Array, kept: Array) -> Array:
        k = count_kept(self.percentile, features.shape[1])
        share: Array = features.sum(axis=1, keepdims=True) / k
        return kept @ self.weight.T * share
