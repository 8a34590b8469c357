"""Two shares of different rows, against scipy's chi-square; with clusters, by worlds and by exact levels."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from oochub.stats.stratified_gap import chi_square_p_value, stratified_gap, unpaired_shares

ONE_OR_TWO = [[(2, 0)], [(0, 2)], [(1, 1)], [(2, 0), (0, 2)], [(2, 0), (2, 0)], [(3, 0)], [(1, 1), (1, 1)]]
LARGER = [(12, 40), (20, 20), (15, 150)]
LEVELS = np.array([0.05, 0.05 / 12, 0.05 / 60])


@pytest.mark.parametrize(("n", "m"), [(20, 30), (200, 240), (7, 900)])
def test_independent_rows_are_scipys(n, m):
    rng = np.random.default_rng(n)
    value, first = rng.random(n + m) < 0.6, np.arange(n + m) < n
    table = [[(value & first).sum(), (~value & first).sum()], [(value & ~first).sum(), (~value & ~first).sum()]]
    expected = stats.chi2_contingency(table, correction=True).pvalue
    assert unpaired_shares(value, first) == pytest.approx(expected, rel=1e-9)
    assert chi_square_p_value((table[0][0], table[1][0]), (n, m)) == pytest.approx(expected, rel=1e-9)


def test_what_cannot_be_compared():
    assert math.isnan(unpaired_shares([1, 0], [True, True])) and unpaired_shares([1, 1], [True, False]) == 1
    assert math.isnan(unpaired_shares([1, 0, 1, 1], [True, True, False, False], cluster=[0, 0, 1, 1]))


def test_clusters_of_one_row_are_no_clusters():
    value, first = [1] * 6 + [1, 1, 0, 0, 0, 0], np.arange(12) < 6
    alone = unpaired_shares(value, first)
    assert unpaired_shares(value, first, cluster=np.arange(12)) == alone
    value, first = np.arange(60) % 30 < np.repeat([28, 19], 30), np.arange(60) < 30
    of_rows, of_clusters = (stratified_gap(value, first, np.zeros(60), cluster=each) for each in (None, np.arange(60)))
    assert of_clusters.p_value == of_rows.p_value < 0.05
    assert of_clusters.estimate.to_dict() == of_rows.estimate.to_dict()  # the method and both ends


@pytest.mark.parametrize("right", product([0, 3, 6], [0, 2, 6]))
@pytest.mark.parametrize("shared", [[(2, 0)], [(0, 2)], [(1, 1)], [(2, 0), (0, 2)]])
def test_few_rows_of_which_two_share_a_cluster_are_no_surer_than_independent_ones(right, shared):
    """6 + 6 rows, of which 6 and 2 are right: 0.066, and 0.0017 by the t of clusters alone. Fault planted: that one."""
    value = np.r_[np.arange(6) < right[0], np.arange(6) < right[1]]
    first, cluster = np.arange(12) < 6, _name_clusters(6, 6, shared)
    found = unpaired_shares(value, first, cluster=cluster)
    assert math.isnan(found) or found >= unpaired_shares(value, first)
    with_clusters, without = (stratified_gap(value, first, np.zeros(12, int), cluster=each) for each in (cluster, None))
    if not math.isnan(with_clusters.p_value):
        assert with_clusters.p_value >= without.p_value - 1e-12
        ends = with_clusters.estimate, without.estimate
        assert ends[0].low <= ends[1].low and ends[0].high >= ends[1].high


def _name_clusters(n, m, shared):
    """Each row its own but for (k, l): the next k of the n rows and l of the m rows share one."""
    cluster, at = np.arange(n + m), [0, n]
    for k, m_shared in shared:
        rows = [*range(at[0], at[0] + k), *range(at[1], at[1] + m_shared)]
        cluster[rows] = rows[0]
        at = [at[0] + k, at[1] + m_shared]
    return cluster


def _levels(n, m, shared, chance, *, alike):
    """The exact chance of a p-value at or below each of LEVELS, where all rows are right with one chance.

    Rows of a cluster are all right or all wrong (`alike`), or independent. Single rows count by how many are right, so
    that every outcome is one of few.
    """
    cluster, first = _name_clusters(n, m, shared), np.arange(n + m) < n
    together = np.bincount(cluster, minlength=n + m)[cluster] > 1
    free = [np.flatnonzero(~together & side) for side in (first, ~first)]
    tied = [np.flatnonzero(cluster == each) for each in np.unique(cluster[together])] if alike else []
    tied = tied or [np.array([row]) for row in np.flatnonzero(together)]
    below = np.zeros(len(LEVELS))
    for states in product([0, 1], repeat=len(tied)):
        value = np.zeros(n + m, bool)
        for rows, state in zip(tied, states, strict=True):
            value[rows] = state
        of_states = np.prod([chance if state else 1 - chance for state in states])
        for counts in product(*(range(len(rows) + 1) for rows in free)):
            for rows, count in zip(free, counts, strict=True):
                value[rows] = np.arange(len(rows)) < count
            of_counts = [stats.binom.pmf(k, len(rows), chance) for k, rows in zip(counts, free, strict=True)]
            if of_states * np.prod(of_counts) > 1e-7:
                p_value = unpaired_shares(value, first, cluster=cluster)
                below += of_states * np.prod(of_counts) * (p_value <= LEVELS)
    return below


def test_the_exact_level_of_six_and_six_rows_of_which_two_share_a_cluster():
    """At most 5%, and so of the first step of Holm's correction over 12 and 60 groups."""
    assert (_levels(6, 6, [(2, 0)], 0.5, alike=True) <= LEVELS).all()


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(
    ("n", "m"), [(6, 6), (8, 8), *(pytest.param(*each, marks=pytest.mark.campaign) for each in LARGER)]
)
def test_the_exact_level_of_few_rows_with_one_or_two_shared_clusters(n, m, alike, chance):
    """The same of more worlds; the t of clusters alone rejects 0.35 of 15 + 150 rows at 0.95."""
    for shared in ONE_OR_TWO:
        found = _levels(n, m, shared, chance, alike=alike)
        assert (found <= LEVELS).all(), (shared, found)


@pytest.mark.slow
@pytest.mark.parametrize("nested", [True, False])
def test_the_level_with_clusters(nested):
    """40 clusters of 10 rows that go together (0.5), whole clusters of one kind or rows of both in each.

    3,000 worlds: 0.05 +- 0.0145 are 3.6 standard errors, and it may refuse less. Fault planted: no clusters (0.4).
    """
    rng, refused = np.random.default_rng(0), []
    cluster = np.repeat(np.arange(40), 10)
    for _ in range(3_000):
        own = rng.normal(size=40)[cluster] + rng.normal(size=400)
        first = cluster < 20 if nested else rng.random(400) < 0.5
        refused.append(unpaired_shares(own > -1, first, cluster=cluster) <= 0.05)
    assert 0.02 < np.mean(refused) < 0.0645
