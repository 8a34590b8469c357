"""A table of a study, and how it is written: for the terminal, in Markdown and LaTeX, with how to read a cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oochub.comparison.comparison_table import Cell
from oochub.records.document import Block, Document
from oochub.records.table import Table
from oochub.report import format_numbers
from oochub.studies.imagenet_ood.table_cells import Entry

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group


_READING = {
    "differences": (
        "Each detector minus msp on the same rows, by DeLong's paired test, not corrected for the number of tests: "
        "better or worse if the 95% interval excludes 0"
    ),
    "gain": (
        "gain: new-class AUROC minus that of msp, in points, by DeLong's paired test. Its share from incorrect ID rows "
        "is (1 - accuracy) times what they gain, over the whole, in %, with Fieller's interval; for several models "
        "the mean part over the mean gain. A gain is decided if its 95% interval excludes 0"
    ),
    "random": (
        "Weights are random, so nothing is in distribution and 50.0 is what a detector should give; the first set of a "
        "pair is the positive one, and for failure detection the rows that happen to be right: above or below chance "
        "if DeLong's 95% interval excludes 50"
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
        head: Head of the column that names its rows.
        columns: Heads of the columns; "(reported)" at the end of those of the paper.
        rows: Labels and their cells, None where there is no number.
    """

    title: str
    head: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry | None, ...]], ...]


def caption(name: str, cells: Sequence[Cell]) -> str:
    """How to read the cells of a table.

    >>> caption("4", [Cell(mean=0.5, sd=0.1, seeds=2)]).partition(" Bold")[0]
    'AUROCs between three kinds of rows. Mean (standard deviation, ddof 1) over 2 models.'
    """
    several = sorted({cell.seeds for cell in cells if cell.seeds > 1})
    many = "random initializations" if name == "random" else "models"
    sentences = [_READING[name]] if name in _READING else []
    if several:
        count = str(several[0]) if len(several) == 1 else f"{several[0]} to {several[-1]}"
        sentences.append(f"Mean (standard deviation, ddof 1) over {count} {many}")
        if name in _COUNTS:
            sentences.append(f"After it: how many {many} are {_COUNTS[name]}")
    if any(cell.seeds == 1 for cell in cells):
        sentences.append(
            f"For one model: its value (95% interval over test images{'' if name in ('2', 'gain') else ', DeLong'})"
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
        sentences.append(f"Bold: {rule} overlaps that of the best in the column")
    return ". ".join(sentences) + "."


@dataclass(frozen=True, kw_only=True)
class DetectionTable:
    """One table of the paper, measured.

    Attributes:
        name: Its name, as in `oochub.studies.imagenet_ood.plan.TABLES`.
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

    def to_terminal(self, *, width: int = 100) -> "Group":
        """The table for a terminal; a grid wider than it is printed in several, column after column.

        Args:
            width: Characters in a line.
        """
        from rich.console import Group
        from rich.text import Text

        return Group(self._document.to_terminal(width), Text())

    def to_markdown(self) -> str:
        """Title, grids, caption and notes in Markdown; ends in a line feed."""
        return self._document.to_markdown()

    def to_latex(self) -> str:
        r"""A LaTeX table for each grid; they need `\usepackage{booktabs}`."""
        return self._document.to_latex(small=True)

    @property
    def _document(self) -> Document:
        heading = f"Table {self.name}. {self.title}" if self.name.isdigit() else self.title
        return Document(
            headline=heading,
            blocks=tuple(
                Block(table=_build_text_table(block), caption=f"{heading}: {block.title}") for block in self.blocks
            ),
            caveats=(self.caption, *(f"Note: {note.rstrip('.')}." for note in self.notes)),
            form="## {}",
            beside=" {}",
        )


def _build_text_table(block: ModelBlock) -> Table:
    return Table(
        title=block.title,
        heads=(block.head, *map(_write_head, block.columns)),
        rows=tuple((label, *map(_break_cell, row)) for label, row in block.rows),
        bold=frozenset(
            (i, k)
            for i, (_, row) in enumerate(block.rows)
            for k, entry in enumerate(row, 1)
            if entry is not None and entry.bold
        ),
        reported=sum(column.endswith("(reported)") for column in block.columns),
    )


def _write_head(head: str) -> str:
    for mark in (" / ", " vs. "):
        first, between, second = head.partition(mark)
        if between:
            return f"{first}{mark.rstrip()}\n{second}".replace(" (reported)", "\n(reported)")
    return head.replace(" from ", "\nfrom ")


def _break_cell(entry: Entry | None) -> str:
    """A mean and its spread stay on one line; an interval goes below its value."""
    if entry is None:
        return format_numbers.ABSENT
    join = " " if entry.cell.seeds > 1 else "\n"
    spread = f"{'' if entry.spread.startswith(';') else join}{entry.spread}" if entry.spread else ""
    return f"{entry.text}{spread}{f'{join}{entry.verdicts}' if entry.verdicts else ''}"
