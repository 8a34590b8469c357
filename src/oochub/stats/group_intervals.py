"""Intervals of what is said of many groups: the mean of the worst one, and a percentile of them.

The worst of several observed means is lower than the mean of the worst group, and its resamples are lower
still: with 16 groups of 100 rows, all truly 0.90, the percentile bootstrap of the minimum never covers. Here
each of the G groups gets an interval of level 1 - (1 - confidence) / G (Bonferroni); where all of them hold, the
smallest true mean lies between the smallest lower end and the smallest upper end.

A percentile of groups has the interval of order statistics, which holds whatever the law of the values is. How many of
m groups lie below the true percentile is binomial, so two of the values in order hold it (Conover 1999, Practical
Nonparametric Statistics, Section 3.2). If the groups are few, none lies far enough out: the end is then the smallest,
or the largest, value that is possible.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import scipy

from oochub.stats.array_checks import Array, check_group, check_same_length, check_score
from oochub.stats.bootstrap import FEW_ROWS
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import share_of_clusters, t_interval
from oochub.stats.proportion import clopper_pearson

_NAMED = 5  # groups in a reason
_ROUNDING = 1e-9  # of a mean


def worst_group_interval(
    values: Any,
    group: Any,
    *,
    worst: Literal["smallest", "largest"],
    cluster: Any = None,
    confidence: float = 0.95,
    names: Sequence[Hashable] | None = None,
) -> Estimate:
    """The mean of `values` in the group where it is worst, with a simultaneous interval.

    A group's interval is Clopper and Pearson's for values 0 and 1, with the effective number of rows where these are
    in clusters, else Student's t of the rows or clusters; see `oochub.stats.mean_interval`.

    Args:
        values: One number per row (n,): 0 and 1 (correct, or wrong), or losses.
        group: The group of each row (n,), any hashable.
        worst: Whether the "smallest" mean is the worst (accuracy) or the "largest" (error, NLL).
        cluster: What the rows (n,) share; None if they are independent.
        confidence: Level of the interval.
        names: What the groups are called, where `group` holds their places in it.

    Returns:
        The mean of the worst group; n is the rows of that group; an end is nan, with the reason, where a
        group has too few rows or clusters for an interval.

    Raises:
        OochubError: No rows, different lengths, or NaN.

    >>> worst_group_interval([1, 1, 1, 0, 1, 0, 0, 0], list("aaaabbbb"), worst="smallest")
    0.250 [0.003, 0.848] n=4
    """
    values = check_score(values, name="values").astype(np.float64, copy=False)
    codes, numbers = check_group(group)
    shared = None if cluster is None else check_group(cluster, name="cluster").codes
    check_same_length(values=values, group=codes, cluster=shared)
    sizes = np.bincount(codes, minlength=len(numbers))
    present = np.flatnonzero(sizes)
    level = 1 - (1 - confidence) / len(present)
    binary = bool(np.isin(values, (0, 1)).all())
    pick, sign = (min, 1) if worst == "smallest" else (max, -1)
    intervals: dict[int, Estimate]  # by the number of the group; of many those that can matter
    if binary and shared is None:  # two counts say all: among groups of one size, the worst has the worst ends
        ones = np.bincount(codes, values, minlength=len(numbers)).astype(np.int64)
        order = present[np.lexsort((sign * ones[present], sizes[present]))]
        decisive = order[np.unique(sizes[order], return_index=True)[1]].tolist()  # the worst of each size
        intervals = {at: clopper_pearson(int(ones[at]), int(sizes[at]), confidence=level) for at in decisive}
    else:
        order, ends = np.argsort(codes, kind="stable"), np.cumsum(sizes)
        intervals = {}
        for at in present if shared is not None else _choose_decisive(values, codes, sizes, level, worst):
            rows = order[ends[at] - sizes[at] : ends[at]]
            cluster_of = None if shared is None else shared[rows]
            intervals[int(at)] = _estimate_one_group(values[rows], cluster_of, level, binary=binary)
    at = min(intervals, key=lambda i: (sign * intervals[i].value, -intervals[i].n))  # of equal ones the metric's group
    without = [
        str(numbers[at] if names is None else names[int(str(numbers[at]))])
        for at, interval in intervals.items()
        if math.isnan(interval.low)
    ]
    limits = dict.fromkeys(interval.reason for interval in intervals.values() if interval.reason)
    reason = "; ".join(limits) or None
    if without:
        more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
        reason = f"too few rows or clusters in group {', '.join(without[:_NAMED])}{more}"
    ends_of = ([getattr(interval, end) for interval in intervals.values()] for end in ("low", "high"))
    low, high = (math.nan if without else pick(ends) for ends in ends_of)
    method = (
        f"{intervals[at].method}, simultaneous over {len(present)} groups" if len(present) > 1 else intervals[at].method
    )
    return Estimate(intervals[at].value, low=low, high=high, n=intervals[at].n, method=method, reason=reason)


def _choose_decisive(values: Array, codes: Array, sizes: Array, level: float, worst: str) -> Array:
    """The numbers of the groups of independent rows that the result can depend on, in order.

    They are those whose mean or whose end is the worst, to within rounding, those without an interval, and the first
    one of each small size, which has a note. Each is then measured on its own; of thousands they are few.
    """
    n = sizes.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(codes, values, minlength=len(sizes)) / n
        squares = np.bincount(codes, (values - mean[codes]) ** 2, minlength=len(sizes))
        error = np.sqrt(squares / (n - 1) / n)
        half = -scipy.special.stdtrit(n - 1, (1 - level) / 2) * error
        sign = 1 if worst == "smallest" else -1
        is_decisive = ~(error > _ROUNDING * np.abs(mean))
        for end in (mean, mean - half, mean + half):
            lowest, largest = np.fmin.reduce(sign * end, initial=np.inf), np.fmax.reduce(np.abs(end), initial=0.0)
            is_decisive |= sign * end <= lowest + _ROUNDING * largest
    distinct, first = np.unique(sizes, return_index=True)
    is_decisive[first[distinct < FEW_ROWS]] = True
    return np.flatnonzero(is_decisive & (sizes > 0))


def _estimate_one_group(values: Array, cluster: Array | None, level: float, *, binary: bool) -> Estimate:
    n, sampling = len(values), Sampling(cluster=cluster, confidence=level)
    if sampling.clusters == 1 or n == 1 > binary:
        return Estimate(float(values.mean()), n=n, method="none", reason=sampling.warning)
    return share_of_clusters(values, sampling) if binary else t_interval(values, sampling)


def quantile_interval(
    values: Any,
    percentile: float,
    *,
    value: float | None = None,
    within: tuple[float | None, float | None] = (None, None),
    confidence: float = 0.95,
) -> Estimate:
    """A percentile of values, one per group, with its exact interval.

    Args:
        values: One number per group (m,), without NaN.
        percentile: Percentile in [0, 100].
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
    values = check_score(values, name="values").astype(np.float64, copy=False)
    share = min(max(percentile / 100, 1e-9), 1 - 1e-9)  # that of all values is an end of its own
    interval = scipy.stats.quantile_test(values, p=share).confidence_interval(confidence)
    ends, reasons = [float(interval.low), float(interval.high)], []
    for number, words in enumerate(("lower end is the smallest", "upper end is the largest")):
        if math.isnan(ends[number]):
            bound = within[number]
            ends[number] = math.nan if bound is None else float(bound)
            reasons.append(f"only {len(values)} groups: the {words} possible value")
    own = float(np.percentile(values, percentile)) if value is None else value
    method = f"order statistics of {len(values)} groups"
    low, high = min(ends[0], own), max(ends[1], own)
    return Estimate(own, low=low, high=high, n=len(values), method=method, reason="; ".join(reasons) or None)
