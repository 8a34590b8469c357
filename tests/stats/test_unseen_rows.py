"""Rankings near 1 against hand-worked Wilson intervals; `docs/make/ranking_worlds.py` has worlds with a known truth."""

import math

import numpy as np
import pytest
from scipy import stats

from oochub.stats.delong import delong
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.unseen_rows import Unseen, count_together, extend_by_unseen, reach_of_unseen


def upper_end_of_share(loss: float, n: float, z: float) -> float:
    """Wilson's upper end as the root of (q - p)^2 = z^2 q (1 - q) / n, found by halving: no formula is shared."""
    low, high = loss, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (middle - loss) ** 2 < z**2 * middle * (1 - middle) / n else (low, middle)
    return low


@pytest.mark.parametrize(("loss", "variance"), [(0.0, 0.0), (0.002, 1e-7), (0.05, 1e-4), (0.3, 4e-4)])
def test_the_end_is_that_of_wilson_with_effective_rows(loss: float, variance: float) -> None:
    """Planted faults: the further rows left out of the loss; their squares out of the variance."""
    unseen = [Unseen(0.9, 0.01), Unseen(0.1, 0.001)]
    rows = (loss + 0.0091) * (1 - loss) / (variance + 0.9 * 1e-4 + 0.1 * 1e-6)
    for z in (1.96, 2.2):
        assert reach_of_unseen(loss, variance, unseen, z) == pytest.approx(upper_end_of_share(loss, rows, z), abs=1e-9)


def test_nothing_unseen_and_no_variance_is_no_width() -> None:
    assert reach_of_unseen(0.1, 0.0, [], 1.96) == 0.1


def test_the_lower_end_of_an_auc_near_one_is_worked_by_hand() -> None:
    """4 + 4 rows, one positive below two negatives: A = 14/16, with one row more, half of it in each class."""
    label, score = [1, 1, 1, 1, 0, 0, 0, 0], [9, 8, 7, 2.5, 4, 3, 2, 1]
    lost_by_positives, lost_by_negatives = np.array([0, 0, 0, 0.5]), np.array([0.25, 0.25, 0, 0])
    parts = [np.var(each, ddof=1) / 4 for each in (lost_by_positives, lost_by_negatives)]
    variance, loss = sum(parts), 2 / 16
    freedom = variance**2 / sum(part**2 / 3 for part in parts)
    t = stats.t.ppf(0.975, freedom)
    rows = (loss + 0.25) * (1 - loss) / (variance + 0.0625)
    logit = stats.logistic.cdf(stats.logistic.ppf(1 - loss) - t * math.sqrt(variance) / (loss * (1 - loss)))
    found = delong(label, score)
    assert found.value == 0.875
    lost, of = loss * (loss * (1 - loss) / variance), loss * (1 - loss) / variance
    upper = stats.logistic.cdf(stats.logistic.ppf(1 - loss) + t * math.sqrt(variance) / (loss * (1 - loss)))
    assert found.high == pytest.approx(max(upper, 1 - stats.beta.ppf(0.025, lost, of - lost + 1)), abs=1e-9)
    assert found.low == pytest.approx(min(logit, 1 - upper_end_of_share(loss, rows, t)), abs=1e-9)
    mirrored = delong(label, [-each for each in score])
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-12)


def test_a_nearly_perfect_order_ends_near_that_of_a_perfect_one() -> None:
    """300 + 300 rows, perfect or with the two rows in the middle exchanged: the ends differ by little."""
    label = np.repeat([0, 1], 300)
    perfect, score = delong(label, np.arange(600.0)), np.arange(600.0)
    score[[299, 300]] = score[[300, 299]]
    near = delong(label, score)
    assert near.value == pytest.approx(1 - 1 / 90_000)
    assert perfect.low == pytest.approx(0.025 ** (1 / 300)) and abs(near.low - perfect.low) < 0.001


def test_rows_of_a_cluster_count_together() -> None:
    """The design effect, 1 or more, and never more rows than a cluster of equal size has."""
    cluster = np.repeat(np.arange(10), 8)
    assert [count_together(design, cluster) for design in (0.5, 3.0, 99.0)] == [1.0, 3.0, 8.0]


def test_an_interval_that_is_absent_or_low_stays() -> None:
    for each in (Estimate(0.9, n=5, method="none"), Estimate(0.2, low=0.1, high=0.3, n=5, method="b")):
        assert extend_by_unseen(each, [Unseen(1.0, 0.1)], Sampling()) is each
