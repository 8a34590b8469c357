"""Intervals of the AUC from its influence on single rows: DeLong, and Obuchowski where rows are clustered.

DeLong, DeLong and Clarke-Pearson 1988 (Biometrics 44:837-845), computed from mid-ranks as in Sun and Xu 2014
(IEEE SPL 21:1389-1393); clusters as in Obuchowski 1997 (Biometrics 53:567-578), but each cluster's part is divided by
1 - its share of the class, in place of Obuchowski's one factor for all, which is the same for clusters of one size.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_group, check_label, check_same_length, check_score, number_groups
from oochub.stats.estimate import Estimate, Sampling, effective_clusters
from oochub.stats.row_blocks import row_blocks
from oochub.stats.unseen_rows import UNITS, Unseen, count_together, least_loss, reach_of_unseen

_TOGETHER = 1 << 16  # rows looked at together
_ROUNDING = 1e-15  # of a variance that is 0, as of equal influences


class Covariance(NamedTuple):
    """AUCs (k,) of k scores of the same rows, and their covariance (k, k); nan where it is undefined."""

    auc: Array
    covariance: Array


class _Parts(NamedTuple):
    auc: Array
    covariance: Array
    of_positives: Array  # what the positives add to the covariance
    of_negatives: Array


class PairedDifference(NamedTuple):
    """AUC of the first score minus that of the second; `p_value` is two-sided, for equal AUCs."""

    difference: Estimate
    p_value: float


def delong(label: Any, score: Any, *, cluster: Any = None, confidence: float = 0.95) -> Estimate:
    """The AUC with DeLong's variance and an interval on the logit scale.

        logit(A) +- t se / (A (1 - A)),  back-transformed

    where t is the quantile with the degrees of freedom of Welch and Satterthwaite, from the positives' and the
    negatives' part of the variance; with clusters, with one less than there are clusters of equal size that tell as
    much. The end towards one half is never nearer than that of `oochub.stats.unseen_rows`, with one further row that
    is the worst of its class (with clusters two, each of as many rows as the design effect says), most of it in the
    smaller class; the other end is never nearer than Clopper and Pearson's, of as many rows. Simulated coverage of 95%
    is 0.94 to 0.99 of 10 + 10 to 1000 + 1000 rows and of 2 + 200 to 60 + 1940, with normal, t3, t4, skewed and
    contaminated scores and AUCs of 0.5 to 0.999; that of the logit interval alone is 0.26 of 50 + 4950 rows at AUC
    0.995. Few clusters of unequal size cover 0.89 to 0.98, and `reason` says so.

    A perfect order has no variance: of the
    min(m, n) disjoint pairs of rows all were won, so the interval is Clopper and Pearson's one-sided bound
    for as many trials, (tail)^(1 / min(m, n)); it holds whatever the distribution, and is wide.

    Args:
        label: 0 or 1 (n,).
        score: Real numbers (n,), higher = more likely class 1.
        cluster: What the rows (n,) share; None if they are independent.
        confidence: Level of the interval.

    Returns:
        The AUC; value or interval nan, with the reason, for one class, one row of a class, or equal scores.

    Raises:
        OochubError: What `auc` raises.

    >>> delong([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.3, 0.35, 0.8, 0.7])
    0.889 [0.088, 1.000] n=6
    """
    label, scores, clusters = _check_inputs(label, [score], cluster)
    m, n = int(label.sum()), int(len(label) - label.sum())
    sampling = Sampling(cluster=clusters, confidence=confidence)
    method = "delong, logit" if clusters is None else f"obuchowski, logit, {sampling.clusters} clusters"
    if m == 0 or n == 0:
        reason = f"all {m + n} rows are of class {1 if m else 0}"
        return Estimate(math.nan, n=m + n, method=method, reason=reason)
    parts = _compute_parts(label, scores, clusters)
    value, variance = float(parts.auc[0]), float(parts.covariance[0, 0])
    if value in (0.0, 1.0):
        bound = sampling.tail ** (1 / _count_disjoint_pairs(label, clusters))
        low, high = (bound, 1.0) if value == 1 else (0.0, 1 - bound)
        return Estimate(value, low=low, high=high, n=m + n, method="clopper-pearson of disjoint pairs")
    if not variance > 0:
        reason = _explain_no_variance(m, n, clusters)
        return Estimate(value, n=m + n, method=method, reason=reason)
    quantile = -float(scipy.special.stdtrit(_estimate_freedom(label, parts, clusters), sampling.tail))
    half = quantile * math.sqrt(variance) / (value * (1 - value))
    low, high = scipy.special.expit(scipy.special.logit(value) + np.array([-half, half]))
    unseen = _list_unseen(label, scores[0], variance, clusters)
    loss = min(value, 1 - value)
    least, most = least_loss(loss, variance, sampling.tail), reach_of_unseen(loss, variance, unseen, quantile)
    ends = (1 - most, 1 - least) if value >= 0.5 else (least, most)
    low, high = min(low, ends[0]), max(high, ends[1])
    return Estimate(value, low=low, high=high, n=m + n, method=method, reason=sampling.warning)


def _estimate_freedom(label: Array, parts: _Parts, clusters: Array | None) -> float:
    """Degrees of freedom of the variance of one AUC."""
    if clusters is not None:
        return count_equal_clusters(label, clusters) - 1
    m, n = int(label.sum()), int(len(label) - label.sum())
    a, b = float(parts.of_positives[0, 0]), float(parts.of_negatives[0, 0])
    return (a + b) ** 2 / (a**2 / (m - 1) + b**2 / (n - 1))


def count_equal_clusters(label: Array, clusters: Array) -> float:
    """How many clusters of equal size tell as much of an AUC; Student's t has one degree of freedom less.

    Both classes count the same, whatever their sizes, and at most twice as many count as the class in fewer has.

    Args:
        label: 0 or 1 (n,).
        clusters: Cluster of each row (n,), numbered from 0 on.

    >>> label, clusters = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 0, 1])
    >>> count_equal_clusters(label, clusters)  # 4 / (2 (1/4 + 1/2)^2 + 2 (1/4)^2) = 3.2; at most twice 2
    3.2
    """
    is_one = label.astype(bool)
    m = int(is_one.sum())
    both = effective_clusters(clusters, np.where(is_one, 1 / m, 1 / (len(label) - m)))
    return min(both, *(2 * effective_clusters(clusters[rows]) for rows in (is_one, ~is_one)))


def _list_unseen(label: Array, score: Array, variance: float, clusters: Array | None) -> list[Unseen]:
    """One row that is the worst of its class, divided between the classes by what one row of each decides.

    With clusters there are two, and each stands for as many rows as count for one: those of the design effect, and no
    more than a cluster of the class has.
    """
    sizes = [int(label.sum()), int((~label).sum())]
    shares = [1 / size for size in sizes]
    counts = [share / sum(shares) for share in shares]
    if clusters is not None:
        alone = float(_compute_parts(label, [score], None).covariance[0, 0])
        design = variance / alone if alone > 0 else math.inf
        shares = [
            share * count_together(design, clusters[rows]) for share, rows in zip(shares, (label, ~label), strict=True)
        ]
        counts = [UNITS * count for count in counts]
    return [*map(Unseen, counts, shares)]


def paired_delong(
    label: Any, score_a: Any, score_b: Any, *, cluster: Any = None, confidence: float = 0.95
) -> PairedDifference:
    """The difference of the AUCs of two scores on the same rows, and the p value of no difference.

    Args:
        label: 0 or 1 (n,).
        score_a: Real numbers (n,) of the first model.
        score_b: Real numbers (n,) of the second model.
        cluster: What the rows (n,) share; None if they are independent.
        confidence: Level of the interval.

    Returns:
        The difference in [-1, 1]. Scores that order all rows alike differ by 0 with p = 1.

    Raises:
        OochubError: What `auc` raises.

    >>> label, first = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]
    >>> paired_delong(label, first, [2 * s for s in first])
    PairedDifference(difference=0.000 [0.000, 0.000] n=6, p_value=1.0)
    """
    label, scores, clusters = _check_inputs(label, [score_a, score_b], cluster)
    m, n = int(label.sum()), int(len(label) - label.sum())
    method = "paired delong" if clusters is None else f"paired obuchowski, {clusters.max() + 1} clusters"
    if m == 0 or n == 0:
        reason = f"all {m + n} rows are of class {1 if m else 0}"
        return PairedDifference(Estimate(math.nan, n=m + n, method=method, reason=reason), math.nan)
    values, covariance = _compute_parts(label, scores, clusters)[:2]
    value = float(values[0] - values[1])
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    if not variance > _ROUNDING:
        if np.array_equal(_find_places(scores[0]), _find_places(scores[1])):
            return PairedDifference(Estimate(0.0, low=0, high=0, n=m + n, method=method), 1.0)
        reason = _explain_no_variance(m, n, clusters)
        return PairedDifference(Estimate(value, n=m + n, method=method, reason=reason), math.nan)
    freedom = None if clusters is None else count_equal_clusters(label, clusters) - 1  # of Student's t
    return _test_difference(value, variance, m + n, method, (1 - confidence) / 2, freedom)


def _test_difference(
    value: float, variance: float, n: int, method: str, level: float, freedom: float | None
) -> PairedDifference:
    error = math.sqrt(variance)
    distance = -abs(value) / error
    if freedom is None:
        quantile, tail = scipy.special.ndtri(level), scipy.special.ndtr(distance)
    else:
        quantile, tail = scipy.special.stdtrit(freedom, level), scipy.special.stdtr(freedom, distance)
    half = -float(quantile) * error
    estimate = Estimate(value, low=max(-1.0, value - half), high=min(1.0, value + half), n=n, method=method)
    return PairedDifference(estimate, float(2 * tail))


def delong_covariance(label: Any, scores: Any, *, cluster: Any = None) -> Covariance:
    """The AUCs of k scores of the same rows, and their covariance.

    Args:
        label: 0 or 1 (n,), both classes present.
        scores: k arrays (n,) of real numbers, or one array (k, n).
        cluster: What the rows (n,) share; None if they are independent.

    Raises:
        OochubError: What `auc` raises, or one class only.

    >>> delong_covariance([0, 0, 1, 1], [[1, 3, 2, 4]]).auc
    array([0.75])
    """
    label, checked, clusters = _check_inputs(label, list(scores), cluster)
    if label.all() or not label.any():
        raise OochubError("An AUC needs rows of both classes, got one. Check the selection of rows.")
    return Covariance(*_compute_parts(label, checked, clusters)[:2])


def compare_aucs(covariance: Covariance, first: int, second: int, n: int) -> PairedDifference | None:
    """`paired_delong` of two of the scores of a covariance; None where that has no variance.

    Args:
        covariance: Covariance of scores of independent rows, by `delong_covariance`.
        first: The number of one score.
        second: The number of the other.
        n: Number of rows.

    >>> label, scores = [0, 0, 0, 1, 1, 1], [[1, 2, 4, 3, 5, 6], [1, 4, 5, 2, 3, 6]]
    >>> compare_aucs(delong_covariance(label, scores), 0, 1, len(label))
    PairedDifference(difference=0.333 [-0.200, 0.867] n=6, p_value=0.22067136191984682)
    >>> paired_delong(label, *scores)
    PairedDifference(difference=0.333 [-0.200, 0.867] n=6, p_value=0.22067136191984682)
    """
    of = covariance.covariance
    value = float(covariance.auc[first] - covariance.auc[second])
    variance = float(of[first, first] + of[second, second] - 2 * of[first, second])
    return _test_difference(value, variance, n, "paired delong", 0.025, None) if variance > _ROUNDING else None


def compute_auc_influence(label: ArrayLike, score: ArrayLike) -> Array:
    """What each row adds to the AUC beyond the mean (n,): the sum of squares is nearly DeLong's variance.

    Args:
        label: 0 or 1 (n,), both classes present.
        score: Real numbers (n,).

    Raises:
        OochubError: What `auc` raises.

    >>> compute_auc_influence([0, 0, 1, 1], [1, 3, 2, 4])
    array([ 0.125, -0.125, -0.125,  0.125])
    """
    label, (score,), _ = _check_inputs(label, [score], None)
    m, n, places = int(label.sum()), int(len(label) - label.sum()), _find_places(score)
    ahead, behind = (_count_midpoints(places[rows], places.max() + 1) for rows in (label, ~label))
    auc = float(behind[places[label]].sum()) / (m * n)
    influence = np.empty(len(label))
    influence[label] = (behind[places[label]] / n - auc) / m
    influence[~label] = (1 - ahead[places[~label]] / m - auc) / n
    return influence


def _check_inputs(label: Any, scores: list[Any], cluster: Any) -> tuple[Array, list[Array], Array | None]:
    label = check_label(label, classes=2).astype(bool)
    checked = [check_score(score) for score in scores]
    codes = None
    if cluster is not None:
        codes = number_groups(check_group(cluster, name="cluster").codes)
    for score in checked:
        check_same_length(label=label, score=score, cluster=codes)
    return label, checked, codes


def _compute_parts(label: Array, scores: list[Array], clusters: Array | None) -> _Parts:
    m, n = int(label.sum()), int(len(label) - label.sum())
    if len(scores) == 1 and clusters is None and min(m, n) > 1:
        return _compute_parts_of_one(label, scores[0])
    wins = np.empty((len(scores), m))  # V10: the share of negatives below each positive
    losses = np.empty((len(scores), n))  # V01: the share of positives above each negative
    auc = np.empty(len(scores))
    for i, score in enumerate(scores):
        places = _find_places(score)
        distinct = places.max() + 1
        below = _count_midpoints(places[~label], distinct)[places[label]]
        auc[i] = below.sum() / (m * n)  # half-integers: exact before the division
        wins[i], losses[i] = below / n, 1 - _count_midpoints(places[label], distinct)[places[~label]] / m
    wins -= auc[:, None]
    losses -= auc[:, None]
    if clusters is not None:
        return _sum_by_cluster(auc, wins, losses, clusters[label], clusters[~label])
    if min(m, n) < 2:
        return _Parts(auc, *(np.full((len(scores),) * 2, np.nan),) * 3)
    a, b = wins @ wins.T / (m - 1) / m, losses @ losses.T / (n - 1) / n
    return _Parts(auc, a + b, a, b)


def _compute_parts_of_one(label: Array, score: Array) -> _Parts:
    """The same of one score of independent rows: sums over sorted scores, without a number for each row."""
    ahead, behind = (np.sort(score[np.flatnonzero(rows)]) for rows in (label, ~label))  # a mask is slower
    m, n = len(ahead), len(behind)
    below = np.searchsorted(behind, ahead)
    tied = np.flatnonzero(behind.take(below, mode="clip") == ahead)
    upto = below.copy() if len(tied) else below
    upto[tied] = np.searchsorted(behind, ahead[tied], "right")
    won = (below + upto) / 2  # how many negatives lie below each positive, equal ones counted one half
    lost = np.add(*(np.cumsum(np.bincount(counts, minlength=n))[:n] for counts in (below, upto))) / 2
    auc = float(won.sum()) / (m * n)
    of_positives, of_negatives = (
        np.array([[sum(float(((counts[part] / others - mean) ** 2).sum()) for part in row_blocks(rows, _TOGETHER))]])
        / ((rows - 1) * rows)
        for rows, others, mean, counts in ((m, n, auc, won), (n, m, 1 - auc, lost))
    )
    return _Parts(np.array([auc]), of_positives + of_negatives, of_positives, of_negatives)


def _find_places(score: Array) -> Array:
    """The place of each row's score (n,) among the distinct scores."""
    order = np.argsort(score)
    ranked, places = score[order], np.empty(len(score), np.intp)
    places[order] = np.cumsum(np.r_[False, ranked[1:] != ranked[:-1]])
    return places


