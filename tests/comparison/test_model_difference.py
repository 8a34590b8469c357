"""The difference of two models in a metric of whole groups, against a bootstrap that copies rows."""

import sys

import numpy as np
import pytest

import oochub
from oochub.comparison.common_examples import pair_rows
from oochub.comparison.model_difference import measure_difference
from oochub.eval_modules.metrics.accuracy_percentile.accuracy_percentile import accuracy_percentile
from oochub.eval_modules.metrics.detection_accuracy.detection_accuracy import detection_accuracy


@pytest.mark.slow
@pytest.mark.parametrize(("benchmark", "config"), [("wilds", "amazon"), (None, None)])
def test_a_group_that_is_drawn_twice_counts_as_two(benchmark, config):
    """Users are clusters in Amazon, and own data have none: both draw whole groups, each copy under a name of its own.

    Planted faults seen: the copies of a group as one group; rows drawn, by cluster where there is one.
    """
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(60), rng.integers(10, 31, 60))
    label, names = np.ones_like(group), [f"user {number}" for number in group]
    right = [(rng.random(len(group)) < chance[group]).astype(int) for chance in rng.beta(3, 1, (2, 60))]
    shared = {"label": label, "group": names, "user": names, "benchmark": benchmark, "config": config}
    parts = [oochub.Predictions.from_arrays(logits=np.eye(2)[each], **shared) for each in right]
    pair = pair_rows(*parts, resamples=1_000, seed=0)
    found = measure_difference(accuracy_percentile, pair, np.arange(len(group))).difference
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


@pytest.mark.parametrize("sessions", [1, 40])
def test_detections_are_of_whole_sessions_and_each_image_is_worked_out_once(sessions, monkeypatch):
    """Against session means drawn by hand; of a single session its images are drawn."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(sessions), rng.integers(3, 12, sessions) if sessions > 1 else 60)
    boxes = [[[0, 0, 1, 1], [5, 5, 6, 6]]] * len(group)
    found = [rng.binomial(2, chance[group]) for chance in rng.beta(2, 1, (2, sessions))]  # of the two true boxes
    names = [f"session {number}" for number in group]
    of = {"benchmark": "wilds", "config": "globalwheat", "session": names} if sessions > 1 else {}  # has clusters
    shared = {"boxes": boxes, "group": names, **of}
    parts = [
        oochub.Predictions.from_arrays(
            detected_boxes=[true[:k] for true, k in zip(boxes, each, strict=True)],
            scores=[[0.9] * k for k in each],
            class_names=["wheat_head"],
            **shared,
        )
        for each in found
    ]
    module = sys.modules[detection_accuracy.__module__]
    worked_out, work_out = [], module.detection_accuracies
    monkeypatch.setattr(
        module, "detection_accuracies", lambda *of, **how: worked_out.append(of) or work_out(*of, **how)
    )
    pair = pair_rows(*parts, resamples=1_000, seed=0)
    compared = measure_difference(detection_accuracy, pair, np.arange(len(group))).difference
    assert sum(len(boxes) for boxes, *_ in worked_out) == 2 * len(group)
    change = (found[1] - found[0]) / 2
    means = np.array([change[group == each].mean() for each in range(sessions)]) if sessions > 1 else change
    drawn = rng.choice(means, (20_000, len(means))).mean(axis=1)
    assert float(compared) == pytest.approx(means.mean(), abs=1e-12) and compared.n == len(group)
    assert (compared.low, compared.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.015)
