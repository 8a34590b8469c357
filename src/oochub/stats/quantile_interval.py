"""A percentile of groups with the interval of order statistics, which holds whatever the law of the values is.

How many of m groups lie below the true percentile is binomial, so two of the values in order hold it (Conover 1999,
Practical Nonparametric Statistics, Section 3.2). Of few groups none lies far enough out: the end is then the smallest,
or the largest, value that is possible.
"""

import math
from typing import Any

import numpy as np

from oochub.stats.array_checks import check_score
from oochub.stats.estimate import Estimate


def quantile_interval(
    values: Any,
    percentile: float,
    *,
    value: float | None = None,
    within: tuple[float | None, float | None] = (None, None),
    confidence: float = 0.95,
) -> Estimate:
    """A percentile of values, one a group, with its exact interval.

    Args:
        values: One number a group (m,), without NaN.
        percentile: In [0, 100].
        value: The estimate; None takes the percentile of the values, linear between neighbors.
        within: The smallest and the largest possible value, None for no bound.
        confidence: Level of the interval.

    Returns:
        The Estimate of m groups. `reason` says which end is the smallest or largest possible value; an end without a
        bound is nan.

    Raises:
        OochubError: No values, or NaN.

    >>> quantile_interval(np.arange(101) / 100, 10, within=(0.0, 1.0))
    0.100 [0.040, 0.160] n=101
    >>> quantile_interval([0.5, 0.7, 0.8, 0.9], 30, within=(0.0, 1.0)).reason
    'only 4 groups: the lower end is the smallest possible value'
    """
    from scipy import stats  # takes half a second

    values = check_score(values, name="values").astype(np.float64, copy=False)
    share = min(max(percentile / 100, 1e-9), 1 - 1e-9)  # that of all values is an end of its own
    found = stats.quantile_test(values, p=share).confidence_interval(confidence)
    ends, reasons = [float(found.low), float(found.high)], []
    for number, words in enumerate(("lower end is the smallest", "upper end is the largest")):
        if math.isnan(ends[number]):
            bound = within[number]
            ends[number] = math.nan if bound is None else float(bound)
            reasons.append(f"only {len(values)} groups: the {words} possible value")
    own = float(np.percentile(values, percentile)) if value is None else value
    method = f"order statistics of {len(values)} groups"
    low, high = min(ends[0], own), max(ends[1], own)
    return Estimate(own, low=low, high=high, n=len(values), method=method, reason="; ".join(reasons) or None)
