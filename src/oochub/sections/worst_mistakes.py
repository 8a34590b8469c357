"""The wrong answers with the highest loss, as images or texts with captions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from oochub.records.report_records import Mistake
from oochub.report import wording
from oochub.report.mistake_cards import mistake_cards
from oochub.section import OnPage, Section

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_PICTURES = 12


class WorstMistakes(Section["ReportRecord"]):
    """Shows `report.mistakes`, on the page alone: they are images."""

    title, anchor, place = "Worst mistakes", "mistakes", 90
    fields = ("mistakes",)

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The wrong answers with the highest loss, see `_choose_mistakes`."""
        return {"mistakes": _choose_mistakes(evaluation)}

    def has(self, report: "ReportRecord") -> bool:
        """Whether the report holds any."""
        return bool(report.mistakes)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The cards of the first twelve."""
        shown = _make_page_content(report, images=room is not None, budget=room or 0)
        if shown is None:
            return None
        return OnPage(values=shown, pictures=sum(len(card["picture"] or "") for card in shown["shown"]))


def _choose_mistakes(evaluation: "Evaluation") -> tuple[Mistake, ...]:
    """The rows with the highest loss out of context, at most six of a kind of mistake, the worst first.

    If there are fewer than twelve, those of the other rows of the evaluation split follow, told by `role`. No row is
    of a side where none is out of context. The kind of output says which answers are wrong, and how.
    """
    from oochub.evaluation.evaluation_rows import make_mistake
    from oochub.stats.row_blocks import PER_KIND, find_worst_rows

    rows, shown = evaluation.rows, evaluation.sets[0].mask
    nowhere = np.zeros(len(shown), bool)
    inside, out = evaluation.rows_behind.get("in", nowhere), evaluation.rows_behind.get("out")
    output, loss = rows.predictions.output, rows.columns["loss"]
    is_wrong, kinds = output.wrong(rows.columns), output.mistake_keys(rows.columns)
    chosen: list[int] = []
    for mask in (shown,) if out is None else (out, shown & ~out):
        worst = find_worst_rows(loss, kinds, most=PER_KIND, rows=np.flatnonzero(mask & is_wrong))
        chosen += worst[np.argsort(-loss[worst], kind="stable")].tolist()
    is_out = [None if out is None or not (out[row] or inside[row]) else bool(out[row]) for row in chosen[:_PICTURES]]
    return tuple(make_mistake(row, rows, is_out=side) for row, side in zip(chosen, is_out, strict=False))


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
