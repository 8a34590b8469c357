"""One table of a comparison: the runs of one benchmark on one metric and slice, their means, spreads and bold cells.

The compact table of a comparison or a sweep: methods as rows; in context, out of context and the gap as columns.
"""

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from oochub.comparison.methods_over_seeds import (
    AVERAGE,
    PREDICTIONS,
    MethodPlaces,
    SeededRuns,
    describe_few_seeds,
    place_rows,
)
from oochub.comparison.paper_numbers import (
    ReportedNumbers,
    find_reported_numbers,
    list_reported_configs,
    list_reported_models,
)
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.report_records import MetricDescription
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.report.paper_table import PaperCell, PaperTable, describe_metric, make_sentence, write_paper_cell
from oochub.report.report import Report
from oochub.report.report_record import check_all_rows
from oochub.stats.estimate import Estimate
from oochub.stats.seeded_difference import METHOD

_TASKS = 4
"""The most tasks that have rows of their own; of more the averages stand alone, if each method has one."""
GAP = "gap"
"""The slice of a table of gaps."""


class Column(NamedTuple):
    """A method of the table; `reported` is a paper's number, not a measured one."""

    method: str
    reported: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of the table.

    Attributes:
        mean: Mean over the seeds; nan where it is undefined in any of them.
        sd: Standard deviation over the seeds (ddof 1), nan for one seed.
        low: Lower end of the 95% interval over test images, of a single seed; else nan.
        high: Upper end of it.
        seeds: How many runs it is the mean of; 0 for a reported number.
        reason: Why it is undefined, or what limits the interval of a single seed.
        table: The table of a reported number, "" for a measured one: "3 (ce), version with the appendix".
    """

    mean: float
    sd: float = math.nan
    low: float = math.nan
    high: float = math.nan
    seeds: int = 0
    reason: str | None = None
    table: str = ""

    @property
    def spread(self) -> tuple[float, float]:
        """What must overlap with the best: mean - sd to mean + sd, or the interval of a single seed.

        >>> Cell(mean=0.5, sd=0.25, seeds=3).spread, Cell(mean=0.5, low=0.4, high=0.7, seeds=1).spread
        ((0.25, 0.75), (0.4, 0.7))
        """
        return (self.low, self.high) if math.isnan(self.sd) else (self.mean - self.sd, self.mean + self.sd)


@dataclass(frozen=True, kw_only=True)
class ComparisonTable:
    """One metric on one slice of one benchmark.

    Attributes:
        benchmark: Name of the benchmark.
        metric: Key of the metric.
        slice: Name of the slice.
        where: The slice in words.
        brief: The same in fewer, for the head of a column.
        title: Title of the metric.
        direction: "higher", "lower" or "none".
        unit: Unit of the metric.
        rows: The configs in the order of the paper's tables, others after them in order of appearance, then "Average"
            where there are several.
        columns: The methods in order of appearance, then the reported ones.
        cells: The numbers by row and column; what was not measured is not there.
        bold: The cells of methods that are not clearly worse than the best measured mean of their row, where `places`
            has tests; else those whose spread overlaps that of the best.
        notes: Caveats of the data, and what is undefined.
        reported_from: Where the reported numbers come from, in words; "" where none were asked for.
        places: Tests between the methods of each row that has two seeds and predictions of every method.
    """

    benchmark: str
    metric: str
    slice: str
    where: str
    brief: str
    title: str
    direction: str
    unit: str
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: Mapping[tuple[str, Column], Cell]
    bold: frozenset[tuple[str, Column]]
    notes: tuple[str, ...]
    reported_from: str
    places: Mapping[str, MethodPlaces] = field(default_factory=dict)


_Values = Mapping[tuple[str, Column], Mapping[tuple[int, ...], Estimate]]
"""Numbers by config and method, then by seeds."""


class ComparedRun(NamedTuple):
    """A report of a comparison, and what it is of; `path` is its file."""

    label: str
    report: Report
    benchmark: str
    config: str
    method: str
    seeds: tuple[int, ...]
    path: Path | None = None


def are_folds(configs: Sequence[str]) -> bool:
    """Whether configs are several folds of one data set, by their names.

    >>> are_folds(["poverty_fold_a", "poverty_fold_b"]), are_folds(["ce_car", "ce_bowl"])
    (True, False)
    """
    stems = {match and match[1] for match in (re.fullmatch(r"(.+)_fold_\w", config) for config in configs)}
    return len(configs) > 1 and len(stems) == 1 and None not in stems


def comparison_table(
    runs: Sequence[ComparedRun],
    *,
    seeded: SeededRuns,
    metric: str | None = None,
    slice: str | None = None,
    reported: bool = False,
    table: str | None = None,
    version: str | None = None,
) -> ComparisonTable:
    """The table of one benchmark's runs; see `oochub.comparison.comparison.comparison`.

    Args:
        runs: The runs.
        seeded: What tests read of the predictions beside the reports.
        metric: See there.
        slice: Name of one slice.
        reported: See there.
        table: See there.
        version: See there.

    Raises:
        OochubError: A metric or slice that no run has, runs of one config on different rows, or no choice among the
            paper's tables, or a report on chosen rows beside one on others.
    """
    _check_same_choice(runs, reported=reported)
    key, name, first = _find_metric_and_slice(runs, metric or runs[0].report.benchmark.primary_metric, slice)
    _check_same_rows(runs, name)
    facts, part = first.report.metrics[key], first.report.slice(name)
    values: dict[tuple[str, Column], dict[tuple[int, ...], Estimate]] = {}
    for run in runs:
        if f"{name}/{key}" in run.report:
            values.setdefault((run.config, Column(run.method)), {})[run.seeds] = run.report[f"{name}/{key}"]
    own = dict.fromkeys(run.config for run in runs)
    configs = list(dict.fromkeys([*(name for name in list_reported_configs(runs[0].benchmark) if name in own), *own]))
    columns = list(dict.fromkeys(Column(run.method) for run in runs))
    reports = [run.report for run in runs]
    of_models = _find_reported_columns(reports, key, name, table=table, version=version) if reported else {}
    printed = {model: numbers.among(configs) for model, numbers in of_models.items()}
    cells: dict[tuple[str, Column], Cell] = {}
    for model, theirs in printed.items():
        for (config, method), number in theirs.values.items():
            column = Column(f"{method}, {model}" if len(printed) > 1 else method, reported=True)
            printed_in = f"{number.table}, {theirs.version}" if theirs.version else number.table
            cells[config, column] = Cell(mean=number.mean, sd=number.sd, table=printed_in)
            columns += [] if column in columns else [column]
    cells = _fill_cells(configs, columns, values, cells)
    rows = [*configs, *([AVERAGE] if len(configs) > 1 else [])]
    title = wording.name(part.title, 60)
    side = wording.title_side(first.report.benchmark, part.role) if part.role in ("in", "out") else ""
    places = _test_methods(runs, key, name, configs, facts.direction, seeded)
    return ComparisonTable(
        benchmark=runs[0].benchmark,
        metric=key,
        slice=name,
        where=f"{side} ({title})" if side else title,
        brief=side or title,
        title=facts.title,
        direction=facts.direction,
        unit=facts.unit,
        rows=tuple(rows),
        columns=tuple(columns),
        cells=cells,
        bold=frozenset(place for row in rows for place in _find_best(row, columns, cells, facts.direction, places)),
        notes=(
            *_collect_notes(runs, configs),
            *dict.fromkeys(note for theirs in printed.values() for note in theirs.notes),
            *_find_undefined(cells),
        ),
        reported_from=" ".join(map(str, printed.values())),
        places=places,
    )


def _test_methods(
    runs: Sequence[ComparedRun], metric: str, slice: str, configs: Sequence[str], direction: str, seeded: SeededRuns
) -> dict[str, MethodPlaces]:
    """The tests between methods, where each of a task has two seeds and predictions beside its reports."""
    rows: dict[str, dict[str, dict[tuple[int, ...], ComparedRun]]] = {config: {} for config in configs}
    for run in runs:
        if f"{slice}/{metric}" in run.report:
            rows[run.config].setdefault(run.method, {})[run.seeds] = run
    tested = {config for config, methods in rows.items() if len(methods) > 1 and all(map(_has_seeds, methods.values()))}
    return place_rows(
        {
            config: {
                method: {
                    seeds: seeded.measure(run.path.parent / PREDICTIONS, metric, slice, run.report[f"{slice}/{metric}"])
                    for seeds, run in of_seed.items()
                    if run.path is not None
                }
                for method, of_seed in methods.items()
            }
            for config, methods in rows.items()
            if config in tested
        },
        direction=direction,
        average=len(tested) == len(configs) and not are_folds(configs),
    )


def _has_seeds(runs: Mapping[tuple[int, ...], ComparedRun]) -> bool:
    return len(runs) > 1 and all(run.path and (run.path.parent / PREDICTIONS).exists() for run in runs.values())


def build_side_tables(
    runs: Sequence[ComparedRun],
    *,
    seeded: SeededRuns,
    metric: str | None = None,
    reported: bool = False,
    table: str | None = None,
    version: str | None = None,
) -> tuple[ComparisonTable, ...]:
    """The tables in context, out of context and of the gap, out of context minus in context.

    The gap of a run on its primary metric is that of its report, with its interval; on another metric it is the
    difference alone.

    Returns:
        The three; none where no report has the metric on both sides.

    Raises:
        OochubError: What `comparison_table` raises.
    """
    key, *_ = _find_metric_and_slice(runs, metric or runs[0].report.benchmark.primary_metric, None)
    names = [next((p.name for run in runs for p in run.report.slices if p.role == role), "") for role in ("in", "out")]
    if not all(any(f"{name}/{key}" in run.report for run in runs) for name in names):
        return ()
    inside, outside = (
        comparison_table(runs, seeded=seeded, metric=key, slice=name, reported=reported, table=table, version=version)
        for name in names
    )
    values: dict[tuple[str, Column], dict[tuple[int, ...], Estimate]] = {}
    for run in runs:
        if all(f"{name}/{key}" in run.report for name in names):
            place = run.config, Column(run.method)
            values.setdefault(place, {})[run.seeds] = _measure_gap(run.report, key, *names)
    printed = {
        place: Cell(mean=cell.mean - inside.cells[place].mean)
        for place, cell in outside.cells.items()
        if place[1].reported and place[0] != AVERAGE and place in inside.cells
    }
    configs = [row for row in outside.rows if row != AVERAGE]
    columns = list(dict.fromkeys([*inside.columns, *outside.columns]))
    cells = _fill_cells(configs, columns, values, printed)
    gaps = replace(
        outside,
        slice="gap",
        where="gap",
        brief="gap",
        columns=tuple(columns),
        cells=cells,
        bold=frozenset(),
        notes=(),
        places={},
    )
    return inside, outside, gaps


def tabulate_values(
    values: _Values,
    described: MetricDescription,
    *,
    benchmark: str,
    metric: str,
    slice: str,
) -> ComparisonTable:
    """A table of numbers that are in no report, such as those of a sweep.

    Args:
        values: The numbers of each config and method, by their seeds.
        described: Meaning of the numbers.
        benchmark: Name of the benchmark, as in the table.
        metric: Name of the metric.
        slice: Name of the slice; "gap" has no bold cell.
    """
    rows, methods = list(dict.fromkeys(row for row, _ in values)), list(dict.fromkeys(column for _, column in values))
    cells = _fill_cells(rows, methods, values, {})
    rows += [AVERAGE] if len(rows) > 1 else []
    judged = [] if slice == "gap" else rows
    where = slice.replace("_", " ")
    return ComparisonTable(
        benchmark=benchmark,
        metric=metric,
        slice=slice,
        where=where,
        brief=where,
        title=described.title,
        direction=described.direction,
        unit=described.unit,
        rows=tuple(rows),
        columns=tuple(methods),
        cells=cells,
        bold=frozenset(place for row in judged for place in _find_best(row, methods, cells, described.direction, {})),
        notes=tuple(_find_undefined(cells)),
        reported_from="",
    )


def _measure_gap(report: Report, metric: str, inside: str, outside: str) -> Estimate:
    if metric == report.gap.metric:
        return report.gap.estimate
    one, other = report[f"{inside}/{metric}"], report[f"{outside}/{metric}"]
    return Estimate(other - one, n=one.n + other.n, method="difference", reason=one.reason or other.reason)


def _find_metric_and_slice(runs: Sequence[ComparedRun], metric: str, slice: str | None) -> tuple[str, str, ComparedRun]:
    """The key of the metric, the name of the slice, and the first run that has both."""
    keys = dict.fromkeys(key for run in runs for key in run.report.metrics)
    key = next((name for name in keys if name == metric or name.startswith(f"{metric}.")), None)
    if key is None:
        raise unknown_name(f"metric in the reports of {runs[0].benchmark}", metric, keys)
    for name in [slice] if slice else ["out_of_context", "all"]:
        for run in runs:
            if f"{name}/{key}" in run.report:
                return key, run.report.slice(name).name, run
    having = {path.rpartition("/")[0] for run in runs for path in run.report if path.endswith(f"/{key}")}
    raise unknown_name(f"slice with {key} in the reports of {runs[0].benchmark}", slice or "out_of_context", having)


def _check_same_choice(runs: Sequence[ComparedRun], *, reported: bool) -> None:
    """Refuses a report on chosen rows beside one on other rows, of any config, or beside a paper's numbers."""
    first = runs[0]
    for run in runs:
        if reported:
            check_all_rows(run.report, run.label, why="A paper's numbers are of a whole split")
        digests = [None if one.report.chosen_rows is None else one.report.chosen_rows.digest for one in (first, run)]
        if digests[0] != digests[1] and (run.config == first.config or None in digests):
            chosen = run if digests[1] is not None else first
            check_all_rows(chosen.report, chosen.label, why=f"{(first if chosen is run else run).label} is of others")


