"""The exact interval of a percentile: against sums over the binomial law, and what is said of few groups."""

import math

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.stats.group_intervals import quantile_interval


def _ends(n: int, share: float, confidence: float) -> tuple[int | None, int | None]:
    """The numbers (from 0, in order) of the values at both ends; None where too few values lie beyond."""
    law = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    tail = (1 - confidence) / 2
    lows = [k for k in range(n) if sum(law[: k + 1]) <= tail]  # that so few lie below the percentile
    highs = [k for k in range(n) if sum(law[k + 1 :]) <= tail]
    return (max(lows) if lows else None), (min(highs) if highs else None)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize("percentile", [1, 10, 50, 90, 97.5])
@pytest.mark.parametrize("n", [5, 20, 57, 400, 1000])
def test_ends_are_order_statistics_by_the_binomial_law(n, percentile, confidence):
    """Planted faults: a percent of 101; the bound of the other side."""
    values = np.random.default_rng(n).permutation(np.arange(n) * 2.0)
    low, high = _ends(n, percentile / 100, confidence)
    found = quantile_interval(values, percentile, within=(-1.0, 9999.0), confidence=confidence)
    assert found.value == np.percentile(values, percentile)
    ends = (-1.0 if low is None else 2.0 * low, 9999.0 if high is None else 2.0 * high)
    assert (found.low, found.high) == (min(ends[0], found.value), max(ends[1], found.value))
    assert ("lower end" in (found.reason or "")) == (low is None)
    assert ("upper end" in (found.reason or "")) == (high is None)
    assert found.n == n and found.method == f"order statistics of {n} groups"


@pytest.mark.parametrize(("percentile", "own", "other"), [(0, "low", "high"), (100, "high", "low")])
def test_the_percentile_of_all_values_is_an_end_of_its_own(percentile, own, other):
    """Nothing lies beyond the smallest or the largest of all that there are: that end has no bound here, so none."""
    found = quantile_interval([3.0, 1.0, 2.0], percentile)
    assert found.value == (1.0 if percentile == 0 else 3.0)
    assert math.isnan(getattr(found, own)) and getattr(found, other) == found.value
    assert "only 3 groups" in found.reason


def test_the_interval_holds_an_estimate_that_is_given():
    found = quantile_interval(np.arange(101.0), 10, value=2.0)
    assert found.low == found.value == 2.0 and found.high == 16.0


@pytest.mark.parametrize("values", [[], [0.5, math.nan]])
def test_what_is_no_list_of_numbers_is_refused(values):
    with pytest.raises(OochubError, match="values"):
        quantile_interval(values, 10)
