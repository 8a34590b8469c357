"""report.json with one thing wrong, read and shown: refused, or the same numbers."""

import json
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import CHANGED, SAFE, Format, Used
from fuzz_predictions import numbers_of, shown
from mutations import json_cases, json_text_cases, place_cases
from reports import nooch_report

from oochub import Report

_FILE = "report.json"
_OF_NUMBERS = ("negative", "huge", "infinite", "not a number", "a fraction")


def _content() -> dict[str, Any]:
    """A report on the toy NOOCH, cut to two slices of two metrics and one mistake with a small image."""
    content = json.loads(json.dumps(nooch_report()))
    content["mistakes"] = [content["mistakes"][0] | {"image": content["mistakes"][0]["image"][:400]}]
    metrics = ("auc", "nll")
    content["slices"] = [
        part | {"metrics": {name: part["metrics"][name] for name in metrics}} for part in content["slices"][:3]
    ]
    content["metrics"] = {name: content["metrics"][name] for name in metrics}
    return content


def _use(folder: Path, out: Path) -> Used:
    report = Report.load(folder / _FILE)
    shown(report, out)
    return Used(numbers=numbers_of(report), notes=report.notes)


REPORTS = Format(name="reports", make=lambda folder: (folder / _FILE).write_text(json.dumps(_content())), use=_use)


def _expected(place: str, change: str) -> frozenset[str]:
    if change in _OF_NUMBERS or change in ("deleted", "renamed", "doubled", "an empty text"):
        return SAFE | {CHANGED}  # a report holds what it holds: only that it is one can be checked
    if change in ("a list", "an object"):
        return SAFE | {CHANGED}  # an empty list is one, where a list is
    if change == "null":
        return SAFE | {CHANGED}  # unknown, where a field may be
    return SAFE


CASES = [
    *(case for case in json_cases(_FILE, _content(), _expected) if not case.name.endswith("name an empty text")),
    *json_text_cases(_FILE),
    *place_cases(_FILE),
]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports(campaign, case):
    campaign.run(REPORTS, case)