def _count_midpoints(places: Array, distinct: int) -> Array:
    """How many of the rows lie below each distinct score, those at it counted one half."""
    counts = np.bincount(places, minlength=distinct)
    midpoints: Array = np.cumsum(counts) - counts / 2
    return midpoints


def _sum_by_cluster(auc: Array, wins: Array, losses: Array, of_positive: Array, of_negative: Array) -> _Parts:
    """The same of rows in clusters, whose sums are scaled as those of the CR2 variance of a mean."""
    count = int(max(of_positive.max(), of_negative.max())) + 1
    if min(len(np.unique(of_positive)), len(np.unique(of_negative))) < 2:
        return _Parts(auc, *(np.full((len(wins),) * 2, np.nan),) * 3)
    ahead, behind = (
        np.stack([np.bincount(cluster, row, count) for row in rows]) / np.sqrt(1 - share) / len(cluster)
        for rows, cluster in ((wins, of_positive), (losses, of_negative))
        for share in [np.bincount(cluster, minlength=count) / len(cluster)]
    )
    of_positives, of_negatives, of_both = ahead @ ahead.T, behind @ behind.T, ahead @ behind.T
    return _Parts(auc, of_positives + of_negatives + of_both + of_both.T, of_positives, of_negatives)


def _count_disjoint_pairs(label: Array, clusters: Array | None) -> int:
    """How many (positive, negative) pairs can be made that share no row, or no cluster of those that count."""
    if clusters is None:
        return int(min(label.sum(), (~label).sum()))
    a, b = effective_clusters(clusters[label]), effective_clusters(clusters[~label])
    return max(1, math.floor(min(a, b, count_equal_clusters(label, clusters) / 2) + _ROUNDING))


def _explain_no_variance(m: int, n: int, clusters: Array | None) -> str:
    if clusters is not None:
        return "a class lies in one cluster only, or no cluster differs from another: no variance"
    if min(m, n) < 2:
        return f"{m} rows of class 1 and {n} of class 0: a variance needs two of each"
    return "all rows of a class win the same share of pairs (such as equal scores): no variance"
