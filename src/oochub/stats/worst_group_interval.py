"""An interval for the mean of the worst group, which a bootstrap of the minimum does not give.

The worst of several observed means is lower than the mean of the worst group, and its resamples are lower
still: with 16 groups of 100 rows, all truly 0.90, the percentile bootstrap of the minimum never covers. Here
each of the G groups gets an interval of level 1 - (1 - confidence) / G (Bonferroni); where all of them hold, the
smallest true mean lies between the smallest lower end and the smallest upper end.
"""

import math
from typing import Any, Literal

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.array_checks import Array, check_same_length, check_score
from oochub.stats.estimate import Estimate
from oochub.stats.group_codes import check_group
from oochub.stats.proportion import clopper_pearson


def worst_group_interval(
    values: Any,
    group: Any,
    *,
    worst: Literal["smallest", "largest"],
    cluster: Any = None,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of `values` in the group where it is worst, with a simultaneous interval.

    A group's interval is Clopper and Pearson's for values 0 and 1, else Student's t; with clusters, the t
    interval of the cluster sums, and Clopper and Pearson's of the clusters where all rows are alike.

    Args:
        values: One number per row (n,): 0 and 1 (correct, or wrong), or losses.
        group: The group of each row (n,), any hashable.
        worst: Whether the "smallest" mean is the worst (accuracy) or the "largest" (error, NLL).
        cluster: What the rows (n,) share; None if they are independent.
        confidence: Level of the interval.

    Returns:
        The mean of the worst group; n is the rows of that group; an end is nan, with the reason, where a
        group has too few rows or clusters for an interval.

    Raises:
        OochubError: No rows, different lengths, or NaN.

    >>> worst_group_interval([1, 1, 1, 0, 1, 0, 0, 0], list("aaaabbbb"), worst="smallest")
    0.250 [0.003, 0.848] n=4
    """
    values = check_score(values, name="values").astype(np.float64, copy=False)
    codes, names = check_group(group)
    shared = None if cluster is None else check_group(cluster, name="cluster").codes
    check_same_length(values=values, group=codes, cluster=shared)
    rows_of = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    present = [(name, rows) for name, rows in zip(names, rows_of, strict=True) if len(rows)]
    level = 1 - (1 - confidence) / len(present)
    binary = bool(np.isin(values, (0, 1)).all())
    each = [
        _of_one_group(values[rows], None if shared is None else shared[rows], level, binary=binary)
        for _, rows in present
    ]
    pick = min if worst == "smallest" else max
    at = pick(range(len(each)), key=lambda i: each[i].value)
    without = [str(name) for (name, _), interval in zip(present, each, strict=True) if math.isnan(interval.low)]
    reason = f"too few rows or clusters in group {', '.join(without[:5])}" if without else None
    low, high = (
        (math.nan, math.nan)
        if without
        else (pick(interval.low for interval in each), pick(interval.high for interval in each))
    )
    method = f"{each[at].method}, simultaneous over {len(each)} groups"
    return Estimate(each[at].value, low=low, high=high, n=each[at].n, method=method, reason=reason)


def _of_one_group(values: Array, cluster: Array | None, level: float, *, binary: bool) -> Estimate:
    n, mean = len(values), float(values.mean())
    if cluster is None and binary:
        return clopper_pearson(int(values.sum()), n, confidence=level)
    units: Array = values
    sizes: Array = np.ones(n)
    if cluster is not None:
        codes = np.unique(cluster, return_inverse=True)[1]
        units, sizes = np.bincount(codes, values), np.bincount(codes)
    count = len(units)
    method = "t" if cluster is None else f"t of {count} clusters"
    if binary and mean in (0.0, 1.0):
        exact = clopper_pearson(int(mean) * count, count, confidence=level)
        return Estimate(mean, low=exact.low, high=exact.high, n=n, method="clopper-pearson of clusters")
    if count < 2:
        return Estimate(mean, n=n, method=method)
    # Linearized ratio: the mean is sum of values over sum of sizes.
    squares = float(((units - mean * sizes) ** 2).sum())
    half = -special.stdtrit(count - 1, (1 - level) / 2) * math.sqrt(squares * count / (count - 1)) / n
    low, high = mean - half, mean + half
    if binary:
        low, high = max(0.0, low), min(1.0, high)
    return Estimate(mean, low=low, high=high, n=n, method=method)
