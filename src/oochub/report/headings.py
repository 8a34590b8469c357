"""The headings of a page's sections: each states a finding only where the intervals carry it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oochub.report import numbers, wording


class Headings(NamedTuple):
    """The heading of each section; the neutral name where no finding is clear."""

    slices: str
    groups: str
    confidence: str


def headings(report: Mapping[str, Any]) -> Headings:
    """Choose each heading from closed templates.

    slices: "Missing context hurts more than misleading context" when the rise of the error from both to object alone
    exceeds that from neither to context alone, with its interval, and is itself above zero; or the reverse.
    groups: every unseen pair above every seen one, else the one worst group, when no intervals touch.
    confidence: "Out of context it is too sure of itself" when confidence - accuracy is above 0 with its interval.

    Intervals of differences of disjoint groups are made from the groups' own (MOVER: Zou and Donner 2008, Section 2).

    Args:
        report: A report of schema version 1.

    >>> headings({"benchmark": {"object": None}, "groups": None, "calibration": None})
    Headings(slices='Slices', groups='Groups', confidence='Confidence')
    """
    rows = (report.get("groups") or {"rows": []})["rows"]
    rows = [
        row for row in rows if not any(numbers.is_undefined(row["error_rate"][k]) for k in ("value", "low", "high"))
    ]
    return Headings(_slices(report, rows), _groups(report, rows), _confidence(report))


def _slices(report: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    thing = report["benchmark"]["object"]
    cells = {(row["label"] == thing, row["role"]): row["error_rate"] for row in rows}
    if thing is None or len(rows) != 4 or set(cells) != {(p, r) for p in (True, False) for r in ("in", "out")}:
        return "Slices"
    missing = [(1, cells[True, "out"]), (-1, cells[True, "in"])]
    misleading = [(1, cells[False, "out"]), (-1, cells[False, "in"])]
    low, high = _difference(missing + [(-sign, estimate) for sign, estimate in misleading])
    if low > 0 and _difference(missing)[0] > 0:
        return "Missing context hurts more than misleading context"
    if high < 0 and _difference(misleading)[0] > 0:
        return "Misleading context hurts more than missing context"
    return "Slices"


def _difference(terms: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[float, float]:
    total = sum(sign * e["value"] for sign, e in terms)
    down = [e["value"] - e["low"] if sign > 0 else e["high"] - e["value"] for sign, e in terms]
    up = [e["high"] - e["value"] if sign > 0 else e["value"] - e["low"] for sign, e in terms]
    return total - math.hypot(*down), total + math.hypot(*up)


def _groups(report: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    unseen = [row["error_rate"] for row in rows if row.get("trained") is False]
    seen = [row["error_rate"] for row in rows if row.get("trained") is True]
    if unseen and seen and min(e["low"] for e in unseen) > max(e["high"] for e in seen):
        return "Every pair that training never showed errs more than every pair that it did"
    ranked = sorted(rows, key=lambda row: row["error_rate"]["value"], reverse=True)
    if len(ranked) > 1 and ranked[0]["error_rate"]["low"] > max(row["error_rate"]["high"] for row in ranked[1:]):
        return f"Most errors: {wording.group_words(report, ranked[0])}"
    return "Groups"


def _confidence(report: Mapping[str, Any]) -> str:
    out = (report.get("calibration") or {}).get("out")
    low = out["overconfidence"]["low"] if out is not None else None
    return "Out of context it is too sure of itself" if low is not None and low > 0 else "Confidence"
