"""Percentile bootstrap of any metric, of single rows or of whole clusters.

Below ten clusters percentiles are too narrow; then the interval is value +- t(clusters - 1) times the standard
deviation of the replicates, scaled by sqrt(c / (c - 1)). Below two there is none.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.array_checks import Array, check_same_length, check_score
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.proportion import wilson

_FEW = 10  # fewer successes or failures than this: the bootstrap of a proportion is too narrow
_FEW_CLUSTERS = 10  # below, percentiles of a cluster bootstrap cover too little, and a t interval stands instead
_MANY = 10_000  # independent rows from here: a test shows that the limit law covers, at a thousandth of the cost
_SOME = 1_000  # from here too, where the skewness moves the ends by less than another seed of the bootstrap does
_PER_SKEWNESS = 30  # rows for each square of the skewness: 0.474 skewness / sqrt(n) standard errors are then below 0.09
_BLOCK = 1 << 20  # row draws held at once


def bootstrap(
    metric: Callable[..., float],
    columns: Mapping[str, Any],
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    basic_within: tuple[float, float] | None = None,
) -> Estimate:
    """A metric with its percentile bootstrap interval.

    Replicates on which the metric is nan (one class only, an empty group) are counted in `reason`; the
    interval is that of the others, and nan if they are fewer than half.

    Args:
        metric: Function of the columns, by keyword, that returns a float.
        columns: Arrays (n, ...) by the names of the metric's arguments.
        sampling: Clusters, number of resamples, seed and level.
        basic_within: The smallest and the largest possible value, for a metric that is biased and more so on
            resamples: the interval is then the basic bootstrap's, 2 value - quantile (Davison and Hinkley 1997,
            Bootstrap Methods and their Application, Section 5.2), which takes the bias off.

    Returns:
        The metric on the columns themselves, with n rows.

    Raises:
        OochubError: Different lengths, or what the metric refuses.

    >>> bootstrap(lambda x: float(np.median(x)), {"x": np.arange(101)}, Sampling(seed=1))
    50.000 [40.000, 60.025] n=101
    """
    value = float(metric(**{name: column for name, column in columns.items() if column is not None}))
    n = check_same_length(**columns)
    return interval_of(replicates(metric, columns, sampling), value, n, sampling, basic_within=basic_within)


def replicates(
    metric: Callable[..., Any],
    columns: Mapping[str, Any],
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
) -> Array:
    """A statistic of each bootstrap resample of the rows, or of whole clusters.

    Args:
        metric: Function of the columns, by keyword, that returns a float or an array of fixed shape.
        columns: Arrays (n, ...) by the names of the metric's arguments.
        sampling: Clusters, number of resamples and seed.

    Returns:
        float64 (resamples, ...).

    Raises:
        OochubError: Different lengths, or what the metric refuses.

    >>> replicates(np.mean, {"a": np.ones(5)}, Sampling(resamples=100)).shape
    (100,)
    """
    arrays = {name: np.asarray(column) for name, column in columns.items() if column is not None}
    n = check_same_length(**arrays, cluster=sampling.cluster)
    drawn = [metric(**{name: array[rows] for name, array in arrays.items()}) for rows in _resampled_rows(n, sampling)]
    return np.array(drawn, dtype=np.float64)


def interval_of(
    drawn: Array,
    value: float,
    n: int,
    sampling: Sampling,
    *,
    unit: str | None = None,
    basic_within: tuple[float, float] | None = None,
) -> Estimate:
    """The interval of a metric from its bootstrap replicates.

    Args:
        drawn: The metric of each resample (resamples,); nan where it is undefined.
        value: The metric of all rows.
        n: How many rows there are.
        sampling: Clusters and level.
        unit: What was resampled, in words; None takes that of `sampling`.
        basic_within: As in `bootstrap`.

    >>> interval_of(np.arange(101.0), 50.0, 7, Sampling()).method
    'percentile bootstrap of rows, 101 resamples'
    """
    form = "percentile" if basic_within is None else "basic"
    method = f"{form} bootstrap of {unit or sampling.unit}, {len(drawn)} resamples"
    if math.isnan(value):
        return Estimate(value, n=n, method=method, reason="the metric is undefined on these rows")
    kept = drawn[~np.isnan(drawn)]
    undefined = len(drawn) - len(kept)
    reasons = [f"undefined in {undefined} of {len(drawn)} resamples"] if undefined else []
    reason = "; ".join([*reasons, *([sampling.warning] if sampling.warning else [])]) or None
    if 2 * len(kept) < len(drawn) or sampling.clusters == 1:
        return Estimate(value, n=n, method=method, reason=reason)
    if sampling.clusters is not None and sampling.clusters < _FEW_CLUSTERS:
        count = sampling.clusters
        half = -special.stdtrit(count - 1, sampling.tail) * kept.std(ddof=1) * math.sqrt(count / (count - 1))
        method = f"t interval, bootstrap of {sampling.unit}, {len(drawn)} resamples"
        return Estimate(value, low=value - half, high=value + half, n=n, method=method, reason=reason)
    low, high = np.quantile(kept, (sampling.tail, 1 - sampling.tail))
    if basic_within is not None:
        # Where nearly all resamples lie on one side of the value, it is an end itself.
        low, high = np.clip((min(2 * value - high, value), max(2 * value - low, value)), *basic_within)
    return Estimate(value, low=low, high=high, n=n, method=method, reason=reason)


def mean_estimate(
    values: Any,
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    are_shares: bool = True,
) -> Estimate:
    """A mean of one value per row with its percentile bootstrap interval, without a Python loop.

    With independent rows and values 0 and 1 the bootstrap is a binomial draw. Where fewer than ten rows are
    0, or fewer than ten are 1, its interval is too narrow (none at all at 0 and 1): Wilson's is given. Of other values
    of 10,000 rows and more, and of 1,000 where they are not too skewed, the resamples' law is the normal one, which is
    given without drawing them.

    Args:
        values: One number per row (n,), without NaN.
        sampling: Clusters, number of resamples, seed and level.
        are_shares: Whether values of 0 and 1 alone can be no others, so that Wilson's interval holds; an error in
            units of the label may be larger in the next row.

    Returns:
        The mean of all rows.

    Raises:
        OochubError: No rows, NaN, or clusters of another length.

    >>> mean_estimate([0, 1, 1, 1])
    0.750 [0.301, 0.954] n=4
    """
    values = check_score(values, name="values").astype(np.float64, copy=False)
    n = check_same_length(values=values, cluster=sampling.cluster)
    generator = np.random.default_rng(sampling.seed)
    if sampling.cluster is not None:
        sums, sizes = np.bincount(sampling.cluster, values), np.bincount(sampling.cluster)
        drawn = _resampled_ratio(sums, sizes, generator, sampling.resamples)
    elif are_shares and np.isin(values, (0, 1)).all():
        ones = int(values.sum())
        if min(ones, n - ones) < _FEW:
            return wilson(ones, n, confidence=sampling.confidence)
        drawn = generator.binomial(n, ones / n, size=sampling.resamples) / n
    elif _is_normal(values):
        return _normal_interval(values, sampling)
    else:
        drawn = _resampled_mean(values, generator, sampling.resamples)
    return interval_of(drawn, float(values.mean()), n, sampling)


def with_width(estimate: Estimate) -> Estimate:
    """The estimate, without its interval where all resamples gave one number: that says nothing of more rows.

    >>> with_width(Estimate(0.5, low=0.5, high=0.5, n=3, method="bootstrap")).reason
    '0.5 in every resample: the bootstrap has no width, and says nothing of more rows'
    """
    if not math.isclose(estimate.low, estimate.high, rel_tol=1e-12):  # rounding alone differs by less
        return estimate
    reason = f"{estimate.value:g} in every resample: the bootstrap has no width, and says nothing of more rows"
    return Estimate(estimate.value, n=estimate.n, method=estimate.method, reason=reason)


def _is_normal(values: Array) -> bool:
    """Whether the mean of so many rows has the normal law, to within what another seed moves percentiles."""
    n = len(values)
    if not _SOME <= n < _MANY:
        return n >= _MANY
    apart = values - values.mean()
    return bool(_PER_SKEWNESS * (apart**3).mean() ** 2 <= n * (apart**2).mean() ** 3)


def _normal_interval(values: Array, sampling: Sampling) -> Estimate:
    value, n = float(values.mean()), len(values)
    half = -special.ndtri(sampling.tail) * values.std() / math.sqrt(n)
    low, high = max(value - half, values.min()), min(value + half, values.max())
    return Estimate(value, low=low, high=high, n=n, method="normal law of a mean of rows")


def _resampled_rows(n: int, sampling: Sampling) -> Iterator[Array]:
    generator = np.random.default_rng(sampling.seed)
    if sampling.cluster is None:
        for _ in range(sampling.resamples):
            yield generator.integers(n, size=n)
        return
    by_cluster = np.argsort(sampling.cluster, kind="stable")
    sizes = np.bincount(sampling.cluster)
    starts = np.cumsum(sizes) - sizes
    for _ in range(sampling.resamples):
        chosen = generator.integers(len(sizes), size=len(sizes))
        ends = np.cumsum(sizes[chosen])
        # Within each drawn cluster: its start, then one further for each of its rows.
        yield by_cluster[np.arange(ends[-1]) + np.repeat(starts[chosen] - ends + sizes[chosen], sizes[chosen])]


def _resampled_mean(values: Array, generator: np.random.Generator, resamples: int) -> Array:
    drawn = np.empty(resamples)
    together = max(1, _BLOCK // len(values))
    for start in range(0, resamples, together):
        count = min(together, resamples - start)
        rows = generator.integers(len(values), size=(count, len(values)), dtype=np.int32)
        drawn[start : start + count] = values[rows].mean(axis=1)
    return drawn


def _resampled_ratio(sums: Array, sizes: Array, generator: np.random.Generator, resamples: int) -> Array:
    drawn = np.empty(resamples)
    together = max(1, _BLOCK // len(sums))
    for start in range(0, resamples, together):
        count = min(together, resamples - start)
        chosen = generator.integers(len(sums), size=(count, len(sums)))
        drawn[start : start + count] = sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    return drawn
