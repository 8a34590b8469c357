"""Reports side by side: tables of tasks and methods with the spread over seeds, as those of NOOCH."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.comparison.comparison_page import format_matrix, make_gap_matrix
from oochub.comparison.comparison_table import (
    Column,
    ComparedRun,
    ComparisonTable,
    are_folds,
    build_side_tables,
    comparison_table,
    paper_table_of_methods,
)
from oochub.comparison.methods_over_seeds import AVERAGE, SeededRuns, format_places, list_pairs, write_headline
from oochub.comparison.model_line import name_methods
from oochub.comparison.paper_numbers import check_table
from oochub.errors import OochubError, unknown_name
from oochub.records.document import Block, Document, DocumentForms
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.report.report import Report
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.storage.artifacts import format_csv

if TYPE_CHECKING:
    import pandas as pd

_FRAME = [
    *("benchmark", "config", "metric", "slice", "method", "reported"),
    *("mean", "sd", "low", "high", "seeds", "bold", "reason", "table"),
]


@dataclass(frozen=True)
class Comparison(DocumentForms):
    """What `comparison` returns.

    Attributes:
        tables: One for each metric, benchmark and slice, those of the same metric and benchmark one after another.
        reports: What they were made of.
        metric: The first metric that was asked for; None is the primary one of each benchmark.
        rows: What a row of the tables in text is: "tasks" or "methods".
        sides: For compact tables: in context, out of context and the gap, of each metric and benchmark. If a slice was
            asked for, they are `tables`.
    """

    _bold = "best"

    tables: tuple[ComparisonTable, ...]
    reports: tuple[Report, ...]
    metric: str | None = None
    rows: str = "tasks"
    sides: tuple[tuple[ComparisonTable, ...], ...] = ()

    def __repr__(self) -> str:
        lines = [f"<Comparison of {len(self.reports)} report{'s' if len(self.reports) != 1 else ''}>"]
        for block in self._document().without_bold("best").blocks:
            if (text := block.table) is not None:
                rows = [f"  {row[0]}: {', '.join(_pair(text.heads, row))}" for row in text.rows]
                lines += [text.title, *rows, *text.footnotes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self._document().without_bold("best").to_notebook()

    def to_frame(self) -> "pd.DataFrame":
        """Every number, one to a row, at full precision.

        Returns:
            Columns benchmark, config ("Average" for the mean over configs), metric, slice, method, reported (bool),
            mean, sd, low, high (float, nan where there is none), seeds (int), bold (bool), reason (str or missing),
            table (str, of a reported number).
        """
        records = [record for block in self._format_blocks() if block.table for record in block.table.records]
        return Table(heads=(), rows=(), records=tuple(records)).to_frame(_FRAME)

    def to_latex(
        self, style: TableStyle = "compact", *, label: Callable[[ComparisonTable], Sequence[str]] | None = None
    ) -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`.

        Args:
            style: "compact" is the table of a paper: methods as rows; in context, out of context and the gap as
                columns; the slices in their place if some were asked for. More than four tasks are averaged. "full"
                has every task and method, reported columns under a head of their own.
            label: Parts of the label of a compact table; None makes it of the benchmark and metric.

        Raises:
            OochubError: Another style.
        """
        if TableSettings(style=style).style == "compact":
            return "\n".join(
                paper_table_of_methods(
                    tables, notes=_collect_notes(tables, said=""), label=label(tables[0]) if label else ()
                ).to_latex()
                for tables in self.sides
            )
        return Document(blocks=self._format_blocks()).to_latex(small=True)

    def to_csv(self) -> str:
        """`to_frame` as text."""
        return format_csv(self.to_frame())

    def to_html(self) -> str:
        """The self-contained page: the gaps, in context against out of it, and the tables.

        Raises:
            OochubError: So many reports that the page would exceed its limits.
        """
        from oochub.comparison.comparison_page import comparison_page

        return comparison_page(self.reports, self._format_blocks(tests=True), metric=self.metric, lead=self.headline)

    def with_notes(self, notes: Sequence[str]) -> "Comparison":
        """The same with more caveats, such as how a sweep selected its settings, in every table."""

        def add(table: ComparisonTable) -> ComparisonTable:
            return replace(table, notes=(*notes, *(note for note in table.notes if note not in notes)))

        sides = tuple((*map(add, tables[:1]), *tables[1:]) for tables in self.sides)
        return replace(self, tables=tuple(map(add, self.tables)), sides=sides)

    def format_tests(self) -> tuple[Block, ...]:
        """The tests between methods, a table for each of `tables` that has some."""
        return tuple(_format_tests(table) for table in self.tables if table.places)

    def _document(self) -> Document:
        return Document(
            headline=self.headline, blocks=(*self._summarize(), *self._format_blocks(tests=True)), apart=True
        )

    @property
    def headline(self) -> str:
        """Which method is better by the first table that has tests, in its average or first row; "" without tests."""
        table = next((table for table in self.tables if table.places), None)
        if table is None:
            return ""
        row = AVERAGE if AVERAGE in table.places else next(iter(table.places))
        where = table.brief if row == AVERAGE or len(table.rows) == 1 else f"{table.brief} on {wording.name(row, 40)}"
        return write_headline(row, table.places[row], where=wording.put_in_sentence(where), unit=table.unit)

    def list_pairs(self) -> list[dict[str, Any]]:
        """Every tested pair of methods as a dict: second minus first with its interval, and the p-values."""
        return [
            pair
            for table in self.tables
            for pair in list_pairs(table.places, benchmark=table.benchmark, metric=table.metric, slice=table.slice)
        ]

    def _summarize(self) -> tuple[Block, ...]:
        """The gaps of all benchmarks in one table, if there are several and no cell is a mean over seeds."""
        has_seeds = any(cell.seeds > 1 for table in self.tables for cell in table.cells.values())
        if has_seeds or len({table.benchmark for table in self.tables}) < 2:
            return ()
        return (Block(table=format_matrix(make_gap_matrix(self.reports)), below=(_SUMMARY,)),)

    def _format_blocks(self, *, tests: bool = False) -> tuple[Block, ...]:
        of_metric = groupby(self.tables, key=lambda table: (table.benchmark, table.metric, table.rows))
        blocks: list[Block] = []
        for _, group in of_metric:
            tables = list(group)
            blocks.append(_format_comparison(tables, rows=self.rows))
            blocks += [_format_tests(table) for table in tables if tests and table.places]
        return tuple(blocks)


