"""The matched gap of a report in words: what is left of the gap at equal values of a column."""

from collections.abc import Mapping
from typing import Any

from oochub.report import numbers, wording


def matched_words(report: Mapping[str, Any]) -> str:
    """The matched gap of a report beside the raw one, in one sentence; "" where none was asked for.

    >>> gap = {"value": -0.21, "low": -0.25, "high": -0.17}
    >>> matched = {"column": "area", "value": -0.15, "low": -0.2, "high": -0.1, "share_out": 1.0, "reason": None}
    >>> matched_words({"gap": gap, "matched_gap": matched, "benchmark": {"object": "car"}})
    'Of the gap of −21.0 points, −15.0 remain at equal object size (95% interval −20.0 to −10.0).'
    """
    matched, gap = report.get("matched_gap"), report["gap"]
    if matched is None:
        return ""
    where = f"at equal {match_title(report)}"
    reason = wording.clean(matched["reason"] or "no interval")
    if numbers.is_undefined(matched["value"]):
        return f"{where[0].upper()}{where[1:]} the gap could not be measured: {reason}."
    raw, value, said = gap["value"], matched["value"], numbers.points(matched["value"])
    inner = numbers.interval_points(matched)
    inner = f"95% interval {inner}" if inner else f"no interval: {reason}"
    if not numbers.is_undefined(raw) and raw * value >= 0 and abs(value) <= abs(raw):
        words = f"Of the gap of {numbers.points(raw)} points, {said} remain {where} ({inner})."
    else:
        words = f"The gap of {numbers.points(raw)} points becomes {said} {where} ({inner})."
    if matched["share_out"] < 1:
        share = numbers.fraction(matched["share_out"])
        words += f" It covers the {share}% of the out-of-context examples that have a counterpart in context."
    return words


def match_title(report: Mapping[str, Any]) -> str:
    """What the matched gap is matched on, in words: "object size" for the area of an object.

    >>> match_title({"benchmark": {"object": None}, "matched_gap": {"column": "context_area"}})
    'context area'
    """
    column = report["matched_gap"]["column"]
    return "object size" if column == "area" and report["benchmark"]["object"] is not None else wording.words(column)
