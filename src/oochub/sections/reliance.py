"""Reliance on declared contexts, or contexts that are harder for every class: the interaction, and each context."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oochub.records.finding_records import Reliance
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.report.reliance_words import describe_neither, describe_remaining, describe_wanted
from oochub.section import NamedNumber, Passage, Section

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_LISTED = 12  # contexts; all are in report.json


class RelianceOrDifficulty(Section["ReportRecord"]):
    """Shows `report.findings["reliance"]`, by which the verdict tells reliance from contexts that are simply harder.

    What would tell is said if the interval of the gap at the same class and context includes zero, and no context is
    harder or easier for every class.
    """

    title, anchor, place = "Reliance or difficulty", "reliance", 45
    record = Reliance

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The gap that is left, and the accuracy in each context."""
        found: Reliance | None = self.found(report)
        if found is not None:
            is_told = any(each.status in ("harder for all", "easier for all") for each in found.contexts)
            yield Passage(
                title=self.title,
                sentences=(
                    describe_remaining(report),
                    "" if is_told else describe_wanted(report),
                    describe_neither(report),
                ),
                table=_build_table(found),
                below=_write_below(found),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The gap that is left, the odds, and both numbers of each context."""
        found: Reliance | None = self.found(report)
        if found is None:
            return
        yield NamedNumber("same class and context", "gap", found.gap, "reliance/gap")
        yield NamedNumber("same class and context", "log_odds", found.log_odds, "reliance/log_odds")
        for each in found.contexts:
            yield NamedNumber(f"context {each.name}", "accuracy", each.accuracy, f"reliance/{each.name}/accuracy")
            yield NamedNumber(f"context {each.name}", "having", each.having, f"reliance/{each.name}/having")


def _build_table(found: Reliance) -> Table:
    below = Footnotes()
    rows = [
        (
            wording.words(each.name),
            format_numbers.count(each.n),
            below.cell(each.accuracy),
            below.cell(each.having, signed=True),
            each.status,
        )
        for each in found.contexts[:_LISTED]
    ]
    heads = ("Context", "n", "Accuracy, %", "Against other contexts, points", "For every class")
    return Table(heads=heads, rows=tuple(rows), footnotes=below.lines)


def _write_below(found: Reliance) -> tuple[str, ...]:
    more = len(found.contexts) - _LISTED
    return (
        "Against other contexts: accuracy in the context minus that of the same classes elsewhere, class by class. "
        "Harder for all: that is below zero both for the classes for which the context is usual and for the others "
        "(Holm, 5%).",
        f"{format_numbers.count(more)} more contexts are in report.json." if more > 0 else "",
    )
