"""Intervals of means: the formulas against matrices, and simulated coverage with few rows or clusters."""

import math

import numpy as np
import pytest
from scipy import stats

from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import Answers, mean_estimate, share_of_clusters, t_interval
from oochub.stats.proportion import clopper_pearson


def matrix_spread(sums: np.ndarray, sizes: np.ndarray, variance: np.ndarray) -> tuple[float, float]:
    """CR2 and its degrees of freedom of the regression on a constant, by the matrices of Bell and McCaffrey 2002."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    design = np.ones((len(cluster), 1))
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    values = (sums / sizes)[cluster]
    residual = values - hat @ values
    gram, scores = np.linalg.inv(design.T @ design), []
    for one in range(len(sizes)):
        own = cluster == one
        block = np.eye(own.sum()) - hat[np.ix_(own, own)]
        lam, vec = np.linalg.eigh(block)
        root = vec @ np.diag(np.where(lam > 1e-9, 1 / np.sqrt(np.maximum(lam, 1e-9)), 0)) @ vec.T
        scores.append(design[own].T @ root @ (np.eye(len(cluster)) - hat)[own])
    error = math.sqrt(sum(float((gram @ (score @ values[:, None]))[0, 0]) ** 2 for score in scores))
    assert np.allclose(residual.sum(), 0)
    # Rows of a cluster share one effect (variance size^2 of the sum), or are independent (variance size).
    shared = np.array_equal(variance, sizes**2)
    omega = (cluster[:, None] == cluster) * 1.0 if shared else np.eye(len(cluster))
    stacked = np.vstack(scores)
    product = stacked @ omega @ stacked.T
    return error, float(np.trace(product) ** 2 / (product**2).sum())


def test_the_t_interval_is_that_of_matrices() -> None:
    """CR2 and Bell and McCaffrey's degrees of freedom, of unequal clusters; m - 1 of equal ones."""
    sizes = np.array([1, 3, 4, 9])
    cluster = np.repeat(np.arange(4), sizes)
    means = np.array([0.1, 0.9, 0.4, 0.6])
    found = t_interval(means[cluster], Sampling(cluster=cluster))
    each = [matrix_spread(means * sizes, sizes, variance) for variance in (sizes, sizes**2)]
    error, freedom = each[0][0], min(freedom for _, freedom in each)
    half = stats.t.ppf(0.975, freedom) * error
    assert found.low == pytest.approx(found.value - half, rel=1e-9)
    equal = t_interval(np.repeat(means, 5), Sampling(cluster=np.repeat(np.arange(4), 5)))
    half = stats.t.ppf(0.975, 3) * means.std(ddof=1) / 2
    assert equal.high == pytest.approx(means.mean() + half, rel=1e-9)
    assert matrix_spread(means * 5, np.full(4, 5), np.full(4, 25))[1] == pytest.approx(3)


def test_rows_that_are_clusters_of_one_are_rows() -> None:
    """Student's interval by scipy; planted fault: the divisor n in the standard error."""
    values = np.random.default_rng(0).normal(size=12)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    for sampling in (Sampling(), Sampling(cluster=np.arange(12))):
        found = t_interval(values, sampling)
        assert (found.low, found.high) == pytest.approx((low, high))


def test_a_share_of_clusters_has_width_and_its_effective_rows() -> None:
    """All right: Clopper and Pearson's of so many clusters. Korn and Graubard's formula by hand for 1, 3, 4 of 4."""
    right = mean_estimate(np.ones(40), Sampling(cluster=np.arange(40) % 4))
    exact = clopper_pearson(4, 4)
    assert (right.value, right.low, right.high) == pytest.approx((1.0, exact.low, 1.0))
    values = np.concatenate([np.arange(4) < hits for hits in (1, 3, 4)]) * 1.0
    found = share_of_clusters(values, Sampling(cluster=np.repeat(np.arange(3), 4)))
    share = 8 / 12
    error2 = np.var([1 / 4, 3 / 4, 1], ddof=1) / 3
    effective = share * (1 - share) / error2 * (stats.t.ppf(0.975, 11) / stats.t.ppf(0.975, 2)) ** 2
    assert found.low == pytest.approx(stats.beta.ppf(0.025, share * effective, effective - share * effective + 1))
    assert found.high == pytest.approx(stats.beta.ppf(0.975, share * effective + 1, effective - share * effective))
    assert "only 3 clusters" in str(found.reason)


