"""What a number of a report rests on: its clusters, its level, its sign, its flag. Each fault named was seen.

Where every row stands four times under one name, a number that knows the name has the interval of the rows once.
"""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy import stats

import oochub
from oochub.eval_modules.metrics.detection_accuracy.detection_accuracy import detection_accuracy
from oochub.eval_modules.metrics.worst_group.worst_group import worst_group
from oochub.records.build_record import BuildFacts
from oochub.report.group_findings import group_drops
from oochub.stats.estimation import estimate
from oochub.stats.stratified_gap import unpaired_shares

evaluation = import_module("oochub.evaluation.evaluate")
TIMES = 4


@pytest.fixture
def by_user(monkeypatch):
    """A column `user` says what rows share."""
    declared = evaluation.find_declaration
    monkeypatch.setattr(evaluation, "find_declaration", lambda part: replace(declared(part), cluster="user"))


def _ends(found):
    return pytest.approx((found.low, found.high), abs=0.01)


def test_the_worst_group_counts_each_cluster_once():
    """Planted fault: `cluster=sampling.cluster` left out in worst_group.py, which makes half as wide."""
    rng = np.random.default_rng(0)
    n = 240
    once = {
        "label": rng.integers(2, size=n),
        "prediction": rng.integers(2, size=n),
        "group": np.repeat(np.arange(3), n // 3),
        "probability": rng.uniform(0.1, 0.9, n),
    }
    often = {name: np.repeat(column, TIMES) for name, column in once.items()}
    expected = estimate(worst_group, once, cluster=np.arange(n))
    found = estimate(worst_group, often, cluster=np.repeat(np.arange(n), TIMES))
    assert set(found) == {"accuracy", "error_rate", "nll"}
    for key, number in found.items():
        assert (number.low, number.high) == _ends(expected[key]), key
        assert number.high - number.low > 1.6 * (
            estimate(worst_group, often)[key].high - estimate(worst_group, often)[key].low
        )


def test_detections_of_sites_count_each_site_once():
    """Sessions of one site have one value. Planted fault: `of_groups` left out in detection_accuracy.py."""
    rng = np.random.default_rng(1)
    chance = rng.beta(2, 1, 40)
    found, names, sites = [], [], []
    for site in range(40):
        hits = rng.binomial(2, chance[site], 3)
        for session in range(TIMES):
            found += hits.tolist()
            names += [f"{site}/{session}"] * 3
            sites += [site] * 3
    true = [[0, 0, 1, 1], [5, 5, 6, 6]]
    often = {
        "boxes": [true[:count] for count in found],
        "scores": [[0.9] * count for count in found],
        "true_boxes": [true] * len(found),
        "group": np.array(names),
    }
    number = estimate(detection_accuracy, often, cluster=np.array(sites))
    means = np.array(found).reshape(40, -1).mean(axis=1) / 2
    error = means.std(ddof=1) / np.sqrt(40)
    assert number == pytest.approx(means.mean())
    assert number.high - number.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_groups_are_compared_with_their_class_by_whole_clusters(by_user):
    """Planted faults: clusters dropped; all groups in context whatever their class; the groups of the other side."""
    rng = np.random.default_rng(3)
    n = 160
    label, place = rng.integers(2, size=n), rng.integers(3, size=n)
    chance = 0.9 - 0.5 * ((label == 1) & (place == 2))
    answer = np.where(rng.random(n) < chance, label, 1 - label)
    names = np.array([f"{('cat', 'dog')[a]}/{('sea', 'land', 'snow')[b]}" for a, b in zip(label, place, strict=True)])
    often = {
        name: np.repeat(column, TIMES) for name, column in (("label", label), ("group", names), ("user", np.arange(n)))
    }
    challenge = np.repeat(np.where(place == 2, "hard", "easy"), TIMES)
    predictions = oochub.Predictions.from_arrays(
        logits=np.repeat(np.eye(2)[answer], TIMES, axis=0), class_names=["cat", "dog"], challenge=challenge, **often
    )
    drops = {row.group: row for row in oochub.evaluate(predictions, resamples=100).groups.rows}
    right = np.repeat(answer == label, TIMES)
    for kind in range(2):
        of_class = often["label"] == kind
        out, inside = (of_class & (challenge == name) for name in ("hard", "easy"))
        either = out | inside
        expected = unpaired_shares(right[either], out[either], cluster=often["user"][either])
        row = drops[f"{('cat', 'dog')[kind]}/snow"]
        assert row.role == "out" and row.drop_p_value == pytest.approx(expected)
        single = unpaired_shares(right[either], out[either])
        assert single < expected / 5
    assert all(row.drop_p_value is None for row in drops.values() if row.role == "in")


def test_groups_of_too_few_clusters_are_not_compared_by_their_rows(by_user, tmp_path):
    """Also when the report is opened again. Planted fault: nan, which a file keeps as nothing, and so by its counts."""
    n, label = 80, np.arange(80) % 2
    out = np.arange(n) >= 40
    predictions = oochub.Predictions.from_arrays(
        logits=np.eye(2)[np.where(out, 1 - label, label)],
        label=label,
        class_names=["cat", "dog"],
        challenge=np.where(out, "hard", "easy"),
        group=[
            f"{('cat', 'dog')[of]}/{('sea', 'land')[side]}" for of, side in zip(label, out.astype(int), strict=True)
        ],
        user=np.arange(n) // 20,
    )
    report = oochub.evaluate(predictions, resamples=100)
    report.save(tmp_path / "report.json")
    for each in (report, oochub.Report.load(tmp_path / "report.json")):
        assert [(drop.value, drop.is_clear) for drop in group_drops(each)] == [(-1.0, False)] * 2


def test_bins_of_confidence_have_wilsons_interval_at_95_percent():
    """Reference: scipy. Planted fault: 90% in confidence.py."""
    rng = np.random.default_rng(4)
    logits, label = rng.normal(size=(400, 2)) * 2, rng.integers(2, size=400)
    predictions = oochub.Predictions.from_arrays(
        logits=logits, label=label, challenge=np.where(np.arange(400) % 2, "easy", "hard")
    )
    bins = oochub.evaluate(predictions, resamples=100).calibration["out"].bins
    assert len(bins) == 5
    for part in bins:
        expected = stats.binomtest(round(part.accuracy * part.n), part.n).proportion_ci(0.95, method="wilson")
        assert (part.accuracy_low, part.accuracy_high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_group_that_training_showed_is_said_to_be_trained():
    """Planted fault: the flag inverted."""
    logits, label = np.eye(2)[[0, 1, 0, 1] * 10], [0, 1, 1, 0] * 10
    predictions = oochub.Predictions.from_arrays(logits=logits, label=label, group=["cat/sea", "dog/land"] * 20)
    facts = BuildFacts(trained_groups=("cat/sea", "cow/land"))
    known = oochub.Predictions(predictions.table, replace(predictions.metadata, facts=facts))
    groups = {row.group: row.trained for row in oochub.evaluate(known, resamples=100).groups.rows}
    assert groups == {"cat/sea": True, "dog/land": False}
    assert {row.trained for row in oochub.evaluate(predictions, resamples=100).groups.rows} == {None}
