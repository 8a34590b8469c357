"""Percentile bootstrap of any metric, of single rows or of whole clusters.

Below 20 clusters percentiles are too narrow; then the interval is value +- t(c - 1) times the standard deviation of the
replicates, scaled by sqrt(c / (c - 1)). Clusters of unequal size count as the c of equal size that tell as much
(`oochub.stats.estimate`). A single cluster has none.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy

from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.estimate import Estimate, Sampling

FEW_ROWS = 100
"""Below so many rows percentiles are too narrow, and Student's t is where numbers are skewed (docs/intervals.md)."""
_BLOCK = 1 << 20  # counts held at once
_FEW_CLUSTERS = 20  # of equal size; below, percentiles of a cluster bootstrap cover too little: a t interval instead


def bootstrap(
    metric: Callable[..., float],
    columns: Mapping[str, Any],
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    basic_within: tuple[float, float] | None = None,
    by_t: bool = False,
    unit: str = "rows",
) -> Estimate:
    """A metric with its percentile bootstrap interval.

    Replicates on which the metric is nan (one class only, an empty group) are counted in `reason`; the interval is that
    of the others, and nan if they are fewer than half, or all one number. If there are fewer than 100 rows, `reason`
    says that the interval may be too narrow.

    Args:
        metric: Function of the columns, by keyword, that returns a float.
        columns: Arrays (n, ...) by the names of the metric's arguments.
        sampling: Clusters, number of resamples, seed and level.
        basic_within: The smallest and the largest possible value, for a metric that is biased and more so on
            resamples: the interval is then the basic bootstrap's, 2 value - quantile (Davison and Hinkley 1997,
            Bootstrap Methods and their Application, Section 5.2), which takes the bias off.
        by_t: Takes Student's t and the standard deviation of the resamples in place of percentiles: for differences of
            two models, which are as often too large as too small. For 20 rows, that of macro F1 then covers 0.95 (in
            place of 0.87), for 60 rows too (in place of 0.93).
        unit: What a row is, in words.

    Returns:
        The metric on the columns themselves, with n rows.

    Raises:
        OochubError: Different lengths, or what the metric refuses.

    >>> bootstrap(lambda x: float(np.median(x)), {"x": np.arange(101)}, Sampling(seed=1))
    50.000 [40.000, 60.025] n=101
    """
    value = float(metric(**{name: column for name, column in columns.items() if column is not None}))
    n = check_same_length(**columns)
    drawn = replicate_interval(
        draw_replicates(metric, columns, sampling), value, n, sampling, basic_within=basic_within, by_t=by_t
    )
    return drop_no_width(drawn if sampling.cluster is not None else note_few_rows(drawn, unit))


def note_few_rows(estimate: Estimate, unit: str = "rows", *, at_least: int = FEW_ROWS) -> Estimate:
    """The estimate; `reason` says where its rows are too few for percentiles or for Student's t to cover.

    Args:
        estimate: Estimate with its n.
        unit: What a row is, in words.
        at_least: Number of rows that are enough.

    >>> note_few_rows(Estimate(0.5, low=0.4, high=0.6, n=30, method="bootstrap")).reason
    'only 30 rows: the interval may be too narrow'
    """
    if estimate.n >= at_least or math.isnan(estimate.low):
        return estimate
    return add_reason(estimate, f"only {estimate.n} {unit}: the interval may be too narrow")


def add_reason(estimate: Estimate, reason: str) -> Estimate:
    """The estimate with one more reason, if it does not have it yet.

    >>> add_reason(Estimate(0.5, n=3, method="none", reason="one cluster"), "few rows").reason
    'one cluster; few rows'
    """
    reasons = dict.fromkeys([*((estimate.reason or "").split("; ") if estimate.reason else []), reason])
    return Estimate.from_dict({**estimate.to_dict(), "reason": "; ".join(reasons)})


