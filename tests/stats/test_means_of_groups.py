"""The means of many groups at once are those of one by one, shares bit for bit and other means to rounding."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from oochub import get
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import estimate, estimate_groups, estimate_means
from oochub.stats.mean_interval import MANY, Answers, RowNumbers, shares_of_rows

SIZES = np.array([1, 1, 2, 2, 3, 7, 40, 200, 1_500, 25, 30])


def one_by_one(numbers, sizes, sampling):
    ends = np.cumsum(sizes)
    parts = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return [numbers.take(part).estimate(sampling) for part in parts]


def agree(found, wanted, *, to):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.n, one.method, one.reason) == (other.n, other.method, other.reason)
        for name in ("value", "low", "high"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=to, abs=to, nan_ok=True), (name, one)


@pytest.mark.parametrize("level", [0.95, 0.6])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_shares_are_the_same_bit_for_bit(share, level):
    """Planted faults seen: one generator for all groups; the pairs mixed up; another level."""
    values = (np.random.default_rng(5).random(SIZES.sum()) < share).astype(float)
    sampling = Sampling(seed=3, resamples=200, confidence=level)
    agree(estimate_means(RowNumbers(values), SIZES, sampling), one_by_one(RowNumbers(values), SIZES, sampling), to=0)


@pytest.mark.parametrize("within", [(0.0, math.inf), (0.0, 1.2)])
def test_losses_agree_to_rounding(within):
    """Groups of 1 row and of equal rows, too. Planted faults seen: n in place of n - 1; no added rows; no bounds."""
    rng = np.random.default_rng(6)
    right, wrong = rng.uniform(0, 0.3, SIZES.sum()), rng.uniform(2, 5, SIZES.sum())
    values = np.where(rng.random(SIZES.sum()) < 0.8, right, wrong)
    values[:6] = 0.25
    numbers = RowNumbers(values, are_shares=False, answers=Answers(right, wrong), within=within)
    sampling = Sampling(confidence=0.9)
    agree(estimate_means(numbers, SIZES, sampling), one_by_one(numbers, SIZES, sampling), to=1e-12)


@pytest.mark.parametrize("sizes", [SIZES, np.array([MANY, 3])])
def test_other_means_are_the_same_bit_for_bit(sizes):
    """Numbers without answers, and groups so large that the law of large numbers holds."""
    rng = np.random.default_rng(7)
    values = rng.exponential(size=sizes.sum())
    for answers in (None, Answers(values / 2, values + 1)):
        numbers = RowNumbers(values, are_shares=False, answers=answers, within=(0.0, math.inf))
        if answers is None or sizes.max() >= MANY:
            agree(estimate_means(numbers, sizes, Sampling()), one_by_one(numbers, sizes, Sampling()), to=0)


@pytest.mark.parametrize("name", ["accuracy", "error_rate", "nll"])
def test_a_metric_of_groups_is_that_metric_of_each(name):
    rng, metric = np.random.default_rng(8), get("metric", name)
    n = SIZES.sum()
    probability = rng.dirichlet([1, 1, 1], n)
    columns = {"label": rng.integers(0, 3, n)}
    columns |= {"probability": probability} if name == "nll" else {"prediction": probability.argmax(axis=1)}
    found = estimate_groups(metric, columns, SIZES, Sampling(seed=4))
    ends = np.cumsum(SIZES)
    parts = [slice(end - size, end) for end, size in zip(ends, SIZES, strict=True)]
    wanted = [estimate(metric, {key: column[part] for key, column in columns.items()}, seed=4) for part in parts]
    agree(found, wanted, to=1e-12)


def test_a_metric_that_is_no_mean_is_left_to_others():
    assert estimate_groups(get("metric", "ece"), {"label": [0], "probability": [0.5]}, [1]) is None


def test_ends_of_a_share_are_those_of_scipys_binomial_and_of_many_draws():
    """SciPy's quantiles of the binomial exactly, draws within their error; one count further is seen to fail."""
    rng = np.random.default_rng(5)
    for n in (21, 60, 1_000, 12_345, 1_000_000, 10_000_000):
        for ones in (10, n // 2, n - 10):
            (found,) = shares_of_rows(np.array([ones]), np.array([n]), Sampling(confidence=0.9))
            exact = binom.ppf([0.05, 0.95], n, ones / n) / n
            np.testing.assert_array_equal([found.low, found.high], exact)
            drawn = np.quantile(rng.binomial(n, ones / n, 20_000) / n, [0.05, 0.95])
            assert np.abs(drawn - exact).max() <= 0.06 * np.sqrt(ones / n * (1 - ones / n) / n) + 1.001 / n
