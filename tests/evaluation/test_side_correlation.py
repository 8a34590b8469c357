"""The difference of numbers of the same things: Newcombe's paired interval, Student's paired t, and coverage."""

import math

import numpy as np
import pytest
from scipy import stats

import oochub
from oochub.evaluation.slices import side_correlation
from oochub.stats.delong import compute_auc_influence, delong, delong_covariance
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.proportion import wilson

LEVEL = 0.95


def influence(values):
    return (values - values.mean()) / len(values)


def correlate(first, second, **options):
    units = {"first_unit": np.arange(len(first)), "second_unit": np.arange(len(second))} | options
    return side_correlation(influence(first), influence(second), **units)


def newcombe(both, only_first, only_second, neither):
    """Method 10 of Newcombe 1998, from its four counts, as biostatUZH's confIntPairedProportion has it."""
    n = both + only_first + only_second + neither
    p, q = (both + only_first) / n, (both + only_second) / n
    ends = [stats.binomtest(round(share * n), n).proportion_ci(LEVEL, method="wilson") for share in (p, q)]
    table = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    product = both * neither - only_first * only_second
    product = product if product < 0 else max(0.0, product - n / 2)
    phi = product / math.sqrt(table) if table else 0.0
    (l1, u1), (l2, u2) = ends
    low = math.sqrt((p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2)
    high = math.sqrt((u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2)
    return p - q - low, p - q + high


@pytest.mark.parametrize(
    "counts", [(14, 5, 0, 22), (36, 4, 9, 51), (2, 20, 21, 3), (90, 0, 0, 10), (50, 0, 0, 0), (40, 10, 0, 0)]
)
def test_shares_have_newcombes_interval(counts):
    _, only_first, only_second, _ = counts
    first = np.repeat([1.0, 1.0, 0.0, 0.0], counts)
    second = np.repeat([1.0, 0.0, 1.0, 0.0], counts)
    shuffled = np.random.default_rng(1).permutation(len(first))  # rows of one thing need not stand in one order
    found = side_correlation(
        influence(first),
        influence(second[shuffled]),
        first_unit=np.arange(len(first)),
        second_unit=shuffled,
        are_shares=True,
    )
    ends = [wilson(values.sum(), len(values)) for values in (first, second)]
    estimate = difference(*ends, correlation=found.value)
    assert (estimate.low, estimate.high) == pytest.approx(newcombe(*counts), abs=1e-12)
    assert estimate == pytest.approx((only_first - only_second) / len(first))


def test_no_correlation_is_what_it_was():
    first, second = wilson(56, 70), wilson(48, 80)  # Newcombe 1998, Table II (a): other things
    assert difference(first, second, correlation=0.0).low == pytest.approx(0.0524, abs=1e-4)
    alone = side_correlation([0.1, -0.1], [0.2, -0.2], first_unit=["a", "b"], second_unit=["c", "d"])
    assert alone == (0.0, 0, 2, 2)


def test_numbers_have_students_paired_interval():
    """Two t intervals and the correlation of the rows give the t interval of the differences, to the last digit."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=40)
    first, second = shared + 0.3 * rng.normal(size=40) + 1, shared + 0.3 * rng.normal(size=40)
    ends = [
        Estimate(v.mean(), low=low, high=high, n=40, method="t")
        for v in (first, second)
        for low, high in [stats.t.interval(LEVEL, 39, v.mean(), stats.sem(v))]
    ]
    estimate = difference(*ends, correlation=correlate(first, second).value)
    paired = stats.ttest_rel(first, second).confidence_interval(LEVEL)
    assert (estimate.low, estimate.high) == pytest.approx((paired.low, paired.high), abs=1e-12)
    assert estimate.high - estimate.low < 0.5 * (difference(*ends).high - difference(*ends).low)


def test_clusters_of_several_rows_by_a_loop():
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=30), rng.normal(size=50)
    of_first, of_second = rng.integers(0, 8, 30), rng.integers(3, 12, 50)
    parts = []
    for unit in range(12):
        a = sum((v - first.mean()) / 30 for v, u in zip(first, of_first, strict=True) if u == unit)
        b = sum((v - second.mean()) / 50 for v, u in zip(second, of_second, strict=True) if u == unit)
        parts.append((a, b))
    a, b = np.array(parts).T
    found = correlate(first, second, first_unit=of_first, second_unit=of_second)
    assert found.value == pytest.approx((a * b).sum() / math.sqrt((a**2).sum() * (b**2).sum()))
    assert found.both == len({*of_first} & {*of_second})


def test_no_width_is_no_interval():
    """Every pair differs by the same: nothing is known of how much further ones would."""
    values = np.arange(20.0)
    ends = [mean_estimate(each, are_shares=False) for each in (values + 1, values)]
    estimate = difference(*ends, correlation=correlate(values + 1, values).value)
    assert estimate == 1
    assert math.isnan(estimate.low)
    assert "1 in every pair" in str(estimate.reason)


def test_auc_influence_is_delongs():
    rng = np.random.default_rng(5)
    label, score = rng.integers(0, 2, 300), rng.normal(size=300)
    auc = oochub.get("metric", "auc")(label, score)
    found = compute_auc_influence(label, score)
    for row in (0, 17, 123):  # one more row like it moves the AUC by nearly so much
        others = label != label[row]
        wins = (score[row] > score[others]).mean() if label[row] else (score[row] < score[others]).mean()
        assert found[row] == pytest.approx((wins - auc) / (label == label[row]).sum())
    assert (found**2).sum() == pytest.approx(delong_covariance(label, [score]).covariance[0, 0], rel=0.02)
    assert found.sum() == pytest.approx(0, abs=1e-12)
    assert delong(label, score) == auc
