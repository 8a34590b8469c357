"""What reports of odd shapes say, sentence by sentence, against plain counts of their rows.

`make campaign` draws 1,000 reports by `OOCHUB_FUZZ_SEED`.
"""

import os
import re
from unittest import mock

import pytest
from counted_sentences import faults, texts_of
from drawn_reports import drawn, report_of
from fresh_cases import SEED

from oochub.errors import OochubError
from oochub.report import format_numbers as numbers
from oochub.report import group_findings as findings
from oochub.report import wording
from oochub.sections import confidence, where_errors_go

NUMBER = 1000
REFUSED = re.compile(r"has no row with a label|The metric worst_group needs group, which these predictions lack")


def reported(seed):
    """The first draw of a seed that is not refused, and its report."""
    for attempt in range(100):
        rows = drawn(f"{seed}/{attempt}")
        try:
            return rows, report_of(rows)
        except OochubError as error:
            assert REFUSED.search(str(error)), error
    raise AssertionError(f"every draw of {seed} is refused")


def check(seed):
    rows, report = reported(seed)
    wrong = faults(rows, report)
    assert not wrong, f"seed {seed}: {wrong}"


@pytest.mark.parametrize("number", range(20))
def test_every_sentence_is_true_of_the_rows(number):
    check(f"every day {number}")


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(NUMBER))
def test_every_sentence_of_a_thousand_reports_is_true(number):
    check(f"{os.environ[SEED]} {number}")


SEEDS = [f"lies {k}" for k in (*range(30), 74, 88, 91)]  # in the last three a group is clearly lower


@pytest.fixture(scope="module")
def said():
    """Reports with what they say, true so far."""
    every = [(rows, report, texts_of(report)) for rows, report in map(reported, SEEDS)]
    assert not [fault for rows, report, _ in every for fault in faults(rows, report)]
    return every


FAULTS = {
    "the sides change places": (numbers, "times_in_100", lambda real: lambda a, b: real(b, a)),
    "a group is called by another": (wording, "pair_words", lambda real: lambda b, label, place: real(b, "ant", place)),
    "no drop is clear": (findings, "holm", lambda real: lambda p: [False] * len(p)),
    "each drop is clear": (findings, "holm", lambda real: lambda p: [True] * len(p)),
    "nothing is learned": (findings, "is_near_chance", lambda real: lambda *_: True),
    "the gap loses its sign": (numbers, "points", lambda real: lambda value, unit="fraction": real(abs(value), unit)),
    "an interval is another's": (numbers, "interval", lambda real: lambda estimate, unit="fraction": "98.5 to 99.5"),
    "errors are counted as rows": (where_errors_go.format_numbers, "count", lambda real: lambda value: real(value + 1)),
    "each drop is chance": (findings, "_describe_chance", lambda real: lambda report: "No better than chance"),
    "the worst group is all of it": (
        confidence,
        "_describe_rows",
        lambda real: lambda report, curve: "In the worst group",
    ),
    "a sentence is new": (findings, "_describe_chance", lambda real: lambda report: "Somewhat"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(said, name):
    module, function, changed = FAULTS[name]
    with mock.patch.object(module, function, changed(getattr(module, function))):
        assert any(faults(rows, report) for rows, report, _ in said)