def _check_same_rows(runs: Sequence[ComparedRun], name: str) -> None:
    first: dict[tuple[str, int | None], ComparedRun] = {}  # a trial divides the rows anew
    for run in runs:
        here = next((part for part in run.report.slices if part.name == name), None)
        if here is None:
            continue
        other = first.setdefault((run.config, run.report.benchmark.trial_seed), run)
        there = other.report.slice(name)
        marks = {part.examples for part in (here, there) if part.examples is not None}  # older reports have none
        if here.n != there.n or len(marks) > 1:
            raise OochubError(
                f"{other.label} and {run.label} are both for {run.benchmark}/{run.config}, but their rows {name} "
                f"differ ({there.n:,} and {here.n:,}). Predict both on the same data."
            )


def _fill_cells(
    configs: Sequence[str], columns: Sequence[Column], values: _Values, printed: Mapping[tuple[str, Column], Cell]
) -> dict[tuple[str, Column], Cell]:
    """The cells of what was measured and of what a paper printed; of several configs also their averages."""
    cells = {place: _make_cell(list(of_seed.values())) for place, of_seed in values.items()} | dict(printed)
    averages = _average_cells(configs, columns, cells, values) if len(configs) > 1 else ()
    return cells | {(AVERAGE, column): cell for column, cell in averages}


