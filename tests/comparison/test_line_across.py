"""Effective robustness across two test sets: against scipy's regression of logits of the baseline's accuracies."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from scipy import special, stats
from test_model_line import made
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.comparison.model_line import line_across
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

mpl.use("Agg")
_STANDARD = (0.55, 0.62, 0.68, 0.72, 0.76, 0.80, 0.70)
_SHIFTED = (0.02, 0.05, 0.07, 0.12, 0.15, 0.24, 0.40)  # the last one is robust
_BASELINE = [f"net {k}" for k in range(6)]


def _report(name, config, value, n=1000):
    """A report with this accuracy over all rows, and with one on a side that must not be read."""
    report = made(name, 0.99, 0.01, config=config, metric="accuracy")
    own = Estimate(value, low=value - 0.02, high=value + 0.03, n=n, method="made")
    slices = tuple(
        replace(part, metrics={**part.metrics, "accuracy": own}) if part.role == "all" else part
        for part in report.slices
    )
    return replace(report, slices=slices)


@pytest.fixture
def reports():
    pairs = [
        [_report(f"net {k}", "imagenet_1k", x), _report(f"net {k}", "imagenet_a", y)]
        for k, (x, y) in enumerate(zip(_STANDARD, _SHIFTED, strict=True))
    ]
    return [*(each for pair in pairs for each in pair), _report("net 0", "imagenet_r", 0.3)]


def _line(reports, **more):
    given = {"config": "imagenet_a", "against": "imagenet_1k", "metric": "accuracy", "baseline": _BASELINE}
    return line_across(reports, **given | more)


def test_residuals_are_scipys(reports):
    line = _line(reports)
    x, y = special.logit(_STANDARD[:6]), special.logit(_SHIFTED[:6])
    fit = stats.linregress(x, y)
    assert (line.fit.slope, line.fit.intercept) == pytest.approx((fit.slope, fit.intercept))
    assert (line.fitted, len(line.points), line.left_out) == (6, 7, ())
    for k, (inside, outside) in enumerate(zip(_STANDARD, _SHIFTED, strict=True)):
        point = next(point for point in line.points if point.model == f"net {k}")
        expected = special.expit(fit.intercept + fit.slope * special.logit(inside))
        assert (point.inside, point.outside) == (inside, outside)
        assert point.robustness == pytest.approx(outside - expected)
        assert point.robustness.low < point.robustness < point.robustness.high
    best = max(line.points, key=lambda point: point.robustness)
    assert (best.model, best.robustness.low > 0) == ("net 6", True)
    assert line.sentence == "The line is fitted to 6 models of the baseline. net 6 lies clearly above it."


def test_the_interval_is_made_of_its_three_parts(reports):
    """That of the number on the shifted set, the band of scipy's line, and the number on the standard set along it."""
    line = _line(reports)
    point = next(point for point in line.points if point.model == "net 6")
    x, y = special.logit(_STANDARD[:6]), special.logit(_SHIFTED[:6])
    fit = stats.linregress(x, y)
    at, ends = special.logit(0.70), special.logit([0.68, 0.73])
    error = np.sqrt(((y - fit.intercept - fit.slope * x) ** 2).sum() / 4)
    half = stats.t.ppf(0.975, 4) * error * np.sqrt(1 / 6 + (at - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    middle, low, high = special.expit(fit.intercept + fit.slope * at + np.array([0, -half, half]))
    below, above = special.expit(fit.intercept + fit.slope * ends)
    lowest = np.hypot(0.02, np.hypot(high - middle, above - middle))
    highest = np.hypot(0.03, np.hypot(middle - low, middle - below))
    assert point.robustness.low == pytest.approx(0.40 - middle - lowest)
    assert point.robustness.high == pytest.approx(0.40 - middle + highest)


def test_all_models_and_probits_are_other_lines(reports):
    every = _line(reports, baseline=None)
    fit = stats.linregress(special.logit(_STANDARD), special.logit(_SHIFTED))
    assert every.fit.slope == pytest.approx(fit.slope)
    probits = stats.linregress(stats.norm.ppf(_STANDARD[:6]), stats.norm.ppf(_SHIFTED[:6]))
    assert _line(reports, scale="probit").fit.slope == pytest.approx(probits.slope)
    assert _line(reports, baseline=_BASELINE[:4]).fit is None  # a line needs five


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": "imagenet_b"}, "No config in these reports named 'imagenet_b'. Did you mean"),
        ({"against": "imagenet_a"}, "config and against are the same set, nooch/imagenet_a"),
        ({"baseline": ["net 9"]}, "No model with numbers on both sets named 'net 9'. Did you mean"),
        ({"metric": "f1_macro"}, "No model has f1_macro both on nooch/imagenet_1k and on nooch/imagenet_a"),
    ],
)
def test_what_is_refused(reports, changes, message):
    with pytest.raises(OochubError, match=message):
        _line(reports, **{"baseline": None} | changes)


def test_models_that_lack_a_set_are_said_and_two_reports_of_one_are_refused(reports):
    line = _line([each for each in reports[1:] if each is not reports[3]], baseline=None)
    left_out = {"net 0: no accuracy on nooch/imagenet_1k", "net 1: no accuracy on nooch/imagenet_a"}
    assert {*line.left_out} == left_out
    with pytest.raises(OochubError, match="Two reports are of net 1 on nooch/imagenet_1k"):
        _line([*reports, reports[2]])


def test_the_command_draws_it(reports, tmp_path):
    files = [str(report.save(tmp_path / f"{k}.json")) for k, report in enumerate(reports)]
    options = "config=imagenet_a:against=imagenet_1k:metric=accuracy:baseline=" + ",".join(_BASELINE)
    out = tmp_path / "line.csv"
    done = CliRunner().invoke(app, ["report", *files, "--plot", f"accuracy_on_the_line:{options}={out}"])
    assert done.exit_code == 0, done.output
    rows = [line.split(",") for line in out.read_text("utf-8").splitlines()]
    assert rows[0][:4] == ["model", "in", "out", "above the line"] and rows[1][:3] == ["net 6", "0.7", "0.4"]
    figure = oochub.get("figure", "accuracy_on_the_line")
    ax = figure([Report.load(file) for file in files], config="imagenet_a", against="imagenet_1k", metric="accuracy")
    assert "on nooch/imagenet_1k" in ax.get_xlabel() and "on nooch/imagenet_a" in ax.get_ylabel()
    for options in ({"against": "imagenet_1k"}, {"baseline": ["net 0"]}):
        with pytest.raises(OochubError, match=r"name the (shifted|standard) one"):
            figure(reports, **options)


def test_a_standard_set_over_the_classes_of_a_shifted_one():
    """Rows of classes 0 and 2 of four, and answers among these, worked by hand: 1 of 2 right."""
    logits = np.array([[1.0, 9, 0, 0], [0, 9, 0, 0], [3, 9, 2, 9], [0, 0, 0, 9]])
    rows = Predictions.from_arrays(logits=logits, label=[0, 1, 2, 3], class_names=list("abcd"), group=["x"] * 4)
    some = rows.select_classes([0, 2])
    report = oochub.evaluate(some, classes="present", metrics=["accuracy"], resamples=100)
    part = report.slice_of("all")
    assert (part.n, part.metrics["accuracy"].value) == (2, 0.5)
    with pytest.raises(OochubError, match="No row has one of the 1 classes"):
        rows.select_classes([7])
