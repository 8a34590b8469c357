"""A mean of one number per row with an interval that holds for few rows and few clusters.

Three kinds of mean need three intervals, chosen by simulated coverage (tests/stats/test_mean_interval.py):

- Shares, means of 0 and 1: Wilson's where few rows are 0 or 1, else the bootstrap; with clusters, Clopper and
  Pearson's with the effective number of rows (Korn and Graubard 1998, Survey Methodology 24:193-201).
- Numbers that depend on whether the answer is right (a loss; confidence minus correctness): few right rows say
  nothing of the wrong ones that more rows would show. The model's own probabilities do: the t interval is joined
  with that of the rows with two right and two wrong ones added (Agresti and Coull 1998, The American Statistician
  52:119-126, for shares).
- All other numbers, such as squared errors: Student's t with the skewness of the mean taken off
  (`hall_interval`). For 150 to 1,000 squared errors with heavy tails it covers
  0.92 where percentiles cover 0.86 to 0.90. Rows that are more skewed than so few can tell have a caveat.

Clusters: the bias-reduced standard error CR2 with the degrees of freedom of Bell and McCaffrey (2002, Survey
Methodology 28:169-181), under rows that are independent or clusters that are of one piece, whichever gives fewer.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy

from oochub.stats.array_checks import Array, check_same_length, check_score
from oochub.stats.bootstrap import note_few_rows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.proportion import wilson

_SYMMETRIC = 1e-6  # a skewness below moves no end


_FEW = 10  # fewer successes or failures than this: the bootstrap of a proportion is too narrow
MANY = 10_000  # rows from here: two right and two wrong ones more would change nothing
_PER_SKEWNESS = 160  # rows for each square of the skewness; of fewer, few large values decide, and some may be missing
ADDED = 2  # right rows, and as many wrong ones
WITH_ADDED = "t interval of {unit}, joined with that of two right and two wrong rows more"


def hall_interval(value: float, error: float, skewness: float, freedom: float, tail: float) -> tuple[float, float]:
    """Both ends of the interval of an estimate, from its standard error and its skewness.

    T + k T^2 / 3 + k^2 T^3 / 27 + k / 6, of the studentized estimate T and its skewness k, is nearer to Student's law
    than T is. The ends are the values at which it has the law's quantiles. If k is above 0, an estimate that is too
    small has a standard error that is too small as well, so the interval reaches further up than down.

    Args:
        value: The estimate.
        error: Its standard error, above 0.
        skewness: Skewness of the estimate, for the mean of n rows that of a row over the root of n.
        freedom: Degrees of freedom of the standard error.
        tail: Probability that lies outside the interval on either side.

    Source: Hall 1992, "On the removal of skewness by transformation" (J. R. Statist. Soc. B 54:221-228), Section 2.

    >>> low, high = hall_interval(0.0, 1.0, 0.3, 1e9, 0.025)
    >>> round(low, 2), round(high, 2)
    (-1.63, 2.65)
    """
    quantile = -float(scipy.special.stdtrit(freedom, tail))
    low, high = (value - error * _undo(at, skewness) for at in (quantile, -quantile))
    return min(low, value), max(high, value)


def _undo(at: float, skewness: float) -> float:
    """The studentized estimate that the transformation takes to `at`."""
    if abs(skewness) < _SYMMETRIC:
        return at
    return 3 / skewness * (float(np.cbrt(1 + skewness * (at - skewness / 6))) - 1)


class Answers(NamedTuple):
    """What the number of each row would be (n,) if its answer were right, and if it were wrong."""

    if_right: Array
    if_wrong: Array

    def __call__(self, rows: Array | slice) -> "Answers":
        """Those of some rows, by their numbers or a slice."""
        return Answers(*(numbers[rows] for numbers in self))


class RowNumbers(NamedTuple):
    """What a metric that is the mean of one number per row is made of.

    Attributes:
        values: The numbers (n,).
        are_shares: See `mean_estimate`; so are the others.
        answers: What the numbers of some rows, by their numbers or a slice, would be with a right and with a wrong
            answer: `Answers`, or a function that makes them, since those of many rows are not asked for.
        within: The smallest and the largest mean that is possible.
    """

    values: Array
    are_shares: bool = True
    answers: Callable[[Array | slice], Answers] | None = None
    within: tuple[float, float] = (-math.inf, math.inf)

    def estimate(self, sampling: Sampling) -> Estimate:
        """Their mean with its interval, see `mean_estimate`."""
        answers = None if self.answers is None or len(self.values) >= MANY else self.answers(slice(None))
        return mean_estimate(self.values, sampling, are_shares=self.are_shares, answers=answers, within=self.within)

    def take(self, rows: Array) -> "RowNumbers":
        """Those of some rows, by their numbers."""
        of = self.answers
        return self._replace(values=self.values[rows], answers=of and (lambda some: of(rows[some])))


def mean_estimate(
    values: Any,
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    are_shares: bool = True,
    answers: Answers | None = None,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """A mean of one value per row with its interval; the docstring of this file says which interval.

    Args:
        values: One number per row (n,), without NaN.
        sampling: Clusters, number of resamples, seed and level.
        are_shares: Whether values of 0 and 1 alone can be no others, so that Wilson's interval holds; an error in
            units of the label may be larger in the next row.
        answers: What each value would be with a right and with a wrong answer; None where it does not depend on that.
        within: The smallest and the largest mean that is possible.

    Returns:
        The mean of all rows. `reason` says what limits its interval, or why there is none.

    Raises:
        OochubError: No rows, NaN, or clusters of another length.

    >>> mean_estimate([0, 1, 1, 1])
    0.750 [0.301, 0.954] n=4
    >>> mean_estimate([1] * 40, Sampling(cluster=np.arange(40) % 4))  # four clusters, all right
    1.000 [0.398, 1.000] n=40
    """
    values = check_score(values, name="values").astype(np.float64, copy=False)
    n = check_same_length(values=values, cluster=sampling.cluster)
    if sampling.clusters == 1:
        return Estimate(float(values.mean()), n=n, method="none", reason=sampling.warning)
    is_share = are_shares and bool(np.isin(values, (0, 1)).all())
    if is_share and sampling.cluster is not None:
        return share_of_clusters(values, sampling)
    if is_share:
        return shares_of_rows(np.array([int(values.sum())]), np.array([n]), sampling)[0]
    if answers is not None and n < MANY:
        return _add_rows(values, answers, sampling, within)
    return _skewed_interval(values, sampling, within)


def shares_of_rows(ones: Array, n: Array, sampling: Sampling) -> list[Estimate]:
    """The share of ones in each of many sets of independent rows: Wilson's where few are 0 or 1, else the bootstrap.

    The number of ones in a resample is binomial, so the percentiles of all resamples are known without a draw.

    Args:
        ones: How many rows of each set are 1 (m,).
        n: How many rows each set has (m,), 1 or more.
        sampling: Number of resamples, seed and level.

    >>> shares_of_rows(np.array([3, 20]), np.array([4, 40]), Sampling())
    [0.750 [0.301, 0.954] n=4, 0.500 [0.350, 0.650] n=40]
    """
    share, ends = ones / n, np.array([[sampling.tail], [1 - sampling.tail]])
    # The smallest count whose probability reaches the end, or one more.
    above = np.ceil(scipy.special.bdtrik(ends, n, share))
    below = np.maximum(above - 1, 0)
    low, high = np.where(scipy.special.bdtr(below, n, share) >= ends, below, above) / n
    method = f"percentile bootstrap of {sampling.unit}, exact"
    return [
        wilson(one, count, confidence=sampling.confidence)
        if min(one, count - one) < _FEW
        else Estimate(value, low=low, high=high, n=count, method=method)
        for one, count, value, low, high in zip(*(of.tolist() for of in (ones, n, share, low, high)), strict=True)
    ]


def share_of_clusters(values: Array, sampling: Sampling) -> Estimate:
    """The share of ones among rows in clusters, by Clopper and Pearson with the effective number of rows.

    If all rows are 0, or all 1, nothing tells how alike the rows of a cluster are: then as many rows count as there
    are clusters of equal size, n^2 / sum of size^2.

    Args:
        values: 0 and 1 (n,).
        sampling: Two clusters or more, and the level.
    """
    assert sampling.cluster is not None  # noqa: S101
    return share_of_units(np.bincount(sampling.cluster, values), np.bincount(sampling.cluster), sampling)


def share_of_units(ones: Array, sizes: Array, sampling: Sampling) -> Estimate:
    """The same of units, such as clusters of rows or rows of tokens, that have so many ones among so many (m,).

    Args:
        ones: How many are 1.
        sizes: How many there are, 1 or more.
        sampling: The level, and what the units are.
    """
    sizes = sizes.astype(np.float64)
    spread, n = _spread(ones, None, sizes), float(sizes.sum())
    alike = float((sizes**2).sum()) / n
    return effective_share(float(ones.sum()), int(n), spread.error, spread.freedom, alike, sampling, unit=sampling.unit)


def effective_share(
    ones: float, n: int, error: float, freedom: float, alike: float, sampling: Sampling, *, unit: str
) -> Estimate:
    """The share of ones by Clopper and Pearson with as many rows as its standard error says (Korn and Graubard 1998).

    Args:
        ones: Number of rows that are 1.
        n: Number of rows.
        error: Standard error of the rows' mean.
        freedom: Degrees of freedom of this error.
        alike: How many rows count for one where all values are one, which says nothing of how alike rows are.
        sampling: The level.
        unit: What was counted, in words.
    """
    share = ones / n
    if share in (0.0, 1.0):
        effective = n / alike
    else:
        ratio = scipy.special.stdtrit(n - 1, sampling.tail) / scipy.special.stdtrit(freedom, sampling.tail)
        independent = share * (1 - share)
        effective = n if error == 0 else min(float(n), independent / error**2 * ratio**2)
    hits = share * effective
    low = 0.0 if share == 0 else scipy.special.betaincinv(hits, effective - hits + 1, sampling.tail)
    high = 1.0 if share == 1 else scipy.special.betainccinv(hits + 1, effective - hits, sampling.tail)
    method = f"clopper-pearson of {effective:.3g} effective rows, {unit}"
    return Estimate(share, low=low, high=high, n=n, method=method, reason=sampling.warning)


def t_interval(values: Array, sampling: Sampling, *, within: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The mean with Student's interval, of rows or of clusters; none where all values are one.

    Args:
        values: Values (n,).
        sampling: Clusters and level.
        within: The smallest and the largest mean that is possible.
    """
    n, spread = len(values), _spread(values, sampling.cluster)
    method = f"t interval of {sampling.unit}"
    if n == 1:
        return Estimate(spread.mean, n=n, method=method, reason="one row only: nothing is known about the spread")
    if spread.error <= 1e-12 * abs(spread.mean):
        reason = f"{spread.mean:g} in every row or cluster: no interval can be estimated"
        return Estimate(spread.mean, n=n, method=method, reason=reason)
    low, high = np.clip(spread.interval(sampling), *within)
    estimate = Estimate(spread.mean, low=low, high=high, n=n, method=method, reason=sampling.warning)
    return estimate if sampling.cluster is not None else note_few_rows(estimate)


