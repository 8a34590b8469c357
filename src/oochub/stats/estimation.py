"""Intervals: the value of a metric with its uncertainty, and the gap between two sets of rows.

Every interval is two-sided, of level `confidence`. Rows are independent, unless `cluster` names what they
share (a hospital, a user, a sequence). This module chooses the method; each has a file of its own: `bootstrap`,
`delong`, `mean_interval`, `group_intervals`, `proportion`. The means of many groups of independent rows are computed at
once; each is that of `mean_estimate`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from oochub.metric import MetricFacts, read_facts
from oochub.stats import RESAMPLES
from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.bootstrap import bootstrap
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import ADDED, MANY, WITH_ADDED, RowNumbers, shares_of_rows

_ROUNDING = 1e-12
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def estimate_means(numbers: RowNumbers, sizes: Array, sampling: Sampling) -> list[Estimate]:
    """The mean of each of many groups, as `mean_estimate` gives it one by one.

    Shares depend on two counts alone, so each pair of them is worked out once. Means of numbers with answers are summed
    in another order than one by one, so their ends differ by rounding.

    Args:
        numbers: The numbers (n,) of the rows of the first group, then of the second, and so on; without NaN.
        sizes: Number of rows of each group (g,), 1 or more.
        sampling: Number of resamples, seed and level; rows are independent.

    >>> estimate_means(RowNumbers(np.array([0.0, 1, 1, 1, 1, 0])), np.array([4, 2]), Sampling())
    [0.750 [0.301, 0.954] n=4, 0.500 [0.095, 0.905] n=2]
    """
    values, starts = np.asarray(numbers.values, np.float64), np.cumsum(sizes) - sizes
    if numbers.are_shares and bool(np.isin(values, (0, 1)).all()):
        ones = np.add.reduceat(values, starts).astype(np.int64)
        _, first, place = np.unique(ones * (len(values) + 1) + sizes, return_index=True, return_inverse=True)
        shares = shares_of_rows(ones[first], sizes[first], sampling)
        return [shares[pair] for pair in place.tolist()]
    if numbers.answers is None or sizes.max() >= MANY:
        ends = np.cumsum(sizes)
        rows = np.arange(len(values))
        parts = (rows[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
        return [numbers.take(part).estimate(sampling) for part in parts]
    return _estimate_with_added_rows(numbers, values, sizes, starts, sampling)


def _estimate_with_added_rows(
    numbers: RowNumbers, values: Array, sizes: Array, starts: Array, sampling: Sampling
) -> list[Estimate]:
    """The hull of each group's t interval and of that with two right and two wrong rows more."""
    assert numbers.answers is not None  # noqa: S101
    n = sizes.astype(np.float64)
    sums = np.add.reduceat(values, starts)
    mean = sums / n
    apart = np.add.reduceat((values - np.repeat(mean, sizes)) ** 2, starts)
    answers = numbers.answers(slice(None))
    right, wrong = (np.add.reduceat(np.asarray(answer, np.float64), starts) / n for answer in answers)
    freedom = np.maximum(n - 1, 1)
    scale = -scipy.special.stdtrit(freedom, sampling.tail)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(n > 1, scale * np.sqrt(apart / (n - 1)) / np.sqrt(n), math.nan)
    more = n + 2 * ADDED
    middle = (sums + ADDED * (right + wrong)) / more
    squares = apart + n * (mean - middle) ** 2 + ADDED * ((right - middle) ** 2 + (wrong - middle) ** 2)
    joined = scale * np.sqrt(squares / (1 - 1 / more)) / more
    low = np.fmin(middle - joined, mean - own).clip(*numbers.within)
    high = np.fmax(middle + joined, mean + own).clip(*numbers.within)
    method = WITH_ADDED.format(unit=sampling.unit)
    return [
        Estimate(value, low=below, high=above, n=count, method=method)
        for value, below, above, count in zip(mean.tolist(), low.tolist(), high.tolist(), sizes.tolist(), strict=True)
    ]


