"""Lift against the definition of its interval, a case worked by hand, a bootstrap, and its coverage by enumeration."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import oochub
from oochub.stats.estimate import Sampling
from oochub.stats.lift import lift, lift_of_counts
from oochub.stats.mean_interval import share_of_clusters


def test_by_hand():
    """12 of 16 rows of a class have it, 10 of 40 others: 0.75 / 0.25. Planted fault: over the share of all rows."""
    has = np.repeat([True, False, True, False], [12, 4, 10, 30])
    found = lift(has, np.repeat([True, False], [16, 40]))
    assert found == 3 and found.n == 56 and found.low < 3 < found.high
    with pytest.raises(oochub.OochubError, match="same number of rows"):
        lift(has, [True])


@pytest.mark.parametrize("counts", [(12, 16, 10, 40), (1, 30, 200, 900), (40, 40, 10, 40), (40, 40, 40, 40)])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_ends_are_where_the_difference_is_none(counts, confidence):
    """The ratios t at which the square-and-add interval of p - t q has an end at 0, found by bisection."""
    a, m, b, n = counts
    (low_p, high_p), (low_q, high_q) = (
        stats.binomtest(k, of).proportion_ci(confidence, method="wilson") for k, of in ((a, m), (b, n))
    )
    p, q = a / m, b / n

    def low_end(t):  # of p - t q
        return p - t * q - math.hypot(p - low_p, t * (high_q - q))

    def high_end(t):
        return p - t * q + math.hypot(high_p - p, t * (q - low_q))

    found = lift_of_counts(a, m, b, n, confidence=confidence)
    assert found.low == pytest.approx(optimize.brentq(low_end, 1e-9, p / q), rel=1e-9)
    assert found.high == pytest.approx(optimize.brentq(high_end, p / q, 1e4), rel=1e-9)


def test_near_a_bootstrap():
    """40,000 resamples of many rows; the ends within 1%. Planted fault: intervals of q and p of level 0.9."""
    random, (a, m, b, n) = np.random.default_rng(0), (600, 1500, 900, 4500)
    drawn = (random.binomial(m, a / m, 40_000) / m) / (random.binomial(n, b / n, 40_000) / n)
    found = lift_of_counts(a, m, b, n)
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), rel=0.01)


@pytest.mark.parametrize(
    ("m", "n", "p", "q"), [(20, 180, 0.05, 0.05), (40, 200, 0.1, 0.1), (40, 40, 0.95, 0.5), (15, 150, 0.2, 0.04)]
)
def test_it_covers_and_errs_on_both_sides(m, n, p, q):
    """Exact, over every outcome. Planted fault: the low end of q's interval for the high one.

    Katz's log interval with 0.5 added covers 0.940 in the first case, with every error on one side.
    """
    covered = beyond = 0.0
    of_p, of_q = (stats.binom.pmf(np.arange(rows + 1), rows, share) for rows, share in ((m, p), (n, q)))
    for a in np.flatnonzero(of_p > 1e-5):
        for b in np.flatnonzero(of_q > 1e-5):
            found = lift_of_counts(int(a), m, int(b), n)
            inside = not (found.low > p / q or found.high < p / q)  # an end that is nan excludes nothing
            covered += of_p[a] * of_q[b] * inside
            beyond += of_p[a] * of_q[b] * (found.low > p / q)
    assert 0.945 <= covered <= 0.98 and beyond < 0.04


def test_what_is_undefined_says_so():
    """Planted fault: infinity, which a report cannot hold."""
    for counts, reason in {
        (0, 0, 3, 9): "no row is of the class",
        (3, 9, 0, 0): "every row is of the class",
        (0, 9, 0, 9): "no row has the context",
    }.items():
        found = lift_of_counts(*counts)
        assert found.reason == reason and math.isnan(found) and math.isnan(found.low) and math.isnan(found.high)
    alone = lift_of_counts(20, 40, 0, 400)
    assert math.isnan(alone) and math.isnan(alone.high) and 20 < alone.low < 60
    never = lift_of_counts(0, 40, 200, 400)
    assert never == 0 and never.low == 0 and never.high < 0.2
    with pytest.raises(oochub.OochubError, match="successes must lie between"):
        lift_of_counts(5, 4, 1, 9)


def test_rows_in_clusters_tell_no_more_than_their_clusters():
    """Nine copies of each row, named as clusters, have the interval of the clusters, not of all rows."""
    rng = np.random.default_rng(3)
    own, has = rng.random(80) < 0.5, rng.random(80) < 0.4
    single, copied = (
        lift(np.repeat(has, copies), np.repeat(own, copies), Sampling(cluster=np.repeat(np.arange(80), copies)))
        for copies in (1, 9)
    )
    assert 0.95 < (copied.high - copied.low) / (single.high - single.low) < 1.2
    rows = lift(np.repeat(has, 9), np.repeat(own, 9))
    assert copied.high - copied.low > 2.5 * (rows.high - rows.low)
    one = lift(has, own, Sampling(cluster=np.where(own, 0, np.arange(80))))
    assert "one cluster" in one.reason and one.low == 0
    has = rng.random(80) < 0.9  # other clusters of the class may have none, or all
    often = lift(has, own, Sampling(cluster=np.where(own, 0, np.arange(80))))
    p, others = has[own].mean(), share_of_clusters(has[~own] * 1.0, Sampling(cluster=np.arange((~own).sum())))
    high = optimize.brentq(lambda t: p - t * others + math.hypot(p - 1, t * (others - others.low)), p / others, 9)
    assert often.low == 0 and often.high == pytest.approx(high, rel=1e-9)


def test_clusters_of_one_class_say_that_there_is_nothing_to_compare():
    """Of 2,000 worlds of ten rows some have one class; that was an error."""
    for own, reason in ((True, "every row is of the class"), (False, "no row is of the class")):
        found = lift([True, False] * 5, [own] * 10, Sampling(cluster=np.arange(10) % 5))
        assert found.reason == reason and math.isnan(found)