def _skewed_interval(values: Array, sampling: Sampling, within: tuple[float, float]) -> Estimate:
    """The mean of rows or clusters by Student's t, with its skewness taken off."""
    plain = t_interval(values, sampling, within=within)
    if math.isnan(plain.low):
        return plain
    of = leave_means(values[None], sampling.cluster)
    error = math.sqrt(float((of.residuals**2).sum()))
    skewness = float((of.residuals * of.residuals * of.residuals).sum()) / error**3  # a power takes five times as long
    low, high = np.clip(hall_interval(plain.value, error, skewness, of.freedom, sampling.tail), *within)
    few = "a few values make most of the spread: the interval may be too narrow"
    reasons = [reason for reason in (plain.reason, few if _PER_SKEWNESS * skewness**2 > 1 else None) if reason]
    method = f"{plain.method}, corrected for skewness"
    return Estimate(plain.value, low=low, high=high, n=plain.n, method=method, reason="; ".join(reasons) or None)


class _Spread(NamedTuple):
    """A mean with its standard error and degrees of freedom."""

    mean: float
    error: float
    freedom: float

    def interval(self, sampling: Sampling) -> tuple[float, float]:
        half = -float(scipy.special.stdtrit(self.freedom, sampling.tail)) * self.error
        return self.mean - half, self.mean + half