def estimate(
    metric: Callable[..., Any],
    columns: Mapping[str, Any],
    *,
    cluster: Any = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
    options: Mapping[str, Any] = _NO_OPTIONS,
) -> Any:
    """A metric with its interval, in the way that its file declares (`FACTS.interval`).

    Args:
        metric: A metric function, or any function of the columns that returns a float.
        columns: The arrays by the names of the metric's arguments.
        cluster: What the rows (n,) share, if anything.
        resamples: Bootstrap replicates, where the interval is a bootstrap.
        seed: Seed of the bootstrap.
        confidence: Level of the interval.
        options: Options of the metric, such as {"bins": 10} of ece.

    Returns:
        An Estimate; where the metric gives a dict, a dict of Estimates by the keys of `FACTS.keys`.

    Raises:
        OochubError: What the metric refuses, and clusters of another length.

    >>> from oochub.eval_modules.metrics.accuracy.accuracy import accuracy
    >>> estimate(accuracy, {"label": [0, 1, 1, 0], "prediction": [0, 1, 0, 0]})
    0.750 [0.301, 0.954] n=4
    """
    sampling = Sampling(cluster=cluster, resamples=resamples, seed=seed, confidence=confidence)
    present = {name: column for name, column in columns.items() if column is not None}
    check_same_length(**present, cluster=sampling.cluster)
    facts = read_facts(metric)
    if facts is None:
        return bootstrap(partial(metric, **options), present, sampling)
    if facts.row_numbers is not None:
        return clip_to_range(facts.row_numbers(present, **options).estimate(sampling), facts)
    if facts.interval is None:
        return clip_to_range(bootstrap(partial(metric, **options), present, sampling), facts)
    return clip_to_range(facts.interval(present, sampling, **options), facts)


def estimate_groups(
    metric: Callable[..., Any],
    columns: Mapping[str, Any],
    sizes: Sequence[int],
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    options: Mapping[str, Any] = _NO_OPTIONS,
) -> list[Estimate] | None:
    """What `estimate` gives of each of many groups of independent rows, at once.

    Args:
        metric: A metric that is the mean of one number per row; see `MetricFacts.row_numbers`.
        columns: The arrays: rows of the first group, then of the second, and so on.
        sizes: Number of rows of each group (g,), 1 or more.
        sampling: Number of resamples, seed and level.
        options: Options of the metric.

    Returns:
        An Estimate for each group; None for another metric.

    Raises:
        OochubError: What the metric refuses.

    >>> from oochub.eval_modules.metrics.accuracy.accuracy import accuracy
    >>> estimate_groups(accuracy, {"label": [0, 1, 1, 0], "prediction": [0, 1, 0, 0]}, [1, 3])
    [1.000 [0.207, 1.000] n=1, 0.667 [0.208, 0.939] n=3]
    """
    facts = read_facts(metric)
    if facts is None or facts.row_numbers is None:
        return None
    numbers = facts.row_numbers({name: column for name, column in columns.items() if column is not None}, **options)
    least = numbers.within[0] if facts.minimum is None else max(numbers.within[0], facts.minimum)
    most = numbers.within[1] if facts.maximum is None else min(numbers.within[1], facts.maximum)
    return estimate_means(numbers._replace(within=(least, most)), np.asarray(sizes), sampling)


def clip_to_range(found: Any, facts: MetricFacts) -> Any:
    """The same without what no value can be: a t interval may reach beyond 0 or 1.

    Args:
        found: An Estimate, or a dict of them.
        facts: Facts of the metric.
    """
    if isinstance(found, dict):
        return {key: clip_to_range(each, facts.keys[key]) if key in facts.keys else each for key, each in found.items()}
    low = found.low if facts.minimum is None else max(found.low, facts.minimum)
    high = found.high if facts.maximum is None else min(found.high, facts.maximum)
    if low == found.low and high == found.high:
        return found
    return Estimate.from_dict({**found.to_dict(), "low": low, "high": high})


