"""Average precision: the mean precision at the score of each positive row, the area under precision over recall.

    AP = sum_i (R_i - R_i-1) P_i

over the distinct scores in the order in which rows are taken as positive. With positive="id" it goes by the name
AUPR-in, with positive="ood" by AUPR-out.

Interval: a percentile bootstrap; of 2,000 independent rows and more, of how many rows each of 512 cells of scores
draws, which gives the same ends. The lower end is never nearer than that with one further row that no sample has shown,
a positive below all others or a negative above them (`oochub.stats.unseen_rows`): near 1 resamples alone hold the truth
in 9% to 90% of samples, and with it in 95% and more. A perfect order has an interval too.

Limitations: Values of different shares of positives do not compare. form="trapezoid" is too large where scores tie:
0.79 for equal scores of 4 positives and 3 negatives, of which 0.57 are positive.

Source: Davis and Goadrich 2006, "The Relationship Between Precision-Recall and ROC Curves", ICML; its Section 4 says
why the points are not to be joined by lines.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

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
from oochub.stats.unseen_rows import UNITS, count_together, extend_by_unseen, find_variance, unseen_of_precision

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
    m, n = (int(side[-1]) for side in sides)
    if not (m and n):
        return area_estimate(lambda *_: math.nan, masks_of(**columns), columns["score"], sampling)
    alone = resampled_precision_area(*sides, replace(sampling, cluster=None), form)  # as if rows were independent
    if sampling.cluster is None and m + n >= _MANY:
        drawn = replicate_interval(alone, precision_area(*sides, form), m + n, sampling, unit="cells of scores")
        return extend_by_unseen(drawn, unseen_of_precision(m, n), sampling)

    def area(ood: Array, inside: Array) -> float:
        return precision_area(*order_tallies(ood, inside, positive), form)

    drawn = area_estimate(area, masks_of(**columns), columns["score"], sampling)
    if sampling.cluster is None:
        unseen = unseen_of_precision(m, n)
    else:
        spread = float(np.nanvar(alone, ddof=1))
        design = find_variance(drawn, sampling) / spread if spread else math.inf
        is_positive = columns["is_ood"].astype(bool) == (positive == "ood")
        together = [count_together(design, sampling.cluster[rows]) for rows in (is_positive, ~is_positive)]
        unseen = unseen_of_precision(m, n, together=(together[0], together[1]), count=UNITS)
    return drop_no_width(extend_by_unseen(drawn, unseen, sampling))


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
