"""The section of the page on where the errors go: their share by context, and the confusion in each context."""

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from oochub.report import numbers, svg, wording
from oochub.report.error_words import LISTED, TITLE, class_words, confusion_rows, error_finding, heated_width
from oochub.report.svg import Scale
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

_MATRIX_CELLS, _TICKS = 100, 3
_SCALE = Scale(low=0.0, high=1.0)


def error_section(report: "Report") -> dict[str, Any] | None:
    """What the template prints of the field `errors`; None for a report without it."""
    finding, errors = error_finding(report), report.errors
    if finding is None or errors is None:
        return None
    parts = [("all", "", errors.share, errors.chance)]
    parts += [
        (wording.words(each.context), class_words(each.classes), each.share, each.chance)
        for each in errors.contexts[:LISTED]
        if each.share.n
    ]
    classes, rows = confusion_rows(report)
    fits = 0 < len(classes) * len(rows) <= _MATRIX_CELLS
    return {
        "title": TITLE,
        "finding": finding,
        "place": wording.words(report.benchmark.context_column),
        "is_usual": errors.source == "usual",
        "split": wording.name(errors.split, 30),
        "shares": [(*part, _chart(part[2], part[3])) for part in parts] if errors.share.n else [],
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}", most=_TICKS),
        "left_out": max(len(errors.contexts) - LISTED, 0),
        "classes": [wording.words(name) for name in classes],
        "matrix": rows if fits else [],
        "heat_width": heated_width(rows),
    }


def _chart(share: Estimate, chance: float) -> Markup:
    """The share with its interval, and chance as a dotted line."""
    parts = [svg.grid(_SCALE, _TICKS)]
    if not numbers.is_undefined(chance):
        line = Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="chance"/>')
        parts.append(line.format(_SCALE.at(chance)))
    if not numbers.is_undefined(share):
        parts.append(svg.whisker(_SCALE, share, "plain", 14, 2))
        parts.append(Markup('<svg x="{}" y="14" class="plain"><circle r="4.5"/></svg>').format(_SCALE.at(share)))
    return svg.strip(28, parts)
