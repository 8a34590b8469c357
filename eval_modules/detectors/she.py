"""SHE: the product of the features with the stored pattern of the predicted class."""

from collections.abc import Mapping

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._moments import ClassSums
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks


class She(Detector):
    """s(x) = <f, S_k>, k the predicted class, S_k the mean features of the training rows of class k predicted right.

    The fit is one pass, in memory of c d numbers. The score is any real number, in squared units of the features.

    Attributes:
        patterns: S, float64 (c, d).

    Raises:
        OochubError: A class without a training row that is predicted right; something missing or unfit.

    Source: Zhang et al. 2023 (ICLR, openreview KkazG4lgKL), the simplified Hopfield energy with one pattern
    per class; the inner product, which the authors and OpenOOD use.

    >>> detector = She().fit(features=[[2.0, 0.0], [0.0, 4.0]], logits=[[1.0, 0.0], [0.0, 1.0]], label=[0, 1])
    >>> detector.score(features=[[3.0, 1.0]], logits=[[2.0, 1.0]]).tolist()
    [6.0]
    """

    fit_needs = ("features", "logits", "label")
    score_needs = ("features", "logits")
    fitted = ("patterns float64 c d",)
    patterns: Array

    def _empty(self) -> "_Correct":
        return _Correct(self._columns["features"])

    def _finish(self, gathered: "_Correct") -> None:
        classes, count = self._columns["logits"], gathered.count
        count = np.concatenate([count, np.zeros(classes - len(count))])
        if not count.all():
            missing = np.flatnonzero(count == 0)
            raise OochubError(
                f"No training row of class {missing[0]} is predicted right, so the class has no pattern "
                f"({len(missing)} of {classes} classes are like this). Fit on more rows or a better model."
            )
        self.patterns = gathered.total / count[:, None]

    def _score(self, rows: dict[str, Array]) -> Array:
        score: Array = np.einsum("ij,ij->i", rows["features"], self.patterns[rows["logits"].argmax(axis=1)])
        return score


class _Correct(ClassSums):
    """Sums of the features of rows that are predicted right, by class."""

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        features, logits, label = rows["features"], rows["logits"], rows["label"]
        for part in fit_blocks(len(features), max(features.shape[1], logits.shape[1])):
            right = logits[part].argmax(axis=1) == label[part]
            if right.any():
                self.add(label[part][right], features[part][right].astype(np.float64))
