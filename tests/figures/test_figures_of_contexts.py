"""The figure of found contexts: what is drawn and printed equals the report's numbers."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from found_rows import CLASSES, predictions_of, rows
from matplotlib.colors import to_hex
from test_plots import texts

import oochub
from oochub import OochubError
from oochub.records.finding_records import ContextFindings
from oochub.report import theme

mpl.use("Agg")
EVEN = dict.fromkeys(CLASSES, 40)


def report_of(made, **facts):
    return oochub.evaluate(predictions_of(made, **facts), resamples=100)


def points(ax):
    """(gap, row, whether full) of each mark, from above."""
    marks = [line for line in ax.lines if line.get_marker() not in ("None", "") and len(line.get_xdata())]
    ground = theme.LIGHT["bg"]
    return sorted(
        ((float(m.get_xdata()[0]), int(m.get_ydata()[0]), to_hex(m.get_markerfacecolor()) != ground) for m in marks),
        key=lambda mark: mark[1],
    )


def test_marks_and_words_are_those_of_the_report():
    report = report_of(rows(3000))
    ax = report.plot("context_gaps")
    shown, other = report.contexts.contexts
    assert (shown.status, other.status) == ("shown", "not shown")
    drawn = points(ax)
    np.testing.assert_allclose([gap for gap, *_ in drawn], [100 * shown.gap, 100 * other.gap])
    assert [full for *_, full in drawn] == [True, False]
    lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 2]
    np.testing.assert_allclose(lines, [[100 * each.gap.low, 100 * each.gap.high] for each in (shown, other)])
    said = texts(ax)
    for words in (
        "grass, usual for cow",
        f"n = {shown.n_usual:,} + {shown.n_against:,}".replace(",", "\u202f"),
        "This model does worse when the context is not the usual one: grass (usual for cow).",
        "shown: p at most 0.05 after Holm over 2",
        "not shown",
    ):
        assert words in said, (words, said)


def test_too_few_rows_have_no_mark():
    ax = report_of(rows(14)).plot("context_gaps")
    assert points(ax) == [] and texts(ax).count("too few rows to test") == 2
    assert ax.get_legend() is None


def test_what_goes_with_no_class_is_not_drawn():
    counts = {"grass": {"cow": 90, "camel": 10, "bird": 50}, "sand": EVEN}
    ax = report_of(rows(3000), class_counts=counts).plot("context_gaps")
    assert [tick.get_text().partition(",")[0] for tick in ax.get_yticklabels()] == ["grass"]


def test_what_cannot_be_drawn_is_said():
    report = report_of(rows())
    with pytest.raises(OochubError, match="no contexts that were found"):
        replace(report, contexts=None).plot("context_gaps")
    with pytest.raises(OochubError, match="is usual for a class"):
        report_of(rows(), class_counts={"grass": EVEN, "sand": EVEN}).plot("context_gaps")
    assert isinstance(report.contexts, ContextFindings) and mpl.pyplot.get_fignums() == []
