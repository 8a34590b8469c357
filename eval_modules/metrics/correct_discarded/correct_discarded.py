"""Correct discarded: the share of correctly classified rows lost when a given share of OOD rows is rejected.

    tau = the k-th smallest score of the nO OOD rows, k = ceil(rejected nO)
    value = share of the correct ID rows with score <= tau

Source: ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Appendix B and Table 2, with 75% of the OOD rows rejected.
"""

from typing import Any

import evaluate

from oochub.eval_modules.metrics._ranking import CORRECT, OOD, FailureState, masks_of, share_estimate
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.arrays import Array
from oochub.stats.estimation import Estimate, Sampling
from oochub.stats.ranking import check_share, share_taken, tallies


def correct_discarded(score: Any, is_ood: Any, correct: Any, rejected: float = 0.75) -> float:
    """The share of correct ID rows that score no more than the threshold which rejects `rejected` of the OOD rows.

    The threshold is an order statistic of the OOD scores, not interpolated; rows that tie with it are rejected, OOD
    or not, so more than `rejected` of the OOD rows may be. The interval says so where that happens.

    Args:
        score: Any real number (n,), higher = more in-distribution; infinities are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        correct: Whether the classifier was right (n,), bool or 0 and 1, not looked at where `is_ood` holds.
        rejected: The share of the OOD rows to reject, in (0, 1].

    Returns:
        A fraction in [0, 1], lower is better. nan without an OOD row, or without a correct one. Incorrect ID rows do
        not count.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, NaN scores, or `rejected` outside (0, 1].

    >>> correct_discarded(score=[0.9, 0.4, 0.5, 0.1], is_ood=[0, 0, 1, 1], correct=[1, 1, 0, 0])
    0.5
    """
    check_share(rejected, "rejected")
    ood, _, right = tallies(score, is_ood, correct)
    return share_taken(of=right, until=ood, share=rejected)


class _State(FailureState):
    metric = staticmethod(correct_discarded)

    def __init__(self, *, rejected: float = 0.75) -> None:
        check_share(rejected, "rejected")
        super().__init__()
        self._options = {"rejected": rejected}


def _interval(columns: dict[str, Array], sampling: Sampling, rejected: float = 0.75) -> Estimate:
    check_share(rejected, "rejected")
    masks = masks_of(**columns)
    chosen = {CORRECT: masks[CORRECT], OOD: masks[OOD]}
    return share_estimate(lambda right, ood: (right, ood), rejected, chosen, columns["score"], sampling)


FACTS = MetricFacts(title="Correct discarded", direction="lower", ranking=True, interval=_interval)


class CorrectDiscarded(MetricShell, evaluate.Metric):  # type: ignore[misc]
    """The metric as a module of `evaluate`: compute(score=..., is_ood=..., correct=..., rejected=0.75)."""

    state = _State
    citation = "Yang, Zhang and Russakovsky 2024, ImageNet-OOD, ICLR"
