"""The table of a sweep: one row per run, and what was selected, as mean and standard deviation over the seeds.

The selected settings of a sweep in LaTeX: the table of a paper, or every column of the selection.

The tables of a sweep in trials, as DomainBed's: methods over the tasks of each data set, and over the data sets.
"""

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from oochub.comparison.comparison import Comparison, comparison, format_note
from oochub.comparison.comparison_table import GAP, Column, ComparisonTable, paper_table_of_methods, tabulate_values
from oochub.data.load import get_declaration, is_benchmark
from oochub.errors import OochubError
from oochub.records.document import Block, Document, DocumentForms
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.paper_table import FULL, make_sentence
from oochub.report.report_record import describe_by_name
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.stats.estimate import Estimate
from oochub.storage.parquet_file import write_parquet
from oochub.sweep.runs import Run, RunResult, format_setting
from oochub.sweep.selection import ORACLES, describe_rule, score_runs, select_settings
from oochub.sweep.sweep_recipe import SweepRecipe

REPORT = "report.json"
"""The report of a run, in its folder."""
_SIDES = ("in_context", "out_of_context")


_WORDS = frozenset({0, 1, 2, 3})  # columns of the selection that hold words
_SAID = "Mean over seeds, with the standard deviation in brackets."
_KEY = b"oochub"
_SHARED = ["track", "rule", "stage", "task", "method", "objective", "setting", "headline"]  # what the seeds share


_AVERAGE = "Average"
_Trials = Mapping[int, float]  # the number of each trial


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepSummary(DocumentForms):
    """What a sweep found: the methods tested over seeds, the selected settings, trials, and every caveat.

    Attributes:
        recipe: What the runs are of.
        runs: The table of `make_run_table`.
        track: "fine-tuning" or one of `name_features_track`.
        compared: The reports of the final runs with the selected settings, side by side; None where runs have none.
        problem: Why they cannot be set side by side, a caveat; "" if they can.
    """

    recipe: SweepRecipe
    runs: pd.DataFrame
    track: str
    compared: Comparison | None = None
    problem: str = ""

    @classmethod
    def of(cls, recipe: SweepRecipe, runs: pd.DataFrame, folder: Path, *, track: str) -> "SweepSummary":
        """The summary of a sweep in a folder, whose reports and predictions are read."""
        taken = runs[runs["selected"] & (runs["stage"] == "final")] if len(runs) else runs
        reports = [file for path in (taken["path"] if len(taken) else ()) if (file := folder / path / REPORT).is_file()]
        compared, problem = None, ""
        try:
            compared = comparison(reports).with_notes(list_notes(runs, recipe)) if reports else None
        except OochubError as error:  # reports that cannot be set side by side, such as of two versions
            problem = f"The methods are not tested: {error}"
        return cls(recipe=recipe, runs=runs, track=track, compared=compared, problem=problem)

    @property
    def notes(self) -> list[str]:
        """Every caveat: how settings were selected, what failed, and those of the data."""
        tables = self.compared.tables if self.compared else ()
        of_data = [note for table in tables for note in table.notes]
        own = [*list_notes(self.runs, self.recipe), *filter(None, [self.problem])]
        return list(dict.fromkeys([*own, f"Track: {self.track}.", *of_data]))

    def to_latex(self, style: TableStyle = "compact") -> str:
        r"""The selected settings in LaTeX; needs `\usepackage{booktabs}`.

        Args:
            style: "compact" is the table of a paper, one for each headline metric: methods as rows; in context, out of
                context and the gap as columns, over the seeds of the selected setting. "full" has the columns of the
                sweep's page, with the settings.

        Returns:
            `table` environments; a comment where nothing was selected.

        Raises:
            OochubError: Another style.
        """
        recipe, compared = self.recipe, self.compared
        notes = [*list_notes(self.runs, recipe), *filter(None, [self.problem])]
        if TableSettings(style=style).style == "full":
            rows = selection_rows(make_selection_table(self.runs))
            text = Table(heads=SELECTION_HEADS, rows=tuple(map(tuple, rows)))
            title = f"The sweep {recipe.name}. {_SAID}"
            every = [*notes, *(note for table in (compared.tables if compared else ()) for note in table.notes)]
            return text.to_latex(" ".join([title, *map(make_sentence, dict.fromkeys(every))]), small=True)
        if compared is not None:
            several = len({tables[0].benchmark for tables in compared.sides}) > 1
            return compared.to_latex(
                label=lambda each: ("sweep", recipe.name, *([each.benchmark] * several), each.metric)
            )
        paper_tables = [
            paper_table_of_methods(
                tables,
                notes=[*notes, *dict.fromkeys(note for table in tables for note in table.notes)],
                label=("sweep", recipe.name, tables[0].metric),
                data=tables[0].rows[0] if len(tables[0].rows) == 1 else f"the tasks of the sweep {recipe.name}",
                unpaired=False,
            ).to_latex()
            for tables in _tabulate_sides(self.runs, recipe)
        ]
        return "\n".join(paper_tables) or f"% Nothing was selected. {FULL}\n"

    def _document(self) -> Document:
        recipe, tests = self.recipe, self.compared.format_tests() if self.compared else ()
        rows = tuple(map(tuple, selection_rows(make_selection_table(self.runs))))
        failed = self.runs[self.runs["status"] == "failed"] if len(self.runs) else self.runs
        trials = make_trial_tables(self.runs) if recipe.trial_option else []
        title = ORACLES.get(recipe.select, "Selected settings")
        problems = [f"Failed: {row['run']}: {row['error']}" for _, row in failed.iterrows()]
        return Document(
            headline=self.compared.headline if self.compared else "",
            sentences=tuple(filter(None, [f"{recipe.about} {recipe.source}".strip()])),
            blocks=(
                *tests,
                Block(table=Table(title=title, heads=SELECTION_HEADS, rows=rows, left=_WORDS), below=(_SAID,)),
                *(Block(table=trial, below=(TRIALS,)) for trial in trials),
            ),
            notes=tuple(format_note(note) for note in [*self.notes, *problems]),
            apart=True,
        )


