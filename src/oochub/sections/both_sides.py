"""In context beside out of context: the primary metric of both sides, the gap between them, and every other metric."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oochub.records.origin_records import SideRows
from oochub.records.report_records import Side
from oochub.records.table import Table
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.charts import GapChart
from oochub.report.footnotes import Footnotes, simultaneous
from oochub.report.group_findings import count_out, describe_matched_gap, match_title, select_metrics, title_gap
from oochub.report.verdict import verdict
from oochub.section import NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord


class BothSides(Section["ReportRecord"]):
    """Shows `report.gap`, `report.matched_gap` and the slices in and out of context.

    Its table stands where there are rows in or out of context and the verdict goes by the sides. What the matched gap
    says stands where the report has one.
    """

    title, anchor, place, is_beside_verdict = "Both sides", "sides", 10, True
    fields = ("gap", "matched_gap")

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The gap, and that at equal values of a column if one is asked for."""
        from oochub.evaluation.slices import measure_gap_at_equal

        match = evaluation.settings.match
        matched = measure_gap_at_equal(match, evaluation.by_role, evaluation.rows) if match else None
        return {"gap": evaluation.gap, "matched_gap": matched}

    def has(self, report: "ReportRecord") -> bool:
        """Whether there are rows in or out of context, by which the verdict goes, or a matched gap."""
        return self._is_judged(report) or report.matched_gap is not None

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The matched gap in words, and the table."""
        if self._is_judged(report) or report.matched_gap is not None:
            yield Passage(
                sentences=(describe_matched_gap(report),),
                table=_build_table(report) if self._is_judged(report) else None,
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The gap, then the matched one."""
        yield NamedNumber("gap", report.gap.metric, report.gap.estimate, "gap")
        matched = report.matched_gap
        if matched is not None:
            yield NamedNumber(f"gap matched on {matched.column}", matched.metric, matched.estimate, "matched_gap")

    def _is_judged(self, report: "ReportRecord") -> bool:
        """Whether there are rows in or out of context, and the verdict goes by them."""
        has_sides = report.slice_of("in") is not None or report.slice_of("out") is not None
        return has_sides and not report.is_by_contexts and verdict(report).is_of_sides

    def chart(self, report: "ReportRecord") -> GapChart:
        """The chart at the head of the page, which says whether the question is settled."""
        return _draw_chart(report)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage:
        """The chart, and the numbers of both sides."""
        return OnPage(values=_make_page_content(report))


def _build_table(report: "ReportRecord") -> Table:
    """In context beside out of context: every metric that a side has, the gap, chance, and how many rows."""
    gap, benchmark = report.gap, report.benchmark
    inside, outside = report.slice_of("in"), report.slice_of("out")
    rows, below = [], Footnotes()
    for metric in select_metrics(report):
        pair = [None if part is None else part.metrics.get(metric) for part in (inside, outside)]
        if any(estimate is not None for estimate in pair):
            unit = report.description(metric).unit
            cells = [below.cell(estimate, unit) for estimate in pair]
            is_of_gap = metric == gap.metric
            cells.append(below.cell(gap.estimate, report.unit, signed=True) if is_of_gap else format_numbers.ABSENT)
            rows.append((wording.title_metric(metric, report.description(metric)), *cells))
        if metric == benchmark.primary_metric and not format_numbers.is_undefined(benchmark.chance):
            chance = format_numbers.quantity(benchmark.chance, report.unit)
            rows.append(("chance", chance, chance, format_numbers.ABSENT))
    rows.append(("n", format_numbers.count(gap.n_in), count_out(report), format_numbers.ABSENT))
    titles = [wording.capitalize_sentence(wording.title_side(benchmark, side)) for side in theme.SIDES]
    return Table(heads=("Metric", *titles, title_gap(report)), rows=tuple(rows), footnotes=below.lines, beside=True)


def _draw_chart(report: "ReportRecord") -> GapChart:
    """The chart at the head of the page."""
    estimates = {side: report.headline(side) for side in theme.SIDES}
    answer, description = verdict(report), report.description(report.benchmark.primary_metric)
    if answer.compared is not None:
        return GapChart(
            sides=answer.compared.estimates,
            titles=answer.compared.titles,
            gap=answer.compared.gap,
            unit="fraction",
            chance=report.benchmark.chance,
            perfect=1.0,
            is_settled=answer.is_shown,
            sentence=answer.sentence,
        )
    unbounded = 1.0 if description.unit == "fraction" else math.nan
    return GapChart(
        sides={side: e for side, e in estimates.items() if e is not None and not format_numbers.is_undefined(e)},
        titles={side: wording.title_side(report.benchmark, side) for side in theme.SIDES},
        gap=report.gap.estimate,
        unit=description.unit,
        chance=report.benchmark.chance,
        perfect=unbounded if description.maximum is None else description.maximum,
        is_settled=answer.is_shown,
        sentence=answer.sentence,
    )


def _make_page_content(report: "ReportRecord") -> dict[str, Any]:
    benchmark, gap = report.benchmark, report.gap
    metric = benchmark.primary_metric
    description = report.description(metric)
    chart, answer = _draw_chart(report), verdict(report)
    label = format_numbers.points(chart.gap, chart.unit) + (", unclear" if answer.case == "unclear" else "")
    estimates = {side: report.headline(side) for side in theme.SIDES}
    inside, outside = (_report_missing(report, side) if e is None else e for side, e in estimates.items())
    content = {
        "chart": svg.head(chart, label) if chart.perfect == 1 else "",
        "titles": chart.titles,
        "is_pair": answer.is_of_sides,
        "difference": gap.estimate,
        "unit": report.unit,
        "gap": wording.put_in_sentence(title_gap(report)),
        "metric": f"{wording.name(description.title)} {format_numbers.unit_of(metric, description.unit)}",
        "chance": ""
        if format_numbers.is_undefined(benchmark.chance)
        else format_numbers.whole_points(benchmark.chance, report.unit),
        "rows": [
            ("in", _describe_selection(benchmark.in_context), inside, format_numbers.count(gap.n_in)),
            (
                "out",
                ", ".join(filter(None, (_describe_selection(benchmark.out_of_context), _describe_choice(outside)))),
                outside,
                count_out(report),
            ),
        ],
        "matched": report.matched_gap and (match_title(report), report.matched_gap.estimate),
    }
    if answer.compared is None:
        return content
    return content | {
        "is_pair": True,
        "difference": answer.compared.gap,
        "unit": "fraction",
        "gap": answer.compared.gap_title,
        "metric": answer.compared.metric,
        "rows": [
            (side, "", estimate, format_numbers.count(estimate.n))
            for side, estimate in answer.compared.estimates.items()
        ],
    }


def _report_missing(report: "ReportRecord", side: Side) -> Estimate:
    """A side without a number: it has no rows, or an older report does not keep what was not asked for."""
    reason = "no such rows" if report.slice_of(side) is None else "not stored"
    return Estimate(math.nan, n=0, method="none", reason=reason)


def _describe_choice(estimate: Estimate) -> str:
    """Over what the interval of a side holds, where its rows were chosen among groups."""
    named = simultaneous(estimate)
    return f"interval {named}" if named and format_numbers.has_interval(estimate) else ""


def _describe_selection(rows: SideRows) -> str:
    return f"{wording.name(rows.name, 60)}, {wording.name(rows.split, 30)}"
