"""What a detector draws in images without the object: where its usual context is there, and elsewhere."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from oochub.records.finding_records import EmptyImageNumbers
from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import Footnotes
from oochub.section import NamedNumber, Passage, Section

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_IN, _OUT = theme.SIDES
_SAID = 0.5  # the threshold that the sentence names, at which a box counts elsewhere in the report too


class EmptyImages(Section["ReportRecord"]):
    """Shows `report.findings["empty_images"]`.

    A difference is said to be there if its interval excludes zero; else the sentence says that none is clear.
    """

    title, anchor, place = "Empty images", "empty-images", 35
    record = EmptyImageNumbers

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The false alarms in words and at each threshold."""
        found: EmptyImageNumbers | None = self.found(report)
        if found is not None:
            yield Passage(
                title=self.title,
                sentences=(_write_finding(report, found), _write_contexts(report, found)),
                table=_build_table(report, found),
                below=(
                    "False alarms: share of images without the object in which a box has a score above the threshold.",
                ),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The shares of both sides at each threshold, and their difference."""
        found: EmptyImageNumbers | None = self.found(report)
        for row in found.rows if found else ():
            parts = {"in_context": row.inside, "out_of_context": row.outside, "difference": row.difference}
            for name, estimate in parts.items():
                metric = f"false_alarms above {row.threshold:g}"
                yield NamedNumber(f"empty images {name}", metric, estimate, f"empty_images/{row.threshold:g}/{name}")


def _write_finding(report: "ReportRecord", found: EmptyImageNumbers) -> str:
    """The shares of both sides at the threshold of 0.5, and whether their interval leaves zero out."""
    row = next(each for each in found.rows if each.threshold == _SAID)
    benchmark = report.benchmark
    parts = [
        f"{format_numbers.fraction(estimate)}% of {format_numbers.count(n)} {benchmark.words.example}"
        f"{'' if n == 1 else 's'} {wording.title_side(benchmark, side)}"
        for estimate, n, side in ((row.outside, found.n_out, _OUT), (row.inside, found.n_in, _IN))
    ]
    change, clear = row.difference, ""
    if format_numbers.has_interval(change):
        ends = f"95% interval {format_numbers.interval_points(change)} points"
        is_clear = change.low > 0 or change.high < 0
        clear = f"; the difference is {'clear' if is_clear else 'not clear'} ({ends})"
    return f"Without the object, a box with a score above {_SAID:g} is drawn in {parts[0]}, and in {parts[1]}{clear}."


def _write_contexts(report: "ReportRecord", found: EmptyImageNumbers) -> str:
    """What the images out of context are, if all are the usual contexts without the object."""
    benchmark = report.benchmark
    if not found.are_contexts or benchmark.object is None or not benchmark.contexts:
        return ""
    pair = wording.name_pairing(benchmark.object, benchmark.contexts, present=False, role="out")
    return f"All of those out of context are usual contexts alone: {pair}."


def _build_table(report: "ReportRecord", found: EmptyImageNumbers) -> Table:
    below = Footnotes()
    titles = [wording.capitalize_sentence(wording.title_side(report.benchmark, side)) for side in theme.SIDES]
    rows = [
        (
            f"{row.threshold:g}",
            below.cell(row.inside),
            below.cell(row.outside),
            below.cell(row.difference, signed=True),
        )
        for row in found.rows
    ]
    rows.append(("n", format_numbers.count(found.n_in), format_numbers.count(found.n_out), format_numbers.ABSENT))
    heads = ("Score above", *(f"{title}, %" for title in titles), "Difference, points")
    return Table(heads=heads, rows=tuple(rows), footnotes=below.lines)
