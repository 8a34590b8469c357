"""Max-Logit: the largest logit, which unlike a probability grows with the evidence for a class."""

from oochub.detector import Detector
from oochub.stats.array_checks import Array


class MaxLogit(Detector):
    """s(x) = max_c l_c.

    Nothing is fitted and there is no hyperparameter. The score is any real number, in the units of the logits.

    Raises:
        OochubError: Logits that are missing or not finite.

    Source: Hendrycks et al. 2022 (arXiv 1911.11132), Section 3; ImageNet-OOD, Section 4.

    >>> MaxLogit().score(logits=[[1.0, 3.0], [0.5, 0.0]]).tolist()
    [3.0, 0.5]
    """

    score_needs = ("logits",)

    def _score(self, rows: dict[str, Array]) -> Array:
        largest: Array = rows["logits"].max(axis=1)
        return largest
