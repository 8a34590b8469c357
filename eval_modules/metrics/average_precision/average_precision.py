"""Average precision: the mean precision at the score of each positive row, the area under precision over recall.

    AP = sum_i (R_i - R_i-1) P_i

over the distinct scores in the order in which rows are taken as positive. With positive="id" it goes by the name
AUPR-in, with positive="ood" by AUPR-out.

Interval: a percentile bootstrap; of 2,000 independent rows and more, of how many rows each of 512 cells of scores
draws, which gives the same ends. A perfect order has none, for every resample of it is perfect.

Limitations: Values of different shares of positives do not compare. form="trapezoid" is too large where scores tie:
0.79 for equal scores of 4 positives and 3 negatives, of which 0.57 are positive.

Source: Davis and Goadrich 2006, "The Relationship Between Precision-Recall and ROC Curves", ICML; its Section 4 says
why the points are not to be joined by lines.
"""

from typing import Any

from oochub.eval_modules.metrics._ranking import NewClassState, area_estimate, masks_of
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.bootstrap import drop_no_width, replicate_interval
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import (
    Form,
    Positive,
    check_choice,
    count_by_score,
    order_tallies,
    precision_area,
    resampled_precision_area,
)

_MANY = 2000  # independent rows from here: a test shows the ends of the bootstrap of rows


def average_precision(score: Any, is_ood: Any, positive: Positive = "id", form: Form = "step") -> float:
    """Average precision of finding the ID rows from the highest score down, or the OOD rows from the lowest up.

    Args:
        score: Any real number (n,), higher = more in-distribution, as every detector of the hub gives it; infinities
            are fine. -0.0 equals 0.0.
        is_ood: Whether the class of the row is outside the label set (n,), bool or 0 and 1.
        positive: The rows to be found: "id" from the highest score down, "ood" from the lowest up.
        form: "step" is the average precision of scikit-learn; "trapezoid" is that of OpenOOD and pytorch-ood, which
            joins the points of the curve by lines, from precision 1 at recall 0.

    Returns:
        A fraction in [0, 1], higher is better; chance is the share of positives. nan if all rows are ID, or all OOD.

    Raises:
        OochubError: No rows, different lengths, flags other than 0 and 1, NaN scores, another `positive` or `form`.

    >>> score, is_ood = [0.9, 0.4, 0.5, 0.1], [False, False, True, True]
    >>> round(average_precision(score=score, is_ood=is_ood), 4)
    0.8333
    >>> round(average_precision(score=score, is_ood=is_ood, form="trapezoid"), 4)
    0.7917
    """
    ood, inside = count_by_score(score, is_ood)
    return precision_area(*order_tallies(ood, inside, positive), form)


class _State(NewClassState):
    metric = staticmethod(average_precision)

    def __init__(self, *, positive: Positive = "id", form: Form = "step") -> None:
        check_choice(positive, Positive, "positive")
        check_choice(form, Form, "form")
        super().__init__()
        self._options = {"positive": positive, "form": form}


def _estimate_interval(
    columns: dict[str, Array], sampling: Sampling, positive: Positive = "id", form: Form = "step"
) -> Estimate:
    ood, inside = count_by_score(**columns)
    sides = order_tallies(ood, inside, positive)
    n = int(sides[0][-1] + sides[1][-1])
    if sampling.cluster is None and n >= _MANY and sides[0][-1] and sides[1][-1]:
        drawn = resampled_precision_area(*sides, sampling, form)
        return drop_no_width(
            replicate_interval(drawn, precision_area(*sides, form), n, sampling, unit="cells of scores")
        )

    def area(ood: Array, inside: Array) -> float:
        return precision_area(*order_tallies(ood, inside, positive), form)

    return area_estimate(area, masks_of(**columns), columns["score"], sampling)


FACTS = MetricFacts(title="Average precision", direction="higher", ranking=True, interval=_estimate_interval)


class AveragePrecision(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "average_precision"))
    >>> result = module.compute(score=[0.9, 0.4, 0.5, 0.1], is_ood=[False, False, True, True], positive="ood")
    >>> round(result["average_precision"], 4)
    0.8333
    """

    state = _State
