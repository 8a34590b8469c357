"""MSP: the largest softmax probability, the baseline of all detectors."""

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._softmax import largest_probability
from oochub.stats.array_checks import Array


class Msp(Detector):
    """s(x) = max_c softmax(l / T)_c.

    Nothing is fitted. Probabilities are float64, and rows whose probability rounds to 1 keep their order: the score
    is exact to 1e-12, and what is left of it ranks them by log-odds. In float32 a third of the rows of a confident
    model would tie. The score is in [1/c, 1].

    Args:
        temperature: T, above 0. Default 1, as in the paper.

    Raises:
        OochubError: A temperature of 0 or less; logits that are missing or not finite.

    Source: Hendrycks and Gimpel 2017 (arXiv 1610.02136), Section 2; ImageNet-OOD, Section 4.

    >>> import numpy as np
    >>> Msp().score(logits=np.log([[1, 3], [1, 1]])).round(6).tolist()
    [0.75, 0.5]
    >>> float.__lt__(*Msp().score(logits=np.float32([[50, 0], [60, 0]])).tolist())
    True
    """

    score_needs = ("logits",)

    def __init__(self, *, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = check_number("temperature", temperature, low=0, above=True)

    def _score(self, rows: dict[str, Array]) -> Array:
        return largest_probability(rows["logits"] / self.temperature)