def _make_cell(of_seeds: Sequence[Estimate]) -> Cell:
    values = [estimate.value for estimate in of_seeds]
    reason = next((estimate.reason for estimate in of_seeds if math.isnan(estimate)), None)
    if reason is not None or len(values) == 1:
        only = of_seeds[0]
        low, high = (only.low, only.high) if len(values) == 1 else (math.nan, math.nan)
        reason = only.reason if len(values) == 1 else reason
        mean = statistics.fmean(values)
        return Cell(mean=mean, low=low, high=high, seeds=len(values), reason=reason)
    return Cell(mean=statistics.fmean(values), sd=statistics.stdev(values), seeds=len(values))


def _average_cells(
    configs: Sequence[str],
    columns: Sequence[Column],
    cells: Mapping[tuple[str, Column], Cell],
    values: _Values,
) -> Iterator[tuple[Column, Cell]]:
    """The mean over all configs; its spread is that of the seeds' averages, where every config has the same seeds.

    Folds of one data set are its replicates: the spread is that of their means (PovertyMap of WILDS).
    """
    for column in columns:
        of_column = [cells.get((config, column)) for config in configs]
        means = [cell.mean for cell in of_column if cell is not None and not math.isnan(cell.mean)]
        if len(means) < len(configs):
            continue
        if are_folds(configs):
            yield column, Cell(mean=statistics.fmean(means), sd=statistics.stdev(means), seeds=len(means))
            continue
        of_seed = [values.get((config, column), {}) for config in configs]
        seeds = set(of_seed[0])
        same = len(seeds) > 1 and all(set(estimates) == seeds for estimates in of_seed)
        averages = [statistics.fmean(estimates[seed] for estimates in of_seed) for seed in seeds] if same else []
        sd = statistics.stdev(averages) if same else math.nan
        yield column, Cell(mean=statistics.fmean(means), sd=sd, seeds=len(seeds) if same else 0)


