"""The worst group's confidence is that of rows that did not choose the group: bias, false alarms, and what is said."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import oochub
from oochub.evaluation.group_statistics import _split_in_halves as halves
from oochub.records.sides import Rows, WorstOfGroups
from oochub.report.group_findings import write_headings

evaluation = import_module("oochub.evaluation.evaluate")


@pytest.fixture
def of_groups(monkeypatch):
    """Any data are compared with the worst of their groups; given the name of a column, rows come in its clusters."""
    declared = evaluation.find_declaration

    def by(cluster=None):
        sides = {"in_context": Rows(name="all", split="test"), "out_of_context": WorstOfGroups(split="test")}
        monkeypatch.setattr(
            evaluation,
            "find_declaration",
            lambda part: replace(
                declared(part), **sides, cluster=cluster, metrics=("accuracy",), primary_metric="accuracy"
            ),
        )

    return by


def _model(rng, groups, rows, *, sure=0.0, worst=None):
    """Right as often as its confidence says, less `sure`; of the group `worst` at random."""
    group = np.repeat(np.arange(groups), rows)
    confidence = rng.uniform(0.55, 0.99, len(group))
    right = rng.random(len(group)) < np.where(group == worst, 0.5, confidence - sure)
    label = rng.integers(2, size=len(group))
    said = np.where(right, label, 1 - label)
    margin = np.log(confidence / (1 - confidence))
    logits = np.where(np.arange(2) == said[:, None], margin[:, None], 0.0)
    names = [f"group {number}" for number in group]
    return oochub.Predictions.from_arrays(
        logits=logits, label=label, group=names, split=["test"] * len(group), user=group
    )


def test_the_halves_share_no_row_and_no_cluster():
    """Planted faults: halves of the rows where there are clusters; a stratum that lies in one half."""
    rng = np.random.default_rng(0)
    stratum, cluster = np.repeat(np.arange(6), 20), np.repeat(np.arange(60), 2)
    for shared in (None, cluster):
        first = halves(stratum, cluster=shared, seed=3)
        assert np.bincount(stratum, first).tolist() == [10] * 6
        assert shared is None or np.all(np.bincount(cluster, first) % 2 == 0)
    assert halves(stratum, seed=3).tolist() != halves(stratum, seed=4).tolist()
    odd = halves(rng.integers(5, size=41), seed=1)
    assert 15 <= odd.sum() <= 26


def test_which_rows_are_measured(of_groups):
    """Against a loop over the halves. Planted fault: the group of one half measured on that half."""
    of_groups()
    predictions = _model(np.random.default_rng(5), 12, 16)
    group, right = predictions.column("group"), predictions.prediction == predictions.label
    first, expected = halves(group), {}
    for half in (first, ~first):
        worst = min(sorted(set(group)), key=lambda name: right[half & (group == name)].mean())
        expected.setdefault(worst, []).extend(np.flatnonzero(~half & (group == worst)))
    found = oochub.evaluate(predictions, resamples=100).calibration["out"]
    rows = np.concatenate(list(expected.values()))
    assert found.groups == {name: len(part) for name, part in expected.items()}
    assert found.accuracy == pytest.approx(right[rows].mean())
    assert found.mean_confidence == pytest.approx(predictions.probability[rows].max(axis=1).mean())


def test_what_is_said(of_groups):
    """A group whose rows say nothing of others is not measured; one that is truly too sure is found, and named."""
    of_groups()
    alone = _model(np.random.default_rng(0), 40, 1)
    report = oochub.evaluate(alone, resamples=100)
    assert "out" not in report.calibration and write_headings(report).confidence == "Confidence"
    report = oochub.evaluate(_model(np.random.default_rng(1), 6, 200, worst=4), resamples=100)
    assert report.calibration["out"].groups == {"group 4": 200}
    assert write_headings(report).confidence.endswith("the model is overconfident")
    assert (
        "In group 4 (200 rows), chosen as the worst group on the other half of the rows, 54.0% of" in report.to_html()
    )
    chosen_by_itself = replace(report.calibration["out"], groups=None)
    before = replace(report, calibration={**report.calibration, "out": chosen_by_itself})
    assert write_headings(before).confidence == "Confidence"


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "rows", "users"), [(30, 20, False), (16, 100, False), (12, 4, True)])
def test_a_model_whose_confidence_is_right_is_seldom_said_to_be_too_sure(of_groups, groups, rows, users):
    """Chosen and measured by the same rows it was said of 23 models in 100, and the number was 18 points (30 x 20).

    70 models: 5% and 3.3 standard errors are 9; the mean within 4 of its own. Planted fault: `find_rows_behind` again.
    """
    of_groups("user" if users else None)
    rng, said, found = np.random.default_rng(0), 0, []
    for _ in range(70):
        predictions = _model(rng, groups, rows)
        if users:  # groups of many users each: a cluster is a third of the rows of one group
            user = np.arange(len(predictions)) // 2
            predictions = oochub.Predictions.from_arrays(
                logits=predictions.logits, label=predictions.label, group=predictions.column("group"), user=user,
                split=["test"] * len(predictions),
            )  # fmt: skip
        out = oochub.evaluate(predictions, resamples=100).calibration["out"]
        said += out.overconfidence.low > 0
        found.append(float(out.overconfidence))
    assert said <= 9
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(70)
