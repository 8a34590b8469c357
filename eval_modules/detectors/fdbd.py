"""fDBD: the mean distance of the features to the decision boundaries, over that to the training mean."""

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._moments import RowMean
from oochub.stats.array_checks import Array

_LEAST = 1e-8  # of the distance to the mean


class Fdbd(Detector):
    """s(x) = 1 / (C - 1) sum_{c != k} (l_k - l_c) / ||W_k - W_c|| / ||f - m||, k the predicted class.

    m is the mean of the training features. (l_k - l_c) / ||W_k - W_c|| is the distance of f to the boundary between k
    and c. A distance to the mean below 1e-8 counts as that. The fit is one pass, in memory of d + c^2 numbers. The
    score is 0 or more.

    Attributes:
        mean: m, float64 (d,).
        apart: ||W_k - W_c||, and 1 where k = c, float64 (c, c).

    Raises:
        OochubError: One class alone, or two classes of equal weights, between which there is no boundary; something
            missing or unfit.

    Source: Liu and Qin 2024 (arXiv 2312.11536), the detector that is regularized by the distance to the training mean.

    >>> detector = Fdbd().fit(features=[[0.0, 0.0]], weight=[[3.0, 0.0], [0.0, 4.0]], bias=[0.0, 0.0])
    >>> detector.score(features=[[2.0, 0.0]], logits=[[6.0, 0.0]]).tolist()  # 6 / 5 from the boundary, 2 from the mean
    [0.6]
    """

    fit_needs = ("features", "weight", "bias")
    score_needs = ("features", "logits")
    fitted = ("mean float64 d", "apart float64 c c")
    gathers = RowMean
    mean: Array
    apart: Array

    def _finish(self, gathered: RowMean) -> None:
        weight, _ = self._head
        if len(weight) < 2:
            raise OochubError("The head has one class, so there is no boundary. fdbd needs two classes or more.")
        apart = np.stack([np.linalg.norm(weight - one, axis=1) for one in weight])
        np.fill_diagonal(apart, 1)
        if not apart.all():
            first, other = np.argwhere(apart == 0)[0]
            raise OochubError(
                f"Classes {first} and {other} have equal weights, so there is no boundary between them. Remove fdbd "
                "for this model."
            )
        self.mean, self.apart = gathered.mean, apart

    def _score(self, rows: dict[str, Array]) -> Array:
        features, logits = rows["features"], rows["logits"]
        top = logits.argmax(axis=1)
        below = (logits.max(axis=1, keepdims=True) - logits) / self.apart[top]
        away = np.maximum(np.linalg.norm(features - self.mean, axis=1), _LEAST)
        score: Array = below.sum(axis=1) / (logits.shape[1] - 1) / away
        return score
