"""Reports, predictions and estimates at the prompt and in a notebook: short, escaped, and nothing fetched."""

import re

import numpy as np
import pytest
import reports

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.table import make_notebook_table
from oochub.stats.estimate import Estimate


@pytest.mark.parametrize("factory", [reports.nooch_report, reports.spawrious_report], ids=["nooch", "spawrious"])
def test_a_report_is_a_few_lines_with_headline_sides_and_gap(factory):
    """Fault planted: the dataclass's own repr, which is 39,146 characters of a report of `oochub demo`."""
    content = factory()
    lines, metric = repr(reports.read(content)).splitlines(), content["benchmark"]["primary_metric"]
    assert len(lines) == 5 and max(map(len, lines)) < 120
    for line, role in zip(lines[2:4], ("in", "out"), strict=True):
        part = next(part for part in content["slices"] if part["role"] == role)
        value, low, high = (part["metrics"][metric][key] for key in ("value", "low", "high"))
        assert line.endswith(f"{value:.3f} [{low:.3f}, {high:.3f}] n={part['n']}"), line
    assert lines[4].startswith(f"gap: {content['gap']['value']:.3f} [")


def test_nothing_in_a_notebook_is_run_fetched_or_colored():
    """Fault planted: a cell, a head and a sentence that are not escaped."""
    evil = "<script>alert(1)</script>"
    content = reports.nooch_report()
    content["model"]["id"], content["notes"] = evil, [evil]
    many = [Predictions.from_arrays(logits=[[0.0, 1.0]] * 9, label=[0, 1, 1] * 3, model=evil) for _ in range(3)]
    pages = [
        reports.read(content)._make_tables(),
        oochub.compare(reports.read(content))._repr_html_(),
        oochub.compare(*many)._repr_html_(),
        Predictions.from_arrays(logits=[[0.0, 1.0]], label=[1], model=evil, **{evil: [1]})._repr_html_(),
        Estimate(0.5, n=1, method="none", reason=evil)._repr_html_(),
        make_notebook_table([[f"{evil}\n{evil}"]], heads=[evil], title=evil, sentences=[evil]),
    ]
    for page in pages:
        assert "<script" not in page and "&lt;script&gt;" in page
        assert not re.search(r"src=|href=|url\(|color:(?!inherit)|background", page)


def test_many_models_are_a_line_each():
    """A ranking, and reports on two benchmarks. Planted faults: the dataclass's own repr; marks without meaning."""
    draws = np.random.default_rng(0)
    label = np.arange(60) % 2
    given = [
        Predictions.from_arrays(logits=size * np.eye(2)[label] + draws.normal(size=(60, 2)), label=label, model=f"m{k}")
        for k, size in enumerate((0.1, 3.0, 3.1))
    ]
    lines = repr(oochub.compare(*given, metric="accuracy")).splitlines()
    assert lines[0] == "<Ranking of 3 models on custom/default>" and len(lines) == 3 + 3
    assert [line for line in lines if line.startswith("  m0: place 3, 0.")]
    content, other = reports.nooch_report(), reports.nooch_report()
    content["gap"]["reason"] = "only 5 clusters: the interval may be too narrow"
    other["benchmark"]["name"] = "waterbirds"
    both = oochub.compare(reports.read(content), reports.read(other))
    lines = repr(both).splitlines()
    assert lines[0] == "<Comparison of 2 reports>" and lines[1].startswith("The gap of")
    assert "ᵃ only 5 clusters: the interval may be too narrow." in lines and max(map(len, lines)) < 200


def test_a_report_without_sides_or_primary_metric_is_shown():
    """Of detectors, of a metric that is not the primary one, of a number: what there is, and no gap."""
    rng = np.random.default_rng(0)
    value = rng.normal(size=60)
    number = Predictions.from_arrays(value=value, label=value + rng.normal(size=60))
    other = Predictions.from_arrays(logits=rng.normal(size=(60, 3)), label=rng.integers(0, 3, 60))
    for predictions, metrics in ((number, None), (other, ["nll"])):
        report = oochub.evaluate(predictions, metrics=metrics, resamples=100)
        assert repr(report).startswith("<Report on a model on ") and "60 rows" in repr(report)
        assert "<table" in report._repr_html_()


def test_predictions_say_what_they_are():
    """By hand. Fault planted: Arrow's own repr of the table, thousands of characters."""
    predictions = Predictions.from_arrays(
        logits=np.zeros((1200, 2)),
        label=np.zeros(1200, int),
        split=["validation"] * 200 + ["test"] * 1000,
        model="mine",
    )
    assert repr(predictions) == (
        "<Predictions>\nmodel: mine\ndata: own data/default\nkind: classes (2)\n"
        "rows: validation 200, test 1,000\ncolumns: example_id, split, label, logits"
    )


def test_an_estimate_in_a_notebook_says_how_its_interval_was_found():
    estimate = Estimate(0.912, low=0.885, high=0.934, n=1234, method="wilson")
    assert estimate._repr_html_().startswith("<code>0.912 [0.885, 0.934] n=1234</code>")
    assert "wilson" in estimate._repr_html_()
