"""A comparison's numbers as a table of text: tasks by methods or methods by tasks, a number for each slice."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oochub.records.table import Table
from oochub.report import numbers, wording
from oochub.report.comparing.comparison_table import AVERAGE, Cell, Column, ComparisonTable, are_folds
from oochub.report.footnotes import Footnotes

ROWS = ("tasks", "methods")
"""What a row of a table is; the other is a column."""


class ComparisonText(NamedTuple):
    """A table, and what is said below it: the caption first, then the notes."""

    text: Table
    lines: tuple[str, ...]


class _Place(NamedTuple):
    """A cell of the text, by what it is of."""

    table: ComparisonTable
    task: str
    column: Column


def comparison_text(tables: Sequence[ComparisonTable], *, rows: str = "tasks") -> ComparisonText:
    """One table of text from those of one benchmark and metric, a column for each slice.

    Args:
        tables: One a slice.
        rows: "tasks", as in the paper of NOOCH, or "methods", as in that of Spawrious.
    """
    tasks = list(dict.fromkeys(task for table in tables for task in table.rows))
    columns = sorted(dict.fromkeys(c for table in tables for c in table.columns), key=lambda column: column.reported)
    beside = [(k, column) for column in columns for k, table in enumerate(tables) if column in table.columns]
    slices = [f"\n{table.brief}" if len(tables) > 1 else "" for table in tables]
    if rows == "tasks":
        heads = [f"{_head(column)}{slices[k]}" for k, column in beside]
        lines = [(task, [_Place(tables[k], task, column) for k, column in beside]) for task in tasks]
        rule = tasks.index(AVERAGE) if AVERAGE in tasks else None
    else:
        heads = [f"{task}{below}" for task in tasks for below in slices]
        lines = [(_head(c), [_Place(table, task, c) for task in tasks for table in tables]) for c in columns]
        rule = next((i for i, column in enumerate(columns) if i and column.reported), None)
    limits = Footnotes()
    cells = {(i, k): place for i, (_, places) in enumerate(lines) for k, place in enumerate(places, 1)}
    text = Table(
        title=_heading(tables),
        heads=("Task" if rows == "tasks" else "Method", *heads),
        rows=tuple((name, *(_number(place, limits) for place in places)) for name, places in lines),
        footnotes=limits.lines,
        bold=frozenset(where for where, place in cells.items() if (place.task, place.column) in place.table.bold),
        reported=sum(column.reported for _, column in beside) if rows == "tasks" else 0,
        rule=rule,
        records=tuple(record for table in tables for record in _records(table)),
    )
    return ComparisonText(text, (_caption(tables, rows), *_notes(tables)))


def _heading(tables: Sequence[ComparisonTable]) -> str:
    table = tables[0]
    unit = numbers.unit_of(table.metric, table.unit)
    better = f" {numbers.arrow(table.direction)}" if table.direction in ("higher", "lower") else ""
    where = wording.listed([each.where for each in tables])
    return f"{wording.name(table.title, 40)} {unit}{better}, {where}, {wording.name(table.benchmark)}"


def _caption(tables: Sequence[ComparisonTable], rows: str) -> str:
    measured = [cell for table in tables for cell in _measured(table)]
    many = sorted({cell.seeds for cell in measured if cell.seeds > 1})
    sentences, rules = [], []
    if many:
        sentences.append(f"mean (standard deviation, ddof 1) over {_range(many)} seeds")
        rules.append("mean ± standard deviation")
    if any(cell.seeds == 1 for cell in measured):
        sentences.append("of a single run its 95% interval over test images, low to high")
        rules.append("interval")
    caption = f"{'; '.join(sentences)}."
    caption = caption[0].upper() + caption[1:]
    if any(table.bold for table in tables):
        among = "column" if rows == "methods" else "row and slice" if len(tables) > 1 else "row"
        caption += f" Bold: the {' or '.join(rules)} overlaps that of the best in the {among}."
    if any(are_folds([row for row in table.rows if row != AVERAGE]) for table in tables):
        caption += " Average: over the folds, with their standard deviation (ddof 1)."
    elif any(AVERAGE in table.rows for table in tables):
        caption += " Average: of the methods that have every task"
        caption += "; its standard deviation is that of the seeds' averages." if many else ", without an interval."
    caption += " Methods are compared unpaired: reports hold no single predictions."
    printed = [table for table in tables if any(column.reported for column in table.columns)]
    if any(row == AVERAGE and column.reported for table in printed for row, column in table.cells):
        caption += " A reported average is that of the cells, not the printed one."
    said = dict.fromkeys(table.reported_from for table in printed or tables)
    return " ".join([caption, *said]).rstrip()


def _measured(table: ComparisonTable) -> list[Cell]:
    return [cell for (row, column), cell in table.cells.items() if row != AVERAGE and not column.reported]


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _notes(tables: Sequence[ComparisonTable]) -> list[str]:
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    return [f"Note: {numbers.counts_in_text(wording.name(note, 400))}." for note in notes]


def _head(column: Column) -> str:
    return f"{wording.name(column.method, 60)}{' (reported)' if column.reported else ''}"


def _number(place: _Place, limits: Footnotes) -> str:
    """The cell as plain text; "" where nothing was measured."""
    table, task, column = place
    cell = table.cells.get((task, column))
    if cell is None:
        return ""
    text = numbers.quantity(cell.mean, table.unit)
    if not math.isnan(cell.sd):
        text += f" ({numbers.quantity(cell.sd, table.unit)})"
    elif not math.isnan(cell.low):
        text += f" ({numbers.interval(cell, table.unit)}{limits.mark(cell)})"
    most = max((other.seeds for other in table.cells.values()), default=0)
    return f"{text}, n={cell.seeds}" if 1 < cell.seeds < most and task != AVERAGE else text


def _records(table: ComparisonTable) -> Iterator[Mapping[str, Any]]:
    for row in table.rows:
        for column in table.columns:
            if (row, column) in table.cells:
                yield (
                    {"benchmark": table.benchmark, "config": row, "metric": table.metric, "slice": table.slice}
                    | {"method": column.method, "reported": column.reported}
                    | {**vars(table.cells[row, column]), "bold": (row, column) in table.bold}
                )
