"""Failure AUROC: the chance that a correctly classified row scores higher than a failure, ties one half.

    AUROC = P(score_correct > score_failure) + 1/2 P(score_correct = score_failure)

Failures are the OOD rows, which no classifier can get right, and the ID rows that this one got wrong. Without OOD rows
it is misclassification detection, without incorrect rows C1 of `ood_breakdown`.

Interval: DeLong's on the logit scale (with clusters: Obuchowski's).

Limitations: The value depends on how many OOD and how many incorrect rows there are, and on the classifier's accuracy:
compare detectors of one classifier on the same rows. It is (nI C3 + nO C1) / (nI + nO), of nI incorrect and nO OOD
rows, with C1 and C3 of `ood_breakdown`, which do not depend on these numbers.

Source: Yang, Zhang and Russakovsky 2024, "ImageNet-OOD: Deciphering Modern Out-of-Distribution Detection Algorithms",
ICLR, "failure detection" of Sections 2 and 4.3 and Table 1.
"""

from typing import Any

from oochub.eval_modules.metrics._ranking import CORRECT, FailureState, auroc_estimate, masks_of
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import auroc, count_by_score


def auroc_failure(score: Any, is_ood: Any, correct: Any) -> float:
    """Area under the ROC curve of `score` for correct ID rows against failures, OOD or incorrect.

    Args:
        score: Any real number (n,), higher = more in-distribution, as every detector of the hub gives it; infinities
            are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        correct: Whether the classifier was right (n,), bool or 0 and 1, not looked at where `is_ood` holds. It is that
            of the classifier itself, not of logits that a detector has changed.

    Returns:
        A fraction in [0, 1], higher is better, 0.5 is chance. nan without a correct row, or without a failure.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, or NaN scores.

    >>> score, is_ood, correct = [0.9, 0.4, 0.5, 0.1], [False, False, True, True], [True, False, False, False]
    >>> auroc_failure(score=score, is_ood=is_ood, correct=correct)
    1.0
    >>> import oochub
    >>> oochub.get("metric", "auroc_new_class")(score=score, is_ood=is_ood)
    0.75
    """
    ood, incorrect, right = count_by_score(score, is_ood, correct)
    return auroc(ahead=right, behind=ood + incorrect)


class _State(FailureState):
    metric = staticmethod(auroc_failure)


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    failures = masks_of(**columns)
    return auroc_estimate({CORRECT: failures.pop(CORRECT)}, failures, columns["score"], sampling)


FACTS = MetricFacts(title="Failure AUROC", direction="higher", ranking=True, interval=_estimate_interval)


class AurocFailure(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "auroc_failure"))
    >>> module.compute(score=[0.9, 0.4, 0.5, 0.1], is_ood=[0, 0, 1, 1], correct=[1, 0, 0, 0])
    {'auroc_failure': 1.0}
    """

    state = _State