def comparison(
    reports: Iterable[Report | str | Path],
    *,
    metric: str | Sequence[str] | None = None,
    slice: str | Sequence[str] | None = None,
    reported: bool = False,
    table: str | None = None,
    version: str | None = None,
    rows: str = "tasks",
) -> Comparison:
    """Sets reports side by side: a row for each task, a column for each method, the mean over its seeds.

    A method is what a recipe calls it, with its setting where several of one task differ in it; without a recipe a
    training objective; with what was trained where that differs. A model that was not trained here goes by its id.

    If every method of a task has two or more seeds and predictions.parquet beside each report, as in the folder of a
    sweep, all pairs of methods are tested over seeds and images together (`oochub.stats.seeded_difference`), corrected
    by Holm; bold are then the best mean of a row and all that are not clearly worse. Else bold are the best mean and
    all whose mean +- standard deviation (ddof 1, over seeds) overlaps with its; for a single seed the 95% interval over
    test images stands in its place.

    Args:
        reports: Reports, or paths of report.json.
        metric: Names of metrics, a table each; None takes the benchmark's primary metric.
        slice: Names of slices ("out_of_context", or "hard"), a column of each beside the other; None takes the rows
            out of context, and all rows for a metric that picks its own.
        reported: Adds the paper's numbers as columns of their own: those of the model that was trained, where its
            tables are of several.
        table: The number or the name of the paper's table to add, whatever was trained.
        version: The version of the paper, if it exists in several that number their tables differently.
        rows: "tasks", methods being the columns; or "methods", tasks being the columns.

    Returns:
        The Comparison. Averages over tasks stand where a method has all of them; what was not measured stays empty.

    Raises:
        OochubError: No report; a metric or slice that no report of a benchmark has; two reports of one task, method
            and seed; reports of one task on other rows or of another version; a table or version that no paper has, or
            no table named where the reports do not say which it is.

    Source:
        Madras and Zemel 2021, Tables 3, 4 and 9 of the version with the appendix; Lynch et al. 2023, Tables 3 to 5.

    >>> comparison([])
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no reports to compare. Pass paths of report.json.
    """
    runs = [_run(given, number) for number, given in enumerate(reports, 1)]
    methods = name_methods([run.report for run in runs])
    runs = [run._replace(method=method) for run, method in zip(runs, methods, strict=True)]
    if not runs:
        raise OochubError("There are no reports to compare. Pass paths of report.json.")
    _check_seeds(runs)
    _check_versions(runs)
    reported = reported or table is not None or version is not None
    if reported:
        check_table(table, version, list(dict.fromkeys(run.benchmark for run in runs)))
    if rows not in _ROWS:
        raise unknown_name("kind of rows", rows, _ROWS)
    metrics = [metric] if metric is None or isinstance(metric, str) else list(metric)
    slices = [slice] if slice is None or isinstance(slice, str) else list(dict.fromkeys(slice))
    parts = [
        [run for run in runs if _name_data_set(run) == data_set]
        for data_set in dict.fromkeys(map(_name_data_set, runs))
    ]
    seeded = SeededRuns()
    tables: dict[_Key, ComparisonTable] = {}
    sides: dict[tuple[_Key, ...], tuple[ComparisonTable, ...]] = {}
    for name, part in product(metrics, parts):
        options: dict[str, Any] = {
            "seeded": seeded,
            "metric": name,
            "reported": reported,
            "table": table,
            "version": version,
        }
        own = {_key(table): table for table in (comparison_table(part, slice=one, **options) for one in slices)}
        tables |= own
        both: tuple[ComparisonTable, ...] = ()
        if slice is None:
            with suppress(OochubError):  # other rows in context: the rows that were asked for are compared alone
                both = build_side_tables(part, **options)
        both = both or tuple(own.values())
        sides[tuple(map(_key, both))] = both
    return Comparison(
        tables=tuple(tables.values()),
        reports=tuple(run.report for run in runs),
        metric=metrics[0],
        rows=rows,
        sides=tuple(sides.values()),
    )


