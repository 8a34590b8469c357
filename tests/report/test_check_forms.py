"""Every form of a check: the table, Markdown, JSON, JUnit by its schema, and a badge that loads nothing."""

import io
import json
import math
import re
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import reports
from rich.console import Console

import oochub
from oochub.checking.check import Check
from oochub.stats.estimate import Estimate

ATTRIBUTES = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"name", "tests", "failures", "errors"},
    ),
    "testcase": ({"name", "time", "classname", "group"}, {"name"}),
    "failure": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
"""What the schema of JUnit of Jenkins' xUnit plugin, junit-10.xsd, allows and requires of the elements used here."""
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testsuite", "properties", "testcase", "system-out", "system-err"},
    "testcase": {"skipped", "error", "failure", "system-out", "system-err"},
}
"""What may stand in each; the others hold text alone."""


def check_of(*numbers: tuple[float, float, float], name: str = "erm", reason: str | None = None, **options) -> Check:
    """A check of accuracy at least 0.7: an outcome for each of these numbers, each on a slice of its own."""
    report = reports.read(reports.nooch_report())
    parts = [
        replace(
            report.slices[0],
            name=f"{name}_{k}",
            role="split",
            metrics={"accuracy": Estimate(value, low=low, high=high, n=1234, method="by hand", reason=reason)},
        )
        for k, (value, low, high) in enumerate(numbers)
    ]
    report = replace(report, slices=(report.slices[0], *parts))
    rules = {"rule": [{"metric": "accuracy", "slice": part.name, "at_least": 0.7} for part in parts]}
    return oochub.check(report, rules, **options)


PASS, FAIL, UNDECIDED, ABSENT = (0.8, 0.75, 0.85), (0.5, 0.45, 0.55), (0.72, 0.68, 0.76), (math.nan,) * 3


def terminal(check: Check, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(check.to_terminal(width=width))
    return stream.getvalue()


def test_table_and_markdown_say_each_outcome():
    """Fault planted: the states of the rows in another order."""
    check = check_of(PASS, FAIL, UNDECIDED, ABSENT, reason="only 40 rows")
    expected = [
        ["accuracy, erm_0", "pass", "80.0%", "75.0 to 85.0", "≥ 70.0%", "1\u202f234"],
        ["accuracy, erm_1", "fail", "50.0%", "45.0 to 55.0", "≥ 70.0%", "1\u202f234"],
        ["accuracy, erm_2", "undecided", "72.0%", "68.0 to 76.0", "≥ 70.0%", "1\u202f234"],
        ["accuracy, erm_3", "undecided", "n/a", "–", "≥ 70.0%", "1\u202f234"],
    ]
    lines = terminal(check).splitlines()
    assert [re.split(r"\s{2,}", line.strip()) for line in lines[1:5]] == expected
    assert lines[-1] == "Fail: 1 of 4 passed, 1 failed, 2 undecided."
    needed = (
        "about 5,000 rows in all would decide it if the estimate stays the same: collect them in one go and check "
        "once, or use anytime=True."
    )
    said = f"accuracy of erm_2 at_least 0.7: too few rows to decide; only 40 rows; {needed}"
    assert said in " ".join(terminal(check, 300).splitlines()) and said in check.to_markdown().replace("\\", "")
    rows = [re.split(r" \| ", line.strip("| ").replace("\\", "")) for line in check.to_markdown().splitlines()]
    rows = [row for row in rows if row[0].startswith("accuracy, ")]
    assert [[row[0], re.sub(r"[^a-z]", "", row[1]), *row[2:]] for row in rows] == expected
    assert check.to_markdown().startswith(f"### {check.sentence}\n")
    signs = [re.sub(r"[\w* ]", "", row[1]) for row in rows]
    assert all(signs) and len(set(signs)) == 3 and "**" in rows[1][1]  # seen from afar, without color
    places = [[line.index(cell) for cell in row[:2]] for line, row in zip(lines[1:5], expected, strict=True)]
    ends = [[line.index(cell) + len(cell) for cell in row[2:]] for line, row in zip(lines[1:5], expected, strict=True)]
    assert len(set(map(tuple, places))) == len(set(map(tuple, ends))) == 1  # words to the left, numbers to the right


@pytest.mark.parametrize(
    ("numbers", "options", "words"),
    [
        ([PASS], {}, "Pass: 1 of 1 passed."),
        ([PASS, PASS], {}, "Pass: 2 of 2 passed."),
        ([PASS, UNDECIDED], {}, "Undecided: 1 of 2 passed, 1 undecided."),
        ([PASS, UNDECIDED], {"undecided": "pass"}, "Pass: 1 of 2 passed, 1 undecided (counted as pass)."),
        ([UNDECIDED, UNDECIDED], {"undecided": "fail"}, "Fail: 0 of 2 passed, 2 undecided (counted as fail)."),
        ([FAIL, FAIL], {}, "Fail: 0 of 2 passed, 2 failed."),
    ],
)
def test_the_sentence(numbers, options, words):
    assert check_of(*numbers, **options).sentence == words


def check_junit(text: str) -> ElementTree.Element:
    """The root of JUnit XML that keeps the rules of the schema."""
    root = ElementTree.fromstring(text)  # noqa: S314  made here
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed, required = ATTRIBUTES[element.tag]
        assert required <= element.attrib.keys() <= allowed, (element.tag, element.attrib)
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set()), element.tag
    return root


