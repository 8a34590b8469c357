"""The page of many reports: a matrix of their gaps, or of any one number, models in and out of context, the tables."""

from collections.abc import Sequence
from typing import Any

from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import Footnotes
from oochub.report.gap_matrix import GapMatrix, MatrixCell, lay_out_matrix, make_gap_matrix
from oochub.report.model_line import ModelLine, draw_line_chart, model_lines
from oochub.report.report import Report
from oochub.report.self_contained_page import self_contained_page

_CHARTS = 12
_MODELS = 40


def comparison_page(
    reports: Sequence[Report], tables: Sequence[tuple[Table, Sequence[str]]], *, metric: str | None = None
) -> str:
    """Renders reports side by side as a self-contained HTML page; the same reports give the same bytes.

    Args:
        reports: Reports, at most one per model, seed and config.
        tables: Tables from `oochub.report.comparison.comparison`, each with the sentences below it.
        metric: Metric of the charts; None takes the primary metric of each benchmark.

    Raises:
        OochubError: Two reports of one cell, or so many that the page would exceed its limits.
    """
    matrix = make_gap_matrix(reports)
    has_points = any(_has_point(report, metric) for report in reports)
    lines = [line for line in model_lines(reports, metric=metric) if len(line.points) > 1] if has_points else []
    charts = [(line, draw_line_chart(line, number=number)) for number, line in enumerate(lines[:_CHARTS])]
    return self_contained_page(
        "comparison.html.jinja",
        advice=f"It has {len(matrix.models)} models on {len(matrix.benchmarks)} data sets: compare fewer at once.",
        headline=_write_headline(matrix),
        lead=lines[0].sentence if len(lines) == 1 else "",
        matrix=_draw_matrix(matrix),
        charts=[_draw_chart(line, drawing) for line, drawing in charts],
        left_out=max(len(lines) - _CHARTS, 0),
        tables=[lay_out_table(table, notes) for table, notes in tables],
        oochub=wording.name(reports[0].provenance.oochub, 40),
        files=len(reports),
    )


def _has_point(report: Report, metric: str | None) -> bool:
    """Whether the metric has a number on both sides."""
    key = metric or report.benchmark.primary_metric
    parts = (report.slice_of("in"), report.slice_of("out"))
    return all(part is not None and not format_numbers.is_undefined(part.metrics.get(key)) for part in parts)


def _write_headline(matrix: GapMatrix) -> str:
    models, places = len(matrix.models), len(matrix.benchmarks)
    on = wording.name(matrix.benchmarks[0]) if places == 1 else f"{places} data sets"
    return f"{models} model{'s' if models != 1 else ''} on {on}"


def _draw_matrix(matrix: GapMatrix) -> dict[str, Any]:
    layout, limits = lay_out_matrix(matrix), Footnotes()
    width = theme.heat_width(cell.lost for cell in matrix.cells.values())
    body = [(head, [_draw_cell(cell, width, limits) for cell in cells]) for head, cells in layout.rows]
    return {
        "corner": layout.corner,
        "heads": layout.heads,
        "body": body,
        "steps": theme.heat_ends(width),
        "limits": limits,
    }


def _draw_cell(cell: MatrixCell | None, width: float, limits: Footnotes) -> dict[str, str] | None:
    if cell is None:
        return None
    value, _, interval = limits.cell(cell.estimate, cell.unit, signed=cell.is_difference).partition("\n")
    return {
        "value": value,
        "interval": interval,
        "below": cell.title or f"n {format_numbers.count(cell.estimate.n)}",
        "heat": "" if format_numbers.is_undefined(cell.lost) else f"h{theme.heat_step(cell.lost, width)}",
    }


def _draw_chart(line: ModelLine, drawing: Any) -> dict[str, Any]:
    unit = line.described.unit
    described = f"{wording.name(line.described.title, 40)} {format_numbers.unit_of(line.metric, unit)}"
    return {
        "title": wording.name(f"{line.benchmark}/{line.config}"),
        "sentence": line.sentence,
        "drawing": drawing,
        "metric": f"{described} {format_numbers.arrow(line.described.direction)}".rstrip(),
        "titles": line.titles,
        "unit": unit,
        "is_share": line.is_share,
        "has_line": line.fit is not None,
        "points": line.points[:_MODELS],
        "more": max(len(line.points) - _MODELS, 0),
        "left_out": [wording.name(words) for words in line.left_out],
    }


def lay_out_table(table: Table, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A table as the template of tables prints it.

    Args:
        table: Any table.
        notes: Sentences below it, after its footnotes.
    """
    rows = [
        [(*cell.partition("\n")[::2], (i, k) in table.bold) for k, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    return {"title": table.title, "heads": table.heads, "rows": rows, "notes": [*table.footnotes, *notes]}


def make_tables_page(headline: str, reports: Sequence[Report], tables: Sequence[tuple[Table, Sequence[str]]]) -> str:
    """Renders tables as a self-contained HTML page; the same reports give the same bytes.

    Args:
        headline: Headline of the page.
        reports: Reports that the tables are of.
        tables: Each with the sentences below it.

    Raises:
        OochubError: Tables so large that the page would exceed its limits.
    """
    return self_contained_page(
        "tables.html.jinja",
        advice="Take fewer tables at once.",
        headline=headline,
        tables=[lay_out_table(table, notes) for table, notes in tables],
        oochub=wording.name(reports[0].provenance.oochub, 40),
        files=len(reports),
    )
