"""Whether the mean of paired differences is 0, by their signs, and the interval of the means that this does not refuse.

Where two models are alike but for chance, each row's difference is as likely to have the other sign. The mean is held
against the means under random signs: exact for any number of rows and any law that is alike on both sides of 0, where a
bootstrap of 10 to 60 rows refuses 0.10 to 0.15 of true zeros at 0.05. With clusters whole clusters are turned.
"""

import math
from typing import NamedTuple

import numpy as np

from oochub.stats.array_checks import Array, check_same_length, check_score
from oochub.stats.bootstrap import with_few_rows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.interval_p_value import interval_p_value
from oochub.stats.mean_interval import mean_estimate, t_interval

_FEWEST = 6  # rows or clusters: of fewer, no choice of signs is as rare as 5%
_ALL = 12  # up to here every choice of signs is looked at
_MOST = 300  # from here Student's t keeps the same level, at a thousandth of the cost
_DRAWN = 9_999  # choices of signs: with the one that is seen, p-values are multiples of 1 in 5,000
_ROUNDING = 1e-12
_BLOCK = 1 << 22  # signs held at once


class TestedMean(NamedTuple):
    """A mean with its interval, whether it is 0 (two-sided), and by what test."""

    mean: Estimate
    p_value: float
    test: str


def sign_flips(values: object, sampling: Sampling = Sampling()) -> TestedMean:  # noqa: B008 frozen
    """The mean of one difference a row, tested against 0 by random signs of rows or of whole clusters.

    A choice of signs picks the rows that it turns. Their mean is above d exactly where the mean of all rows less d is
    above what those signs make of it; so the interval lies between two quantiles of the means of random halves of the
    rows (Hartigan's typical values), and leaves 0 out exactly where p is at most 1 - confidence.

    Below six rows or clusters, and from 300 on, the test is Student's t.

    Args:
        values: Second minus first of each row (n,), at least one, without NaN.
        sampling: Clusters, seed and level.

    Returns:
        The mean, its interval, the p-value and the name of the test. p is nan for a single row or cluster; there is
        no interval where all rows have one value.

    Raises:
        OochubError: NaN, or clusters of another length.

    Source:
        Fisher 1935, The Design of Experiments, Section 21; Hartigan 1969, "Using subsample values as typical values"
        (J. Am. Stat. Assoc. 64:1303-1317).

    >>> sign_flips([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])  # of 64 choices of signs, all or none are as far from 0
    TestedMean(mean=3.500 [1.000, 6.000] n=6, p_value=0.03125, test='sign flips')
    """
    values = check_score(values, name="values").astype(np.float64, copy=False)
    n = check_same_length(values=values, cluster=sampling.cluster)
    units = n if sampling.clusters is None else sampling.clusters
    if units == 1:
        return TestedMean(mean_estimate(values, sampling, are_shares=False), math.nan, "none")
    if np.ptp(values) == 0:
        value = float(values[0])
        reason = f"{value:g} in every row: that says nothing of the size in more rows"
        mean = Estimate(value, n=n, method="none", reason=reason)
        return TestedMean(mean, 2.0 ** (1 - min(units, 1000)) if value else 1.0, "sign flips")
    if not _FEWEST <= units < _MOST:
        mean = t_interval(values, sampling)
        return TestedMean(
            mean, 1.0 if math.isnan(mean.low) else interval_p_value(mean, degrees=units - 1), "Student's t"
        )
    sums: Array = values
    sizes: Array = np.ones(n)
    if sampling.cluster is not None:
        sums, sizes = np.bincount(sampling.cluster, values), np.bincount(sampling.cluster).astype(np.float64)
    typical = _means_of_subsets(sums, sizes, sampling.seed)
    typical[np.abs(typical) < _ROUNDING * np.abs(sums).max()] = 0.0  # parts that cancel out
    count, value = len(typical) + 1, float(values.mean())
    one_sided = (1 + int(min((typical <= 0).sum(), (typical >= 0).sum()))) / count
    at = math.floor(sampling.tail * count + 1e-9)
    method = f"sign flips of {sampling.unit}, {'all ' if units <= _ALL else ''}{count:,}"
    low, high = (min(value, typical[at - 1]), max(value, typical[-at])) if at else (math.nan, math.nan)
    mean = Estimate(value, low=low, high=high, n=n, method=method, reason=sampling.warning)
    mean = mean if sampling.cluster is not None else with_few_rows(mean)
    return TestedMean(mean, min(1.0, 2 * one_sided), "sign flips")


def _means_of_subsets(sums: Array, sizes: Array, seed: int) -> Array:
    """The sorted means of random subsets of units, each taken with one half; of all subsets where these are few."""
    units = len(sums)
    if units <= _ALL:
        chosen = (np.arange(1, 2**units)[:, None] >> np.arange(units)) & 1
        return np.sort((chosen @ sums) / (chosen @ sizes))
    generator, drawn = np.random.default_rng(seed), np.empty(_DRAWN)
    both, rows = np.stack([sums, sizes], axis=1), max(1, _BLOCK // units)
    for start in range(0, _DRAWN, rows):
        some = min(rows, _DRAWN - start)
        bits = np.frombuffer(generator.bytes(some * -(-units // 8)), np.uint8).reshape(some, -1)
        chosen = np.unpackbits(bits, axis=1, count=units).astype(np.float64)
        chosen[~chosen.any(axis=1)] = 1.0  # none: once in 8,000 draws of 13 units; all stand for it
        total = chosen @ both
        drawn[start : start + some] = total[:, 0] / total[:, 1]
    return np.sort(drawn)