def test_no_more_rows_count_than_there_are() -> None:
    """Clusters that are more alike than chance makes them do not narrow the interval below that of rows."""
    values = np.tile([1.0, 1.0, 0.0, 1.0], 50)
    found, rows = mean_estimate(values, Sampling(cluster=np.repeat(np.arange(50), 4))), clopper_pearson(150, 200)
    assert (found.low, found.high) == pytest.approx((rows.low, rows.high))


def test_two_right_and_two_wrong_rows_by_hand() -> None:
    """Confidence 0.9 in 10 rows, 8 right; with two right and two wrong more; the hull of both t intervals."""
    values = np.repeat([-0.1, 0.9], [8, 2])
    answers = Answers(np.full(10, -0.1), np.full(10, 0.9))
    found = mean_estimate(values, are_shares=False, answers=answers, within=(-1.0, 1.0))
    more = np.concatenate([values, [-0.1, -0.1, 0.9, 0.9]])
    t = stats.t.ppf(0.975, 9)

    def reach(some: np.ndarray, error: float) -> tuple[float, float]:
        return some.mean() - t * error, some.mean() + t * error

    ends = [
        reach(values, stats.sem(values)),
        reach(more, math.sqrt(((more - more.mean()) ** 2 / (1 - 1 / 14)).sum()) / 14),
    ]
    assert (found.low, found.high) == pytest.approx((min(low for low, _ in ends), max(high for _, high in ends)))


def test_what_has_no_interval_says_why() -> None:
    for found in (
        t_interval(np.array([2.0]), Sampling()),
        t_interval(np.full(5, 2.0), Sampling()),
        mean_estimate([1, 0, 1], Sampling(cluster=[0, 0, 0])),
        mean_estimate([1, 1, 1], Sampling(cluster=[0, 0, 0])),
    ):
        assert isinstance(found, Estimate) and math.isnan(found.low) and math.isnan(found.high) and found.reason
    few = mean_estimate(np.arange(30.0), are_shares=False)
    assert few.reason == "only 30 rows: the interval may be too narrow"


@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(12), [9, 1, 2, 3, 1, 4, 2, 5, 1, 1, 8, 3])])
def test_the_ends_of_a_skewed_mean_solve_halls_equation(cluster: np.ndarray | None) -> None:
    """Hall 1992: T + k T^2 / 3 + k^2 T^3 / 27 + k / 6 is Student's quantile at both ends, k the skewness of the mean.

    Of rows k by scipy. Of clusters by the plain interval, whose half is the quantile times the standard error, and the
    residuals of CR2. Planted faults: k / 6 left out; the skewness of a row for that of the mean.
    """
    values = np.random.default_rng(5).exponential(size=40)
    sampling = Sampling(cluster=cluster)
    found, plain = mean_estimate(values, sampling), t_interval(values, sampling)
    if cluster is None:
        quantile, skewness = stats.t.ppf(0.975, 39), stats.skew(values) / math.sqrt(40)
    else:
        sizes = np.bincount(cluster)
        left = (np.bincount(cluster, values) - values.mean() * sizes) / np.sqrt(1 - sizes / 40)
        each = [matrix_spread(np.bincount(cluster, values), sizes, variance) for variance in (sizes, sizes**2)]
        quantile = stats.t.ppf(0.975, min(freedom for _, freedom in each))
        skewness = (left**3).sum() / (left**2).sum() ** 1.5
    error = (plain.high - plain.value) / quantile
    for end, expected in ((found.low, quantile), (found.high, -quantile)):
        studentized = (found.value - end) / error
        solved = studentized + skewness * studentized**2 / 3 + skewness**2 * studentized**3 / 27 + skewness / 6
        assert solved == pytest.approx(expected)


def test_a_mean_of_symmetric_values_has_the_plain_interval() -> None:
    values = np.concatenate([np.arange(60.0), -np.arange(60.0)])
    found, plain = mean_estimate(values), t_interval(values, Sampling())
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high)) and found.reason is None
