"""The section of the page on contexts that nobody labelled: what each goes with, and whether it matters."""

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from oochub.report import numbers, svg, wording
from oochub.report.context_records import ContextFinding
from oochub.report.context_words import LISTED, TITLE, context_sentences, usual_words
from oochub.report.svg import Scale

if TYPE_CHECKING:
    from oochub.report.report import Report

_TICKS = 3
_SCALE = Scale(low=-1.0, high=1.0)


def context_section(report: "Report") -> dict[str, Any] | None:
    """What the template prints of the field `contexts`; None for a report without it."""
    found, said = report.contexts, context_sentences(report)
    if found is None or not said:
        return None
    return {
        "title": TITLE,
        "finding": said,
        "rows": [_row(each) for each in found.contexts[:LISTED]],
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}", most=_TICKS),
        "left_out": max(len(found.contexts) - LISTED, 0),
    }


def _row(finding: ContextFinding) -> dict[str, Any]:
    return {
        "name": wording.words(finding.name),
        "words": wording.name(finding.words, 60),
        "usual": usual_words(finding),
        "status": finding.status,
        "gap": finding.gap,
        "n": f"{numbers.count(finding.n_usual)} + {numbers.count(finding.n_against)}",
        "reason": wording.clean(finding.reason or ""),
        "bounds": finding.bounds,
        "chart": _chart(finding),
    }


def _chart(finding: ContextFinding) -> Markup:
    """The gap with its interval."""
    gap, parts = finding.gap, [svg.grid(_SCALE, _TICKS)]
    if not numbers.is_undefined(gap):
        role = "out" if finding.status == "shown" else "plain"
        parts.append(svg.whisker(_SCALE, gap, role, 14, 2))
        parts.append(Markup('<svg x="{}" y="14" class="{}"><circle r="4.5"/></svg>').format(_SCALE.at(gap), role))
    return svg.strip(28, parts)