_Key = tuple[str, str, str, tuple[str, ...]]


def _key(table: ComparisonTable) -> _Key:
    """What tells a table from the others of a comparison."""
    return table.benchmark, table.metric, table.slice, table.rows


def _run(given: Report | str | Path, number: int) -> ComparedRun:
    report = given if isinstance(given, Report) else Report.load(given)
    benchmark = report.benchmark
    return ComparedRun(
        label=f"Report {number}" if isinstance(given, Report) else str(given),
        report=report,
        benchmark=benchmark.name,
        config=benchmark.config,
        method="",
        seeds=report.model.seeds,
        path=None if isinstance(given, Report) else Path(given),
    )


def _name_data_set(run: ComparedRun) -> tuple[str, str]:
    """Those of one benchmark stand in one table, but for data sets of their own titles and headlines, as in WILDS."""
    return run.benchmark, run.report.benchmark.title


def _check_seeds(runs: Sequence[ComparedRun]) -> None:
    seen: dict[tuple[str, str, str, tuple[int, ...]], ComparedRun] = {}
    for run in runs:
        twin = seen.setdefault((run.benchmark, run.config, run.method, run.seeds), run)
        if twin is not run:
            seed = f"seed {', '.join(map(str, run.seeds))}" if run.seeds else "no seed"
            raise OochubError(
                f"{twin.label} and {run.label} are both {run.method} on {run.benchmark}/{run.config} with {seed}, "
                "but a cell takes each seed once. Remove one, or compare them in two tables."
            )


def _check_versions(runs: Sequence[ComparedRun]) -> None:
    seen: dict[tuple[str, str], ComparedRun] = {}
    for run in runs:
        other = seen.setdefault(_name_data_set(run), run)
        versions = [run_compared.report.benchmark.version for run_compared in (other, run)]
        if versions[0] != versions[1]:
            raise OochubError(
                f"{other.label} is for version {versions[0]} of {run.benchmark}, but {run.label} for {versions[1]}, "
                "and each version has its own rows. Evaluate both on the same version."
            )


_SUMMARY = (
    "The primary metric of each dataset with its 95% interval; shares in percent. The gap is the number out of "
    "context minus that in context."
)
_ROWS = ("tasks", "methods")
"""What a row of a table is; the other is a column."""


class _Place(NamedTuple):
    """A cell of the text, by what it is of."""

    table: ComparisonTable
    task: str
    column: Column


