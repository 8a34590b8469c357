"""Audits of pictures whose background is planted: what relies on it is told from what does not, and steps are kept."""

import pytest
from planted_pictures import PROCESSOR, Onlooker, planted_folder

import oochub
from oochub.report.verdict import verdict

COLUMNS = {"label": "tone", "context": "ground"}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return planted_folder(tmp_path_factory.mktemp("planted") / "squares")


def audit(model, source, **more):
    return oochub.audit(model, source, image_processor=PROCESSOR, **{**COLUMNS, **more})


def test_a_model_that_looks_at_the_background_relies_on_it(pictures):
    """By hand: right on every usual background, wrong on every other."""
    report = audit(Onlooker("background"), pictures)
    assert verdict(report).headline == "This model relies on context."
    assert report["in_context/accuracy"] == 1.0 and report["out_of_context/accuracy"] == 0.0
    assert report.benchmark.summary == "Usual contexts: dark: blue; light: red."
    assert {row.group for row in report.group_rows} == {"light/red", "light/blue", "dark/red", "dark/blue"}


def test_a_model_that_looks_at_the_object_does_not(pictures):
    report = audit(Onlooker("object"), pictures)
    assert verdict(report).headline == "Any effect of context is smaller than 2 points."
    assert report["gap"] == 0.0 and report["out_of_context/accuracy"] == 1.0