def list_notes(table: pd.DataFrame, recipe: SweepRecipe) -> list[str]:
    """How the settings of a sweep were selected, on which track, and what failed or was not selected."""
    tracks = list(dict.fromkeys(table["track"])) if len(table) else []
    notes = [f"Settings are selected by {recipe.select}: {wording.put_in_sentence(describe_rule(recipe.select))}"]
    notes += [f"Track: {track}." for track in tracks]
    notes += [ORACLES[recipe.select]] if recipe.select in ORACLES else []
    failed = int((table["status"] == "failed").sum()) if len(table) else 0
    notes += [f"Runs that failed: {failed}."] if failed else []
    return [*notes, *list_unselected(table)]


def _tabulate_sides(table: pd.DataFrame, recipe: SweepRecipe) -> Iterator[tuple[ComparisonTable, ...]]:
    """For each headline metric its tables in context, out of context and of the gap, without a side that has none."""
    taken = table[table["selected"] & (table["stage"] == "final")] if len(table) else table
    for metric in dict.fromkeys(taken["headline"].dropna()) if len(taken) else ():
        runs: list[Any] = taken[taken["headline"] == metric].to_dict("records")
        described = describe_by_name(metric)
        sides = [_collect_values(runs, [f"{side}/{metric}"]) for side in _SIDES]
        both = [*zip(_SIDES, sides, strict=True), (GAP, _collect_values(runs, [f"{side}/{metric}" for side in _SIDES]))]
        tables = tuple(
            tabulate_values(values, described, benchmark=recipe.name, metric=metric, slice=name)
            for name, values in both
            if values
        )
        if tables:
            yield tables


def _collect_values(
    runs: Sequence[Any], names: Sequence[str]
) -> dict[tuple[str, Column], dict[tuple[int, ...], Estimate]]:
    """The number of each run by task, method and seed; for two names second minus first, without an interval."""
    values: dict[tuple[str, Column], dict[tuple[int, ...], Estimate]] = {}
    if not all(any(not math.isnan(run.get(name, math.nan)) for run in runs) for name in names):
        return values  # no run has it
    for run in runs:
        numbers = [run.get(name, math.nan) for name in names]
        value, ends = numbers[-1], {end: run.get(f"{names[-1]}.{end}", math.nan) for end in ("low", "high")}
        if len(names) > 1:
            value, ends = numbers[-1] - numbers[0], {}
        reason = "undefined in a run" if math.isnan(value) else None
        of_seed = values.setdefault((run["task"], Column(run["method"])), {})
        of_seed[(run["seed"],)] = Estimate(value, n=1, method="run", reason=reason, **ends)
    return values