def gap(
    metric: Callable[..., Any],
    in_columns: Mapping[str, Any],
    out_columns: Mapping[str, Any],
    *,
    in_cluster: Any = None,
    out_cluster: Any = None,
    **options: Any,
) -> Any:
    """The metric out of context minus the metric in context, on two disjoint sets of rows.

    Args:
        metric: As in `estimate`.
        in_columns: The rows in context.
        out_columns: The rows out of context.
        in_cluster: What the rows in context share, if anything.
        out_cluster: What the rows out of context share, if anything.
        **options: resamples, seed, confidence, options, as in `estimate`.

    Returns:
        An Estimate, or a dict of them where the metric gives a dict; see `difference`.

    Raises:
        OochubError: What the metric refuses.

    >>> from oochub.eval_modules.metrics.accuracy.accuracy import accuracy
    >>> right, wrong = {"label": [1] * 50, "prediction": [1] * 50}, {"label": [1] * 50, "prediction": [0] * 50}
    >>> gap(accuracy, right, wrong)
    -1.000 [-1.000, -0.899] n=100
    """
    inside = estimate(metric, in_columns, cluster=in_cluster, **options)
    outside = estimate(metric, out_columns, cluster=out_cluster, **options)
    if isinstance(inside, dict):
        return {key: difference(outside[key], inside[key]) for key in inside if key in outside}
    return difference(outside, inside)


def difference(first: Estimate, second: Estimate, *, correlation: float = 0.0) -> Estimate:
    """`first` minus `second`, with an interval made from their two intervals.

        low = d - sqrt(A^2 + B^2 - 2 r A B),   A = a - low_a,  B = high_b - b
        high = d + sqrt(A^2 + B^2 - 2 r A B),  A = high_a - a,  B = b - low_b

    It inherits the coverage of its two intervals, skewness included: method 10 of Newcombe 1998 for
    proportions, Zou and Donner 2008 (Statist. Med. 27:1693-1702) for any statistic; with a correlation r, Newcombe's
    method 10 for paired proportions (Statist. Med. 17:2635-2650).

    Args:
        first: An Estimate of one set of rows.
        second: An Estimate of the same metric and level on other rows.
        correlation: How the two go together, in [-1, 1]: 0 for rows that share nothing, else see
            `oochub.evaluation.slices`.

    Returns:
        The Estimate of the difference; n is the rows of both; no interval where either has none.

    >>> a = Estimate(56 / 70, low=0.6926, high=0.8769, n=70, method="wilson")
    >>> b = Estimate(48 / 80, low=0.4904, high=0.7003, n=80, method="wilson")
    >>> difference(a, b)  # Newcombe 1998, Table II (a), method 10: 0.0524 to 0.3339
    0.200 [0.053, 0.334] n=150
    """
    value = first.value - second.value
    reasons = dict.fromkeys(each.reason for each in (first, second) if each.reason)
    paired = " of pairs" if correlation else ""
    method = " and ".join(dict.fromkeys((first.method, second.method))) + f", square-and-add difference{paired}"
    below = _add_arms(first.value - first.low, second.high - second.value, correlation)
    above = _add_arms(first.high - first.value, second.value - second.low, correlation)
    if correlation and below + above <= _ROUNDING:
        why = f"{value:g} in every pair: no interval can be estimated"
        return Estimate(value, n=first.n + second.n, method=method, reason="; ".join([*reasons, why]))
    return Estimate(
        value,
        low=value - below,
        high=value + above,
        n=first.n + second.n,
        method=method,
        reason="; ".join(reasons) or None,
    )


def _add_arms(first: float, second: float, correlation: float) -> float:
    if not correlation:
        return math.hypot(first, second)
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))
