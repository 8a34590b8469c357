"""The session of an engineer: 3,000 images without labels, 150 of them labeled, and then all."""

import shlex
import sys

import pytest
from import_graph import ROOT

from oochub.report.report import Report
from oochub.sections.few_labels import FewLabels
from oochub.sections.what_next import WhatNext

sys.path.insert(0, str(ROOT / "docs" / "make"))
import few_labels_page as page


def list_commands(report):
    """The commands that a report suggests, without the name of the program."""
    (passage,) = WhatNext().passages(report)
    return [shlex.split(step.command)[1:] for step in passage.steps]


@pytest.mark.slow
def test_few_labels_say_what_all_labels_say(tmp_path):
    """Each interval of 150 labels holds the number of all 3,000, and is no wider than that of the labels alone.

    Every command that the pages suggest runs, also if the table has a label column of another name.
    """
    found = page.run_session(tmp_path)
    few, every = ({row.name: row for row in found[labeled].rows} for labeled in page.TYPED)
    for name, row in few.items():
        truth = every[name].alone
        assert row.together.low <= truth <= row.together.high, name
        assert row.together.high - row.together.low <= row.alone.high - row.alone.low, name
    assert few["gap"].saved > 0.25  # the images say how large the sides are, whatever the model is
    table = (tmp_path / "150.csv").read_text("utf-8").replace("label", "breed", 1)
    (tmp_path / "named.csv").write_text(table, "utf-8")
    own = ("--labels", "named.csv", "--label-column", "breed", "--proxy", "audit150/predictions.parquet")
    page.run_command(tmp_path, "audit", "model", "photos", *own, *page.USUAL, "--out", "named")
    assert FewLabels().found(Report.load(tmp_path / "named/report.json")).rows == found[150].rows
    for number, name in enumerate(("audit150", "audit3000", "named")):
        commands = list_commands(Report.load(tmp_path / name / "report.json"))
        assert {words[0] for words in commands} <= {"audit", "report", "check"}
        assert name != "named" or "--proxy" in commands[0]
        for words in commands:
            if words[0] != "audit" or name == "named":
                page.run_command(tmp_path, *(f"rows{number}" if word == "rows" else word for word in words))