def make_run_table(
    recipe: SweepRecipe, results: Iterable[tuple[Run, RunResult]], *, track: str = "fine-tuning"
) -> pd.DataFrame:
    """One row per run.

    Args:
        recipe: What the runs are of.
        results: Each run with what came of it.
        track: "fine-tuning" or one of `name_features_track`; no two share a table.

    Returns:
        sweep, track, rule, stage, run, path (of the run's folder, below the table's), task, method, objective,
        environments (their column, where the recipe names one), setting (JSON), seed, left_out, status, error,
        headline, score (by the rule, higher is better), selected (by the rule), seconds, hyperparameters and arguments
        (JSON), trial (its seed) if the recipe has trials, then `setting.<name>` and the numbers: `validation/...`,
        and `in_context/<metric>`, `out_of_context/<metric>`, ... of the test with `.low`, `.high` (95% interval) and
        `.n`. Undefined is nan.
    """
    records = [_record(recipe, run, result, track) for run, result in results]
    columns = list(dict.fromkeys(key for record in records for key in record))
    table = pd.DataFrame.from_records(records, columns=columns)
    if table.empty:
        return table
    for name in (column for column in columns if column.startswith("setting.")):
        if table[name].map(type).nunique() > 1 and table[name].map(lambda value: isinstance(value, str)).any():
            table[name] = table[name].map(str, na_action="ignore")  # a column of Parquet has one type
    table["score"], table["selected"] = (
        score_runs(table, recipe.select),
        select_settings(table, recipe.select, by_trial=bool(recipe.trial_option)),
    )
    return table


def make_selection_table(table: pd.DataFrame) -> pd.DataFrame:
    """The selected setting of each task and method, with the mean and standard deviation of each number over seeds.

    Args:
        table: Table of `make_run_table`; for a recipe with tuning, its final runs count.

    Returns:
        track, rule, stage, task, method, objective, setting, headline, seeds (how many), and `<number>` and
        `<number>.sd` (ddof 1; nan for one seed). In trials, each of which selects its own, the setting is JSON of the
        setting of each trial.
    """
    taken = table[table["selected"] & (table["stage"] == "final")] if len(table) else table
    if taken.empty:
        return pd.DataFrame(columns=[*_SHARED, "seeds"])
    names = map(str, table.columns)
    measured = [name for name in names if "/" in name and not name.endswith((".low", ".high", ".n"))]
    taken = _join_settings(taken) if "trial" in taken else taken
    groups = taken.groupby(_SHARED, sort=False, dropna=False)
    means = groups[measured].mean()
    spread = groups[measured].std(ddof=1).add_suffix(".sd")
    both = pd.concat([groups["seed"].nunique().rename("seeds"), means, spread], axis=1)
    order = ["seeds", *(column for name in measured for column in (name, f"{name}.sd"))]
    return both[order].reset_index()


def _join_settings(taken: pd.DataFrame) -> pd.DataFrame:
    """The runs of trials, with the settings of all trials of a task and method in the place of each one's own."""
    joined = taken.copy()
    for _, rows in taken.groupby(["task", "method"], sort=False):
        own = {str(trial): json.loads(setting) for trial, setting in zip(rows["trial"], rows["setting"], strict=True)}
        joined.loc[rows.index, "setting"] = json.dumps({"trials": own})
    return joined


def write_table(table: pd.DataFrame, path: Path, recipe: SweepRecipe) -> None:
    """Writes a table as Parquet, whole or not at all, with the recipe and the rule in its metadata."""
    about = {
        "sweep": recipe.name,
        "source": recipe.source,
        "rule": recipe.select,
        "rule_is": describe_rule(recipe.select),
        "notes": list_notes(table, recipe) if "status" in table else [],
    }
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), _KEY: json.dumps(about).encode()})
    write_parquet(arrow, path)


def selection_rows(selection: pd.DataFrame) -> list[list[str]]:
    """The selection as text: task, method, setting, metric, in context, out of context, seeds; times 100."""
    return [
        [
            row["task"],
            row["method"],
            _describe_setting(json.loads(row["setting"])),
            str(row["headline"]),
            *(_format_cell(row, f"{side}/{row['headline']}") for side in ("in_context", "out_of_context")),
            str(row["seeds"]),
        ]
        for _, row in selection.iterrows()
    ]


def _describe_setting(setting: Mapping[str, Any]) -> str:
    return "one for each trial" if "trials" in setting else format_setting(setting) or format_numbers.ABSENT


SELECTION_HEADS = ("Task", "Method", "Setting", "Metric", "In context × 100", "Out of context × 100", "Seeds")
"""The heads of `selection_rows`."""


def list_unselected(table: pd.DataFrame) -> list[str]:
    """A sentence for each method and task for which no setting was selected.

    >>> list_unselected(pd.DataFrame({"stage": ["final"], "task": ["t"], "method": ["m"], "selected": [False]}))
    ['Nothing was selected for m on t: no setting has a score.']
    """
    if table.empty:
        return []
    any_selected = table[table["stage"] == "final"].groupby(["task", "method"], sort=False)["selected"].any()
    return [
        f"Nothing was selected for {method} on {task}: no setting has a score."
        for task, method in any_selected.index[~any_selected]
    ]


TRIALS = "Out of context × 100: mean over trials, with the standard error in brackets."
"""What the tables of trials show."""


