"""ASH-P: the energy after the smaller activations are dropped."""

import numpy as np

from oochub.eval_modules.detectors._activations import Shaping
from oochub.stats.array_checks import Array


class AshP(Shaping):
    """s(x) = log sum_c exp(W f' + b)_c, f'_j = f_j for the k largest f_j, else 0, k = d - round(d p / 100).

    Exactly k activations are kept; of equal ones those with the lower index. A fit takes the head; it reads no rows.
    The score is any real number.

    Args:
        percentile: p, 0 or more and so far below 100 that one activation is kept. Default 60, the authors' for
            ImageNet.

    Attributes:
        weight: float64 (c, d), the head's.
        bias: float64 (c,).

    Raises:
        OochubError: A percentile out of range, or so large that no activation is kept; something missing or unfit.

    Source: Djurisic, Bozanic, Ashok and Liu 2022 (arXiv 2209.09858), Algorithm 1.

    >>> detector = AshP(percentile=50).fit(weight=np.eye(4)[:2], bias=[0.0, 0.0])
    >>> detector.score(features=[[1.0, 0.0, 5.0, 0.0]]).round(4).tolist()  # log(e + 1)
    [1.3133]
    """

    def __init__(self, *, percentile: float = 60.0) -> None:
        super().__init__(percentile)

    def _project(self, features: Array, kept: Array) -> Array:
        return np.where(kept, features, 0.0) @ self.weight.T