def _spread(values: Array, cluster: Array | None, sizes: Array | None = None) -> _Spread:
    """The mean of rows, or of the sums of units of some sizes, with its standard error."""
    if cluster is not None:
        values, sizes = np.bincount(cluster, values), np.bincount(cluster).astype(np.float64)
    if sizes is None:
        mean = float(values.mean())
        error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return _Spread(mean, error, len(values) - 1)
    of = _leave_mean(values, sizes)
    return _Spread(float(of.mean), math.sqrt(float((of.residuals**2).sum())), of.freedom)


class MeansOfUnits(NamedTuple):
    """Means (...) of rows, or of whole clusters, and what their errors are made of.

    Attributes:
        mean: The means.
        residuals: What each row or cluster (..., u) adds: the sum of squares is the square of the standard error, and
            that of two means' difference the same of the difference of these.
        freedom: Degrees of freedom of the error.
    """

    mean: Array
    residuals: Array
    freedom: float


def leave_means(values: Array, cluster: Array | None) -> MeansOfUnits:
    """The means of many numbers per row, and what is left: the covariance of the means is a product of residuals.

    Args:
        values: Values (m, n), at least two rows or clusters.
        cluster: What the rows (n,) share, numbered; None if they are independent.

    >>> of = leave_means(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 3.0]]), None)
    >>> of.mean, of.residuals @ of.residuals.T  # variances 1 and 3 of a row, of 3 rows
    (array([2., 1.]), array([[0.33333333, 0.5       ],
           [0.5       , 1.        ]]))
    """
    if cluster is None:
        n = values.shape[-1]
        mean = values.mean(axis=-1)
        return MeansOfUnits(mean, (values - mean[..., None]) / math.sqrt(n * (n - 1)), n - 1)
    sums = np.stack([np.bincount(cluster, row) for row in values])
    return _leave_mean(sums, np.bincount(cluster).astype(np.float64))


