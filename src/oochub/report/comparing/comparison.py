"""Reports side by side: tables of tasks and methods with the spread over seeds, as Tables 3, 4 and 9 of NOOCH."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError
from oochub.report import numbers, wording
from oochub.report.comparing.comparison_table import AVERAGE, Column, ComparedRun, ComparisonTable, comparison_table
from oochub.report.report import Report
from oochub.report.text_table import TextTable, markdown_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group, RenderableType

_FRAME = [
    *("benchmark", "config", "metric", "slice", "method", "reported"),
    *("mean", "sd", "low", "high", "seeds", "bold", "reason"),
]


@dataclass(frozen=True)
class Comparison:
    """What `comparison` returns.

    Attributes:
        tables: One for each metric and benchmark.
        reports: What they were made of.
        metric: The first metric that was asked for; None is the primary one of each benchmark.
    """

    tables: tuple[ComparisonTable, ...]
    reports: tuple[Report, ...]
    metric: str | None = None

    def to_terminal(self, *, width: int = 100) -> "Group":
        """The tables for a terminal; one wider than it is printed in several, column after column.

        Args:
            width: Characters in a line.
        """
        from rich.console import Group
        from rich.text import Text

        parts: list[RenderableType] = []
        for table in self.tables:
            text = _text_table(table)
            parts.append(Text(text.title, style="bold"))
            for grid in text.to_terminal(width):
                parts += [grid, Text()]
            parts += [Text(line) for line in (_caption(table), *_notes(table))] + [Text()]
        return Group(*parts)

    def to_frame(self) -> "pd.DataFrame":
        """Every number, one to a row, at full precision.

        Returns:
            Columns benchmark, config ("Average" for the mean over configs), metric, slice, method, reported (bool),
            mean, sd, low, high (float, nan where there is none), seeds (int), bold (bool), reason (str or missing).
        """
        records = [record for table in self.tables for record in _text_table(table).records]
        return TextTable(heads=(), rows=(), records=tuple(records)).to_frame(_FRAME)

    def to_markdown(self) -> str:
        """The tables in Markdown, each with its heading, caption and notes; ends in a line feed."""
        lines: list[str] = []
        for table in self.tables:
            text = _text_table(table)
            lines += [f"**{markdown_text(text.title)}**", "", text.to_markdown(), ""]
            lines += [f"{markdown_text(line)}\n" for line in (_caption(table), *_notes(table))]
        return "\n".join(lines).rstrip() + "\n"

    def to_latex(self) -> str:
        r"""The tables in LaTeX, reported columns under a head of their own; they need `\usepackage{booktabs}`."""
        texts = [(_text_table(table), table) for table in self.tables]
        return "\n".join(
            text.to_latex(" ".join([f"{text.title}.", _caption(table), *_notes(table)]), small=True)
            for text, table in texts
        )

    def to_csv(self) -> str:
        """`to_frame` as text."""
        text: str = self.to_frame().to_csv(index=False)
        return text

    def to_html(self) -> str:
        """The self-contained page: the gaps, in context against out of it, and the tables.

        Raises:
            OochubError: So many reports that the page would exceed its limits.
        """
        from oochub.report.comparing.comparison_page import comparison_page

        tables = [(_text_table(table), (_caption(table), *_notes(table))) for table in self.tables]
        return comparison_page(self.reports, tables, metric=self.metric)


def comparison(
    reports: Iterable[Report | str | Path],
    *,
    metric: str | Sequence[str] | None = None,
    slice: str | None = None,
    reported: bool = False,
) -> Comparison:
    """Sets reports side by side: a row for each task, a column for each method, the mean over its seeds.

    A method is a training objective; a model that was not trained here goes by its id. Bold are the best mean of a row
    and all whose mean +- standard deviation (ddof 1, over seeds) overlaps with its; of a single seed the 95% interval
    over test images stands in its place. Reports hold no single predictions, so methods are compared unpaired.

    Args:
        reports: Reports, or paths of report.json.
        metric: Names of metrics, a table each; None takes the benchmark's primary metric.
        slice: Name of a slice ("out_of_context", or "hard"); None takes the rows out of context, and all rows for a
            metric that picks its own.
        reported: Adds the paper's numbers as columns of their own.

    Returns:
        The Comparison. Averages over tasks stand where a method has all of them; what was not measured stays empty.

    Raises:
        OochubError: No report; a metric or slice that no report of a benchmark has; two reports of one task, method
            and seed; reports of one task on other rows or of another version.

    Source:
        Madras and Zemel 2021, Tables 3, 4 and 9.

    >>> comparison([])
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no reports to compare. Give paths of report.json.
    """
    runs = [_run(given, number) for number, given in enumerate(reports, 1)]
    if not runs:
        raise OochubError("There are no reports to compare. Give paths of report.json.")
    _check_seeds(runs)
    _check_versions(runs)
    metrics = [metric] if metric is None or isinstance(metric, str) else list(metric)
    parts = [[run for run in runs if run.benchmark == name] for name in dict.fromkeys(run.benchmark for run in runs)]
    return Comparison(
        tables=tuple(
            comparison_table(part, metric=name, slice=slice, reported=reported) for name in metrics for part in parts
        ),
        reports=tuple(run.report for run in runs),
        metric=metrics[0],
    )


def _run(given: Report | str | Path, number: int) -> ComparedRun:
    report = given if isinstance(given, Report) else Report.load(given)
    benchmark, model = report.benchmark, report.model
    return ComparedRun(
        label=f"Report {number}" if isinstance(given, Report) else str(given),
        report=report,
        benchmark=benchmark.name,
        config=benchmark.config,
        method=str(model.objective or model.id),
        seeds=model.seeds,
    )


def _check_seeds(runs: Sequence[ComparedRun]) -> None:
    seen: dict[tuple[str, str, str, tuple[int, ...]], ComparedRun] = {}
    for run in runs:
        twin = seen.setdefault((run.benchmark, run.config, run.method, run.seeds), run)
        if twin is not run:
            seed = f"seed {', '.join(map(str, run.seeds))}" if run.seeds else "no seed"
            raise OochubError(
                f"{twin.label} and {run.label} are both {run.method} on {run.benchmark}/{run.config} with {seed}; "
                "a cell takes each seed once. Leave one out, or compare them in two tables."
            )


def _check_versions(runs: Sequence[ComparedRun]) -> None:
    seen: dict[str, ComparedRun] = {}
    for run in runs:
        other = seen.setdefault(run.benchmark, run)
        versions = [each.report.benchmark.version for each in (other, run)]
        if versions[0] != versions[1]:
            raise OochubError(
                f"{other.label} is of version {versions[0]} of {run.benchmark}, {run.label} of {versions[1]}: a "
                "version has its own rows. Evaluate both on the same one."
            )


def _text_table(table: ComparisonTable) -> TextTable:
    places = [(i, row, k, column) for i, row in enumerate(table.rows) for k, column in enumerate(table.columns, 1)]
    records = [
        {"benchmark": table.benchmark, "config": row, "metric": table.metric, "slice": table.slice}
        | {"method": column.method, "reported": column.reported}
        | {**vars(table.cells[row, column]), "bold": (row, column) in table.bold}
        for _, row, _, column in places
        if (row, column) in table.cells
    ]
    return TextTable(
        title=_heading(table),
        heads=("Task", *map(_head, table.columns)),
        rows=tuple((row, *(_number(table, row, column) for column in table.columns)) for row in table.rows),
        bold=frozenset((i, k) for i, row, k, column in places if (row, column) in table.bold),
        reported=sum(column.reported for column in table.columns),
        rule=table.rows.index(AVERAGE) if AVERAGE in table.rows else None,
        records=tuple(records),
    )


def _heading(table: ComparisonTable) -> str:
    unit = numbers.unit_of(table.metric, table.unit)
    better = f" {numbers.arrow(table.direction)}" if table.direction in ("higher", "lower") else ""
    return f"{wording.name(table.title, 40)} {unit}{better}, {table.where}, {wording.name(table.benchmark)}"


def _caption(table: ComparisonTable) -> str:
    measured = [table.cells[row, c] for row in table.rows for c in table.columns if _is_measured(table, row, c)]
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


def _number(table: ComparisonTable, row: str, column: Column) -> str:
    """The cell as plain text; "" where nothing was measured."""
    cell = table.cells.get((row, column))
    if cell is None:
        return ""
    text = numbers.quantity(cell.mean, table.unit)
    if not math.isnan(cell.sd):
        text += f" ({numbers.quantity(cell.sd, table.unit)})"
    elif not math.isnan(cell.low):
        text += f" ({numbers.interval(cell, table.unit)})"
    most = max((other.seeds for other in table.cells.values()), default=0)
    return f"{text}, n={cell.seeds}" if 1 < cell.seeds < most and row != AVERAGE else text
