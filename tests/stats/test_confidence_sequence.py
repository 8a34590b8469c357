"""Confidence sequences: wealth by integration and by a loop, ends by hand, and errors at every look in drawn worlds."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from oochub.stats.confidence_sequence import (
    TAIL,
    MeanEvidence,
    ShareEvidence,
    log_difference_above,
    make_difference,
    make_interval,
)
from oochub.stats.estimation import difference
from oochub.stats.proportion import adjusted_wald, wilson

BAR = -math.log(TAIL)


@pytest.mark.parametrize(("ones", "n", "mean"), [(8, 10, 0.5), (30, 40, 0.6), (1, 50, 0.1), (190, 200, 0.9)])
def test_the_wealth_of_a_share_is_an_integral(ones: int, n: int, mean: float) -> None:
    """A beta prior above the mean alone, a tenth kept. Planted faults seen: a prior on both sides; nothing kept."""
    prior = stats.beta(20 * mean, 20 * (1 - mean))

    def ratio(share: float) -> float:
        log = ones * math.log(share / mean) + (n - ones) * math.log((1 - share) / (1 - mean))
        return math.exp(log) * prior.pdf(share) / prior.sf(mean)

    won, _ = integrate.quad(ratio, mean, 1, limit=200)
    evidence = ShareEvidence(ones, n)
    assert evidence.log_above(mean) == pytest.approx(math.log(0.9 * won + 0.1), rel=1e-6)
    assert ShareEvidence(n - ones, n).log_below(1 - mean) == pytest.approx(evidence.log_above(mean))


@pytest.mark.parametrize("within", [(0.0, 1.0), (-1.0, 1.0), (0.0, 5.0)])
def test_the_wealth_of_a_mean_is_that_of_forty_gamblers(within: tuple[float, float]) -> None:
    """A loop over rows, in any order. Planted fault seen: stakes that may lose more than all."""
    low, high = within
    values = np.random.default_rng(0).choice([low, low + (high - low) * 0.4, high], size=60, p=[0.2, 0.5, 0.3])
    mean = low + (high - low) * 0.4
    scaled = (mean - low) / (high - low)
    wealth = np.ones(40)
    for value in values[::-1]:
        wealth = wealth * (1 + np.geomspace(0.02, 0.99 / scaled, 40) * ((value - low) / (high - low) - scaled))
        assert (wealth > 0).all()
    evidence = MeanEvidence(values, low, high)
    assert evidence.log_above(mean) == pytest.approx(math.log(0.9 * wealth.mean() + 0.1))
    mirrored = MeanEvidence(low + high - values, low, high)
    assert mirrored.log_below(low + high - mean) == pytest.approx(evidence.log_above(mean))


@pytest.mark.parametrize(
    "evidence",
    [
        ShareEvidence(170, 200),
        ShareEvidence(0, 30),
        ShareEvidence(30, 30),
        MeanEvidence(np.repeat([-1.0, 0.0, 1.0], [10, 160, 30]), -1, 1),
    ],
)
def test_an_end_is_where_the_wealth_is_forty(evidence: ShareEvidence | MeanEvidence) -> None:
    found = make_interval(evidence)
    assert evidence.least <= found.low <= evidence.value <= found.high <= evidence.most
    for end, bound, wealth in (
        (found.low, evidence.least, evidence.log_above),
        (found.high, evidence.most, evidence.log_below),
    ):
        if end != bound:
            assert wealth(end) == pytest.approx(BAR, abs=1e-6)
            outside = np.linspace(bound, end, 12)[1:-1]
            assert all(wealth(mean) > BAR for mean in outside)  # what is out of the interval is excluded, all of it
        else:
            assert end == evidence.value


def test_a_difference_is_the_smallest_product_of_both_sides() -> None:
    """By a fine grid. Planted fault seen: the largest product."""
    first, second, gap = ShareEvidence(70, 100), ShareEvidence(170, 200), -0.3
    means = np.linspace(0.3, 1.0, 4001)
    products = [first.log_above(mean + gap) + second.log_below(mean) for mean in means]
    assert log_difference_above(first, second, gap) == pytest.approx(min(products), abs=1e-4)
    found = make_difference(first, second)
    assert log_difference_above(first, second, found.low) == pytest.approx(BAR, abs=1e-3)
    assert log_difference_above(second, first, -found.high) == pytest.approx(BAR, abs=1e-3)
    shared = make_difference(first, second, are_independent=False)
    one, other = (make_interval(each, tail=TAIL / 2) for each in (first, second))
    assert (shared.low, shared.high) == (one.low - other.high, one.high - other.low)
    assert shared.low < found.low < found.value < found.high < shared.high


def test_widths_at_a_thousand_rows_are_below_twice_those_of_one_look() -> None:
    """Shares, their differences, and paired changes."""
    for share in (0.5, 0.8, 0.95, 0.99):
        ones = round(1000 * share)
        assert width(make_interval(ShareEvidence(ones, 1000))) < 1.7 * width(wilson(ones, 1000))
    for n in (500, 200):
        sides = ShareEvidence(round(0.8 * n), n), ShareEvidence(round(0.9 * (1000 - n)), 1000 - n)
        fixed = difference(*(wilson(side.ones, side.n) for side in sides))
        assert width(make_difference(*sides)) < 1.9 * width(fixed)
    for won, lost in ((40, 20), (100, 80), (5, 0)):
        changes = np.repeat([1.0, -1.0, 0.0], [won, lost, 1000 - won - lost])
        low, high = adjusted_wald(won, lost, 1000, 0.025)
        assert width(make_interval(MeanEvidence(changes, -1, 1))) < 2 * (high - low)


def width(estimate) -> float:
    return estimate.high - estimate.low


def wealth_of_shares(ones: np.ndarray, n: np.ndarray, mean: float) -> np.ndarray:
    """`ShareEvidence.log_above` of many at once."""
    own, other = 20 * mean, 20 * (1 - mean)
    above = special.betainc(other + n - ones, own + ones, 1 - mean) / special.betainc(other, own, 1 - mean)
    log = special.betaln(own + ones, other + n - ones) - special.betaln(own, other)
    log = log + np.log(np.maximum(above, 1e-300)) - ones * math.log(mean) - (n - ones) * math.log1p(-mean)
    return np.logaddexp(math.log(0.9) + log, math.log(0.1))


def rate_of_false_passes(passed: np.ndarray) -> None:
    """At most 2.5% of worlds, but for chance."""
    assert stats.binomtest(int(passed.sum()), len(passed), TAIL, alternative="greater").pvalue > 0.01, passed.mean()


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.8, 0.98])
def test_a_share_at_the_bound_seldom_ever_passes(share: float) -> None:
    """4,000 worlds, a look after each of 1,000 rows, both directions; a fixed interval passes in 9 to 18%."""
    rng = np.random.default_rng(1)
    n = np.arange(1, 1001)
    for mean in (share, 1 - share):
        passed = np.zeros(4000, bool)
        for start in range(0, 4000, 500):
            ones = np.cumsum(rng.random((500, 1000)) < mean, axis=1)
            passed[start : start + 500] = (wealth_of_shares(ones, n, mean) >= BAR).any(axis=1)
        rate_of_false_passes(passed)
    known = ShareEvidence(300, 400).log_above(0.7)
    assert wealth_of_shares(np.array([300]), np.array([400]), 0.7)[0] == pytest.approx(known)
