"""Reports side by side: tables of tasks and methods with the spread over seeds, as Tables 3, 4 and 9 of NOOCH."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError, unknown_name
from oochub.records.table import Table, markdown_text
from oochub.report.comparing.comparison_table import ComparedRun, ComparisonTable, comparison_table
from oochub.report.comparing.comparison_text import ROWS, ComparisonText, comparison_text
from oochub.report.comparing.reported_columns import check_table
from oochub.report.comparing.trained_models import trained_models
from oochub.report.report import Report
from oochub.storage.artifacts import format_csv

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
        tables: One for each metric, benchmark and slice, those of the same metric and benchmark one after another.
        reports: What they were made of.
        metric: The first metric that was asked for; None is the primary one of each benchmark.
        rows: What a row of the tables in text is: "tasks" or "methods".
    """

    tables: tuple[ComparisonTable, ...]
    reports: tuple[Report, ...]
    metric: str | None = None
    rows: str = "tasks"

    def to_terminal(self, *, width: int = 100) -> "Group":
        """The tables for a terminal; one wider than it is printed in several, column after column.

        Args:
            width: Characters in a line.
        """
        from rich.console import Group
        from rich.text import Text

        parts: list[RenderableType] = []
        for text, lines in self._texts():
            parts.append(Text(text.title, style="bold"))
            for grid in text.to_terminal(width):
                parts += [grid, Text()]
            parts += [Text(line) for line in lines] + [Text()]
        return Group(*parts)

    def to_frame(self) -> "pd.DataFrame":
        """Every number, one to a row, at full precision.

        Returns:
            Columns benchmark, config ("Average" for the mean over configs), metric, slice, method, reported (bool),
            mean, sd, low, high (float, nan where there is none), seeds (int), bold (bool), reason (str or missing).
        """
        records = [record for text, _ in self._texts() for record in text.records]
        return Table(heads=(), rows=(), records=tuple(records)).to_frame(_FRAME)

    def to_markdown(self) -> str:
        """The tables in Markdown, each with its heading, caption and notes; ends in a line feed."""
        lines: list[str] = []
        for text, said in self._texts():
            lines += [f"**{markdown_text(text.title)}**", "", text.to_markdown(), ""]
            lines += [f"{markdown_text(line)}\n" for line in said]
        return "\n".join(lines).rstrip() + "\n"

    def to_latex(self) -> str:
        r"""The tables in LaTeX, reported columns under a head of their own; they need `\usepackage{booktabs}`."""
        return "\n".join(
            text.to_latex(" ".join([f"{text.title}.", *lines]), small=True) for text, lines in self._texts()
        )

    def to_csv(self) -> str:
        """`to_frame` as text."""
        return format_csv(self.to_frame())

    def to_html(self) -> str:
        """The self-contained page: the gaps, in context against out of it, and the tables.

        Raises:
            OochubError: So many reports that the page would exceed its limits.
        """
        from oochub.report.comparing.comparison_page import comparison_page

        return comparison_page(self.reports, self._texts(), metric=self.metric)

    def _texts(self) -> list[ComparisonText]:
        of_metric = groupby(self.tables, key=lambda table: (table.benchmark, table.metric, table.rows))
        return [comparison_text(list(tables), rows=self.rows) for _, tables in of_metric]


def comparison(
    reports: Iterable[Report | str | Path],
    *,
    metric: str | Sequence[str] | None = None,
    slice: str | Sequence[str] | None = None,
    reported: bool = False,
    table: str | None = None,
    rows: str = "tasks",
) -> Comparison:
    """Sets reports side by side: a row for each task, a column for each method, the mean over its seeds.

    A method is a training objective, with what was trained where that differs; a model that was not trained here goes
    by its id. Bold are the best mean of a row
    and all whose mean +- standard deviation (ddof 1, over seeds) overlaps with its; of a single seed the 95% interval
    over test images stands in its place. Reports hold no single predictions, so methods are compared unpaired.

    Args:
        reports: Reports, or paths of report.json.
        metric: Names of metrics, a table each; None takes the benchmark's primary metric.
        slice: Names of slices ("out_of_context", or "hard"), a column of each beside the other; None takes the rows
            out of context, and all rows for a metric that picks its own.
        reported: Adds the paper's numbers as columns of their own: those of the model that was trained, where its
            tables are of several.
        table: The number of the paper's table to add, whatever was trained.
        rows: "tasks", methods being the columns; or "methods", tasks being the columns.

    Returns:
        The Comparison. Averages over tasks stand where a method has all of them; what was not measured stays empty.

    Raises:
        OochubError: No report; a metric or slice that no report of a benchmark has; two reports of one task, method
            and seed; reports of one task on other rows or of another version; a table that no paper has, or none
            named where the reports do not say which it is.

    Source:
        Madras and Zemel 2021, Tables 3, 4 and 9; Lynch et al. 2023, Tables 3 to 5.

    >>> comparison([])
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no reports to compare. Give paths of report.json.
    """
    runs = [_run(given, number) for number, given in enumerate(reports, 1)]
    trained = trained_models([run.report for run in runs])
    runs = [run._replace(method=f"{run.method}{model}") for run, model in zip(runs, trained, strict=True)]
    if not runs:
        raise OochubError("There are no reports to compare. Give paths of report.json.")
    _check_seeds(runs)
    _check_versions(runs)
    if table is not None:
        check_table(table, list(dict.fromkeys(run.benchmark for run in runs)))
    if rows not in ROWS:
        raise unknown_name("kind of rows", rows, ROWS)
    metrics = [metric] if metric is None or isinstance(metric, str) else list(metric)
    slices = [slice] if slice is None or isinstance(slice, str) else list(dict.fromkeys(slice))
    parts = [[run for run in runs if _data_set(run) == each] for each in dict.fromkeys(map(_data_set, runs))]
    tables = [
        comparison_table(part, metric=name, slice=each, reported=reported or table is not None, table=table)
        for name in metrics
        for part in parts
        for each in slices
    ]
    return Comparison(
        tables=tuple({(each.benchmark, each.metric, each.slice, each.rows): each for each in tables}.values()),
        reports=tuple(run.report for run in runs),
        metric=metrics[0],
        rows=rows,
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


def _data_set(run: ComparedRun) -> tuple[str, str]:
    """Those of one benchmark stand in one table, but for data sets of their own titles and headlines, as in WILDS."""
    return run.benchmark, run.report.benchmark.title


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
    seen: dict[tuple[str, str], ComparedRun] = {}
    for run in runs:
        other = seen.setdefault(_data_set(run), run)
        versions = [each.report.benchmark.version for each in (other, run)]
        if versions[0] != versions[1]:
            raise OochubError(
                f"{other.label} is of version {versions[0]} of {run.benchmark}, {run.label} of {versions[1]}: a "
                "version has its own rows. Evaluate both on the same one."
            )
