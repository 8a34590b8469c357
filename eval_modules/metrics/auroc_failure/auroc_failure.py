"""Failure AUROC: the chance that a correctly classified row scores higher than a failure.

    AUROC = P(score_correct > score_failure) + 1/2 P(score_correct = score_failure)

Failures are the OOD rows, which no classifier can get right, and the ID rows that this one got wrong, so the value
depends on how many there are of each:  failure = (nI C3 + nO C1) / (nI + nO),  with C1 and C3 of ood_breakdown.
Source: "failure detection" of ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Sections 2 and 4.3, Table 1.
"""

from typing import Any

import evaluate

from oochub.eval_modules.metrics._ranking import CORRECT, FailureState, auroc_estimate, masks_of
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.arrays import Array
from oochub.stats.estimation import Estimate, Sampling
from oochub.stats.ranking import auroc, tallies


def auroc_failure(score: Any, is_ood: Any, correct: Any) -> float:
    """Area under the ROC curve of `score` for correct ID rows against failures, OOD or incorrect.

    Without OOD rows it is misclassification detection, without incorrect rows C1 of ood_breakdown.

    Args:
        score: Any real number (n,), higher = more in-distribution; infinities are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        correct: Whether the classifier was right (n,), bool or 0 and 1, not looked at where `is_ood` holds. It is that
            of the classifier itself, not of logits that a detector has changed.

    Returns:
        A fraction in [0, 1], higher is better, 0.5 is chance. nan without a correct row, or without a failure.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, or NaN scores.

    >>> auroc_failure(score=[0.9, 0.4, 0.5, 0.1], is_ood=[0, 0, 1, 1], correct=[1, 0, 0, 0])
    1.0
    """
    ood, incorrect, right = tallies(score, is_ood, correct)
    return auroc(ahead=right, behind=ood + incorrect)


class _State(FailureState):
    metric = staticmethod(auroc_failure)


def _interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    failures = masks_of(**columns)
    return auroc_estimate({CORRECT: failures.pop(CORRECT)}, failures, columns["score"], sampling)


FACTS = MetricFacts(title="Failure AUROC", direction="higher", ranking=True, interval=_interval)


class AurocFailure(MetricShell, evaluate.Metric):  # type: ignore[misc]
    """The metric as a module of `evaluate`: compute(score=..., is_ood=..., correct=...)."""

    state = _State
    citation = "Yang, Zhang and Russakovsky 2024, ImageNet-OOD, ICLR"
