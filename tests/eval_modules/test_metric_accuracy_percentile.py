"""Accuracy percentile against a loop over groups and numpy's percentile; its interval by simulation."""

import math

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.eval_modules.metrics.accuracy_percentile.accuracy_percentile import (
    _AccuracyPercentileState,
    accuracy_percentile,
)
from oochub.stats.estimation import estimate


@pytest.mark.parametrize("percentile", [0, 10, 37.5, 50, 100])
@pytest.mark.parametrize("seed", range(5))
def test_equals_the_loop(seed, percentile):
    """Groups of one row, ties, a single group. Fault planted: the percentile of rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    group = rng.integers(0, 1 + 9 * seed, n)
    label, prediction = rng.integers(0, 3, (2, n))
    each = [np.mean(label[group == name] == prediction[group == name]) for name in np.unique(group)]
    expected = np.percentile(each, percentile)
    assert accuracy_percentile(label, prediction, group, percentile) == pytest.approx(expected, abs=1e-12)
    assert accuracy_percentile(label, prediction, [f"user {name}" for name in group], percentile) == pytest.approx(
        expected, abs=1e-12
    )


def test_the_tenth_percentile_is_the_default():
    """WILDS' of Amazon; by hand of accuracies 0, 1/10, ..., 1 it is 1/10."""
    group = np.repeat(np.arange(11), 10)
    prediction = np.tile(np.arange(10), 11) < group
    columns = {"label": np.ones(110, int), "prediction": prediction.astype(int), "group": group}
    state = _AccuracyPercentileState()
    state.update(**columns)
    for value in (accuracy_percentile(**columns), state.compute(), estimate(accuracy_percentile, columns).value):
        assert value == pytest.approx(0.1)


def test_few_groups_beyond_the_percentile_are_said():
    """Of 60 groups 3 lie beyond the 95th percentile, as below the 5th, and 15 below the 25th."""
    rng = np.random.default_rng(0)
    columns = {"label": rng.integers(0, 2, 1500), "prediction": rng.integers(0, 2, 1500), "group": np.arange(1500) % 60}
    reasons = [estimate(accuracy_percentile, columns, options={"percentile": p}).reason for p in (5, 25, 95)]
    assert reasons[0] == "only 60 groups: the lower end is the smallest possible value" and reasons[1] is None
    assert reasons[2] == "only 60 groups: the upper end is the largest possible value"


def test_the_percentile_that_is_asked_for_is_that_of_clusters_too():
    """Groups in clusters of two, at the median."""
    rng = np.random.default_rng(1)
    columns = {"label": rng.integers(0, 2, 400), "prediction": rng.integers(0, 2, 400), "group": np.arange(400) % 40}
    clustered = estimate(accuracy_percentile, columns, options={"percentile": 50}, cluster=columns["group"] // 2)
    assert clustered.value == accuracy_percentile(**columns, percentile=50) != accuracy_percentile(**columns)
    assert clustered.low <= clustered.value <= clustered.high


def test_states_of_batches_are_one():
    rng = np.random.default_rng(0)
    label, prediction, group = rng.integers(0, 4, (3, 200))
    first, second = _AccuracyPercentileState(30), _AccuracyPercentileState(30)
    first.update(label=label[:7], prediction=prediction[:7], group=group[:7])
    second.update(label=label[7:], prediction=prediction[7:], group=group[7:])
    first.merge(second)
    assert first.compute() == accuracy_percentile(label, prediction, group, 30)


def test_the_interval_of_groups_is_that_of_order_statistics():
    """By hand: of 40 groups 0 to 8 lie below the tenth percentile, each end with 2.5% at most (binomial, by a sum)."""
    rng = np.random.default_rng(4)
    right = rng.random((40, 25)) < rng.beta(8, 3, 40)[:, None]
    columns = {
        "label": np.ones(1000, int),
        "prediction": right.ravel().astype(int),
        "group": np.repeat(np.arange(40), 25),
    }
    number, ordered = estimate(accuracy_percentile, columns), np.sort(right.mean(axis=1))
    below = [math.comb(40, k) * 0.1**k * 0.9 ** (40 - k) for k in range(41)]
    lowest = max(k for k in range(41) if sum(below[:k]) <= 0.025)
    highest = min(k for k in range(41) if sum(below[: k + 1]) >= 0.975)
    assert (lowest, highest) == (1, 8)
    assert (number.low, number.high) == (ordered[lowest - 1], ordered[highest])
    each = estimate(accuracy_percentile, columns, cluster=columns["group"])  # a user is a cluster: drawn by itself too
    assert repr(each) == repr(number) and each.method == number.method


@pytest.mark.parametrize("groups_of_a_cluster", [3])
def test_the_interval_is_that_of_rows_drawn_with_fresh_names(groups_of_a_cluster):
    """The bootstrap by the book: the rows of each drawn cluster, copied, each copy's groups under names of their own.

    Planted faults seen: rows drawn by cluster, so that a user drawn twice counts once; groups drawn by themselves.
    """
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(60), rng.integers(1, 30, 60))
    cluster = group // groups_of_a_cluster
    label = np.ones_like(group)
    chance = rng.beta(4, 2, 60) if groups_of_a_cluster == 1 else np.repeat(rng.beta(2, 1, 20), 3)
    prediction = (rng.random(len(group)) < chance[group]).astype(int)
    drawn = []
    for _ in range(400):
        rows, names = [], []
        for copy, chosen in enumerate(rng.integers(cluster.max() + 1, size=cluster.max() + 1)):
            of = np.flatnonzero(cluster == chosen)
            rows.append(of)
            names += [f"{name} of copy {copy}" for name in group[of]]
        taken = np.concatenate(rows)
        drawn.append(accuracy_percentile(label[taken], prediction[taken], names, 25))
    columns = {"label": label, "prediction": prediction, "group": group}
    number = estimate(accuracy_percentile, columns, cluster=cluster, resamples=2_000, options={"percentile": 25})
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert number.low == pytest.approx(low, abs=0.02) and number.high == pytest.approx(high, abs=0.02)


@pytest.mark.parametrize("percentile", [-1, 101, float("nan"), True, "10"])
def test_another_percentile_is_refused(percentile):
    with pytest.raises(OochubError, match=r"percentile must be a number in \[0, 100\]"):
        accuracy_percentile([0], [0], ["a"], percentile)
