"""Comparisons as text: for the terminal, Markdown, LaTeX, and a data frame of every number."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from oochub.report import numbers, wording
from oochub.report.comparison_table import AVERAGE, Column, ComparisonTable
from oochub.report.markup import latex_opening, latex_row, latex_text, markdown_row, markdown_text

if TYPE_CHECKING:
    import pandas as pd


def terminal(tables: Sequence[ComparisonTable], *, width: int = 100) -> Group:
    """Comparisons for a terminal; a table wider than it is printed in several, column after column.

    Args:
        tables: The tables.
        width: Characters in a line.
    """
    parts: list[Text | Table] = []
    for table in tables:
        parts.append(Text(_heading(table), style="bold"))
        for columns in _blocks(table, width):
            parts += [_terminal_table(table, columns), Text()]
        parts += [Text(line) for line in (_caption(table), *_notes(table))] + [Text()]
    return Group(*parts)


def to_markdown(tables: Sequence[ComparisonTable]) -> str:
    """Comparisons in Markdown: heading, table, caption and notes; ends in a line feed."""
    lines: list[str] = []
    for table in tables:
        rows = [["Task", *map(_head, table.columns)], ["---", *["---:"] * len(table.columns)]]
        rows[0] = [markdown_text(cell) for cell in rows[0]]
        rows += [[markdown_text(row), *_cells(table, row, _markdown_cell)] for row in table.rows]
        lines += [f"**{markdown_text(_heading(table))}**", "", *map(markdown_row, rows), ""]
        lines += [f"{markdown_text(line)}\n" for line in (_caption(table), *_notes(table))]
    return "\n".join(lines).rstrip() + "\n"


def to_latex(tables: Sequence[ComparisonTable]) -> str:
    r"""Comparisons as LaTeX tables in the style of booktabs, reported columns under a head of their own."""
    made = []
    for table in tables:
        own = sum(not column.reported for column in table.columns)
        theirs = len(table.columns) - own
        lines = latex_opening(own, theirs)
        lines += [latex_row([latex_text(one) for one in ("Task", *(c.method for c in table.columns))]), r"\midrule"]
        for row in table.rows:
            lines += [r"\midrule"] if row == AVERAGE else []
            lines.append(latex_row([latex_text(row), *_cells(table, row, _latex_cell)]))
        caption = " ".join([f"{_heading(table)}.", _caption(table), *_notes(table)])
        lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{latex_text(caption)}}}", r"\end{table}"]
        made.append("\n".join(lines) + "\n")
    return "\n".join(made)


def to_frame(tables: Sequence[ComparisonTable]) -> "pd.DataFrame":
    """Every number of the comparisons, one to a row, at full precision.

    Returns:
        Columns benchmark, config ("Average" for the mean over configs), metric, slice, method, reported (bool), mean,
        sd, low, high (float, nan where there is none), seeds (int), bold (bool), reason (str or missing).
    """
    import pandas as pd

    return pd.DataFrame.from_records(
        [
            {
                "benchmark": table.benchmark,
                "config": row,
                "metric": table.metric,
                "slice": table.slice,
                "method": column.method,
                "reported": column.reported,
                **vars(table.cells[row, column]),
                "bold": (row, column) in table.bold,
            }
            for table in tables
            for row in table.rows
            for column in table.columns
            if (row, column) in table.cells
        ],
        columns=[
            *("benchmark", "config", "metric", "slice", "method", "reported"),
            *("mean", "sd", "low", "high", "seeds", "bold", "reason"),
        ],
    )


def _heading(table: ComparisonTable) -> str:
    unit = numbers.unit_of(table.metric, table.unit)
    better = f" {numbers.arrow(table.direction)}" if table.direction in ("higher", "lower") else ""
    return f"{wording.name(table.title, 40)} {unit}{better}, {table.where}, {wording.name(table.benchmark)}"


def _caption(table: ComparisonTable) -> str:
    measured = [table.cells[row, c] for row in table.rows for c in table.columns if _is_measured(table, row, c)]
    many = sorted({cell.seeds for cell in measured if cell.seeds > 1})
    said, rules = [], []
    if many:
        said.append(f"mean (standard deviation, ddof 1) over {_range(many)} seeds")
        rules.append("mean ± standard deviation")
    if any(cell.seeds == 1 for cell in measured):
        said.append("of a single run its 95% interval over test images, low to high")
        rules.append("interval")
    caption = f"{'; '.join(said)}."
    caption = caption[0].upper() + caption[1:]
    if table.bold:
        caption += f" Bold: the {' or '.join(rules)} overlaps that of the best in the row."
    if AVERAGE in table.rows:
        caption += " Average: of the methods that have every task"
        caption += "; its standard deviation is that of the seeds' averages." if many else ", without an interval."
    caption += " Methods are compared unpaired: reports hold no single predictions."
    return f"{caption} {table.reported_from}".rstrip()


def _is_measured(table: ComparisonTable, row: str, column: Column) -> bool:
    return row != AVERAGE and not column.reported and (row, column) in table.cells


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _notes(table: ComparisonTable) -> list[str]:
    return [f"Note: {numbers.counts_in_text(wording.name(note, 400))}." for note in table.notes]


def _head(column: Column) -> str:
    return f"{wording.name(column.method, 40)}{' (reported)' if column.reported else ''}"


def _cells(table: ComparisonTable, row: str, form: Callable[[str, bool], str]) -> Iterator[str]:
    for column in table.columns:
        yield form(_number(table, row, column), (row, column) in table.bold)


def _number(table: ComparisonTable, row: str, column: Column) -> str:
    """The cell as plain text; "" where nothing was measured."""
    cell = table.cells.get((row, column))
    if cell is None:
        return ""
    text = numbers.quantity(cell.mean, table.unit)
    if not math.isnan(cell.sd):
        text += f" ({numbers.quantity(cell.sd, table.unit)})"
    elif not math.isnan(cell.low):
        text += f" ({numbers.interval(vars(cell), table.unit)})"
    most = max((one.seeds for one in table.cells.values()), default=0)
    return f"{text}, n={cell.seeds}" if 1 < cell.seeds < most and row != AVERAGE else text


def _markdown_cell(text: str, bold: bool) -> str:
    return f"**{markdown_text(text)}**" if bold else markdown_text(text)


def _latex_cell(text: str, bold: bool) -> str:
    return rf"\textbf{{{latex_text(text)}}}" if bold else latex_text(text)


def _blocks(table: ComparisonTable, width: int) -> Iterator[list[Column]]:
    first = max(map(len, ("Task", *table.rows)))
    block: list[Column] = []
    room = width - first
    for column in table.columns:
        needed = _width(table, column) + 2
        if block and needed > room:
            yield block
            block, room = [], width - first
        block.append(column)
        room -= needed
    yield block


def _width(table: ComparisonTable, column: Column) -> int:
    """The longest number, or word of the head."""
    return max(map(len, (*_head(column).split(), *(_number(table, row, column) for row in table.rows))))


def _terminal_table(table: ComparisonTable, columns: Sequence[Column]) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column(Text("Task"), no_wrap=True)
    for column in columns:
        made.add_column(Text(_head(column)), justify="right", min_width=_width(table, column))
    for row in table.rows:
        styles = ["bold" if (row, column) in table.bold else "" for column in columns]
        shown = (_number(table, row, column) for column in columns)
        made.add_row(Text(row), *(Text(text, style, no_wrap=True) for text, style in zip(shown, styles, strict=True)))
    return made
