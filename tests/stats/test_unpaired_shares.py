"""Two shares of different rows, against scipy's chi-square; with clusters, by worlds."""

import math

import numpy as np
import pytest
from scipy import stats

from oochub.stats.stratified_gap import chi_square_p_value, unpaired_shares


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
