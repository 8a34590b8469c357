"""Every detector of a pair of sets against the best one and against MSP, for both goals, by paired tests."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.records.finding_records import DetectorDifference
from oochub.stats.delong import Covariance, PairedDifference, delong_covariance, paired_delong
from oochub.stats.estimate import Estimate

GOALS = ("auroc_new_class", "auroc_failure")
"""The goals of detection, by the names of their metrics."""

_ROUNDING = 1e-15  # of a variance that is 0

BASELINE = "msp"
"""What every detector is compared with: the softmax probability, with its defaults."""


class Differences(NamedTuple):
    """The AUROC of one detector minus that of the best and of MSP, by goal."""

    against_best: dict[str, DetectorDifference]
    against_msp: dict[str, DetectorDifference]


def detector_differences(
    scores: Mapping[str, Any], is_ood: NDArray[np.bool_], correct: NDArray[np.bool_], *, cluster: Any = None
) -> dict[str, Differences]:
    """The AUROC of each detector minus that of the best and that of MSP, on the same rows.

    Paired, by DeLong; by Obuchowski where rows share clusters.

    Args:
        scores: Each detector's scores (n,), higher is more in-distribution, by its key.
        is_ood: Whether a row is out of distribution (n,).
        correct: Whether the classifier is right (n,), not looked at where `is_ood`.
        cluster: What the rows (n,) share; None if they are independent.

    Returns:
        By detector: `against_best` and `against_msp`, each by goal (`auroc_new_class`, `auroc_failure`) the difference
        with `p_value` (two-sided, not corrected for their number) and `other`, the key compared with. The best of a
        goal, the first of equals, has no comparison with itself; neither has MSP. A goal without rows on one side has
        none, and without the detector "msp" `against_msp` is empty.

    >>> score = {"msp": [1, 3, 2, 4, 0, 5], "vim": [5, 4, 3, 2, 1, 0]}
    >>> is_ood = np.array([False, False, False, True, True, True])
    >>> differences = detector_differences(score, is_ood, ~is_ood)
    >>> differences["vim"].against_best, round(differences["vim"].against_msp["auroc_new_class"].estimate, 3)
    ({}, 0.667)
    """
    keys = list(scores)
    differences = {key: Differences(against_best={}, against_msp={}) for key in scores}
    sides = {"auroc_new_class": ~is_ood, "auroc_failure": correct & ~is_ood}
    for goal, ahead in sides.items():
        if ahead.all() or not ahead.any():
            continue
        covariance = delong_covariance(ahead, list(scores.values()))
        best = keys[int(np.argmax(covariance.auc))]
        for key in keys:
            for field, other in (("against_best", best), ("against_msp", BASELINE)):
                if key != other and other in scores:
                    compared = None
                    if cluster is None:
                        compared = _compared(covariance, keys.index(key), keys.index(other), len(ahead))
                    # Scores that order all rows alike, and sides of one row, are not decided by the variance.
                    compared = compared or paired_delong(ahead, scores[key], scores[other], cluster=cluster)
                    getattr(differences[key], field)[goal] = DetectorDifference(
                        estimate=compared.difference, p_value=compared.p_value, other=other
                    )
    return differences


def _compared(covariance: Covariance, first: int, second: int, n: int) -> PairedDifference | None:
    """`paired_delong` from the covariance of all detectors at once; None where that has no variance."""
    of = covariance.covariance
    value = float(covariance.auc[first] - covariance.auc[second])
    variance = float(of[first, first] + of[second, second] - 2 * of[first, second])
    if not variance > _ROUNDING:
        return None
    error = float(np.sqrt(variance))
    half = -float(special.ndtri(0.025)) * error
    estimate = Estimate(value, low=max(-1.0, value - half), high=min(1.0, value + half), n=n, method="paired delong")
    return PairedDifference(estimate, float(2 * special.ndtr(-abs(value) / error)))
