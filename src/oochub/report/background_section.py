"""The section of the page on pictures whose object or background was altered."""

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from oochub.errors import OochubError
from oochub.records.finding_records import BackgroundProbe, ProbedPicture
from oochub.report import numbers, svg, wording
from oochub.report.background_words import GAP, TITLE, VARIANTS, background_sentences, says
from oochub.report.embedded_picture import embedded_picture
from oochub.report.mistake_cards import LINK
from oochub.report.svg import Scale
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

_TICKS = 3
_SCALE = Scale(low=0.0, high=1.0)
_LARGEST = 24_000  # bytes of a picture


def background_section(report: "Report", *, images: bool = True) -> dict[str, Any] | None:
    """What the template prints of the field `background`; None for a report without it.

    Args:
        report: Any report.
        images: False leaves the pictures out.

    Raises:
        OochubError: A picture that is not a small base64 JPEG.
    """
    found, said = report.background, background_sentences(report)
    if found is None:
        return None
    shown = found.shown if images else None
    return {
        "title": TITLE,
        "finding": said,
        "says": says(found),
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}", most=_TICKS),
        "rows": [
            {"name": wording.sentence_case(VARIANTS[each.name]), "row": each, "chart": _chart(each.accuracy)}
            for each in found.variants
        ],
        "gap_name": wording.sentence_case(GAP),
        "gap": found.gap,
        "gap_log_odds": found.gap_log_odds,
        "shown": [] if shown is None else [_picture(each) for each in shown.pictures],
        "example": "" if shown is None else wording.name(shown.example_id, 60),
        "label": "" if shown is None else wording.words(shown.label),
        "sources": [] if shown is None else [_source(each) for each in shown.attributions],
    }


def bytes_of_pictures(found: BackgroundProbe | None) -> int:
    """How many bytes of a page the pictures of the probe take."""
    return 0 if found is None or found.shown is None else sum(len(each.image) for each in found.shown.pictures)


def _picture(shown: ProbedPicture) -> dict[str, Any]:
    source, size = embedded_picture(shown.image, f"probe {shown.name}")
    if size > _LARGEST:
        raise OochubError(
            f"The picture {shown.name} of the probe has {size:,} bytes, at most {_LARGEST:,} are shown. Make the "
            "report again with `oochub audit`, or render it without pictures."
        )
    return {
        "name": wording.sentence_case(VARIANTS[shown.name]),
        "src": source,
        "answer": wording.words(shown.answer),
        "sure": numbers.fraction(shown.probability),
    }


def _source(attribution: str) -> tuple[str | None, str, str]:
    """A link, its host, and what else stands there."""
    link = LINK.match(attribution)
    host = wording.name(link[0].split("/")[2], 40) if link else ""
    return link[0] if link else None, host, wording.name(attribution[len(link[0]) if link else 0 :])


def _chart(accuracy: Estimate) -> Markup:
    parts = [svg.grid(_SCALE, _TICKS)]
    if not numbers.is_undefined(accuracy):
        parts.append(svg.whisker(_SCALE, accuracy, "plain", 14, 2))
        parts.append(Markup('<svg x="{}" y="14" class="plain"><circle r="4.5"/></svg>').format(_SCALE.at(accuracy)))
    return svg.strip(28, parts)
