"""A table of a study, and how it is written: for the terminal, in Markdown and LaTeX, with how to read a cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oochub.report import numbers
from oochub.report.comparison_table import Cell
from oochub.report.text_table import TextTable, markdown_text
from oochub.studies.imagenet_ood.table_cells import Entry

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group


_READING = {
    "differences": (
        "Each detector minus msp on the same rows, by DeLong's paired test, not corrected for the number of tests: "
        "better or worse where the 95% interval leaves out 0"
    ),
    "gain": (
        "gain: new-class AUROC minus that of msp, in points, by DeLong's paired test. Its share from incorrect ID rows "
        "is (1 - accuracy) times what they gain, over the whole, in %, with Fieller's interval; of several models the "
        "mean part over the mean gain. A gain is decided where its 95% interval leaves out 0"
    ),
    "random": (
        "Weights are random, so nothing is in distribution and 50.0 is what a detector should give; the first set of a "
        "pair is the positive one, and for failure detection the rows that happen to be right: above or below chance "
        "where DeLong's 95% interval leaves out 50"
    ),
    "2": "The threshold is an order statistic of the OOD scores; ties with it are rejected",
    "4": "AUROCs between three kinds of rows",
}
_COUNTS = {"differences": "better/not decided/worse", "random": "above chance/not told from it/below chance"}


@dataclass(frozen=True, kw_only=True)
class ModelBlock:
    """One grid of a table.

    Attributes:
        title: What it shows, with unit and direction.
        head: What its rows are.
        columns: Heads of the columns; "(reported)" at the end of those of the paper.
        rows: Labels and their cells, None where there is no number.
    """

    title: str
    head: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry | None, ...]], ...]


@dataclass(frozen=True, kw_only=True)
class DetectionTable:
    """One table of the paper, measured.

    Attributes:
        name: As in `oochub.studies.imagenet_ood.plan.TABLES`.
        title: What it shows.
        blocks: Its grids.
        caption: How to read a cell.
        notes: What is missing, undefined or reported.
        frame: Its cells, one to a row: table, block, row, column, mean, sd, low, high, models, bold, reported, better,
            undecided, worse (of differences) and off_chance (of random models), as counts of models.
    """

    name: str
    title: str
    blocks: tuple[ModelBlock, ...]
    caption: str
    notes: tuple[str, ...]
    frame: "pd.DataFrame"

    @property
    def file(self) -> str:
        """The name of its files, without an ending.

        >>> DetectionTable(name="1", title="", blocks=(), caption="", notes=(), frame=None).file
        'table_1'
        """
        return f"table_{self.name}" if self.name.isdigit() else self.name

    def to_markdown(self) -> str:
        """Title, grids, caption and notes in Markdown."""
        return to_markdown(self)

    def to_latex(self) -> str:
        r"""A LaTeX table for each grid; they need `\\usepackage{booktabs}`."""
        return to_latex(self)


def caption(name: str, cells: Sequence[Cell]) -> str:
    """How to read the cells of a table.

    >>> caption("4", [Cell(mean=0.5, sd=0.1, seeds=2)]).partition(" Bold")[0]
    'AUROCs between three kinds of rows. Mean (standard deviation, ddof 1) over 2 models.'
    """
    several = sorted({cell.seeds for cell in cells if cell.seeds > 1})
    many = "random initializations" if name == "random" else "models"
    said = [_READING[name]] if name in _READING else []
    if several:
        count = str(several[0]) if len(several) == 1 else f"{several[0]} to {several[-1]}"
        said.append(f"Mean (standard deviation, ddof 1) over {count} {many}")
        if name in _COUNTS:
            said.append(f"Behind it how many {many} are {_COUNTS[name]}")
    if any(cell.seeds == 1 for cell in cells):
        said.append(
            f"Of one model its value (95% interval over test images{'' if name in ('2', 'gain') else ', DeLong'})"
        )
    if name.isdigit():
        rule = " or ".join(
            rule
            for rule, holds in (
                ("mean ± standard deviation", several),
                ("the interval", any(cell.seeds == 1 for cell in cells)),
            )
            if holds
        )
        said.append(f"Bold: {rule} overlaps that of the best in the column")
    return ". ".join(said) + "."


def to_markdown(table: DetectionTable) -> str:
    """A table in Markdown; ends in a line feed."""
    lines = [f"## {markdown_text(_title(table))}", ""]
    for block in table.blocks:
        lines += [f"**{markdown_text(block.title)}**", "", _text_table(block).to_markdown(below=" {}"), ""]
    lines += [f"{markdown_text(line)}\n" for line in (table.caption, *_notes(table))]
    return "\n".join(lines).rstrip() + "\n"


def to_latex(table: DetectionTable) -> str:
    r"""A `table` environment for each grid of a table; they need `\usepackage{booktabs}`."""
    captions = [" ".join([f"{_title(table)}: {block.title}.", table.caption, *_notes(table)]) for block in table.blocks]
    grids = [_text_table(block, on_one_line=True) for block in table.blocks]
    return "\n".join(grid.to_latex(text, small=True) for grid, text in zip(grids, captions, strict=True))


def terminal(table: DetectionTable, *, width: int = 100) -> "Group":
    """A table for a terminal; a grid wider than it is printed in several, column after column.

    Args:
        table: The table.
        width: Characters in a line.
    """
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(_title(table), style="bold")]
    for block in table.blocks:
        parts += [Text(f"\n{block.title}"), *_text_table(block).to_terminal(width)]
    return Group(*parts, Text(), *(Text(line) for line in (table.caption, *_notes(table))), Text())


def _text_table(block: ModelBlock, *, on_one_line: bool = False) -> TextTable:
    """The grid as text: with intervals below the values, or for LaTeX each cell on one line."""
    heads = [column.replace(" / ", "\n") if on_one_line else _lines(column) for column in block.columns]
    cells = _plain if on_one_line else _below
    bold = {
        (i, k)
        for i, (_, entries) in enumerate(block.rows)
        for k, entry in enumerate(entries, start=1)
        if entry is not None and entry.bold
    }
    return TextTable(
        heads=(block.head, *heads),
        rows=tuple((label, *map(cells, entries)) for label, entries in block.rows),
        bold=frozenset(bold),
        reported=sum(column.endswith("(reported)") for column in block.columns),
    )


def _lines(head: str) -> str:
    for mark in (" / ", " vs. "):
        first, found, second = head.partition(mark)
        if found:
            return f"{first}{mark.rstrip()}\n{second}".replace(" (reported)", "\n(reported)")
    return head.replace(" from ", "\nfrom ")


def _title(table: DetectionTable) -> str:
    return f"Table {table.name}. {table.title}" if table.name.isdigit() else table.title


def _notes(table: DetectionTable) -> list[str]:
    return [f"Note: {note.rstrip('.')}." for note in table.notes]


def _plain(entry: Entry | None, join: str = " ") -> str:
    if entry is None:
        return numbers.ABSENT
    spread = f"{'' if entry.spread.startswith(';') else join}{entry.spread}" if entry.spread else ""
    return f"{entry.text}{spread}{f'{join}{entry.verdicts}' if entry.verdicts else ''}"


def _below(entry: Entry | None) -> str:
    """A mean and its spread stay on one line; an interval goes below its value."""
    return _plain(entry, " " if entry is None or entry.cell.seeds > 1 else "\n")
