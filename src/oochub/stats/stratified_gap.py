"""The gap between two sets of rows, class by class, tested: is the model worse on rows without their usual context?"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_group, check_numbers, check_same_length
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference
from oochub.stats.proportion import wilson

_METHOD = "mantel-haenszel"
_FEWEST_UNITS = 10  # rows or clusters of equal weight, for laws that hold of many; below, sizes leave 0.04 to 0.06
_ROUNDING = 1e-12  # of the sum of what rows add: less is none


@dataclass(frozen=True, kw_only=True)
class StratifiedGap:
    """What `stratified_gap` finds.

    Attributes:
        estimate: The mean of the rows with, minus that of the rows against, weighted over strata, with its interval.
        p_value: Two-sided, of no gap in any stratum; nan where there is too little to test.
        mean_with: The mean of the rows with, at the same weights, so that both sides have the same mix of strata.
        mean_against: The same for the rows against.
        n_with: Rows with, in the strata used.
        n_against: Rows against, in the strata used.
        strata: How many strata have rows of both kinds; the others say nothing and are left out.
        reason: Why there is no p-value; None where there is.
    """

    estimate: Estimate
    p_value: float
    mean_with: float
    mean_against: float
    n_with: int
    n_against: int
    strata: int
    reason: str | None = None


def stratified_gap(
    value: Any, is_with: Any, stratum: Any, *, cluster: Any = None, confidence: float = 0.95
) -> StratifiedGap:
    """The gap of the rows with over the rows against, within strata (Mantel and Haenszel), and the test of none.

        gap = sum_s w_s (mean_with,s - mean_against,s) / sum_s w_s,   w_s = n_with,s n_against,s / n_s

    The test asks whether, within each stratum, it is by chance which rows are with.

    - Values 0 and 1: that chance is exact, for the Cochran-Mantel-Haenszel statistic is then a sum of hypergeometric
      counts. The p-value is the chance of a gap farther from 0 than the one seen, plus half that of one as far (mid-p,
      Lancaster 1961): a correction over many contexts asks for the far tail, where the normal law no longer holds, and
      the full chance rejects too seldom. The interval is the square-and-add difference of two Wilson intervals at these
      weights.
    - Other values: the same statistic, with its variance over permutations within strata, against the normal law. A
      correction for continuity would make the test reject too seldom. The interval holds the gaps that a test with the
      rows' own variances does not reject.
    - With clusters: the clusters' parts of the gap against Student's t, with one degree of freedom less than the
      number of clusters of equal weight that they amount to. The interval holds the gaps that it does not reject.
      For values 0 and 1 neither is more certain than for independent rows, so the p-value is the larger of both and the
      interval their hull: the spread of few clusters that are nearly all right, or all wrong, says too little. Without
      that, 15 rows with and 150 against, all right with a chance of 0.95 and in clusters of one or two, rejected in 35%
      at 5%. If most clusters have rows of both kinds, that asks for more than it must.

    If no two rows share a cluster, the rows are independent. Near its level the test and the interval may disagree.

    Args:
        value: One number per row (n,): 1 right and 0 wrong, or any score.
        is_with: Whether each row is with (n,), bool.
        stratum: The class of each row (n,), any hashable.
        cluster: What the rows (n,) share, any hashable; None if they are independent.
        confidence: Level of the interval.

    Returns:
        The StratifiedGap. There is too little to test where no stratum has both kinds of row, where no values differ in
        a stratum, where even the largest gap that values 0 and 1 could show among these rows has a p-value above
        1 - `confidence` (Tarone 1990), or, for the two tests that are not exact, where rows or clusters amount to
        fewer than 10 of equal weight. Each looks only at how many rows are with and what values there are, never at
        which rows have them, so that leaving out such tests before a correction over many (`adjusted_p_values`) is
        fair.

    Raises:
        OochubError: Different lengths, a value that is not finite, or `is_with` that is not bool.

    Source:
        Mantel and Haenszel 1959 (J. Natl. Cancer Inst. 22:719-748); Mantel 1963 (J. Am. Stat. Assoc. 58:690-700) for
        values that are not 0 and 1; Lancaster 1961 (J. Am. Stat. Assoc. 56:223-234); Tarone 1990 (Biometrics
        46:515-522); the interval of shares as Yan and Su 2010 (J. Biopharm. Stat. 20:1042-1059), at the weights of
        Mantel and Haenszel. The criterion of Mantel and Fleiss 1980 is for the normal law, which nothing here takes for
        values 0 and 1: it would leave untested most contexts that nearly all rows of a class have.

    >>> value = [1] * 45 + [0] * 5 + [1] * 30 + [0] * 20
    >>> gap = stratified_gap(value, [True] * 50 + [False] * 50, ["dog"] * 100)
    >>> gap.estimate, round(gap.p_value, 5)
    (0.300 [0.132, 0.449] n=100, 0.00056)
    """
    if len(value) == 0:
        return _report_nothing(0, "no rows")
    (values,) = check_numbers(value=np.asarray(value) * 1.0)
    has = np.asarray(is_with)
    if has.dtype != np.bool_:
        raise OochubError(
            f"is_with must be bool, whether each row is with, got {has.dtype}. Compare it with something."
        )
    codes = check_group(stratum, name="stratum").codes
    shared = None if cluster is None else check_group(cluster, name="cluster").codes
    check_same_length(value=values, is_with=has, stratum=codes, cluster=shared)
    kept = (np.minimum(np.bincount(codes, has), np.bincount(codes, ~has)) > 0)[codes]
    if not kept.any():
        return _report_nothing(len(values), "no class has rows both with and against")
    rows = _Rows(values[kept], has[kept], np.unique(codes[kept], return_inverse=True)[1])
    cluster = None if shared is None else np.unique(shared[kept], return_inverse=True)[1]
    cluster = None if cluster is None or _is_each_its_own(cluster) else cluster
    estimate, p_value = _test_shares(rows, cluster, confidence)
    return StratifiedGap(
        estimate=estimate,
        p_value=p_value,
        mean_with=rows.mean_with,
        mean_against=rows.mean_against,
        n_with=int(rows.has.sum()),
        n_against=int((~rows.has).sum()),
        strata=len(rows.size),
        reason=estimate.reason if math.isnan(p_value) else None,
    )


def unpaired_shares(value: Any, is_first: Any, *, cluster: Any = None) -> float:
    """The two-sided p-value of equal shares.

    Independent rows: Pearson's chi-square with Yates' correction, which refuses less often than its level says.
    With clusters: the larger of that and of the p-value of the clusters' parts of the difference by Student's t, see
    `stratified_gap`; a cluster may have rows of both kinds. If no two rows share a cluster, the rows are independent.

    The exact level at 5%, all rows right with one chance and rows of a cluster alike, of the t of clusters alone and of
    this test; in brackets at 5% / 60, the first step of Holm's correction over 60 groups:

    ================================= ============= ===============
    rows; chance; what is shared      t alone       this test
    ================================= ============= ===============
    6 + 6; 0.5; a pair on one side    .079 (.0010)  .011 (.0000)
    8 + 8; 0.5; a pair on one side    .059 (.0027)  .030 (.0001)
    8 + 8; 0.5; three rows            .055 (.0011)  .046 (.0001)
    12 + 40; 0.8; a pair on one side  .088 (.0000)  .006 (.0000)
    12 + 40; 0.8; a row of each side  .074 (.0000)  .008 (.0000)
    ================================= ============= ===============

    Args:
        value: Whether each row is true (n,), such as whether the answer is right.
        is_first: Which rows (n,) are of the first share, bool.
        cluster: What the rows (n,) share; None if they are independent.

    Returns:
        In [0, 1]; 1 where all values are one; nan without rows of both kinds, and for clusters among which there is too
        little to test, see `stratified_gap`.

    Raises:
        OochubError: Different lengths.

    Source:
        Yates 1934 (J. R. Statist. Soc. Suppl. 1:217-235).

    >>> round(unpaired_shares([1, 1, 1, 1, 0, 0, 0, 0], np.arange(8) < 4), 4)
    0.0339
    """
    values, first = np.asarray(value).astype(bool), np.asarray(is_first).astype(bool)
    n = check_same_length(value=values, is_first=first, cluster=cluster)
    of_first, ones, ones_of_first = (int(np.count_nonzero(rows)) for rows in (first, values, first & values))
    if not 0 < of_first < n:
        return math.nan
    if ones in (0, n):
        return 1.0
    independent = chi_square_p_value((ones_of_first, ones - ones_of_first), (of_first, n - of_first))
    if cluster is None or _is_each_its_own(check_group(cluster, name="cluster").codes):
        return independent
    clustered = stratified_gap(values, first, np.zeros(n, np.int8), cluster=cluster).p_value
    return math.nan if math.isnan(clustered) else max(clustered, independent)


def chi_square_p_value(ones: tuple[float, float], rows: tuple[float, float]) -> float:
    """The chi-square test with Yates' correction, of counts.

    Args:
        ones: How many rows are true on either side.
        rows: How many rows there are.

    >>> chi_square_p_value((80, 215), (200, 240)) < 1e-20
    True
    """
    pooled, per_row = sum(ones) / sum(rows), 1 / rows[0] + 1 / rows[1]
    if not 0 < pooled < 1:
        return 1.0
    corrected = max(abs(ones[0] / rows[0] - ones[1] / rows[1]) - per_row / 2, 0.0)
    # one degree of freedom: the upper tail of chi-square is erfc of the root of half the statistic
    return float(scipy.special.erfc(corrected / math.sqrt(2 * pooled * (1 - pooled) * per_row)))


def _is_each_its_own(cluster: Array) -> bool:
    """Whether no two rows share a cluster."""
    return len(np.unique(cluster)) == len(cluster)


def _report_nothing(n: int, reason: str) -> StratifiedGap:
    estimate = Estimate(math.nan, n=n, method=_METHOD, reason=reason)
    nans = dict.fromkeys(("p_value", "mean_with", "mean_against"), math.nan)
    return StratifiedGap(estimate=estimate, n_with=0, n_against=0, strata=0, reason=reason, **nans)


class _Rows:
    """Rows of strata that have both kinds, and what each adds to the gap: `added`, as if its value were 1: `weight`."""

    def __init__(self, value: Array, has: Array, stratum: Array) -> None:
        self.value, self.has, self.stratum = value, has, stratum
        self.size, self.n_with, self.total = (np.bincount(stratum, of) for of in (has | True, has, value))
        across = has - (self.n_with / self.size)[stratum]
        self.off_mean = value - (self.total / self.size)[stratum]
        self.added, self.weight = across * self.off_mean, across**2
        self.all_weight = float(self.weight.sum())
        self.gap = float(self.added.sum()) / self.all_weight
        # over the same sum of weights, so that a mean of ones is 1 to the last digit
        self.mean_with, self.mean_against = (
            float((across * value)[side].sum() / across[side].sum()) for side in (has, ~has)
        )

    @property
    def is_binary(self) -> bool:
        return bool(np.isin(self.value, (0, 1)).all())


def _test_shares(rows: _Rows, cluster: Array | None, confidence: float) -> tuple[Estimate, float]:
    """The gap with its interval and the p-value of none; the reason of the gap says why there is no p-value."""
    added: Array = rows.added
    weight: Array = rows.weight
    unit, n = "rows", len(rows.value)
    if cluster is not None:
        added, weight, unit = np.bincount(cluster, added), np.bincount(cluster, weight), "clusters"
    units = rows.all_weight**2 / float((weight**2).sum())
    is_exact = cluster is None and rows.is_binary
    least, p_value = _compute_exact_p_values(rows) if rows.is_binary else (0.0, 0.0)
    reason = None
    if not rows.off_mean.any():
        reason = "no values differ within a class"
    elif least > 1 - confidence:
        reason = f"too few rows: even the largest gap that they could show has p = {least:.2f}"
    elif not is_exact and units < _FEWEST_UNITS:
        reason = f"too few {unit}: they are equivalent to {units:.1f} of equal weight, and {_FEWEST_UNITS} are needed"
    elif cluster is not None and np.ptp(added) <= _ROUNDING * float(np.abs(rows.added).sum()):
        reason = "every cluster adds the same to the gap, so its spread cannot be estimated"
    if is_exact:
        return _estimate_difference_of_shares(rows, confidence, reason), math.nan if reason else p_value
    if reason:
        return Estimate(rows.gap, n=n, method=_METHOD, reason=reason), math.nan
    tail = (1 - confidence) / 2
    if cluster is None:
        own_mean = (rows.size / (rows.size - 1))[rows.stratum]  # a stratum's own mean is taken from its rows
        low, high = _find_not_rejected(added, weight, own_mean, -float(scipy.special.ndtri(tail)))
        spread = np.bincount(rows.stratum, rows.off_mean**2)
        variance = float((rows.n_with * (rows.size - rows.n_with) / (rows.size * (rows.size - 1)) * spread).sum())
        p_value = 2 * float(scipy.special.ndtr(-abs(float(rows.added.sum())) / math.sqrt(variance)))
        return Estimate(rows.gap, low=low, high=high, n=n, method=_METHOD), p_value
    count = len(added)
    low, high = _find_not_rejected(
        added, weight, count / (count - 1), -float(scipy.special.stdtrit(units - 1, tail)), center=True
    )
    if rows.is_binary:
        independent = _estimate_difference_of_shares(rows, confidence, None)
        ends = np.minimum(low, independent.low), np.maximum(high, independent.high)  # nan stays
        low, high = (float(np.clip(end, -1, 1)) for end in ends)
    t = float(added.sum()) / math.sqrt(count * float(np.var(added, ddof=1)))
    estimate = Estimate(rows.gap, low=low, high=high, n=n, method=f"{_METHOD}, t of {count} clusters")
    return estimate, max(p_value, 2 * float(scipy.special.stdtr(units - 1, -abs(t))))


def _estimate_difference_of_shares(rows: _Rows, confidence: float, reason: str | None) -> Estimate:
    """The gap of values 0 and 1, with the difference of two Wilson intervals, of as many rows as the weights leave."""
    shares = rows.mean_with, rows.mean_against
    with_, against = (
        wilson(share * units, units, confidence=confidence)
        for share, side in zip(shares, (rows.has, ~rows.has), strict=True)
        for units in (rows.all_weight**2 / float(rows.weight[side].sum()),)
    )
    both = difference(with_, against)
    return Estimate(rows.gap, low=both.low, high=both.high, n=len(rows.value), method=_METHOD, reason=reason)


def _compute_exact_p_values(rows: _Rows) -> tuple[float, float]:
    """The mid-p values of the ones among the rows with, given both margins: the least possible, and that seen."""
    least, chance = 0, np.ones(1)
    for drawn, ones, size in zip(rows.n_with.astype(int), rows.total.astype(int), rows.size.astype(int), strict=True):
        first, law = _compute_hypergeometric(int(drawn), int(ones), int(size))
        least, chance = least + first, np.convolve(chance, law)
    expected = float((rows.n_with * rows.total / rows.size).sum())
    distance = np.abs(least + np.arange(len(chance)) - expected)

    def p_value(seen: float) -> float:
        as_far = np.isclose(distance, seen, rtol=0, atol=1e-6)
        return min(1.0, float(chance[(distance > seen) & ~as_far].sum() + chance[as_far].sum() / 2))

    return p_value(float(distance.max())), p_value(abs(float(rows.value[rows.has].sum()) - expected))


def _compute_hypergeometric(drawn: int, ones: int, size: int) -> tuple[int, Array]:
    """The least count of ones among those drawn, and the chance of each count, but for counts below 1e-20 or so."""
    mean = drawn * ones / size
    half = 10 * math.sqrt(mean * (1 - ones / size)) + 20
    first = max(0, drawn + ones - size, math.floor(mean - half))
    count = np.arange(first, min(drawn, ones, math.ceil(mean + half)) + 1)

    def log_choose(of: int, some: Any) -> Any:
        return scipy.special.gammaln(of + 1) - scipy.special.gammaln(some + 1) - scipy.special.gammaln(of - some + 1)

    log = log_choose(ones, count) + log_choose(size - ones, drawn - count) - log_choose(size, drawn)
    return first, np.exp(log)


def _find_not_rejected(
    added: Array, weight: Array, correction: Array | float, quantile: float, *, center: bool = False
) -> tuple[float, float]:
    """The gaps d with sum(added - d weight)^2 <= quantile^2 sum of squares of (added - d weight): a parabola in d.

    Both ends are nan where a high level leaves every gap possible.
    """
    moved, whole = float(added.sum()), float(weight.sum())
    if center:
        added, weight = added - added.mean(), weight - weight.mean()
    of_added, of_both, of_weight = (
        quantile**2 * float((correction * first * second).sum())
        for first, second in ((added, added), (added, weight), (weight, weight))
    )
    bend = whole**2 - of_weight
    if bend <= 0:
        return math.nan, math.nan
    middle = (moved * whole - of_both) / bend
    half = math.sqrt(max(0.0, middle**2 - (moved**2 - of_added) / bend))
    return middle - half, middle + half