def _leave_mean(sums: Array, sizes: Array) -> MeansOfUnits:
    """The same of the sums (..., u) of units of some sizes: residuals of the CR2 variance."""
    total = float(sizes.sum())
    mean, part = sums.sum(axis=-1) / total, sizes / total
    residuals = (sums - mean[..., None] * sizes) / np.sqrt(1 - part) / total
    return MeansOfUnits(mean, residuals, min(_estimate_freedom(part, sizes), _estimate_freedom(part, sizes**2)))


def _estimate_freedom(part: Array, variance: Array) -> float:
    """Degrees of freedom of the CR2 variance by Bell and McCaffrey; m - 1 for m units of one size.

    The residuals of units with these variances have the covariance D - w d' - d w' + S w w', w the parts, d the
    variances, S their sum; each is scaled by 1 / sqrt(1 - w). That matrix M gives
    trace(M)^2 / |M|^2 degrees of freedom.

    Args:
        part: Share of the rows that each unit has (m,).
        variance: Variance of the sum of each unit (m,).
    """
    scale, w, d, total = 1 / (1 - part), part, variance, float(variance.sum())
    off = total * w**2 - 2 * w * d  # what the diagonal has beside d
    trace = float((scale * (d + off)).sum())
    ww, dd, wd = float((scale * w**2).sum()), float((scale * d**2).sum()), float((scale * w * d).sum())
    full = 2 * ww * dd + (total * ww) ** 2 + 2 * wd**2 - 4 * total * ww * wd
    return trace**2 / (full + float((scale**2 * (d**2 + 2 * d * off)).sum()))


def _add_rows(values: Array, answers: Answers, sampling: Sampling, within: tuple[float, float]) -> Estimate:
    """The hull of the t interval and of that with two right and two wrong units more.

    A unit is one row; with clusters it has as many rows as count for one, by the larger design effect of the values
    and of the answers, so that whole clusters of right answers say as little as they do.
    """
    n, cluster = len(values), sampling.cluster
    own = _spread(values, cluster)
    sums, sizes = values, np.ones(n)
    size = 1.0
    if cluster is not None:
        sums, sizes = np.bincount(cluster, values), np.bincount(cluster).astype(np.float64)
        largest = float((sizes**2).sum()) / n
        is_right = (np.abs(values - answers.if_right) <= np.abs(values - answers.if_wrong)).astype(np.float64)
        size = max(_estimate_design_effect(column, cluster, largest) for column in (values, is_right))
    means = [float(answers.if_right.mean()), float(answers.if_wrong.mean())]
    added = _spread(
        np.concatenate([sums, np.repeat(means, ADDED) * size]),
        None,
        np.concatenate([sizes, np.full(2 * ADDED, size)]),
    )
    freedom = own.freedom if n > 1 else 1.0
    ends = [added._replace(freedom=freedom).interval(sampling)]
    if n > 1:
        ends.append(own.interval(sampling))
    low, high = np.clip((min(low for low, _ in ends), max(high for _, high in ends)), *within)
    method = WITH_ADDED.format(unit=sampling.unit)
    return Estimate(own.mean, low=low, high=high, n=n, method=method, reason=sampling.warning)


def _estimate_design_effect(values: Array, cluster: Array, largest: float) -> float:
    """How many rows of a cluster count for one, in [1, largest]; the largest where all values are one."""
    alone = float(values.std()) / math.sqrt(len(values))
    return largest if alone == 0 else min(max((_spread(values, cluster).error / alone) ** 2, 1.0), largest)
