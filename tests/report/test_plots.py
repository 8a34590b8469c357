"""The figures: what is drawn and printed equals the report's numbers; colors and marks are those of the page."""

import re
import sys

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np
import pytest
import reports
from detection_reports import detection_report

from oochub import OochubError
from oochub.report import theme
from oochub.report import verdict as verdicts
from oochub.report.report import Report

plot, verdict = reports.reading(Report.plot), reports.reading(verdicts.verdict)

mpl.use("Agg")
SIDES = {"in": "in context", "out": "out of context"}


@pytest.fixture(params=[reports.nooch_report, reports.spawrious_report], ids=["nooch", "spawrious"])
def report(request):
    yield request.param()
    mpl.pyplot.close("all")


def texts(ax):
    ticks = [tick.get_text() for tick in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    legend = [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []
    printed = [text.get_text() for text in ax.texts]
    return "\n".join([*printed, *ticks, *legend, ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()])


def marks(ax, side):
    """(x, y) of every mark of a side, by its marker and color."""
    color = theme.LIGHT["inn" if side == "in" else "out"]
    lines = [line for line in ax.lines if line.get_marker() == theme.MARKERS[side] and line.get_color() == color]
    return [(x, y) for line in lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def shown(value):
    return f"{100 * value:.1f}"


def test_gap_draws_and_prints_both_sides(report):
    ax = plot(report)
    metric, text = report["benchmark"]["primary_metric"], texts(ax)
    for part in (part for part in report["slices"] if part["role"] in ("in", "out")):
        estimate = part["metrics"][metric]
        assert marks(ax, part["role"])[0][0] == pytest.approx(100 * estimate["value"])
        words = f"{SIDES[part['role']]}\n{shown(estimate['value'])}\n"
        assert words + f"{shown(estimate['low'])} to {shown(estimate['high'])}" in text
    assert f"−{shown(-report['gap']['value'])} points" in text
    assert verdict(report).sentence in text
    assert "(higher is better); chance is" in text
    assert "n = " in text


def test_gap_is_hollow_where_the_question_is_open():
    report = reports.set_gap(reports.nooch_report(), (0.93, 0.91, 0.95), (-0.021, -0.044, 0.002), (0.909, 0.88, 0.93))
    for given, face in ((report, "bg"), (reports.nooch_report(), "inn")):
        line = next(line for line in plot(given).lines if line.get_marker() == "o")
        assert line.get_markerfacecolor() == theme.LIGHT[face]
    report = reports.set_gap(report, (0.93, 0.91, 0.95), (None,) * 3, (None,) * 3)
    assert marks(plot(report), "out") == []


def test_groups_are_bars_from_zero_worst_first(report):
    ax = plot(report, "groups")
    rows = sorted(report["groups"]["rows"], key=lambda r: (r["role"] != "out", -r["error_rate"]["low"]))
    widths = [patch.get_width() for patch in ax.patches]
    np.testing.assert_allclose(widths, [100 * row["error_rate"]["value"] for row in rows])
    assert ax.get_xlim()[0] == 0
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert [re.search(r"n = (.*)\)", label)[1].replace("\u202f", "") for label in labels] == [str(r["n"]) for r in rows]
    assert all(shown(row["error_rate"]["value"]) in texts(ax) for row in rows)
    assert "Error % ↓ (lower is better)" in ax.get_xlabel()


def test_slices_show_the_primary_metric_or_the_error_where_that_is_undefined(report):
    ax = plot(report, "slices")
    metric = "accuracy" if report["benchmark"]["object"] is None else "error_rate"
    assert all(shown(part["metrics"][metric]["value"]) in texts(ax) for part in report["slices"])
    assert len(ax.get_yticks()) == len(report["slices"])


def test_reliability_draws_bins_of_20_answers_and_more(report):
    """Planted fault: drawing every bin adds marks."""
    report["calibration"]["in"]["bins"][-1]["n"] = 20
    report["calibration"]["in"]["bins"][-2]["n"] = 19
    report["calibration"]["out"]["bins"][-1]["n"] = 0
    ax = plot(report, "reliability")
    for side in ("in", "out"):
        bins = [b for b in report["calibration"][side]["bins"] if b["n"] >= 20]
        assert len(bins) < 10
        expected = [(100 * b["confidence"], 100 * b["accuracy"]) for b in bins]
        np.testing.assert_allclose(marks(ax, side), expected)
    assert f"ECE {shown(report['calibration']['out']['ece']['value'])}%" in texts(ax)
    assert ax.get_xlim() == ax.get_ylim()


def test_detection_draws_and_prints_both_goals_of_every_detector():
    """Marks at the report's numbers, by color and shape; n/a says why."""
    report = detection_report()
    report["detection"][0]["metrics"]["auroc_failure"] |= {"value": None, "reason": "no wrong answer"}
    ax = plot(report, "detection")
    for goal, color in theme.GOALS.items():
        lines = [line for line in ax.lines if line.get_marker() == theme.GOAL_MARKERS[goal]]
        drawn = sorted(x for line in lines for x in line.get_xdata())
        values = [row["metrics"][goal]["value"] for row in report["detection"]]
        np.testing.assert_allclose(drawn, sorted(100 * value for value in values if value is not None))
        assert {line.get_color() for line in lines} == {theme.LIGHT[color]}
        assert all(shown(value) in texts(ax) for value in values if value is not None)
    assert "n/a, no wrong answer" in texts(ax)
    assert "imagenet_1k against far_ood, n = 300 (74 wrong) and 150" in texts(ax)
    assert "(higher is better)" in ax.get_xlabel()
    mpl.pyplot.close("all")


def test_messages(monkeypatch, report):
    with pytest.raises(OochubError, match=r"No figure named 'group'\. Did you mean 'groups'"):
        plot(report, "group")
    with pytest.raises(OochubError, match="has no groups"):
        plot(report | {"groups": None}, "groups")
    with pytest.raises(OochubError, match="has no calibration"):
        plot(report | {"calibration": None}, "reliability")
    with pytest.raises(OochubError, match="has no detectors"):
        plot(report, "detection")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(OochubError, match=re.escape("Run: pip install 'oochub[plots]'")):
            plot(report)
