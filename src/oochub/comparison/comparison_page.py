"""The page of many reports: a matrix of their gaps, or of any one number, models in and out of context, the tables.

One table of many reports: the gap of each model on each data set, or both sides and the gap of a single model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oochub.comparison.model_line import ModelLine, draw_line_chart, model_lines, name_models
from oochub.errors import OochubError, unknown_name
from oochub.records.document import Block
from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import Footnotes
from oochub.report.report import Report
from oochub.report.self_contained_page import self_contained_page
from oochub.stats.estimate import Estimate

GAP = "gap"


_CHARTS = 12
_MODELS = 40


@dataclass(frozen=True, kw_only=True)
class MatrixCell:
    """One number.

    Attributes:
        estimate: The number.
        unit: Unit of the number.
        is_difference: Whether it is a gap.
        lost: For a gap of shares, how much worse the metric is out of context; nan for every other number.
        title: What its rows are if they are one side of a gap; else "".
    """

    estimate: Estimate
    unit: str
    is_difference: bool = False
    lost: float = float("nan")
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class GapMatrix:
    """What the table and the figure show.

    Attributes:
        number: "gap", or a key of the reports.
        models: In order of appearance.
        benchmarks: Data sets: "nooch/ce_car", in order of appearance.
        metrics: What the number of each data set is: the title of its metric.
        cells: Numbers by model and data set; a model that was not evaluated there has none.
        sides: The numbers in and out of context that a gap is the difference of, where both exist.
    """

    number: str
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    metrics: Mapping[str, str]
    cells: Mapping[tuple[str, str], MatrixCell]
    sides: Mapping[tuple[str, str], tuple[MatrixCell, MatrixCell]]


@dataclass(frozen=True, kw_only=True)
class MatrixLayout:
    """The matrix as rows of a table.

    Attributes:
        corner: What its rows are.
        heads: Heads of the columns after the first, each with what stands below it, or "".
        rows: Each row's head, with what stands below it, and its cells.
    """

    corner: str
    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[tuple[str, str], tuple[MatrixCell | None, ...]], ...]


def make_gap_matrix(reports: Sequence[Report], *, number: str = GAP) -> GapMatrix:
    """The matrix of reports.

    Args:
        reports: Reports, at most one per model and config.
        number: "gap", or what `report[number]` takes: "out_of_context/accuracy", "auc", "worst_group".

    Raises:
        OochubError: No reports, two of one model on one config, or a number that no report has.
    """
    if not reports:
        raise OochubError("There are no reports. Pass at least one that `oochub evaluate` made.")
    names = name_models(reports)
    cells: dict[tuple[str, str], MatrixCell] = {}
    sides: dict[tuple[str, str], tuple[MatrixCell, MatrixCell]] = {}
    metrics: dict[str, str] = {}
    for name, report in zip(names, reports, strict=True):
        column = f"{report.benchmark.name}/{report.benchmark.config}"
        key = report.benchmark.primary_metric if number == GAP else number.rpartition("/")[2]
        described = report.description(key)
        metrics.setdefault(column, described.title)
        if number not in report:
            continue
        if (name, column) in cells:
            raise OochubError(f"Two reports are for {name} on {column}, but a cell holds one number. Remove one.")
        estimate, lost = report[number], float("nan")
        if number == GAP and described.unit == "fraction" and not format_numbers.is_undefined(estimate):
            lost = max(0.0, estimate.value if described.direction == "lower" else -estimate.value)
        cells[name, column] = MatrixCell(estimate=estimate, unit=described.unit, is_difference=number == GAP, lost=lost)
        inside, outside = (_measure_side(report, role, described.unit) for role in ("in", "out"))
        if number == GAP and inside and outside:
            sides[name, column] = (inside, outside)
    if not cells:
        raise unknown_name("number in these reports", number, {key for report in reports for key in report})
    return GapMatrix(
        number=number,
        models=tuple(dict.fromkeys(names)),
        benchmarks=tuple(metrics),
        metrics=metrics,
        cells=cells,
        sides=sides,
    )


def _measure_side(report: Report, role: Literal["in", "out"], unit: str) -> MatrixCell | None:
    part, estimate = report.slice_of(role), report.headline(role)
    if part is None or estimate is None:
        return None
    return MatrixCell(estimate=estimate, unit=unit, title=wording.name(part.title, 40))


def lay_out_matrix(matrix: GapMatrix) -> MatrixLayout:
    """Models are the rows, unless there are more data sets; then both sides of a single model stand before its gap."""
    models = tuple((model, "") for model in matrix.models)
    places = tuple((wording.name(name), wording.name(matrix.metrics[name], 40)) for name in matrix.benchmarks)
    rows: list[tuple[tuple[str, str], tuple[MatrixCell | None, ...]]]
    if len(places) <= len(models):
        rows = [(head, tuple(matrix.cells.get((head[0], name)) for name in matrix.benchmarks)) for head in models]
        return MatrixLayout(corner="Model", heads=places, rows=tuple(rows))
    named = list(zip(matrix.benchmarks, places, strict=True))
    if len(models) > 1 or matrix.number != GAP:
        rows = [(place, tuple(matrix.cells.get((model, name)) for model in matrix.models)) for name, place in named]
        return MatrixLayout(corner="Dataset", heads=models, rows=tuple(rows))
    (model,) = matrix.models
    rows = [
        (place, (*matrix.sides.get((model, name), (None, None)), matrix.cells.get((model, name))))
        for name, place in named
    ]
    heads = (("in context", ""), ("out of context", ""), ("gap", ""))
    return MatrixLayout(corner="Dataset", heads=heads, rows=tuple(rows))


def format_matrix(matrix: GapMatrix) -> Table:
    """The matrix as a table of text; what stands below a head, and why a number has no interval, is in its line."""
    layout, limits = lay_out_matrix(matrix), Footnotes()
    rows = tuple(
        (", ".join(filter(None, head)), *(_write(cell, limits) for cell in cells)) for head, cells in layout.rows
    )
    return Table(
        title=f"The gap of {wording.name(matrix.models[0], 60) if len(matrix.models) == 1 else 'each model'}",
        heads=(layout.corner, *("\n".join(filter(None, head)) for head in layout.heads)),
        rows=rows,
        footnotes=limits.lines,
    )


def _write(cell: MatrixCell | None, limits: Footnotes) -> str:
    if cell is None:
        return ""
    if not format_numbers.has_interval(cell.estimate):
        form = format_numbers.points if cell.is_difference else format_numbers.quantity
        return f"{form(cell.estimate, cell.unit)}{limits.mark(cell.estimate)}"
    value, _, interval = limits.cell(cell.estimate, cell.unit, signed=cell.is_difference).partition("\n")
    return f"{value} ({interval})"


def comparison_page(
    reports: Sequence[Report], blocks: Sequence[Block], *, metric: str | None = None, lead: str = ""
) -> str:
    """Renders reports side by side as a self-contained HTML page; the same reports give the same bytes.

    Args:
        reports: Reports, at most one per model, seed and config.
        blocks: Tables from `oochub.comparison.comparison.comparison`, each with the sentences below it.
        metric: Metric of the charts; None takes the primary metric of each benchmark.
        lead: What was found of methods over seeds, which then stands first with its tables; "" if nothing was tested.

    Raises:
        OochubError: Two reports of one cell, or so many that the page would exceed its limits.
    """
    matrix = make_gap_matrix(reports)
    has_points = any(_has_point(report, metric) for report in reports)
    lines = [line for line in model_lines(reports, metric=metric) if len(line.points) > 1] if has_points else []
    charts = [(line, draw_line_chart(line, number=number)) for number, line in enumerate(lines[:_CHARTS])]
    return self_contained_page(
        "comparison.html.jinja",
        advice=f"It has {len(matrix.models)} models on {len(matrix.benchmarks)} datasets: compare fewer at once.",
        headline=_write_headline(matrix),
        lead=lead or (lines[0].sentence if len(lines) == 1 else ""),
        has_tests=bool(lead),
        matrix=_draw_matrix(matrix),
        charts=[_draw_chart(line, drawing) for line, drawing in charts],
        left_out=max(len(lines) - _CHARTS, 0),
        tables=lay_out_tables(blocks),
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
    on = wording.name(matrix.benchmarks[0]) if places == 1 else f"{places} datasets"
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


def lay_out_tables(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """The tables of blocks as their template prints them, each with the sentences below it."""
    return [
        {
            "title": table.title,
            "heads": table.heads,
            "rows": [
                [(*cell.partition("\n")[::2], (i, k) in table.bold) for k, cell in enumerate(row)]
                for i, row in enumerate(table.rows)
            ],
            "notes": [*table.footnotes, *block.below],
        }
        for block in blocks
        if (table := block.table) is not None
    ]


def make_tables_page(headline: str, reports: Sequence[Report], blocks: Sequence[Block]) -> str:
    """Renders tables as a self-contained HTML page; the same reports give the same bytes.

    Args:
        headline: Headline of the page.
        reports: Reports that the tables are of.
        blocks: Tables, each with the sentences below it.

    Raises:
        OochubError: Tables so large that the page would exceed its limits.
    """
    return self_contained_page(
        "tables.html.jinja",
        advice="Take fewer tables at once.",
        headline=headline,
        tables=lay_out_tables(blocks),
        oochub=wording.name(reports[0].provenance.oochub, 40),
        files=len(reports),
    )
