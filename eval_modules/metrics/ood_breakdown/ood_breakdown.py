"""OOD breakdown: the three AUROCs between correct ID, incorrect ID and OOD rows that both goals are made of.

    C1 = P(score_correct > score_OOD),  C2 = P(score_incorrect > score_OOD),  C3 = P(score_correct > score_incorrect)

with ties as one half. With a the accuracy on ID rows, nI incorrect ID and nO OOD rows, exactly:

    auroc_new_class = a C1 + (1 - a) C2,    auroc_failure = (nI C3 + nO C1) / (nI + nO)

Interval: DeLong's on the logit scale (with clusters: Obuchowski's).

Limitations: C2 and C3 are of the incorrect rows, which are few where the classifier is good: look at their intervals.

Source: Yang, Zhang and Russakovsky 2024, "ImageNet-OOD: Deciphering Modern Out-of-Distribution Detection Algorithms",
ICLR, Appendix E, Equation 2 and Table 4.
"""

from typing import Any

from oochub.eval_modules.metrics._ranking import CORRECT, INCORRECT, OOD, FailureState, auroc_estimate, masks_of
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import auroc, count_by_score


def ood_breakdown(score: Any, is_ood: Any, correct: Any) -> dict[str, float]:
    """The AUROC of each pair of correct ID, incorrect ID and OOD rows.

    Args:
        score: Any real number (n,), higher = more in-distribution, as every detector of the hub gives it; infinities
            are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        correct: Whether the classifier was right (n,), bool or 0 and 1, not looked at where `is_ood` holds. It is that
            of the classifier itself, not of logits that a detector has changed.

    Returns:
        `correct_vs_ood` (C1), `incorrect_vs_ood` (C2) and `correct_vs_incorrect` (C3), the first named ahead: fractions
        in [0, 1], 0.5 is chance; nan where either side has no row. C1 and C3 are better higher. A higher C2 raises
        new-class detection, but both of its sides are failures: for safety neither direction is better.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, or NaN scores.

    >>> score, is_ood, correct = [0.9, 0.4, 0.5, 0.1], [False, False, True, True], [True, False, False, False]
    >>> ood_breakdown(score=score, is_ood=is_ood, correct=correct)
    {'correct_vs_ood': 1.0, 'incorrect_vs_ood': 0.5, 'correct_vs_incorrect': 1.0}
    """
    ood, incorrect, right = count_by_score(score, is_ood, correct)
    return {
        "correct_vs_ood": auroc(ahead=right, behind=ood),
        "incorrect_vs_ood": auroc(ahead=incorrect, behind=ood),
        "correct_vs_incorrect": auroc(ahead=right, behind=incorrect),
    }


class _State(FailureState):
    metric = staticmethod(ood_breakdown)


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> dict[str, Estimate]:
    masks = masks_of(**columns)
    pairs = {
        "correct_vs_ood": (CORRECT, OOD),
        "incorrect_vs_ood": (INCORRECT, OOD),
        "correct_vs_incorrect": (CORRECT, INCORRECT),
    }
    return {
        key: auroc_estimate({ahead: masks[ahead]}, {behind: masks[behind]}, columns["score"], sampling)
        for key, (ahead, behind) in pairs.items()
    }


FACTS = MetricFacts(
    title="OOD breakdown",
    direction="higher",
    ranking=True,
    keys={
        "correct_vs_ood": MetricFacts(title="AUROC, correct ID vs. OOD", direction="higher", ranking=True),
        "incorrect_vs_ood": MetricFacts(title="AUROC, incorrect ID vs. OOD", direction="none", ranking=True),
        "correct_vs_incorrect": MetricFacts(title="AUROC, correct vs. incorrect ID", direction="higher", ranking=True),
    },
    interval=_estimate_interval,
)


class OodBreakdown(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "ood_breakdown"))
    >>> module.compute(score=[0.9, 0.4, 0.5, 0.1], is_ood=[0, 0, 1, 1], correct=[1, 0, 0, 0])
    {'correct_vs_ood': 1.0, 'incorrect_vs_ood': 0.5, 'correct_vs_incorrect': 1.0}
    """

    state = _State
