"""The compact table of a comparison or a sweep: methods as rows; in context, out of context and the gap as columns."""

import math
from collections.abc import Sequence

from oochub.report import format_numbers, wording
from oochub.report.comparison_table import AVERAGE, Cell, Column, ComparisonTable, are_folds
from oochub.report.footnotes import Footnotes
from oochub.report.paper_table import PaperCell, PaperTable, describe_metric, make_sentence, write_paper_cell

_TASKS = 4
"""The most tasks that have rows of their own; of more the averages stand alone, if each method has one."""
GAP = "gap"
"""The slice of a table of gaps."""


def paper_table_of_methods(
    tables: Sequence[ComparisonTable],
    *,
    notes: Sequence[str] = (),
    label: Sequence[str] = (),
    data: str = "",
    unpaired: bool = True,
) -> PaperTable:
    """One table from those of one benchmark and metric, a column for each.

    Bold are the best of a column among the methods of a task, and all whose spread overlaps with its. A gap is never
    bold: that of a model which is bad on both sides is small.

    Args:
        tables: Tables, one for each slice; the one of the gap is called "gap".
        notes: Sentences below it, after those that explain its numbers.
        label: What its label is made of; default "compare", the benchmark and the metric.
        data: What its numbers are on, in the caption; default the benchmark, with the task if there is one.
        unpaired: Whether its numbers are of reports.
    """
    first, limits = tables[0], Footnotes()
    every = list(dict.fromkeys(row for table in tables for row in table.rows))
    columns = sorted(dict.fromkeys(c for table in tables for c in table.columns), key=lambda column: column.reported)
    tasks = [row for row in every if row != AVERAGE]
    is_average = len(tasks) > _TASKS and all(
        (AVERAGE, column) in table.cells for column in columns for table in tables[:1] if not column.reported
    )
    shown = [AVERAGE] if is_average else every
    rows: list[tuple[str | PaperCell, ...]] = []
    rules: set[int] = set()
    for task in shown:
        having = [c for c in columns if any((task, c) in table.cells for table in tables)]
        for column in having:
            is_new = column == having[0] or (column.reported and len(shown) == 1 and not having[0].reported)
            if rows and is_new and (len(shown) > 1 or not any(rules)):
                rules.add(len(rows))
            names = (wording.name(task, 40), _name(column)) if len(shown) > 1 else (_name(column),)
            rows.append((*names, *(_write(table, task, column, limits) for table in tables)))
    data = data or wording.name(first.benchmark, 40) + ("" if len(tasks) > 1 else f"/{wording.name(tasks[0], 40)}")
    unit = format_numbers.unit_of(first.metric, first.unit)
    title = describe_metric(wording.name(first.title, 40), unit, first.direction)
    over = f", mean over {len(tasks)} {'folds' if are_folds(tasks) else 'tasks'}" if is_average else ""
    cells = [table.cells[task, c] for table in tables for task in shown for c in columns if (task, c) in table.cells]
    return PaperTable(
        caption=f"{title} on {data}{over}. {_explain(tables, cells)}",
        label=tuple(label or ("compare", first.benchmark, first.metric)),
        heads=(*(("Task", "Method") if len(shown) > 1 else ("Method",)), *map(_head, tables)),
        rows=tuple(rows),
        names=2 if len(shown) > 1 else 1,
        rules=frozenset(rules),
        notes=(
            *limits.lines,
            *_describe(tables, tasks, alone=is_average, unpaired=unpaired),
            *map(make_sentence, notes),
        ),
    )


def _name(column: Column) -> str:
    return f"{wording.name(column.method, 40)}{' (reported)' if column.reported else ''}"


def _head(table: ComparisonTable) -> str:
    return wording.capitalize_sentence(table.brief)


def _write(table: ComparisonTable, task: str, column: Column, limits: Footnotes) -> PaperCell:
    cell = table.cells.get((task, column))
    if cell is None:
        return PaperCell(format_numbers.ABSENT)
    most = max((other.seeds for other in table.cells.values()), default=0)
    return write_paper_cell(
        cell.mean,
        unit=table.unit,
        notes=limits,
        limited=cell,
        sd=cell.sd,
        ends=(cell.low, cell.high),
        signed=table.slice == GAP,
        is_bold=(task, column) in table.bold,
        more=f", n={cell.seeds}" if 1 < cell.seeds < most and task != AVERAGE else "",
    )


def _explain(tables: Sequence[ComparisonTable], cells: Sequence[Cell]) -> str:
    """The second sentence of the caption: what stands behind a value, what is bold, and what a gap is."""
    many = sorted({cell.seeds for cell in cells if cell.seeds > 1 and not math.isnan(cell.sd)})
    has_intervals = any(math.isnan(cell.sd) and not math.isnan(cell.low) for cell in cells)
    said = []
    if many:
        said.append(f"± is the standard deviation over {format_numbers.span(many)} seeds")
    if has_intervals:
        said.append("brackets hold 95% intervals over test rows")
    if any(table.bold for table in tables):
        said.append("bold marks the best of a column and every method whose spread overlaps that of the best")
    gaps = next((table for table in tables if table.slice == GAP), None)
    if gaps is not None and len(tables) > 2:
        points = ", in points" if gaps.unit == "fraction" else ""
        said.append(f"the gap is {tables[1].brief} minus {tables[0].brief}{points}")
    return make_sentence("; ".join(said))


def _describe(tables: Sequence[ComparisonTable], tasks: Sequence[str], *, alone: bool, unpaired: bool) -> list[str]:
    """What must be known of the averages, of the comparison, and of numbers of a paper."""
    said = []
    if are_folds(tasks):
        said.append("The average is over the folds, with their standard deviation.")
    elif alone:
        said.append(f"The tasks are {wording.join_names([wording.name(task, 40) for task in tasks])}.")
    elif len(tasks) > 1:
        said.append("Methods that have every task have an average; its ± is the spread of the seeds' averages.")
    if unpaired and sum(not column.reported for column in tables[0].columns) > 1:
        said.append("Methods are compared unpaired: reports hold no single predictions.")
    printed = [table for table in tables if any(column.reported for column in table.columns)]
    return [*said, *filter(None, dict.fromkeys(table.reported_from for table in printed))]
