"""SCALE: the energy after all activations are scaled up, more so where the largest are less of their sum."""

from oochub.eval_modules.detectors._activations import Shaping, compute_sharpening
from oochub.stats.array_checks import Array


class Scale(Shaping):
    """s(x) = log sum_c exp(W f' + b)_c, f' = f exp(s1 / s2), s1 = sum_j f_j, s2 that of the k largest f_j.

    k = d - round(d p / 100); no activation is dropped. A row whose k largest add up to 0 is not scaled. A fit takes the
    head; it reads no rows. The score is any real number.

    Args:
        percentile: p, 0 or more and so far below 100 that one activation is kept. Default 85, the authors' for
            ImageNet.

    Attributes:
        weight: float64 (c, d), the head's.
        bias: float64 (c,).

    Raises:
        OochubError: A percentile out of range, or so large that no activation is kept; something missing or unfit.

    Source: Xu, Chen, Franchi and Yao 2024 (arXiv 2310.00227), the detector SCALE.

    >>> import numpy as np
    >>> detector = Scale(percentile=50).fit(weight=np.eye(4)[:2], bias=[0.0, 0.0])
    >>> detector.score(features=[[1.0, 0.0, 5.0, 0.0]]).round(4).tolist()  # exp(6 / 6) is the first logit
    [2.7822]
    """

    def __init__(self, *, percentile: float = 85.0) -> None:
        super().__init__(percentile)

    def _project(self, features: Array, kept: Array) -> Array:
        return (features * compute_sharpening(features, kept)) @ self.weight.T
