"""Energy: the log-partition of the logits, to which every class adds."""

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array


class Energy(Detector):
    """s(x) = T log sum_c exp(l_c / T).

    It is minus the free energy of the paper, so that higher is more in-distribution. Nothing is fitted. The
    score is any real number, in the units of the logits, at least the largest logit.

    Args:
        temperature: T, above 0. Default 1, as in the paper.

    Raises:
        OochubError: A temperature of 0 or less; logits that are missing or not finite.

    Source: Liu, Wang, Owens and Li 2020 (arXiv 2010.03759), Eq. 4; ImageNet-OOD, Section 4.

    >>> import numpy as np
    >>> Energy().score(logits=np.log([[1, 3]])).round(6).tolist(), np.log(4).round(6).item()
    ([1.386294], 1.386294)
    """

    score_needs = ("logits",)

    def __init__(self, *, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = check_number("temperature", temperature, low=0, above=True)

    def _score(self, rows: dict[str, Array]) -> Array:
        return self.temperature * log_partition(rows["logits"] / self.temperature)