def _find_best(
    row: str,
    columns: Sequence[Column],
    cells: Mapping[tuple[str, Column], Cell],
    direction: str,
    places: Mapping[str, MethodPlaces],
) -> list[tuple[str, Column]]:
    """The cells that are bold; in a table with tests, those of rows that were tested."""
    if places:
        placed = places.get(row)
        names = [] if placed is None else [name for name in placed.places if not placed.is_behind_best(name)]
        return [(row, Column(name)) for name in names]
    sign = {"higher": 1, "lower": -1}.get(direction, 0)
    rivals = {(row, column): cells[row, column] for column in columns if not column.reported and (row, column) in cells}
    rivals = {place: cell for place, cell in rivals.items() if not any(map(math.isnan, (cell.mean, *cell.spread)))}
    if sign == 0 or len(rivals) < 2:
        return []
    low, high = max(rivals.values(), key=lambda cell: sign * cell.mean).spread
    return [place for place, cell in rivals.items() if cell.spread[0] <= high and cell.spread[1] >= low]


def _collect_notes(runs: Sequence[ComparedRun], configs: Sequence[str]) -> list[str]:
    of_note: dict[str, list[str]] = {}
    for run in runs:
        for note in run.report.notes:
            of_note.setdefault(note, []).append(run.config)
    return [
        note if set(of) == set(configs) else f"{', '.join(dict.fromkeys(of))}: {note}" for note, of in of_note.items()
    ]


