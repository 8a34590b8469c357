"""The figure of altered backgrounds: what is drawn are the numbers of the report, and what it lacks is said."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import reports
from probed_report import probe, probed_report

from oochub import OochubError
from oochub.stats.estimate import Estimate

mpl.use("Agg")


def test_shares_and_intervals_are_those_of_the_report():
    """Fault planted: the rows in another order than their names."""
    report = reports.read(probed_report())
    ax = report.plot("background_probe")
    variants = report.background.variants
    points = {float(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "s"}
    spans = {float(line.get_ydata()[0]): line.get_xdata() for line in ax.lines if line.get_marker() == "None"}
    assert len(points) == len(spans) == 6
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0].startswith("As it is") and names[2].startswith("Object on a background of another class")
    for y, each in enumerate(variants):
        assert points[y] == pytest.approx(100 * each.accuracy)
        np.testing.assert_allclose(spans[y], [100 * each.accuracy.low, 100 * each.accuracy.high])
    assert "less often when the background comes from another class" in ax.get_title(loc="left")
    assert f"{100 * report.background.gap:.1f} points" in ax.get_xlabel()


def test_what_cannot_be_drawn_is_said():
    report = reports.read(probed_report())
    with pytest.raises(OochubError, match="--probe background"):
        replace(report, background=None).plot("background_probe")
    nothing = Estimate(float("nan"), n=0, method="none", reason="no such image")
    alone = probe(gap=nothing, gap_log_odds=nothing)
    ax = replace(report, background=alone).plot("background_probe")
    assert "could not be measured" in ax.get_title(loc="left") and "n/a points" in ax.get_xlabel()
