"""The page of many reports: models by benchmarks, in context against out of it, and the tables of methods."""

from collections.abc import Sequence
from typing import Any

from oochub.records.table import Table
from oochub.report import numbers, theme, wording
from oochub.report.comparing.gap_matrix import GapMatrix, gap_matrix
from oochub.report.comparing.line_chart import line_chart
from oochub.report.comparing.model_line import ModelLine, model_lines
from oochub.report.footnotes import Footnotes
from oochub.report.report import Report
from oochub.report.self_contained_page import self_contained_page

_CHARTS = 12
_MODELS = 40


def comparison_page(
    reports: Sequence[Report], tables: Sequence[tuple[Table, Sequence[str]]], *, metric: str | None = None
) -> str:
    """Renders reports side by side as a self-contained HTML page; the same reports give the same bytes.

    Args:
        reports: At most one a model, seed and config.
        tables: Of `oochub.report.comparing.comparison.comparison`, each with the sentences below it.
        metric: Of the charts; None takes the primary metric of each benchmark.

    Raises:
        OochubError: Two reports of one cell, or so many that the page would exceed its limits.
    """
    matrix = gap_matrix(reports)
    has_points = any(_has_point(report, metric) for report in reports)
    lines = [line for line in model_lines(reports, metric=metric) if line.points] if has_points else []
    charts = [(line, line_chart(line, number=number)) for number, line in enumerate(lines[:_CHARTS])]
    return self_contained_page(
        "comparison.html.jinja",
        advice=f"It has {len(matrix.models)} models on {len(matrix.benchmarks)} data sets: compare fewer at once.",
        headline=_headline(matrix),
        lead=lines[0].sentence if len(lines) == 1 else "",
        matrix=_matrix(matrix),
        charts=[_chart(line, drawing) for line, drawing in charts],
        left_out=max(len(lines) - _CHARTS, 0),
        tables=[_table(table, notes) for table, notes in tables],
        oochub=wording.name(reports[0].provenance.oochub, 40),
        files=len(reports),
    )


def _has_point(report: Report, metric: str | None) -> bool:
    """Whether the metric has a number on both sides."""
    key = metric or report.benchmark.primary_metric
    parts = (report.slice_of("in"), report.slice_of("out"))
    return all(part is not None and not numbers.is_undefined(part.metrics.get(key)) for part in parts)


def _headline(matrix: GapMatrix) -> str:
    models, places = len(matrix.models), len(matrix.benchmarks)
    on = wording.name(matrix.benchmarks[0]) if places == 1 else f"{places} data sets"
    return f"{models} model{'s' if models != 1 else ''} on {on}"


def _matrix(matrix: GapMatrix) -> dict[str, Any]:
    body, width, limits = [], theme.heat_width(cell.lost for cell in matrix.cells.values()), Footnotes()
    for model in matrix.models:
        cells: list[dict[str, str] | None] = []
        for column in matrix.benchmarks:
            cell = matrix.cells.get((model, column))
            if cell is None:
                cells.append(None)
                continue
            step = "" if numbers.is_undefined(cell.lost) else f"h{theme.heat_step(cell.lost, width)}"
            cells.append(
                {
                    "value": numbers.points(cell.estimate, cell.unit),
                    "interval": limits.below(cell.estimate, cell.unit, signed=True),
                    "n": numbers.count(cell.estimate.n),
                    "heat": step,
                }
            )
        body.append((model, cells))
    heads = [(wording.name(column), wording.name(matrix.metrics[column], 40)) for column in matrix.benchmarks]
    return {"heads": heads, "body": body, "steps": theme.heat_ends(width), "limits": limits}


def _chart(line: ModelLine, drawing: Any) -> dict[str, Any]:
    unit = line.described.unit
    described = f"{wording.name(line.described.title, 40)} {numbers.unit_of(line.metric, unit)}"
    return {
        "title": wording.name(f"{line.benchmark}/{line.config}"),
        "sentence": line.sentence,
        "drawing": drawing,
        "metric": f"{described} {numbers.arrow(line.described.direction)}".rstrip(),
        "titles": line.titles,
        "unit": unit,
        "is_probit": line.is_probit,
        "has_line": line.fit is not None,
        "points": line.points[:_MODELS],
        "more": max(len(line.points) - _MODELS, 0),
        "left_out": [wording.name(words) for words in line.left_out],
    }


def _table(table: Table, notes: Sequence[str]) -> dict[str, Any]:
    rows = [
        [(*cell.partition("\n")[::2], (i, k) in table.bold) for k, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    return {"title": table.title, "heads": table.heads, "rows": rows, "notes": [*table.footnotes, *notes]}