def _format_comparison(tables: Sequence[ComparisonTable], *, rows: str = "tasks") -> Block:
    """One table of text from those of one benchmark and metric, a column for each slice.

    Args:
        tables: Tables, one per slice.
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
        title=_format_heading(tables),
        heads=("Task" if rows == "tasks" else "Method", *heads),
        rows=tuple((name, *(_number(place, limits) for place in places)) for name, places in lines),
        footnotes=limits.lines,
        bold=frozenset(where for where, place in cells.items() if (place.task, place.column) in place.table.bold),
        reported=sum(column.reported for _, column in beside) if rows == "tasks" else 0,
        rule=rule,
        records=tuple(record for table in tables for record in _make_records(table)),
    )
    return Block(table=text, below=(_format_caption(tables, rows), *_collect_notes(tables)))


def _format_tests(table: ComparisonTable) -> Block:
    """The places of the methods of a table, and the differences from the best."""
    return format_places(
        table.places,
        heading=f"Methods over seeds: {_format_heading([table])}",
        metric=wording.name(table.title, 40),
        unit=table.unit,
    )


def _pair(heads: Sequence[str], row: Sequence[str]) -> list[str]:
    """The cells of a row after the first, each behind its head; those without a number are left out."""
    return [f"{' '.join(head.split())} {cell}" for head, cell in zip(heads[1:], row[1:], strict=True) if cell]


def _format_heading(tables: Sequence[ComparisonTable]) -> str:
    table = tables[0]
    unit = format_numbers.unit_of(table.metric, table.unit)
    better = f" {format_numbers.arrow(table.direction)}" if table.direction in ("higher", "lower") else ""
    where = wording.join_names([table.where for table in tables])
    return f"{wording.name(table.title, 40)} {unit}{better}, {where}, {wording.name(table.benchmark)}"


def _format_caption(tables: Sequence[ComparisonTable], rows: str) -> str:
    cells = (item for table in tables for item in table.cells.items())
    measured = [cell for (row, column), cell in cells if row != AVERAGE and not column.reported]
    many = sorted({cell.seeds for cell in measured if cell.seeds > 1})
    sentences, rules = [], []
    if many:
        sentences.append(f"mean (standard deviation, ddof 1) over {format_numbers.span(many)} seeds")
        rules.append("mean ± standard deviation")
    if any(cell.seeds == 1 for cell in measured):
        sentences.append("for a single run, its 95% interval over test images, low to high")
        rules.append("interval")
    caption = f"{'; '.join(sentences)}."
    caption = caption[0].upper() + caption[1:]
    is_tested = any(table.places for table in tables)
    if is_tested:
        caption += " Bold: the method is not clearly worse than the best by the tests below."
    elif any(table.bold for table in tables):
        among = "column" if rows == "methods" else "row and slice" if len(tables) > 1 else "row"
        caption += f" Bold: the {' or '.join(rules)} overlaps that of the best in the {among}."
    if any(are_folds([row for row in table.rows if row != AVERAGE]) for table in tables):
        caption += " Average: the mean over the folds, with their standard deviation (ddof 1)."
    elif any(AVERAGE in table.rows for table in tables):
        caption += " Average: the mean over tasks, for methods that have every task"
        caption += "; its standard deviation is that of the seeds' averages." if many else ", without an interval."
    if not is_tested:
        caption += " Methods are compared unpaired, because reports do not hold individual predictions."
    printed = [table for table in tables if any(column.reported for column in table.columns)]
    if any(row == AVERAGE and column.reported for table in printed for row, column in table.cells):
        caption += " A reported average is computed from the cells; it is not the printed one."
    sources = dict.fromkeys(table.reported_from for table in printed or tables)
    return " ".join([caption, *sources]).rstrip()


def format_note(note: str, said: str = "Note: ") -> str:
    """A caveat of the data as it stands below a table.

    >>> format_note("a drawn toy world, not the benchmark's images")
    "Note: a drawn toy world, not the benchmark's images."
    """
    return f"{said}{format_numbers.counts_in_text(wording.name(note, 400)).removesuffix('.')}."


def _collect_notes(tables: Sequence[ComparisonTable], said: str = "Note: ") -> list[str]:
    return [format_note(note, said) for note in dict.fromkeys(note for table in tables for note in table.notes)]


def _head(column: Column) -> str:
    return f"{wording.name(column.method, 60)}{' (reported)' if column.reported else ''}"


def _number(place: _Place, limits: Footnotes) -> str:
    """The cell as plain text; "" where nothing was measured."""
    table, task, column = place
    cell = table.cells.get((task, column))
    if cell is None:
        return ""
    text = format_numbers.quantity(cell.mean, table.unit)
    if not math.isnan(cell.sd):
        text += f" ({format_numbers.quantity(cell.sd, table.unit)})"
    elif not math.isnan(cell.low):
        text += f" ({format_numbers.interval(cell, table.unit)}{limits.mark(cell)})"
    most = max((other.seeds for other in table.cells.values()), default=0)
    return f"{text}, n={cell.seeds}" if 1 < cell.seeds < most and task != AVERAGE else text


def _make_records(table: ComparisonTable) -> Iterator[Mapping[str, Any]]:
    for row in table.rows:
        for column in table.columns:
            if (row, column) in table.cells:
                yield (
                    {"benchmark": table.benchmark, "config": row, "metric": table.metric, "slice": table.slice}
                    | {"method": column.method, "reported": column.reported}
                    | {**vars(table.cells[row, column]), "bold": (row, column) in table.bold}
                )
