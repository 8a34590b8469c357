"""SSD: the Mahalanobis distance of the direction of the features to the mean of all training rows."""

from collections.abc import Mapping

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._moments import ClassMoments
from oochub.eval_modules.detectors._norms import unit_rows
from oochub.eval_modules.detectors._whitening import compute_whitener, whiten
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks


class _Directions(ClassMoments):
    """Moments of the features, each row divided by its length."""

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        features = rows["features"]
        for part in fit_blocks(*features.shape):
            block = unit_rows(features[part].astype(np.float64))
            super().update({"features": block, "label": np.zeros(len(block), np.int64)}, lasting=False)


class Ssd(Detector):
    """s(x) = -(z - m)' S^+ (z - m), z = f / ||f||, m and S the mean and covariance of z over the training rows.

    S^+ is the pseudo-inverse: directions in which S has no more than d eps trace(S) are left out (dead units), so what
    a row does there is not seen. A row of zero features stays zero. The fit is one pass, in memory of d^2 numbers; it
    reads no labels. The score is 0 or less.

    Attributes:
        mean: float64 (d,).
        whitener: float64 (d, rank), with whitener whitener' = S^+.

    Raises:
        OochubError: Features that are missing or unfit, or that all have one direction.

    Source: Sehwag, Chiang and Mittal 2021 (arXiv 2103.12051), with one cluster. The authors' features are
    those of a self-supervised model; here they are of any.

    >>> detector = Ssd().fit(features=[[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    >>> detector.score(features=[[4.0, 0.0], [1.0, 1.0]]).round(6).tolist()
    [-1.0, -0.0]
    """

    fit_needs = score_needs = ("features",)
    fitted = ("mean float64 d", "whitener float64 d r")
    gathers = _Directions
    mean: Array
    whitener: Array

    def _finish(self, moments: ClassMoments) -> None:
        covariance = moments.gram / moments.count - np.outer(moments.shift, moments.shift)
        spread = float(np.trace(covariance))
        self.whitener = compute_whitener(covariance, len(covariance) * np.finfo(np.float64).eps * spread)
        if not self.whitener.shape[1]:
            raise OochubError(
                f"The features of all {moments.count:.0f} rows have one direction, so there is no covariance to "
                "measure distances with. Give rows that differ."
            )
        self.mean = moments.origin + moments.shift

    def _score(self, rows: dict[str, Array]) -> Array:
        whitened = whiten(unit_rows(rows["features"]) - self.mean, self.whitener)
        squared: Array = np.einsum("ij,ij->i", whitened, whitened)
        return -squared
