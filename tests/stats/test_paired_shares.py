"""Paired shares against scipy's exact binomial test, the published formula, and the coverage by enumeration."""

import numpy as np
import pytest
from scipy import stats

import oochub
from oochub.stats.estimate import Estimate
from oochub.stats.p_values import interval_p_value
from oochub.stats.proportion import paired_shares


def _rows(both, b, c, neither):
    first = np.repeat([1, 1, 0, 0], [both, b, c, neither])
    second = np.repeat([1, 0, 1, 0], [both, b, c, neither])
    return first, second


@pytest.mark.parametrize("counts", [(5, 3, 1, 2), (50, 12, 30, 8), (0, 7, 0, 0), (10, 0, 0, 4), (900, 40, 38, 22)])
def test_the_test_is_scipys_and_the_interval_the_formula(counts):
    """Planted faults: a one-sided test; the interval around (b - c) / n."""
    _, b, c, _ = counts
    n, first_second = sum(counts), _rows(*counts)
    difference, p_value = paired_shares(*first_second)
    assert p_value == pytest.approx(stats.binomtest(b, b + c).pvalue if b + c else 1.0, abs=1e-12)
    assert difference == pytest.approx((b - c) / n) and difference.n == n
    p, q = (b + 1) / (n + 2), (c + 1) / (n + 2)  # Bonett and Price 2012, Eq. 4
    half = stats.norm.ppf(0.975) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    assert (difference.low, difference.high) == pytest.approx((max(p - q - half, -1), min(p - q + half, 1)))
    assert difference.low <= difference <= difference.high
    turned, same = paired_shares(*reversed(first_second))
    assert (turned.low, turned.high) == pytest.approx((-difference.high, -difference.low)) and same == p_value


def test_no_rows_and_other_lengths():
    difference, p_value = paired_shares([], [])
    assert np.isnan(difference) and difference.reason == "no rows" and np.isnan(p_value)
    with pytest.raises(oochub.OochubError, match="same number of rows"):
        paired_shares([1], [1, 0])


@pytest.mark.parametrize(("b", "c"), [(0.1, 0.1), (0.02, 0.1), (0.3, 0.05)])
def test_the_interval_covers(b, c):
    """Exact, over every outcome of 40 rows. Planted fault: Wald without the added rows."""
    n, covered = 40, 0.0
    for of_b in range(n + 1):
        for of_c in range(n + 1 - of_b):
            chance = stats.multinomial.pmf([of_b, of_c, n - of_b - of_c], n, [b, c, 1 - b - c])
            if chance > 1e-9:
                difference = paired_shares(*_rows(n - of_b - of_c, of_b, of_c, 0)).difference
                covered += chance * (difference.low <= b - c <= difference.high)
    assert 0.935 <= covered <= 1


@pytest.mark.parametrize("value", [-0.3, 0.05, 0.2])
def test_an_interval_implies_its_test(value):
    """Planted fault: the half away from 0."""
    error = 0.1
    half = stats.norm.ppf(0.975) * error
    estimate = Estimate(value, low=value - half, high=value + half, n=9, method="normal")
    assert interval_p_value(estimate) == pytest.approx(2 * stats.norm.sf(abs(value) / error))
    skewed = Estimate(0.1, low=0.001, high=0.9, n=9, method="bootstrap")
    assert (
        interval_p_value(skewed)
        < 0.05
        < interval_p_value(Estimate(0.1, low=-0.001, high=0.11, n=9, method="bootstrap"))
    )


def test_no_interval_has_no_test_and_no_difference_has_p_1():
    assert np.isnan(interval_p_value(Estimate(0.1, n=9, method="none")))
    assert interval_p_value(Estimate(0.1, low=0.1, high=0.1, n=9, method="none")) == 0
    assert interval_p_value(Estimate(0.0, n=9, method="none")) == 1
