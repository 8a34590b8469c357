"""The files of a check that other programs read: JUnit XML for a CI server, and a badge as SVG."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from oochub.records.check_records import RuleOutcome, State
from oochub.report import wording
from oochub.report.check_words import describe_limits, describe_outcome

if TYPE_CHECKING:
    from oochub.report.check import Check

_COLORS: dict[State, str] = {"pass": "#1a7f37", "fail": "#c2202c", "undecided": "#57606a"}
_LABEL, _DARK = "oochub check", "#24292f"
_CHARACTER, _PAD, _HEIGHT = 6.6, 8, 20  # pixels, for a sans-serif of 11


def format_junit(check: "Check") -> str:
    """A check as JUnit XML, for the elements and attributes that Jenkins, GitLab and Surefire share.

    A suite is a report, a case is a rule on one number. A fail is a `failure`; an undecided rule is `skipped`, unless
    it counts as another state.

    Args:
        check: The check.

    Returns:
        The XML, with its declaration.
    """

    def count(outcomes: Sequence[RuleOutcome]) -> dict[str, str]:
        states = [check.count_as(each) for each in outcomes]
        return {"tests": str(len(states)), "failures": str(states.count("fail")), "errors": "0"}

    root = ElementTree.Element("testsuites", {"name": _LABEL, **count(check.outcomes)})
    for name, outcomes in check.by_report().items():
        skipped = [check.count_as(each) for each in outcomes].count("undecided")
        about = {"name": wording.clean(name), **count(outcomes), "skipped": str(skipped)}
        suite = ElementTree.SubElement(root, "testsuite", about)
        for outcome in outcomes:
            cells = describe_outcome(outcome)
            message = wording.clean(f"{cells[1]} (95% interval {cells[2]}), bound {cells[3]}, n = {cells[4]}")
            reasons = "\n".join(describe_limits([outcome]))
            place = "" if outcome.place in ("", outcome.rule.slice, outcome.rule.group) else f", {outcome.place}"
            case = {"name": f"{outcome.rule.text}{place}", "classname": f"oochub.{outcome.rule.metric}"}
            case = {key: wording.clean(text) for key, text in case.items()}
            element = ElementTree.SubElement(suite, "testcase", case)
            state = check.count_as(outcome)
            tag = {"fail": "failure", "undecided": "skipped"}.get(state)
            if tag is not None:
                ElementTree.SubElement(element, tag, {"message": message, "type": outcome.state}).text = reasons
            elif reasons:
                ElementTree.SubElement(element, "system-out").text = f"{message}\n{reasons}"
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def draw_badge(check: "Check") -> str:
    """The state of a check as a small SVG that loads nothing: no font, image or script of another file.

    Args:
        check: The check.
    """
    counts, n = check.counts, len(check.outcomes)
    shown = {
        "pass": f"{counts['pass']} of {n} passed",
        "fail": f"{counts['fail']} of {n} failed" if counts["fail"] else f"{counts['undecided']} of {n} undecided",
        "undecided": f"{counts['undecided']} of {n} undecided",
    }[check.state]
    left, right = (round(len(text) * _CHARACTER) + 2 * _PAD for text in (_LABEL, shown))
    width, color = left + right, _COLORS[check.state]

    def draw_text(text: str, start: int, room: int) -> str:
        middle, length = start + room / 2, room - 2 * _PAD
        return (
            f'<text x="{middle:g}" y="14" textLength="{length}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        )

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" '
        f'role="img" aria-label="{escape(f"{_LABEL}: {shown}")}">\n'
        f"<title>{escape(f'{_LABEL}: {shown}')}</title>\n"
        f'<clipPath id="round"><rect width="{width}" height="{_HEIGHT}" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#round)"><rect width="{left}" height="{_HEIGHT}" fill="{_DARK}"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{color}"/></g>\n'
        '<g fill="#ffffff" text-anchor="middle" font-family="Verdana, DejaVu Sans, Geneva, sans-serif" font-size="11">'
        f"{draw_text(_LABEL, 0, left)}{draw_text(shown, left, right)}</g>\n"
        "</svg>\n"
    )
