"""KL-Matching: how far the predicted probabilities are from those that are typical of some class."""

from collections.abc import Mapping

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._moments import ClassSums
from oochub.eval_modules.detectors._softmax import softmax
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks

_TINY = np.finfo(np.float64).tiny


class KlMatching(Detector):
    """s(x) = -min_k KL(p || d_k), p = softmax(l), d_k the mean of softmax(l_i) over the training rows that predict k.

    Classes that no training row predicts have no d_k and are left out. A probability below the smallest float64 counts
    as that. The fit is one pass, in memory of c^2 numbers; it reads no labels. The score is 0 or less.

    Attributes:
        typical: d_k, float64 (predicted classes, c).

    Raises:
        OochubError: Logits that are missing or not finite, or of another number of classes than in the fit.

    Source: Hendrycks et al. 2022 (arXiv 1911.11132), the detector called KL matching. The authors fit on a validation
    set, so give the fit its rows if you have one.

    >>> detector = KlMatching().fit(logits=np.log([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]]))
    >>> detector.typical.round(6).tolist()
    [[0.7, 0.3], [0.1, 0.9]]
    >>> detector.score(logits=np.log([[0.7, 0.3], [0.5, 0.5]])).round(6).tolist()  # log of 0.5 over sqrt(0.21)
    [0.0, -0.087177]
    """

    fit_needs = score_needs = ("logits",)
    fitted = ("typical float64 k c",)
    typical: Array

    def _empty(self) -> "_Posteriors":
        return _Posteriors(self._columns["logits"])

    def _finish(self, gathered: "_Posteriors") -> None:
        seen = gathered.count > 0
        self.typical = gathered.total[seen] / gathered.count[seen, None]

    def _score(self, rows: dict[str, Array]) -> Array:
        p = softmax(rows["logits"])
        entropy = np.einsum("ij,ij->i", p, np.log(np.maximum(p, _TINY)))
        cross = p @ np.log(np.maximum(self.typical, _TINY)).T
        nearest: Array = np.minimum(cross.max(axis=1) - entropy, 0.0)
        return nearest


class _Posteriors(ClassSums):
    """Sums of the softmax of all rows, by their predicted class."""

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        logits = rows["logits"]
        for part in fit_blocks(*logits.shape):
            block = logits[part].astype(np.float64)
            self.add(block.argmax(axis=1), softmax(block))