def _find_undefined(cells: Mapping[tuple[str, Column], Cell]) -> list[str]:
    return [
        f"{row}, {column.method}: cannot be computed ({cell.reason or 'no reason given'})"
        for (row, column), cell in cells.items()
        if math.isnan(cell.mean)
    ]


def _find_reported_columns(
    reports: Sequence[Report], metric: str, slice: str, *, table: str | None = None, version: str | None = None
) -> dict[str, ReportedNumbers]:
    """The numbers of a paper that belong beside reports of one benchmark: those of the model that was trained.

    If a paper has tables of several models, those of the architecture that the reports say was trained are taken,
    from trained weights or from scratch as it was.

    Args:
        reports: Reports on one benchmark, one or more.
        metric: Key of the metric.
        slice: Name of the slice.
        table: The number or the name of a table, to take that one whatever was trained.
        version: The version of the paper that numbers its tables so.

    Returns:
        The numbers by the name of their model, in the order of the reports; one entry, named "", where no model was
        chosen.

    Raises:
        OochubError: The paper has several models, and what was trained is none of them or is not said.
    """
    benchmark = reports[0].benchmark.name
    models = list_reported_models(benchmark) if table is None else {}
    if not models:
        return {"": find_reported_numbers(benchmark, metric, slice, table=table, version=version)}
    trained = [
        (training.architecture, training.pretrained)
        for training in (r.provenance.training for r in reports)
        if training
    ]
    chosen = dict.fromkeys(
        model for pair in trained for model in models.values() if (model.architecture, model.pretrained) == pair
    )
    if not chosen:
        listed = "; ".join(f"{number}: {model.title}" for number, model in models.items())
        raise OochubError(
            f"The paper of {benchmark} has tables for several models ({listed}), and the reports do not say that one "
            f"of these was trained. Name a table with {choose_wording('table=')}."
        )
    return {model.title: find_reported_numbers(benchmark, metric, slice, model=model) for model in chosen}


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
    sentences = []
    if many:
        sentences.append(f"± is the standard deviation over {format_numbers.span(many)} seeds")
    if has_intervals:
        sentences.append("brackets hold 95% intervals over test rows")
    if any(table.bold for table in tables):
        is_tested = any(table.places for table in tables)
        which = "that is not clearly worse" if is_tested else "whose spread overlaps that of the best"
        sentences.append(f"bold marks the best of a column and every method {which}")
    gaps = next((table for table in tables if table.slice == GAP), None)
    if gaps is not None and len(tables) > 2:
        points = ", in points" if gaps.unit == "fraction" else ""
        sentences.append(f"the gap is {tables[1].brief} minus {tables[0].brief}{points}")
    return make_sentence("; ".join(sentences))


def _describe(tables: Sequence[ComparisonTable], tasks: Sequence[str], *, alone: bool, unpaired: bool) -> list[str]:
    """What must be known of the averages, of the comparison, and of numbers of a paper."""
    sentences = []
    if are_folds(tasks):
        sentences.append("The average is over the folds, with their standard deviation.")
    elif alone:
        sentences.append(f"The tasks are {wording.join_names([wording.name(task, 40) for task in tasks])}.")
    elif len(tasks) > 1:
        sentences.append("Methods that have every task have an average; its ± is the spread of the seeds' averages.")
    if placed := [placed for table in tables for placed in table.places.values()]:
        fewest = min(places.seeds for places in placed)
        sentences.append(
            f"Methods are tested over {fewest} seeds and the images that all runs share ({METHOD}), corrected by Holm "
            "over the pairs of a task."
        )
        sentences += describe_few_seeds(placed, tables[0].unit)
    elif unpaired and sum(not column.reported for column in tables[0].columns) > 1:
        sentences.append("Methods are compared unpaired: reports hold no single predictions.")
    printed = [table for table in tables if any(column.reported for column in table.columns)]
    return [*sentences, *filter(None, dict.fromkeys(table.reported_from for table in printed))]
