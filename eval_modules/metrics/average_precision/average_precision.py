"""Average precision: the mean precision at the score of each positive, the area under precision over recall.

    AP = sum_i (R_i - R_i-1) P_i,   over the distinct scores in the order in which rows are taken as positive

With positive="id" it goes by the name AUPR-in, with positive="ood" by AUPR-out. form="trapezoid" is the area of
OpenOOD and pytorch-ood, which joins the points by lines and is too large where scores tie.
Source: Davis and Goadrich 2006 (ICML), Section 4, on why the points are not to be joined by lines.
"""

from typing import Any

import evaluate

from oochub.eval_modules.metrics._ranking import NewClassState, area_estimate, masks_of
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.arrays import Array
from oochub.stats.estimation import Estimate, Sampling
from oochub.stats.ranking import Form, Positive, accepted, check_choice, precision_area, tallies


def average_precision(score: Any, is_ood: Any, positive: Positive = "id", form: Form = "step") -> float:
    """Average precision of finding the ID rows from the highest score down, or the OOD rows from the lowest up.

    Args:
        score: Any real number (n,), higher = more in-distribution; infinities are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        positive: "id" or "ood", the rows to be found.
        form: "step" is the average precision of scikit-learn; "trapezoid" that of OpenOOD and pytorch-ood.

    Returns:
        A fraction in [0, 1], higher is better; chance is the share of positives. nan if all rows are ID, or all OOD.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, NaN scores, another `positive` or `form`.

    >>> score, is_ood = [0.9, 0.4, 0.5, 0.1], [False, False, True, True]
    >>> round(average_precision(score, is_ood), 4), round(average_precision(score, is_ood, form="trapezoid"), 4)
    (0.8333, 0.7917)
    """
    ood, inside = tallies(score, is_ood)
    return precision_area(*accepted(ood, inside, positive), form)


class _State(NewClassState):
    metric = staticmethod(average_precision)

    def __init__(self, *, positive: Positive = "id", form: Form = "step") -> None:
        check_choice(positive, Positive, "positive")
        check_choice(form, Form, "form")
        super().__init__()
        self._options = {"positive": positive, "form": form}


def _interval(
    columns: dict[str, Array], sampling: Sampling, positive: Positive = "id", form: Form = "step"
) -> Estimate:
    def area(ood: Array, inside: Array) -> float:
        return precision_area(*accepted(ood, inside, positive), form)

    return area_estimate(area, masks_of(**columns), columns["score"], sampling)


FACTS = MetricFacts(title="Average precision", direction="higher", ranking=True, interval=_interval)


class AveragePrecision(MetricShell, evaluate.Metric):  # type: ignore[misc]
    """The metric as a module of `evaluate`: compute(score=..., is_ood=..., positive="id")."""

    state = _State
    citation = "Davis and Goadrich 2006, The Relationship Between Precision-Recall and ROC Curves, ICML"
