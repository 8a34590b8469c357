"""Clusters that the model under audit makes itself, of the quickstart's images.

On the rim their gap has the sign of the true one; of whole images no direction is claimed.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from found_rows import predictions_of, rows
from planted_findings import shown

import oochub
from oochub.prediction.predictions import Predictions
from oochub.report.verdict import verdict
from oochub.studies.demo.example import example


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def audited(place, seed, *, region="rim", correlation=0.95):
    """The gap by the true background, and the audit by the model's own clusters."""
    pictures, model = example(place, size=100, seed=seed, correlation=correlation)
    true = oochub.evaluate(
        oochub.predict(model, oochub.load(pictures, label="breed", context="background")), resamples=100
    )
    found = oochub.audit(
        model,
        pictures,
        label="breed",
        contexts="clusters",
        context_settings={"model": str(model), "region": region},
        resamples=100,
    )
    return true["gap"], found


def check_signs(place, seed):
    gap, found = audited(place, seed)
    assert gap.high < -0.5  # these models go by the background
    assert shown(found.contexts) and all(each.gap < 0 for each in shown(found.contexts).values())
    assert verdict(found).case == "relies"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_the_sign_on_the_rim_is_the_true_one(seed, tmp_path):
    check_signs(tmp_path / "world", seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(20))
def test_the_sign_on_the_rim_is_the_true_one_in_twenty_worlds(seed, tmp_path):
    check_signs(tmp_path / "world", seed)


@pytest.mark.slow
def test_no_direction_is_claimed_of_whole_pictures(tmp_path):
    _, found = audited(tmp_path / "world", 0, region="picture")
    assert {each.status for each in found.contexts.contexts} == {"no direction"} and found.contexts.n_tests == 0
    said = verdict(found)
    assert said.headline.startswith("No direction is claimed: the clusters come from the model under audit")
    assert "usual" not in said.lead and "look at the rim, or use another encoder" in found.to_html()
    assert not re.search(r"times in 100|does (better|worse)", found.to_html())


CLUSTERS = {"way": "clusters", "names": ("grass", "sand"), "model": "encoder"}


@pytest.mark.parametrize(
    ("settings", "answers_alike", "reason"),
    [
        ({"region": "picture", "model": "abc"}, False, "come from the model under audit"),
        ({"region": "picture", "model": "def", "knows_classes": True}, False, "which itself separates these classes"),
        (
            {"region": "picture", "model": "def"},
            True,
            "nearly match the answers of the model (adjusted Rand index 1.00)",
        ),
        ({"region": "picture", "model": "def"}, False, None),
        ({"region": "rim", "model": "abc", "knows_classes": True}, True, None),
    ],
)
def test_when_no_direction_is_claimed(settings, answers_alike, reason):
    """By the weights, by the names of the classes, and by the answers; never on the rim."""
    made = rows(1200)
    made["answer"] = np.minimum(made["answer"], 1)
    sand = made["answer"] == 1 if answers_alike else np.array([1 in (own or []) for own in made["contexts"]])
    made["contexts"] = [[int(has)] for has in sand]
    found = predictions_of(made, settings=settings, **CLUSTERS)
    own = with_revision(found, "abc")
    statuses = {each.status for each in oochub.evaluate(own, resamples=100).contexts.contexts}
    assert (statuses == {"no direction"}) == (reason is not None) and ("no direction" in statuses) == (
        reason is not None
    )
    if reason:
        report = oochub.evaluate(own, resamples=100)
        assert all(reason in each.reason and np.isnan(each.gap) for each in report.contexts.contexts)
        assert reason.partition(" (")[0] in verdict(report).headline


def with_revision(predictions, revision):
    """Predictions of a model of these weights."""
    model = replace(predictions.metadata.model, id="model", revision=revision)
    return Predictions(predictions.table, replace(predictions.metadata, model=model))
