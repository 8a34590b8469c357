"""P-values: of a mean of paired differences, of an interval, and of a family of tests together.

If two models are alike but for chance, each row's difference is as likely to have the other sign. `sign_flips` holds
the mean against the means under random signs: exact for any number of rows and any law that is alike on both sides of
0, where a bootstrap of 10 to 60 rows refuses 0.10 to 0.15 of true zeros at 0.05. With clusters whole clusters are
turned. Its interval is that of the means that this does not refuse.

Corrected over all tests of a family, each p-value is to be held against the level of them all.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_same_length, check_score
from oochub.stats.bootstrap import note_few_rows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import leave_means, mean_estimate, t_interval

Correction = Literal["holm", "benjamini_hochberg"]
_LEVEL = 0.05  # as the 95% intervals of a report


_ROUNDING = 1e-12
_FEWEST = 6  # rows or clusters: of fewer, no choice of signs is as rare as 5%
_ALL = 12  # up to here every choice of signs is looked at
_MOST = 300  # from here Student's t keeps the same level, at a thousandth of the cost
_DRAWN = 9_999  # choices of signs: with the one that is seen, p-values are multiples of 1 in 5,000
_BLOCK = 1 << 22  # signs held at once


class TestedMean(NamedTuple):
    """A mean with its interval, whether it is 0 (two-sided), and by what test."""

    mean: Estimate
    p_value: float
    test: str


def adjusted_p_values(p_values: Sequence[float | None], *, correction: Correction = "holm") -> list[float]:
    """The smallest level of the whole family at which each of m tests is clear.

        holm: the largest of (m - k + 1) p_(k) so far, from the smallest p on
        benjamini_hochberg: the smallest of m p_(k) / k so far, from the largest p on

    Holm's keeps the chance of a single false finding; Benjamini and Hochberg's the expected share of false ones among
    those found, of tests that are independent or go together.

    Args:
        p_values: p-value of each test (m,). None or nan is what could not be tested: it is nan and belongs to no
            family. This is fair where what can be tested is known without the outcomes (too few rows, one cluster, one
            class), as of `stratified_gap`; a test whose outcomes say nothing (no row differs) has p = 1, and counts.
        correction: "holm" or "benjamini_hochberg".

    Returns:
        In [0, 1] or nan, in the order given.

    Raises:
        OochubError: A p-value outside [0, 1], or another correction.

    Source:
        Holm 1979 (Scand. J. Statist. 6:65-70); Benjamini and Hochberg 1995 (J. R. Statist. Soc. B 57:289-300).

    >>> adjusted_p_values([0.01, 0.02, float("nan"), 0.04])
    [0.03, 0.04, nan, 0.04]
    >>> adjusted_p_values([0.01, 0.02, float("nan"), 0.04], correction="benjamini_hochberg")
    [0.03, 0.03, nan, 0.04]
    """
    adjusted = np.array(p_values, np.float64)
    tested = np.flatnonzero(~np.isnan(adjusted))
    wrong = tested[(adjusted[tested] < 0) | (adjusted[tested] > 1)]
    if len(wrong):
        raise OochubError(f"p_values must lie in [0, 1] or be nan, got {adjusted[wrong[0]]} at {wrong[0]}.")
    if correction == "benjamini_hochberg":
        if len(tested):
            adjusted[tested] = scipy.stats.false_discovery_control(adjusted[tested])
    elif correction == "holm":  # scipy has none
        order = tested[np.argsort(adjusted[tested], kind="stable")]
        left = np.arange(len(order), 0, -1)
        adjusted[order] = np.minimum(np.maximum.accumulate(left * adjusted[order]), 1.0)
    else:
        raise OochubError(f'correction must be "holm" or "benjamini_hochberg", got {correction!r}.')
    return [float(p) for p in adjusted]


def holm(p_values: Sequence[float | None], *, level: float = _LEVEL) -> list[bool]:
    """Whether each test is clear when the chance of a single false one among all is at most `level`.

    Args:
        p_values: p-value of each test; None or nan is what could not be tested: never clear, and of no family, as in
            `adjusted_p_values`, which this compares with the level.
        level: Level of all tests together.

    >>> holm([0.01, 0.03, 0.02]), holm([0.02, 0.02, 0.04]), holm([None, 0.03])
    ([True, True, True], [False, False, False], [False, True])
    """
    return [p <= level for p in adjusted_p_values(p_values)]


def interval_p_value(estimate: Estimate, *, degrees: float | None = None, confidence: float = 0.95) -> float:
    """The two-sided p-value of 0, by the normal law that the interval's half towards 0 has, or by Student's t.

        p = 2 Phi(-z |value| / h),  h = value - low above 0, high - value below 0

    It is at most 1 - confidence exactly where the interval leaves 0 out; an end at 0 does not.

    Args:
        estimate: A difference with its interval.
        degrees: Degrees of freedom of the t that the interval was made with; None for the normal law.
        confidence: Level of that interval.

    Returns:
        In [0, 1]; 1 for a difference of 0; nan for an estimate without interval.

    >>> round(interval_p_value(Estimate(0.1, low=0.0, high=0.3, n=50, method="bootstrap")), 12)
    0.05
    >>> t = Estimate(8.0, low=8 - 4.303, high=8 + 4.303, n=3, method="t interval")
    >>> round(interval_p_value(t, degrees=2), 3)  # 8 standard errors, of three numbers
    0.015
    >>> interval_p_value(Estimate(0.0, n=50, method="bootstrap"))
    1.0
    """
    value = estimate.value
    if value == 0:
        return 1.0
    half = value - estimate.low if value > 0 else estimate.high - value
    if math.isnan(half):
        return math.nan
    if half <= 0:
        return 0.0
    level, ratio = 1 - confidence, abs(value) / half
    if degrees is None:
        p_value = 2 * scipy.special.ndtr(scipy.special.ndtri(level / 2) * ratio)
    else:
        p_value = 2 * scipy.special.stdtr(degrees, scipy.special.stdtrit(degrees, level / 2) * ratio)
    return float(max(p_value, math.nextafter(level, 1.0)) if ratio <= 1 + _ROUNDING else p_value)


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
        reason = f"{value:g} in every row: no interval can be estimated"
        mean = Estimate(value, n=n, method="none", reason=reason)
        return TestedMean(mean, 2.0 ** (1 - min(units, 1000)) if value else 1.0, "sign flips")
    if not is_flipped(units):
        mean = t_interval(values, sampling)
        freedom = leave_means(values[None], sampling.cluster).freedom
        return TestedMean(mean, 1.0 if math.isnan(mean.low) else interval_p_value(mean, degrees=freedom), "Student's t")
    (typical,), (largest,) = draw_typical_means(values[None], sampling)
    value = float(values.mean())
    low, high, p_value = read_typical_means(typical, value, largest=largest, tail=sampling.tail)
    method = f"sign flips of {sampling.unit}, {'all ' if units <= _ALL else ''}{len(typical) + 1:,}"
    mean = Estimate(value, low=low, high=high, n=n, method=method, reason=sampling.warning)
    mean = mean if sampling.cluster is not None else note_few_rows(mean)
    return TestedMean(mean, p_value, "sign flips")


def is_flipped(units: int) -> bool:
    """Whether `sign_flips` draws signs for so many rows or clusters; else its test is Student's t.

    >>> is_flipped(5), is_flipped(6), is_flipped(300)
    (False, True, False)
    """
    return _FEWEST <= units < _MOST


def draw_typical_means(values: Array, sampling: Sampling) -> tuple[Array, Array]:
    """Hartigan's typical values of m means at once: of the same random subsets of the rows, or of whole clusters.

    Args:
        values: Values (m, n).
        sampling: Clusters and seed.

    Returns:
        The means (m, draws) of each subset in turn, and the largest sum of a row or cluster (m,), beside which
        rounding is small. The typical values of a difference are the differences of these.
    """
    sums, sizes = values, np.ones(values.shape[1])
    if sampling.cluster is not None:
        sums = np.stack([np.bincount(sampling.cluster, row) for row in values])
        sizes = np.bincount(sampling.cluster).astype(np.float64)
    units, largest = len(sizes), np.abs(sums).max(axis=1)
    if units <= _ALL:
        chosen = (np.arange(1, 2**units)[:, None] >> np.arange(units)) & 1
        return ((chosen @ sums.T) / (chosen @ sizes)[:, None]).T, largest
    generator, drawn = np.random.default_rng(sampling.seed), np.empty((len(sums), _DRAWN))
    both, rows = np.column_stack([sums.T, sizes]), max(1, _BLOCK // units)
    for start in range(0, _DRAWN, rows):
        some = min(rows, _DRAWN - start)
        bits = np.frombuffer(generator.bytes(some * -(-units // 8)), np.uint8).reshape(some, -1)
        chosen = np.unpackbits(bits, axis=1, count=units).astype(np.float64)
        chosen[~chosen.any(axis=1)] = 1.0  # none: once in 8,000 draws of 13 units; all stand for it
        total = chosen @ both
        drawn[:, start : start + some] = (total[:, :-1] / total[:, -1:]).T
    return drawn, largest


class TypicalInterval(NamedTuple):
    """Both ends of an interval, and the two-sided p-value of 0."""

    low: float
    high: float
    p_value: float


def read_typical_means(typical: Array, value: float, *, largest: float, tail: float) -> TypicalInterval:
    """The interval and the p-value that the typical values of a mean give.

    Args:
        typical: Typical values (draws,), in any order.
        value: The mean itself.
        largest: The largest sum of a row or cluster: what is tiny beside it is 0.
        tail: Probability that lies outside the interval on either side.
    """
    typical = np.where(np.abs(typical) < _ROUNDING * largest, 0.0, typical)  # parts that cancel out
    count = len(typical) + 1
    one_sided = (1 + int(min((typical <= 0).sum(), (typical >= 0).sum()))) / count
    at = math.floor(tail * count + 1e-9)
    if not at:
        return TypicalInterval(math.nan, math.nan, min(1.0, 2 * one_sided))
    ordered = np.partition(typical, [at - 1, len(typical) - at])
    low, high = min(value, float(ordered[at - 1])), max(value, float(ordered[-at]))
    return TypicalInterval(low, high, min(1.0, 2 * one_sided))
