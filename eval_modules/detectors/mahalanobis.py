"""Mahalanobis: the distance to the nearest class mean, in units of the spread that all classes share."""

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._moments import ClassMoments, with_gram
from oochub.eval_modules.detectors._nearest import Bank, kth_nearest
from oochub.eval_modules.detectors._whitening import compute_whitener, whiten
from oochub.stats.array_checks import Array


class Mahalanobis(Detector):
    """s(x) = -min_c (f - mu_c)' S^+ (f - mu_c), S = 1/N sum_i (f_i - mu_{y_i})(f_i - mu_{y_i})'.

    mu_c is the mean of class c, S the covariance within classes and S^+ its pseudo-inverse: directions in which S has
    no more than d eps trace(covariance) are left out (dead units), so what a row does there is not seen. The fit is
    one pass, in memory of c d + d^2 numbers. A row is whitened once, and its nearest mean found with one matrix
    product in float32, then measured in float64. The score is 0 or less.

    Attributes:
        rank: Directions that S has, of d.
        mean: float64 (d,), of all rows.
        whitener: float64 (d, rank), with whitener whitener' = S^+.
        whitened_means: (mu_c - mean) whitener, float64 (classes with rows, rank).

    Raises:
        OochubError: Features or labels that are missing or unfit; no class with two rows that differ.

    Source: Lee, Lee, Lee and Shin 2018 (arXiv 1807.03888), Eq. 1 and 2, on the last layer's features alone and without
    its input perturbation; ImageNet-OOD, Section 4.

    >>> import numpy as np
    >>> features = np.array([[0.0, 1.0], [0.0, -1.0], [9.0, 1.0], [9.0, -1.0]])  # no spread along the first axis
    >>> detector = Mahalanobis().fit(features=features, label=[0, 0, 1, 1])
    >>> detector.rank, detector.score(features=[[9.0, 0.0], [4.0, 3.0]]).round(6).tolist()
    (1, [-0.0, -9.0])
    """

    fit_needs = ("features", "label")
    score_needs = ("features",)
    fitted = ("mean float64 d", "whitener float64 d r", "whitened_means float64 k r")
    gathers = ClassMoments
    mean: Array
    whitener: Array
    whitened_means: Array

    @property
    def rank(self) -> int:
        """Directions in which the classes spread."""
        return int(self.whitener.shape[1])

    def _finish(self, gathered: ClassMoments) -> None:
        n, shift, classes = gathered.count, gathered.shift, gathered.classes
        seen = classes.count > 0
        count, total = classes.count[seen, None], classes.total[seen]
        within = with_gram(gathered.gram / n, total / np.sqrt(count * n), times=-1.0)
        spread = np.trace(gathered.gram) / n - shift @ shift
        self.whitener = compute_whitener(within, len(within) * np.finfo(np.float64).eps * spread)
        if not self.rank:
            raise OochubError(
                f"All {n:.0f} rows equal the mean of their class, so there is no covariance to measure distances "
                "with. Pass at least two different rows of some class."
            )
        self.mean = gathered.origin + shift
        self.whitened_means = (total / count - shift) @ self.whitener

    def _score(self, rows: dict[str, Array]) -> Array:
        whitened = whiten(rows["features"] - self.mean, self.whitener)
        return -kth_nearest(whitened, Bank(self.whitened_means), 1)
