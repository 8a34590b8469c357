"""A mean of rows that share images: its variance pair by pair, its coverage, and the means that it must give back."""

import math

import numpy as np
import pytest
from few_of import few_of
from scipy import stats

import oochub
from oochub.stats.estimate import Sampling
from oochub.stats.mean_interval import mean_estimate, t_interval
from oochub.stats.proportion import paired_shares
from oochub.stats.shared_units import mean_of_shared


def test_the_variance_is_that_of_pairs_that_share_a_unit():
    """Reference: a loop over all pairs of rows, here of many small units whose share of the rows is next to nothing."""
    rng = np.random.default_rng(0)
    n = 400
    units = np.stack([np.arange(n), rng.integers(n, size=n), rng.integers(n, size=n)], axis=1)
    values = rng.normal(size=n) + rng.normal(size=n)[units].sum(axis=1)
    apart, sets = values - values.mean(), [set(row) for row in units.tolist()]
    total = sum(apart[i] * apart[j] for i in range(n) for j in range(n) if sets[i] & sets[j])
    found = mean_of_shared(values, units)
    half = 1.96 * math.sqrt(total) / n
    assert found == pytest.approx(values.mean())
    assert found.high - found.value == pytest.approx(half, rel=0.03)
    alone = 1.96 * values.std() / math.sqrt(n)
    assert half > 1.5 * alone


def test_rows_that_share_nothing_are_independent():
    values = np.random.default_rng(1).normal(size=80)
    found, rows = mean_of_shared(values, np.arange(80)[:, None]), t_interval(values, Sampling())
    assert (found.low, found.high) == pytest.approx((rows.low, rows.high), rel=0.02)
    for n in (2, 3, 80):  # Student's t of rows, whose variance is of n - 1
        few = mean_of_shared(values[:n], np.arange(n)[:, None])
        half = stats.t.ppf(0.975, n - 1) * values[:n].std(ddof=1) / math.sqrt(n)
        assert few.high - few == pytest.approx(half, rel=1e-9)


def test_changes_of_rows_that_share_nothing_are_paired_shares():
    """None of 80 rows changes: Bonett and Price's interval of 80 rows. Planted fault: each row counted as a half."""
    assert mean_of_shared(np.zeros(80), np.arange(80)[:, None], of="changes").high == pytest.approx(
        paired_shares(np.ones(80), np.ones(80)).difference.high
    )


def test_one_role_is_about_a_cluster():
    """As wide as CR2's t of clusters of one size, for numbers and for shares. Planted fault: freedom of the rows."""
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(12), 10)
    values = rng.normal(size=12)[cluster] + rng.normal(size=120)
    for of, numbers in (("numbers", values), ("shares", (values > 0) * 1.0)):
        found = mean_of_shared(numbers, cluster[:, None], of=of)
        sampling = Sampling(cluster=cluster)
        whole = mean_estimate(numbers, sampling) if of == "shares" else t_interval(numbers, sampling)
        assert (found.low, found.high) == pytest.approx((whole.low, whole.high), abs=0.02)


def test_what_has_no_interval_and_what_has_one_all_the_same():
    """Planted fault: rows of one lender as many rows, where all answers are right."""
    lent = np.stack([np.arange(60), np.repeat([100, 101, 102], 20)], axis=1)
    right = mean_of_shared(np.ones(60), lent, of="shares")
    assert right == right.high == 1 and right.low < 0.5  # of three rows it is 0.29
    same = mean_of_shared(np.zeros(60), lent, of="changes")
    assert same.low < -0.3 and same.high > 0.3
    assert math.isnan(mean_of_shared(np.ones(60), lent).low)
    assert "one unit" in mean_of_shared([0.1, 0.2], [[0, 5], [1, 5]]).reason
    assert mean_of_shared([0.1], [[0, 5]]).reason == "one row says nothing about others"
    with pytest.raises(oochub.OochubError, match="shares are values of 0 and 1"):
        mean_of_shared([0.5, 1], [[0], [1]], of="shares")


def _covers(rng, n, lenders, classes, spread, of):
    """Whether the interval holds the mean over other rows and other backgrounds; a class borrows of its first rows."""
    label = np.arange(n) % classes
    lending = [np.flatnonzero(label == k)[:lenders] for k in range(classes)]
    same, other = np.empty((2, n), int)
    for row, own in enumerate(label):
        alike = lending[own][lending[own] != row]
        another = lending[(own + 1 + rng.integers(classes - 1)) % classes]
        same[row], other[row] = rng.choice(alike), rng.choice(another)
    ground, thing = spread * rng.normal(size=n), rng.normal(size=n)
    noise = rng.normal(size=(2, n))
    on_same, on_other = thing + ground[same] + noise[0], 0.8 * thing - ground[other] + noise[1]
    units = np.stack([np.arange(n), same, other], axis=1)
    if of == "changes":  # alike in law, so that the mean change is 0
        found = mean_of_shared((on_same > 0) * 1.0 - (on_other > 0), units, of=of)
    elif of == "shares":
        return (found := mean_of_shared((on_same > 0) * 1.0, units[:, :2], of=of)).low <= 0.5 <= found.high
    else:
        found = mean_of_shared(on_same - on_other, units)
    return found.low <= 0 <= found.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "lenders", "classes", "spread", "of"),
    few_of(
        [
            (100, 2, 2, 2.0, "numbers"),
            (100, 5, 2, 2.0, "numbers"),
            (200, 50, 2, 0.5, "numbers"),
            (60, 2, 10, 2.0, "numbers"),
            (100, 3, 2, 2.0, "shares"),
            (100, 5, 2, 0.5, "changes"),
            (200, 10, 4, 2.0, "changes"),
        ]
    ),
)
def test_the_interval_covers_other_rows_and_other_backgrounds(n, lenders, classes, spread, of):
    """1,000 worlds: 0.90 less 3.2 standard errors are 0.87. Rows taken as independent cover 0.42 to 0.82 there."""
    rng = np.random.default_rng(n + lenders)
    assert np.mean([_covers(rng, n, lenders, classes, spread, of) for _ in range(1_000)]) > 0.87


def test_each_pair_of_rows_counts_once_however_much_it_shares():
    """The variance is the sum over all pairs that share a unit, in whatever role, without bias if units add alike.

    By tables of all pairs.
    """
    rng = np.random.default_rng(3)
    own, lent = np.repeat(np.arange(150), 8), rng.integers(0, 150, (1200, 2))
    ground = rng.normal(size=150)
    values = ground[lent[:, 0]] - 0.2 * ground[lent[:, 1]] + rng.normal(size=150)[own] + 0.1 * rng.normal(size=1200)
    units = np.column_stack([own, lent])
    found = mean_of_shared(values, units, rows=150)
    shares = (units[:, None, :, None] == units[None, :, None, :]).any(axis=(2, 3))
    apart, center = values - values.mean(), np.eye(1200) - 1 / 1200
    covariance = (units[:, None] == units[None]).sum(
        axis=2
    ) * 1.0  # each unit adds 1 to the rows that have it in a role
    bias = (shares * (center @ covariance @ center)).sum() / covariance.sum()
    error = math.sqrt(apart @ shares @ apart / bias) / 1200
    assert found.n == 150 and (found.high - found.low) / 2 == pytest.approx(1.976 * error, rel=0.001)
