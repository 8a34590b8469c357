"""One table of many reports: the gap of each model on each data set, or both sides and the gap of a single model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from oochub.errors import OochubError, unknown_name
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.report.model_line import name_models
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

GAP = "gap"


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
        raise OochubError("There are no reports. Give at least one that `oochub evaluate` made.")
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
            raise OochubError(f"Two reports are for {name} on {column}, but a cell holds one number. Leave one out.")
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
        return MatrixLayout(corner="Data set", heads=models, rows=tuple(rows))
    (model,) = matrix.models
    rows = [
        (place, (*matrix.sides.get((model, name), (None, None)), matrix.cells.get((model, name))))
        for name, place in named
    ]
    heads = (("in context", ""), ("out of context", ""), ("gap", ""))
    return MatrixLayout(corner="Data set", heads=heads, rows=tuple(rows))


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
