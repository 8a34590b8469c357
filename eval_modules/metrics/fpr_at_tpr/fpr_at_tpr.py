"""FPR at TPR: the share of negatives classified as positive at a given true positive rate.

Two conventions go by the name FPR@95, and differ on the same scores:

    positive="id":   share of OOD rows accepted when 95% of the ID rows are (papers of ODIN, KNN, ViM, ReAct)
    positive="ood":  share of ID rows rejected when 95% of the OOD rows are (OpenOOD, pytorch-ood)

Interval: a percentile bootstrap, widened to Wilson's where that reaches further; none where fewer than 12 positives set
the threshold of 95%, which is then their outermost score.

Limitations: The threshold is the score of one row: on few rows the value jumps. Rows that tie with it count as taken on
both sides; the interval's `reason` says how many positives that are.

Source: Liang, Li and Srikant 2018, "Enhancing the Reliability of Out-of-distribution Image Detection in Neural
Networks", ICLR, Section 4.2; OpenOOD, auc_and_fpr_recall.
"""

from typing import Any

from oochub.eval_modules.metrics._ranking import NewClassState, masks_of, share_estimate
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import Positive, check_choice, check_share, count_by_score, order_tallies, take_share


def fpr_at_tpr(score: Any, is_ood: Any, tpr: float = 0.95, positive: Positive = "id") -> float:
    """The false positive rate at the first threshold where the true positive rate is `tpr` or more.

    The threshold is an order statistic, not interpolated: the score of the k-th positive, k = ceil(tpr n). Rows that
    tie with it count as taken, on both sides.

    Args:
        score: Any real number (n,), higher = more in-distribution, as every detector of the hub gives it; infinities
            are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        tpr: The share of the positives to find, in (0, 1].
        positive: "id" takes rows from the highest score down, "ood" from the lowest up.

    Returns:
        A fraction in [0, 1], lower is better. nan if all rows are ID, or all OOD.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, NaN scores, `tpr` outside (0, 1], or another
            `positive`.

    >>> score, is_ood = [0.9, 0.7, 0.3, 0.2, 0.6, 0.5, 0.4, 0.1], [0, 0, 0, 0, 1, 1, 1, 1]
    >>> fpr_at_tpr(score=score, is_ood=is_ood, tpr=0.75)
    0.75
    >>> fpr_at_tpr(score=score, is_ood=is_ood, tpr=0.75, positive="ood")
    0.5
    """
    check_share(tpr, "tpr")
    ood, inside = count_by_score(score, is_ood)
    positives, negatives = order_tallies(ood, inside, positive)
    return take_share(of=negatives, until=positives, share=tpr)


class _State(NewClassState):
    metric = staticmethod(fpr_at_tpr)

    def __init__(self, *, tpr: float = 0.95, positive: Positive = "id") -> None:
        check_share(tpr, "tpr")
        check_choice(positive, Positive, "positive")
        super().__init__()
        self._options = {"tpr": tpr, "positive": positive}


def _estimate_interval(
    columns: dict[str, Array], sampling: Sampling, tpr: float = 0.95, positive: Positive = "id"
) -> Estimate:
    check_share(tpr, "tpr")

    def tallies_of(ood: Array, inside: Array) -> tuple[Array, Array]:
        positives, negatives = order_tallies(ood, inside, positive)
        return negatives, positives

    return share_estimate(tallies_of, tpr, masks_of(**columns), columns["score"], sampling)


FACTS = MetricFacts(title="FPR at TPR", direction="lower", ranking=True, interval=_estimate_interval)


class FprAtTpr(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "fpr_at_tpr"))
    >>> score, is_ood = [0.9, 0.7, 0.3, 0.2, 0.6, 0.5, 0.4, 0.1], [0, 0, 0, 0, 1, 1, 1, 1]
    >>> module.compute(score=score, is_ood=is_ood, tpr=0.75, positive="ood")
    {'fpr_at_tpr': 0.5}
    """

    state = _State