@pytest.mark.parametrize("counted", [None, "pass", "fail"])
def test_junit_has_a_case_for_each_outcome(counted):
    """Fault planted: an undecided rule without an element."""
    check = check_of(PASS, FAIL, UNDECIDED, ABSENT, undecided=counted)
    root = check_junit(check.to_junit())
    (suite,) = root
    kinds = [next((child.tag for child in case if child.tag != "system-out"), "pass") for case in suite]
    undecided = {None: "skipped", "pass": "pass", "fail": "failure"}[counted]
    assert kinds == ["pass", "failure", undecided, undecided]
    tags = Counter(kinds)
    numbers = {"tests": "4", "failures": str(tags["failure"]), "errors": "0"}
    assert suite.attrib == {"name": "report 1", **numbers, "skipped": str(tags["skipped"])}
    assert root.attrib == {"name": "oochub check", **numbers}
    assert suite[1][0].attrib["message"] == "50.0% (95% interval 45.0 to 55.0), bound ≥ 70.0%, n = 1\u202f234"
    assert len({case.attrib["name"] for case in suite}) == 4


def test_each_report_is_a_suite_and_a_table():
    """Fault planted: counts of the whole check in each suite."""
    report = reports.read(reports.nooch_report())
    check = oochub.check([report, report], {"rule": [{"metric": "accuracy", "at_least": 0.5}]})
    suites = [suite.attrib for suite in check_junit(check.to_junit())]
    assert [(each["name"], each["tests"]) for each in suites] == [("report 1", "1"), ("report 2", "1")]
    assert check.to_markdown().count("| Rule |") == 2 and terminal(check).count("Rule") == 2


def test_json_has_everything():
    check = check_of(PASS, FAIL, UNDECIDED, ABSENT)
    content = json.loads(json.dumps(check.to_json(), allow_nan=False))
    assert content["state"] == "fail" and content["exit_code"] == 1
    assert content["counts"] == {"pass": 1, "undecided": 2, "fail": 1}
    outcomes = content["outcomes"]
    assert [each["state"] for each in outcomes] == ["pass", "fail", "undecided", "undecided"]
    assert outcomes[0]["number"]["low"] == 0.75 and outcomes[3]["number"]["value"] is None
    assert outcomes[0]["rule"] == {"metric": "accuracy", "slice": "erm_0", "bound": "at_least", "limit": 0.7}


@pytest.mark.parametrize(
    ("numbers", "options", "words"),
    [
        ([PASS, PASS], {}, "2 of 2 passed"),
        ([PASS, FAIL, UNDECIDED], {}, "1 of 3 failed"),
        ([PASS, UNDECIDED], {}, "1 of 2 undecided"),
        ([PASS, UNDECIDED], {"undecided": "fail"}, "1 of 2 undecided"),
        ([PASS, UNDECIDED], {"undecided": "pass"}, "1 of 2 passed"),
    ],
)
def test_a_badge_says_the_state_and_loads_nothing(numbers, options, words):
    """Faults planted: a font of another site; the words left out of the label that is read aloud."""
    text = check_of(*numbers, **options).to_badge()
    root = ElementTree.fromstring(text)  # noqa: S314  made here
    space = "{http://www.w3.org/2000/svg}"
    assert [each.text for each in root.iter(f"{space}text")] == ["oochub check", words]
    assert root.attrib["aria-label"] == root.find(f"{space}title").text == f"oochub check: {words}"
    assert {each.tag.removeprefix(space) for each in root.iter()} <= {"svg", "title", "clipPath", "rect", "g", "text"}
    addresses = [value for each in root.iter() for value in each.attrib.values() if re.search(r"://|url\((?!#)", value)]
    assert not addresses and "@import" not in text
    fills = {each.attrib.get("fill") for each in root.iter(f"{space}rect")}
    assert {"#1a7f37", "#c2202c", "#57606a"} & fills, fills
    assert root.attrib["height"] == "20"  # as badges of shields.io, which it stands beside
    ends = [
        float(each.attrib["x"]) + float(each.attrib["width"])
        for each in root.iter(f"{space}rect")
        if "x" in each.attrib
    ]
    assert ends == [float(root.attrib["width"])]
    lengths = [float(each.attrib["textLength"]) for each in root.iter(f"{space}text")]
    assert sum(lengths) + 4 * 8 == ends[0]  # pixels on each side of both words


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a|b\n# c", "a\x00b\x1b[31m", "\u202egnp", "]]>&amp;"])
def test_a_hostile_name_is_plain_text(name):
    """Names of groups and slices come from data."""
    report = reports.read(reports.nooch_report())
    row = replace(report.group_rows[0], group=name)
    report = replace(report, groups=replace(report.groups, rows=(row, *report.group_rows[1:])))
    check = oochub.check(report, {"rule": [{"metric": "accuracy", "group": "*", "at_least": 0.999}]})
    check_junit(check.to_junit())
    markdown = check.to_markdown()
    lines = [line for line in markdown.splitlines() if line.startswith("| accuracy")]
    assert len(lines) == len(report.group_rows)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 7 for line in lines) and "<script>" not in markdown
    assert not re.search("[\x00-\x08\x1b\u202e]", check.to_junit() + markdown + terminal(check, 200))
