"""Prediction-powered shares: against a loop, against worlds whose truth is known, and against ppi-python."""

import numpy as np
import pytest

from oochub.stats.prediction_powered import estimate_share, subtract_shares, take_smallest, tune
from oochub.stats.proportion import clopper_pearson, wilson

ONES = np.ones


def world(rng, n=60, others=900, mean=0.8, correlation=0.5):
    """Calibrated chances of a beta law whose variance is the square of the correlation times that of being right."""
    size = 1 / correlation**2 - 1
    proxy = rng.beta(mean * size, (1 - mean) * size, n + others)
    return (rng.random(n) < proxy[:n]) * 1.0, proxy


def loop(right, member, proxy_right, proxy_member, lean=None):
    """The value and what is saved, written out row by row with the functions of NumPy."""
    n, every, size = len(member), len(proxy_right), member.sum()
    alone = right.sum() / size
    value = left = (right - alone * member) / (size / n)
    for (of_right, of_member), guess, spread in (((proxy_right, proxy_member), 1, 0.4), (lean, 0, 0.12))[
        : 1 + bool(lean)
    ]:
        proxy, rest = (of_right - alone * of_member) / (size / n), []
        for row in range(n):
            others = [other for other in range(n) if other != row]
            (every_value, shared), (_, own) = np.cov(left[others], proxy[:n][others], bias=True)
            wide = max(own, np.var(proxy))
            noise = every_value * (1 - np.corrcoef(left[others], proxy[:n][others])[0, 1] ** 2) / (size - 2) / wide
            posterior = np.average([shared / wide, guess], weights=[1 / noise, 1 / spread**2])  # of two normal laws
            rest.append(left[row] - min(max(posterior, guess - 1), 1) * (proxy[row] - proxy.mean()))
        left = np.array(rest)
    saved = (1 - n / every) * (1 - size / (size - 2 - bool(lean)) * np.var(left) / np.var(value))
    return alone + np.mean(left), saved


@pytest.mark.parametrize("seed", range(4))
def test_it_is_what_a_loop_gives(seed):
    """Of all rows, and of members that are predicted too. Fault planted: lambda tuned on all rows at once."""
    rng = np.random.default_rng(seed)
    right, proxy = world(rng, correlation=0.7)
    for member, chance in ((ONES(60), ONES(960)), (rng.random(60) < 0.7, np.full(960, 0.7))):
        given = right * member, member * 1.0, proxy * chance, chance
        value, saved = loop(*given)
        found = tune(*given)
        assert saved > 0.03 and found.value == pytest.approx(value) and found.saved == pytest.approx(saved)


def test_it_learns_that_a_proxy_is_off_for_one_kind_of_rows():
    """As a loop does, where two kinds are right in 90% and 30%; nothing where they are alike.

    Faults planted: lambda of the kinds tuned on all rows at once; the correction taken if it saves nothing.
    """
    rng = np.random.default_rng(5)
    kind = np.where(rng.random(2_000) < 0.5, 1.0, -1.0)
    proxy, nothing = rng.beta(6, 4, 2_000), np.zeros(2_000)
    for rates, is_off in (((0.9, 0.3), True), ((0.6, 0.6), False)):
        right = (rng.random(80) < np.where(kind[:80] > 0, *rates)) * 1.0
        given = right, ONES(80), proxy, ONES(2_000)
        found = tune(*given, lean=(kind, nothing))
        if is_off:
            value, saved = loop(*given, (kind, nothing))
            assert saved > 0.15 and found.value == pytest.approx(value) and found.saved == pytest.approx(saved)
        else:
            assert found.value == tune(*given).value


def test_what_does_not_help_changes_nothing():
    """No other image, a constant proxy, one that is wrong way round, too few that are wrong, no member."""
    rng = np.random.default_rng(0)
    right, proxy = world(rng)
    alone = wilson(int(right.sum()), 60)
    for given in ((right, proxy[:60]), (right, np.full(960, 0.5)), (right, 1 - proxy)):
        found = estimate_share(given[0], ONES(60), given[1], ONES(len(given[1])))
        assert found.saved == 0 and found.alone == found.together == alone
        assert (found.together.low, found.together.high) == (alone.low, alone.high)
    few = estimate_share(np.r_[0, ONES(59)], ONES(60), proxy, ONES(960))
    assert few.saved == 0 and few.together == 59 / 60
    nobody = estimate_share(np.zeros(60), np.zeros(60), proxy, np.zeros(960))
    assert nobody.alone.n == 0 and nobody.together.reason == "no rows"


def test_a_proxy_that_is_far_off_is_corrected():
    """Half of the probability in each row: the mean over 300 worlds is the truth, and far from that of the proxy."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(300):
        right, proxy = world(rng)
        found.append(tune(right, ONES(60), proxy / 2, ONES(960)).value)
    assert np.mean(found) == pytest.approx(0.8, abs=4 * np.std(found) / np.sqrt(300)) and np.mean(found) > 0.75


@pytest.mark.slow
def test_the_difference_allows_for_a_correction_of_both():
    """Two sides that a wrong answer changes: variance of the difference as in 400 worlds, with few other images."""
    rng, spread, said = np.random.default_rng(2), [], []
    for _ in range(400):
        right, proxy = world(rng, n=200, others=200, mean=0.7)
        answer = rng.random(400) < 0.5
        side = np.where(right > 0, answer[:200], ~answer[:200])
        shares = []
        for each in (True, False):
            chance = np.where(answer == each, proxy, 1 - proxy)
            member = side == each
            shares.append(estimate_share(right * member, member, proxy * (answer == each), chance))
        gap = subtract_shares(*shares)
        spread.append([gap.alone.value, gap.together.value])
        said.append(gap.saved)
    alone, together = np.var(spread, axis=0)
    assert np.mean(said) == pytest.approx(1 - together / alone, abs=0.07)
    assert 0.2 < np.mean(said) < 0.5  # half of the rows have a label, so no more than half can be saved


def test_the_smallest_of_several():
    """By hand: the smallest value, with the smallest ends. Fault planted: the ends of the smallest value."""
    exact = {"confidence": 0.975, "exact": True}
    shares = [estimate_share(np.arange(n) < k, ONES(n), ONES(n), ONES(n), **exact) for k, n in ((60, 100), (5, 8))]
    least = take_smallest(shares).together
    ends = [clopper_pearson(k, n, confidence=0.975) for k, n in ((60, 100), (5, 8))]
    assert (least.value, least.n, least.low, least.high) == (0.6, 100, ends[1].low, ends[0].high)


@pytest.mark.campaign
def test_beside_ppi_python():
    """The same value for many rows, to what lambda differs by; its interval is the normal one of the same variance."""
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(3)
    for _ in range(20):
        right, proxy = world(rng, n=2_000, others=20_000)
        found = estimate_share(right, ONES(2_000), proxy, ONES(22_000))
        theirs = float(np.ravel(ppi.ppi_mean_pointestimate(right, proxy[:2_000], proxy[2_000:]))[0])
        low, high = (
            float(np.ravel(end)[0]) for end in ppi.ppi_mean_ci(right, proxy[:2_000], proxy[2_000:], alpha=0.05)
        )
        assert found.together.value == pytest.approx(theirs, abs=5e-4)
        assert found.together.high - found.together.low == pytest.approx(high - low, rel=0.03)
