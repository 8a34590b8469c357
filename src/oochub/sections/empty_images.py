"""What a detector draws in images without the object: where its usual context is there, and elsewhere."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub.records.finding_records import EmptyImageNumbers, FalseAlarmRow
from oochub.records.sides import GroupsOfRows
from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import Footnotes
from oochub.section import NamedNumber, Passage, Section
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import difference
from oochub.stats.mean_interval import mean_estimate

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.evaluation.evaluation_rows import EvaluationRows
    from oochub.report.report_record import ReportRecord

_IN, _OUT = theme.SIDES
_THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
_SAID = 0.5  # the threshold that the sentence names, at which a box counts elsewhere in the report too


class EmptyImages(Section["ReportRecord"]):
    """Shows `report.findings["empty_images"]`.

    A difference is said to be there if its interval excludes zero; else the sentence says that none is clear.
    """

    title, anchor, place = "Empty images", "empty-images", 35
    record = EmptyImageNumbers

    def measure(self, evaluation: "Evaluation") -> EmptyImageNumbers | None:
        """The share of images without a true box in which a box is drawn, in context beside out of context.

        None for predictions that are no boxes, where a side has no image without a true box, and where the sides are
        not sets of rows.
        """
        rows, sides = evaluation.rows, evaluation.sides
        counts = rows.predictions.output.count_boxes(rows.columns)
        if not counts or len(sides) < 2 or isinstance(rows.benchmark.out_of_context, GroupsOfRows):
            return None
        empty = counts["true"] == 0
        masks = [sides["in"] & empty, sides["out"] & empty]
        if not all(mask.any() for mask in masks):
            return None
        contexts = evaluation.by_role.get("hard_negative")
        return EmptyImageNumbers(
            rows=tuple(_count_false_alarms(masks, rows)),
            n_in=int(masks[0].sum()),
            n_out=int(masks[1].sum()),
            are_contexts=contexts is not None and bool((contexts.mask == masks[1]).all()),
        )

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The false alarms in words and at each threshold."""
        numbers: EmptyImageNumbers | None = self.found(report)
        if numbers is not None:
            yield Passage(
                title=self.title,
                sentences=(_write_finding(report, numbers), _write_contexts(report, numbers)),
                table=_build_table(report, numbers),
                below=(
                    "False alarms: share of images without the object in which a box has a score above the threshold.",
                ),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The shares of both sides at each threshold, and their difference."""
        numbers: EmptyImageNumbers | None = self.found(report)
        for row in numbers.rows if numbers else ():
            parts = {"in_context": row.inside, "out_of_context": row.outside, "difference": row.difference}
            for name, estimate in parts.items():
                metric = f"false_alarms above {row.threshold:g}"
                yield NamedNumber(f"empty images {name}", metric, estimate, f"empty_images/{row.threshold:g}/{name}")


def _count_false_alarms(masks: Sequence[NDArray[np.bool_]], rows: "EvaluationRows") -> Iterable[FalseAlarmRow]:
    """The share of images, of those in and out of context (n,), with a box above each threshold."""
    best = np.array([max(scores, default=-np.inf) for scores in rows.columns["scores"]], np.float64)
    for threshold in _THRESHOLDS:
        inside, outside = (_estimate_share(best > threshold, mask, rows) for mask in masks)
        change = difference(outside, inside)
        yield FalseAlarmRow(threshold=threshold, inside=inside, outside=outside, difference=change)


def _estimate_share(drawn: NDArray[np.bool_], mask: NDArray[np.bool_], rows: "EvaluationRows") -> Estimate:
    sampling = Sampling(cluster=rows.cluster(mask), **rows.sampling)
    return mean_estimate(drawn[mask].astype(np.float64), sampling, within=(0.0, 1.0))


def _write_finding(report: "ReportRecord", found: EmptyImageNumbers) -> str:
    """The shares of both sides at the threshold of 0.5, and whether their interval leaves zero out."""
    row = next(candidate for candidate in found.rows if candidate.threshold == _SAID)
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