def _record(recipe: SweepRecipe, run: Run, result: RunResult, track: str) -> dict[str, Any]:
    return {
        "sweep": recipe.name,
        "track": track,
        "rule": recipe.select,
        "stage": run.stage,
        "run": run.id,
        "path": f"runs/{run.id}",
        "task": run.task,
        "method": run.method,
        "objective": run.objective,
        "environments": run.environments,
        "setting": json.dumps(dict(run.setting)),
        "seed": run.seed,
        **({"trial": run.seed} if recipe.trial_option else {}),
        "left_out": run.left_out,
        "status": result.status,
        "error": result.error,
        "headline": result.headline,
        "score": float("nan"),
        "selected": False,
        "seconds": result.seconds,
        "hyperparameters": json.dumps(run.hyperparameters),
        "arguments": json.dumps(run.arguments),
        **{f"setting.{name}": value for name, value in run.setting.items()},
        **{name: float("nan") if value is None else value for name, value in result.numbers.items()},
    }


def _format_cell(row: Any, name: str) -> str:
    value = format_numbers.fraction(row.get(name))
    spread = row.get(f"{name}.sd")
    return value if format_numbers.is_undefined(spread) else f"{value} ({format_numbers.fraction(spread)})"


def make_trial_tables(table: pd.DataFrame) -> list[Table]:
    """A table for each data set, its tasks as columns, and one of all if there are several.

    The average of a data set is the mean over its tasks in each trial, and its standard error is over the trials. A
    task that a method lacks in a trial leaves its cell and its averages empty.

    Args:
        table: Table of `oochub.sweep.sweep_table.make_run_table` for a recipe with trials.

    Returns:
        Tables whose cells are the mean over trials and its standard error, the standard deviation (ddof 1) divided by
        the root of the number of trials; times 100. DomainBed's code takes ddof 0, so with three trials its printed
        errors are 0.82 times these.
    """
    taken = table[table["selected"] & (table["stage"] == "final")] if len(table) else table
    tables: list[Table] = []
    for metric in dict.fromkeys(taken["headline"].dropna()) if len(taken) else ():
        rows = taken[taken["headline"] == metric]
        trials = list(dict.fromkeys(rows["trial"]))
        methods = list(dict.fromkeys(rows["method"]))
        tasks_of: dict[str, list[str]] = {}
        for task in dict.fromkeys(rows["task"]):
            tasks_of.setdefault(str(get_declaration(task).title) if is_benchmark(task) else task, []).append(task)
        averages: dict[str, dict[str, _Trials]] = {}
        for title, tasks in tasks_of.items():
            cells = {
                method: {task: _collect_trials(rows, method, task, f"out_of_context/{metric}") for task in tasks}
                for method in methods
            }
            averages[title] = {method: _average(list(of.values()), trials) for method, of in cells.items()}
            if len(tasks) > 1:
                heads = {task: task.partition("/")[2] or task for task in tasks}
                tables.append(_tabulate(f"{title}, {metric}", heads, cells, averages[title], trials))
        if len(tasks_of) > 1:
            by_method = {method: {title: of[method] for title, of in averages.items()} for method in methods}
            overall = {method: _average(list(of.values()), trials) for method, of in by_method.items()}
            tables.append(
                _tabulate(f"Averages, {metric}", {name: name for name in tasks_of}, by_method, overall, trials)
            )
    return tables


def _collect_trials(rows: pd.DataFrame, method: str, task: str, number: str) -> _Trials:
    own = rows[(rows["method"] == method) & (rows["task"] == task)]
    return dict(zip(own["trial"], own[number], strict=True)) if number in own else {}


def _average(parts: Sequence[_Trials], trials: Sequence[int]) -> _Trials:
    """The mean of each trial that all parts have."""
    return {trial: statistics.fmean(of[trial] for of in parts) for trial in trials if all(trial in of for of in parts)}


def _tabulate(
    title: str,
    heads: Mapping[str, str],
    cells: Mapping[str, Mapping[str, _Trials]],
    averages: Mapping[str, _Trials],
    trials: Sequence[int],
) -> Table:
    rows = tuple(
        (method, *(_format_trials(of[key], trials) for key in heads), _format_trials(averages[method], trials))
        for method, of in cells.items()
    )
    return Table(title=title, heads=("Method", *heads.values(), _AVERAGE), rows=rows)


def _format_trials(values: _Trials, trials: Sequence[int]) -> str:
    """Mean and standard error; "" where a trial is missing."""
    numbers = [values[trial] for trial in trials if trial in values]
    if len(numbers) < len(trials):
        return ""
    mean = format_numbers.fraction(statistics.fmean(numbers))
    if len(numbers) < 2:
        return mean
    return f"{mean} ({format_numbers.fraction(statistics.stdev(numbers) / len(numbers) ** 0.5)})"
