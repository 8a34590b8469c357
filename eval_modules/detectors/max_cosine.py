"""Max-Cosine: the largest cosine between the features and the weight of a class."""

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._norms import unit_rows
from oochub.stats.array_checks import Array


class MaxCosine(Detector):
    """s(x) = max_c <W_c, f> / (||W_c|| ||f||).

    The bias plays no part. Some libraries give the name to the cosine with class means, which is another method. A
    row of zero features, or a class of zero weight, has cosine 0. A fit takes the weight; it reads no rows. The
    score is in [-1, 1].

    Attributes:
        directions: W_c / ||W_c||, float64 (c, d), set by the fit.

    Raises:
        OochubError: No weight, or features of another width; missing, or not finite.

    Source: Zhang and Xiang 2023 (arXiv 2304.10202), the cosine part of the decoupled logit; ImageNet-OOD, Section 4.

    >>> MaxCosine().fit(weight=[[2.0, 0.0], [0.0, 1.0]]).score(features=[[3.0, 4.0], [-1.0, 0.0]]).tolist()
    [0.8, 0.0]
    """

    fit_needs = ("weight",)
    score_needs = ("features",)
    fitted = ("directions float64 c d",)
    directions: Array

    def _finish(self, gathered: None) -> None:
        self.directions = unit_rows(self._head[0])

    def _score(self, rows: dict[str, Array]) -> Array:
        largest: Array = (unit_rows(rows["features"]) @ self.directions.T).max(axis=1)
        return np.clip(largest, -1, 1)
