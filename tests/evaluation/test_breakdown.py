"""Calibration: the interval of a side is that of its slice, computed once, of whole clusters where there are some."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import oochub
from oochub.stats.estimate import Sampling
from oochub.stats.mean_interval import Answers, mean_estimate

evaluation = import_module("oochub.evaluation.evaluate")
ece = import_module("oochub.eval_modules.metrics.ece.ece")


@pytest.fixture
def predictions() -> oochub.Predictions:
    """Every row four times, as one user."""
    rng = np.random.default_rng(0)
    label, easy = np.repeat(rng.integers(0, 3, 200), 4), np.repeat(rng.random(200) < 0.6, 4)
    logits = np.repeat(rng.normal(size=(200, 3)), 4, axis=0) + np.eye(3)[label]
    challenge, user = np.where(easy, "easy", "hard"), np.repeat(np.arange(200), 4)
    return oochub.Predictions.from_arrays(logits=logits, label=label, challenge=challenge.tolist(), user=user)


def _confidence(predictions: oochub.Predictions, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return predictions.probability[rows].max(axis=1), (predictions.prediction == predictions.label)[rows]


@pytest.mark.parametrize("cluster", [None, "user"])
def test_the_calibration_error_of_a_side_is_computed_once(predictions, monkeypatch, cluster):
    """Planted faults: computed again where a cluster is declared, and then of single rows; `known` left out."""
    seen = []
    plain, declared = ece._compute_surplus, evaluation.find_declaration
    monkeypatch.setattr(ece, "_compute_surplus", lambda *given: seen.append(len(given[0])) or plain(*given))
    monkeypatch.setattr(evaluation, "find_declaration", lambda part: replace(declared(part), cluster=cluster))
    report = oochub.evaluate(predictions)
    easy = int((predictions.column("challenge") == "easy").sum())
    assert sorted(seen) == sorted([800, easy, 800 - easy])
    for side, name in (("in", "in_context"), ("out", "out_of_context")):
        error = report.calibration[side].ece
        assert error == report[f"{name}/ece"] and error.to_dict() == report[f"{name}/ece"].to_dict()
        assert ("clusters" in error.method) == (cluster is not None)


def test_overconfidence_is_a_mean_of_clusters(predictions, monkeypatch):
    """reference: the mean of confidence minus right, of whole clusters. Planted fault: of single rows, half as wide."""
    declared = evaluation.find_declaration
    monkeypatch.setattr(evaluation, "find_declaration", lambda part: replace(declared(part), cluster="user"))
    rows = predictions.column("challenge") == "easy"
    confidence, correct = _confidence(predictions, rows)
    answers = {"answers": Answers(confidence - 1, confidence), "within": (-1.0, 1.0)}
    clusters = Sampling(cluster=predictions.column("user")[rows])
    wanted = mean_estimate(confidence - correct, clusters, are_shares=False, **answers)
    found = oochub.evaluate(predictions).calibration["in"].overconfidence
    assert found.to_dict() == pytest.approx(wanted.to_dict())
    single = mean_estimate(confidence - correct, are_shares=False, **answers)
    assert found.high - found.low > 1.5 * (single.high - single.low)


def test_numbers_of_groups_are_those_of_their_rows():
    """Of a number that is predicted, by numpy. Planted fault: what classes lack left out."""
    rng = np.random.default_rng(1)
    label, group = rng.normal(size=90), rng.choice(["day", "night"], 90)
    value = label + rng.normal(size=90)
    parts = oochub.Predictions.from_arrays(value=value, label=label, group=group.tolist())
    rows = oochub.evaluate(parts, resamples=100).groups.rows
    assert [row.group for row in rows] == ["day", "night"]
    for row in rows:
        x, y = label[group == row.group], value[group == row.group]
        assert row.n == len(x) and row.accuracy is None
        assert row.metrics == {"mean_absolute_error": pytest.approx(np.abs(x - y).mean(), rel=1e-5)}


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_no_end_of_overconfidence_is_beyond_one(right):
    """Five rows, all sure of themselves and wrong, or unsure and right. Planted fault: an upper end of 1.2."""
    label, sure = np.arange(5) % 2, 9.0 if right == 0 else 0.01
    logits = sure * np.eye(2)[label if right else 1 - label]
    report = oochub.evaluate(oochub.Predictions.from_arrays(logits=logits, label=label), resamples=100)
    (side,) = report.calibration.values()
    assert -1 <= side.overconfidence.low < side.overconfidence.high <= 1
    assert side.overconfidence == pytest.approx(0.5 - 1 if right else 1, abs=0.01)