def draw_replicates(
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

    >>> draw_replicates(np.mean, {"a": np.ones(5)}, Sampling(resamples=100)).shape
    (100,)
    """
    arrays = {name: np.asarray(column) for name, column in columns.items() if column is not None}
    n = check_same_length(**arrays, cluster=sampling.cluster)
    drawn = [metric(**{name: array[rows] for name, array in arrays.items()}) for rows in _resample_rows(n, sampling)]
    return np.array(drawn, dtype=np.float64)


def draw_sums(
    sums: Any,
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    cells: Array | None = None,
) -> Array:
    """The sums of each bootstrap resample, of sums by row or by cluster: what `draw_replicates` makes of such numbers.

    A resample is how often each unit counts, so all resamples together are one product of matrices, whose cost does not
    depend on the number of rows in a cluster. The same seed draws the same resamples as in `draw_replicates`, unless
    cells of equal rows stand for the rows: how often these are drawn has the same law.

    Args:
        sums: Sums of each row, or of the rows of each cluster (units, k), in the order of the clusters' numbers; for
            cells what each of their rows has. A sparse array is as good.
        sampling: Number of resamples and seed.
        cells: How many rows each cell (units,) of independent rows has; None if units are rows or clusters.

    Returns:
        float64 (resamples, k).

    >>> draw_sums(np.ones((5, 2)), Sampling(resamples=100)).shape
    (100, 2)
    """
    units = sums.shape[0]
    parts = [counts @ sums for counts in draw_counts(units, sampling, max(1, _BLOCK // units), cells=cells)]
    drawn: Array = np.concatenate(parts)
    return drawn


def draw_counts(units: int, sampling: Sampling, together: int, *, cells: Array | None = None) -> Iterator[Array]:
    """Blocks (k, units), k at most `together`, of how often each unit is drawn in each bootstrap resample.

    Args:
        units: Number of rows or clusters.
        sampling: Number of resamples and seed.
        together: Number of resamples in a block; the counts do not depend on it.
        cells: As in `draw_sums`.

    >>> [block.sum(axis=1).tolist() for block in draw_counts(7, Sampling(resamples=100), 99)][1]
    [7.0]
    """
    generator = np.random.default_rng(sampling.seed)
    for start in range(0, sampling.resamples, together):
        size = min(together, sampling.resamples - start)
        if cells is not None:
            yield generator.multinomial(int(cells.sum()), cells / cells.sum(), size).astype(np.float64)
            continue
        chosen = generator.integers(units, size=(size, units)) + units * np.arange(size)[:, None]
        yield np.bincount(chosen.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)


def replicate_interval(
    drawn: Array,
    value: float,
    n: int,
    sampling: Sampling,
    *,
    unit: str | None = None,
    basic_within: tuple[float, float] | None = None,
    by_t: bool = False,
) -> Estimate:
    """The interval of a metric from its bootstrap replicates.

    Args:
        drawn: The metric of each resample (resamples,); nan where it is undefined.
        value: The metric of all rows.
        n: How many rows there are.
        sampling: Clusters and level.
        unit: What was resampled, in words; None takes that of `sampling`.
        basic_within: As in `bootstrap`.
        by_t: As in `bootstrap`.

    >>> replicate_interval(np.arange(101.0), 50.0, 7, Sampling()).method
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
    units = n if sampling.clusters is None else sampling.clusters
    if 2 * len(kept) < len(drawn) or sampling.clusters == 1 or (by_t and units == 1):
        return Estimate(value, n=n, method=method, reason=reason)
    freedom = replicate_freedom(n, sampling, by_t=by_t)
    if freedom is not None:
        half = -scipy.special.stdtrit(freedom, sampling.tail) * kept.std(ddof=1) * math.sqrt((freedom + 1) / freedom)
        method = f"t interval, bootstrap of {unit or sampling.unit}, {len(drawn)} resamples"
        return Estimate(value, low=value - half, high=value + half, n=n, method=method, reason=reason)
    low, high = np.quantile(kept, (sampling.tail, 1 - sampling.tail))
    if basic_within is not None:
        # Where nearly all resamples lie on one side of the value, it is an end itself.
        low, high = np.clip((min(2 * value - high, value), max(2 * value - low, value)), *basic_within)
    return Estimate(value, low=low, high=high, n=n, method=method, reason=reason)


def replicate_freedom(n: int, sampling: Sampling, *, by_t: bool = False) -> float | None:
    """Degrees of freedom of the Student's t that an interval from replicates takes; None where it takes percentiles.

    Args:
        n: Number of rows.
        sampling: Clusters, which count by their effective number.
        by_t: As in `bootstrap`.

    >>> replicate_freedom(300, Sampling(cluster=np.arange(300) % 10)), replicate_freedom(300, Sampling())
    (9.0, None)
    """
    effective = sampling.effective_clusters
    if by_t or (effective is not None and effective < _FEW_CLUSTERS):
        return max((n if effective is None else effective) - 1.0, 1.0)
    return None


def drop_no_width(estimate: Estimate) -> Estimate:
    """The estimate, without its interval where all resamples gave one number: that says nothing of more rows.

    >>> drop_no_width(Estimate(0.5, low=0.5, high=0.5, n=3, method="bootstrap")).reason
    '0.5 in every resample: the bootstrap has no width, so no interval can be estimated'
    """
    if not math.isclose(estimate.low, estimate.high, rel_tol=1e-12):  # rounding alone differs by less
        return estimate
    reason = f"{estimate.value:g} in every resample: the bootstrap has no width, so no interval can be estimated"
    return Estimate(estimate.value, n=estimate.n, method=estimate.method, reason=reason)


def _resample_rows(n: int, sampling: Sampling) -> Iterator[Array]:
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
