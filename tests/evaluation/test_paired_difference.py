"""The difference of two models in a metric of whole groups, against a bootstrap that copies rows."""

import numpy as np
import pytest

import oochub
from oochub.eval_modules.metrics.accuracy_percentile.accuracy_percentile import accuracy_percentile
from oochub.evaluation.paired_difference import paired_difference
from oochub.evaluation.paired_rows import paired_rows


@pytest.mark.parametrize("config", ["amazon", "fmow"])
def test_a_group_that_is_drawn_twice_counts_as_two(config):
    """Users are clusters in Amazon, and FMoW has none: both draw whole groups, each copy under a name of its own.

    Planted faults seen: the copies of a group as one group; rows drawn, by cluster where there is one.
    """
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), rng.integers(10, 31, 60))
    label, names = np.ones_like(group), [f"user {number}" for number in group]
    right = [(rng.random(len(group)) < chance[group]).astype(int) for chance in rng.beta(3, 1, (2, 60))]
    shared = {"label": label, "group": names, "user": names, "benchmark": "wilds", "config": config}
    parts = [oochub.Predictions.from_arrays(logits=np.eye(2)[each], **shared) for each in right]
    pair = paired_rows(*parts, resamples=1_000, seed=0)
    found = paired_difference(accuracy_percentile, pair, np.arange(len(group))).difference
    drawn = []
    for _ in range(1_000):
        parts = [(np.flatnonzero(group == each), copy) for copy, each in enumerate(rng.integers(60, size=60))]
        rows = np.concatenate([of for of, _ in parts])
        fresh = np.concatenate([np.full(len(of), copy) for of, copy in parts])
        first, second = (accuracy_percentile(label[rows], each[rows], fresh) for each in right)
        drawn.append(second - first)
    own = [accuracy_percentile(label, each, group) for each in right]
    assert float(found) == pytest.approx(own[1] - own[0], abs=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.02)
