"""The wrong answers with the highest loss, as images or texts with captions."""

from typing import TYPE_CHECKING, Any

from oochub.report import wording
from oochub.report.mistake_cards import mistake_cards
from oochub.section import OnPage, Section

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_PICTURES = 12


class WorstMistakes(Section["ReportRecord"]):
    """Shows `report.mistakes`, on the page alone: they are images."""

    title, anchor, place = "Worst mistakes", "mistakes", 90

    def has(self, report: "ReportRecord") -> bool:
        """Whether the report holds any."""
        return bool(report.mistakes)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The cards of the first twelve."""
        shown = _make_page_content(report, images=room is not None, budget=room or 0)
        if shown is None:
            return None
        return OnPage(values=shown, pictures=sum(len(card["picture"] or "") for card in shown["shown"]))


def _make_page_content(report: "ReportRecord", *, images: bool, budget: int) -> dict[str, Any] | None:
    mistakes = report.mistakes[:_PICTURES]
    if not mistakes:
        return None
    shown = mistake_cards(mistakes, report.benchmark, images=images, budget=budget)
    has_pictures = report.benchmark.words.example == "image" or any(mistake.image for mistake in mistakes)
    return {
        "shown": shown,
        "licenses": [(wording.name(part.what), wording.name(part.license)) for part in report.benchmark.licenses],
        "without_pictures": has_pictures and not any(card["picture"] for card in shown),
        "has_boxes": any(card["boxes"] for card in shown),
        "has_out": report.slice_of("out") is not None,
        "only_out": all(card["side"] == "out" for card in shown),
    }
