"""The section of the page on contexts that nobody labelled: what each goes with, and whether it matters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from oochub.records.finding_records import PICTURED, ContextFinding, ContextRow
from oochub.report import numbers, svg, wording
from oochub.report.context_words import (
    LISTED,
    TITLE,
    check_sentences,
    context_sentences,
    goes_with,
    has_role,
    listed_contexts,
    role_words,
)
from oochub.report.embedded_picture import embedded_picture
from oochub.report.mistake_cards import LINK
from oochub.report.svg import Scale

if TYPE_CHECKING:
    from oochub.report.report import Report

_TICKS = 3
_SCALE = Scale(low=-1.0, high=1.0)
_PICTURE_BYTES = 120_000  # half of the page's
_FIRST = {"rows": 3, "checks": 1, "strips": 2}
"""What is to be seen of each before a reader unfolds all: so much fits a screen of 1,280 x 800 pixels."""


def context_section(report: "Report", *, images: bool = True) -> dict[str, Any] | None:
    """What the template prints of the field `contexts`; None for a report without it.

    Args:
        report: Any report.
        images: False leaves the pictures out.

    Raises:
        OochubError: A picture that is not a base64 JPEG.
    """
    found, said = report.contexts, context_sentences(report)
    if found is None or not said:
        return None
    listed = listed_contexts(found)
    checks, shown = check_sentences(report), _pictures(listed[:PICTURED] if images else ())
    return {
        "title": TITLE,
        "finding": said,
        "rows": [_row(each) for each in listed],
        "checks": checks,
        **shown,
        "first": _FIRST,
        "folded": _folded(rows=len(listed), checks=len(checks), strips=len(shown["strips"])),
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}".replace("-", "\u2212"), most=_TICKS),
        "left_out": max(sum(map(has_role, found.contexts)) - LISTED, 0),
    }


def _folded(**counts: int) -> str:
    """What stands on the fold: how many of each there are in all; "" where nothing is folded."""
    if all(count <= _FIRST[name] for name, count in counts.items()):
        return ""
    words = {"rows": "contexts", "checks": "checks", "strips": "rows of pictures"}
    return f"All {wording.listed([f'{count} {words[name]}' for name, count in counts.items() if count > 1])}"


def _row(finding: ContextFinding) -> dict[str, Any]:
    return {
        "name": wording.words(finding.name),
        "words": wording.name(finding.words, 60),
        "usual": role_words(finding),
        "status": finding.status,
        "gap": finding.gap,
        "n": f"{numbers.count(finding.n_usual)} + {numbers.count(finding.n_against)}",
        "reason": wording.clean(finding.reason or ""),
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


def _pictures(findings: Sequence[ContextFinding]) -> dict[str, Any]:
    """Rows as usual and against of each, until the bytes are spent; those without a picture are left out."""
    strips: list[dict[str, Any]] = []
    spent, left_out = 0, 0
    for finding in findings:
        sides = [
            ("as usual", finding.rows_usual, finding.n_usual),
            ("against", finding.rows_against, finding.n_against),
        ]
        read = [(side, [_card(row) for row in rows if row.image], n) for side, rows, n in sides]
        size = sum(card["size"] for _, cards, _ in read for card in cards)
        if spent + size > _PICTURE_BYTES:
            left_out += 1
        elif size:
            spent += size
            strips.append({"name": wording.words(finding.name), "goes": goes_with(finding), "sides": read})
    return {"strips": strips, "picture_bytes": spent, "crowded": left_out}


def _card(row: ContextRow) -> dict[str, Any]:
    """A picture with its class, and the answer where it is wrong."""
    picture, size = embedded_picture(row.image or "", f"row {row.example_id}")
    label, said = wording.words(row.label), wording.words(row.predicted)
    link = LINK.match(row.attribution or "")
    return {
        "picture": picture,
        "size": size,
        "label": label,
        "said": "" if row.predicted == row.label else said,
        "title": wording.name(" · ".join(filter(None, (row.example_id, row.attribution)))),
        "url": link[0] if link else None,
    }
