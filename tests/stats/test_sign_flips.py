"""Random signs of paired differences, against scipy's permutations, the test that defines the interval, and worlds."""

import math

import numpy as np
import pytest
from few_of import few_of
from scipy import stats

import oochub
from oochub.stats.estimate import Sampling
from oochub.stats.p_values import sign_flips

RNG = np.random.default_rng(0)
DIFFERENCES = [RNG.normal(0.4, 1, 6), RNG.exponential(1, 9) - 0.5, np.round(RNG.normal(0, 1, 12), 1)]


def _scipys(values, **how):
    return stats.permutation_test((values,), np.mean, permutation_type="samples", **how).pvalue


@pytest.mark.parametrize("values", DIFFERENCES)
def test_all_signs_are_scipys(values):
    """Planted faults: the rows as they are left out of the signs; one tail alone."""
    assert sign_flips(values).p_value == pytest.approx(_scipys(values, n_resamples=math.inf), abs=1e-12)


def test_random_signs_are_scipys():
    values = RNG.normal(0.3, 1, 40)
    assert sign_flips(values).p_value == pytest.approx(_scipys(values, n_resamples=20_000, rng=1), abs=0.01)


@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(7), [1, 4, 2, 3, 1, 5, 2])])
def test_the_interval_is_what_the_test_does_not_refuse(cluster):
    """At each end the one-sided test goes over 2.5%, all signs of rows or clusters written out."""
    values = np.random.default_rng(3).normal(0.5, 1, 9 if cluster is None else 18)
    mean = sign_flips(values, Sampling(cluster=cluster)).mean
    unit = np.arange(9) if cluster is None else cluster
    signs = np.array(np.meshgrid(*[[1, -1]] * (unit.max() + 1))).reshape(unit.max() + 1, -1).T[:, unit]

    def refused(at):
        turned = (signs * (values - at)).sum(axis=1)
        seen = (values - at).sum()
        return min((turned >= seen - 1e-12).mean(), (turned <= seen + 1e-12).mean()) <= 0.025

    for end, outward in ((mean.low, -1), (mean.high, 1)):
        assert refused(end + outward * 1e-6) and not refused(end - outward * 1e-6)


def test_a_p_value_of_5_percent_is_an_interval_that_leaves_0_out():
    """Of six sizes, where both ends and the p-value come of the same signs. Planted fault: p without its 1."""
    rng, found = np.random.default_rng(1), []
    for number in range(300):
        n = int(rng.choice([4, 6, 10, 13, 40, 320]))
        cluster = None if number % 2 else rng.integers(max(3, n // 3), size=n)
        mean, p_value, _ = sign_flips(rng.standard_t(3, n) + 0.7, Sampling(cluster=cluster, seed=number))
        found.append((p_value <= 0.05, mean.low > 0 or mean.high < 0))
    assert all(one == other for one, other in found) and 50 < sum(one for one, _ in found) < 250


def test_few_and_equal_differences():
    assert sign_flips([0.3]).p_value != sign_flips([0.3]).p_value  # nan
    assert sign_flips([0.3, 0.1], Sampling(cluster=["a", "a"])).mean.reason.startswith("one cluster only")
    same = sign_flips(np.full(40, 0.3))
    assert math.isnan(same.mean.low) and same.p_value == pytest.approx(2 / 2**40) and "every row" in same.mean.reason
    assert sign_flips(np.zeros(400)).p_value == 1
    five = sign_flips([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (five.test, five.p_value) == (
        "Student's t",
        pytest.approx(stats.ttest_1samp(range(1, 6), 0).pvalue, abs=0.02),
    )
    with pytest.raises(oochub.OochubError, match="NaN"):
        sign_flips([0.1, math.nan])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "clusters"), few_of([(60, 12), (10, None), (20, None)], few=1))
def test_level_and_power_of_the_loss_of_two_models(n, clusters):
    """Two models that are alike but for chance are told apart 5 times in 100; one that is better, more often.

    2,000 worlds: 0.05 +- 0.0175 are 3.6 standard errors. A bootstrap's interval refuses 0.10 of 10 rows.
    """
    rng, worlds = np.random.default_rng(n), 2_000
    cluster = None if clusters is None else np.arange(n) % clusters
    refused = np.zeros((2, worlds))
    for world in range(worlds):
        scene = rng.normal(size=n)
        own = rng.normal(size=(2, n)) if cluster is None else rng.normal(size=(2, clusters))[:, cluster]
        margin = 3 * (1.2 + scene + 0.7 * own)
        for row, better in enumerate((0, 2.5)):
            loss = np.logaddexp(0, -margin - [[0], [better]])
            refused[row, world] = sign_flips(loss[1] - loss[0], Sampling(cluster=cluster, seed=world)).p_value <= 0.05
    assert refused[0].mean() == pytest.approx(0.05, abs=0.0175) and refused[1].mean() > 0.2
