"""New-class AUROC: the chance that an in-distribution row scores higher than one of an unknown class, ties one half.

    AUROC = P(score_ID > score_OOD) + 1/2 P(score_ID = score_OOD)

In-distribution (ID) are all rows whose class is in the label set, whether the classifier was right or not;
`auroc_failure` counts its mistakes with the rows of an unknown class (OOD).

Interval: DeLong's on the logit scale (with clusters: Obuchowski's).

Limitations: A detector that gives covariate shift low scores looks good on OOD rows that are also shifted in style.
That it ranks *incorrect* ID rows above OOD rows raises the value, too: see `ood_breakdown`.

Source: Yang, Zhang and Russakovsky 2024, "ImageNet-OOD: Deciphering Modern Out-of-Distribution Detection Algorithms",
ICLR, "new-class detection" of Section 2 and Table 1.
"""

from typing import Any

from oochub.eval_modules.metrics._ranking import ID, OOD, NewClassState, auroc_estimate, masks_of
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import auroc, count_by_score


def auroc_new_class(score: Any, is_ood: Any) -> float:
    """Area under the ROC curve of `score` for ID against OOD rows.

    Args:
        score: Any real number (n,), higher = more in-distribution, as every detector of the hub gives it; infinities
            are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.

    Returns:
        A fraction in [0, 1], higher is better, 0.5 is chance. nan if all rows are ID, or all OOD.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, or NaN scores.

    >>> auroc_new_class(score=[0.9, 0.4, 0.5, 0.1], is_ood=[False, False, True, True])
    0.75
    """
    ood, inside = count_by_score(score, is_ood)
    return auroc(ahead=inside, behind=ood)


class _State(NewClassState):
    metric = staticmethod(auroc_new_class)


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    masks = masks_of(**columns)
    return auroc_estimate({ID: masks[ID]}, {OOD: masks[OOD]}, columns["score"], sampling)


FACTS = MetricFacts(title="New-class AUROC", direction="higher", ranking=True, interval=_estimate_interval)


class AurocNewClass(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "auroc_new_class"))
    >>> module.add_batch(score=[0.9, 0.4], is_ood=[False, False])
    >>> module.compute(score=[0.5, 0.1], is_ood=[True, True])
    {'auroc_new_class': 0.75}
    """

    state = _State
