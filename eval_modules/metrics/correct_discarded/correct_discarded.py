"""Correct discarded: the share of correctly classified rows lost when a given share of OOD rows is rejected.

    tau = the k-th smallest score of the nO OOD rows, k = ceil(rejected nO)
    value = share of the correct ID rows with score <= tau

The threshold comes from the OOD rows alone, so the correct rows may be of any set: ImageNet-1K, or ImageNet-C and
ImageNet-R with a covariate shift.

Interval: a percentile bootstrap, widened to Wilson's where that reaches further.

Limitations: Rows that tie with the threshold are rejected, OOD or not, so more than the asked share of the OOD rows may
be; the interval's `reason` then says how many. An interpolated percentile as the threshold gives other values on few
rows.

Source: Yang, Zhang and Russakovsky 2024, "ImageNet-OOD: Deciphering Modern Out-of-Distribution Detection Algorithms",
ICLR, Appendix B and Table 2, with 75% of the OOD rows rejected.
"""

from typing import Any

from oochub.eval_modules.metrics._ranking import CORRECT, OOD, FailureState, masks_of, share_estimate
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import check_share, count_by_score, take_share


def correct_discarded(score: Any, is_ood: Any, correct: Any, rejected: float = 0.75) -> float:
    """The share of correct ID rows that score no more than the threshold which rejects `rejected` of the OOD rows.

    The threshold is an order statistic of the OOD scores, not interpolated; rows that tie with it are rejected, OOD
    or not, so more than `rejected` of the OOD rows may be. The interval says so where that happens.

    Args:
        score: Any real number (n,), higher = more in-distribution, as every detector of the hub gives it; infinities
            are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        correct: Whether the classifier was right (n,), bool or 0 and 1, not looked at where `is_ood` holds. It is that
            of the classifier itself, not of logits that a detector has changed.
        rejected: The share of the OOD rows to reject, in (0, 1].

    Returns:
        A fraction in [0, 1], lower is better. nan without an OOD row, or without a correct one. Incorrect ID rows do
        not count.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, NaN scores, or `rejected` outside (0, 1].

    >>> score, is_ood, correct = [0.9, 0.4, 0.2, 0.5, 0.3, 0.1], [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]
    >>> correct_discarded(score=score, is_ood=is_ood, correct=correct)
    0.5
    >>> correct_discarded(score=score, is_ood=is_ood, correct=correct, rejected=0.5)
    0.0
    """
    check_share(rejected, "rejected")
    ood, _, right = count_by_score(score, is_ood, correct)
    return take_share(of=right, until=ood, share=rejected)


class _State(FailureState):
    metric = staticmethod(correct_discarded)

    def __init__(self, *, rejected: float = 0.75) -> None:
        check_share(rejected, "rejected")
        super().__init__()
        self._options = {"rejected": rejected}


def _estimate_interval(columns: dict[str, Array], sampling: Sampling, rejected: float = 0.75) -> Estimate:
    check_share(rejected, "rejected")
    masks = masks_of(**columns)
    pair = {CORRECT: masks[CORRECT], OOD: masks[OOD]}
    return share_estimate(lambda right, ood: (right, ood), rejected, pair, columns["score"], sampling)


FACTS = MetricFacts(title="Correct discarded", direction="lower", ranking=True, interval=_estimate_interval)


class CorrectDiscarded(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "correct_discarded"))
    >>> module.compute(score=[0.9, 0.4, 0.5, 0.1], is_ood=[0, 0, 1, 1], correct=[1, 1, 0, 0], rejected=0.5)
    {'correct_discarded': 0.0}
    """

    state = _State
