"""The tables of a sweep in trials, as DomainBed's: methods over the tasks of each data set, and over the data sets."""

import statistics
from collections.abc import Mapping, Sequence

import pandas as pd

from oochub.data.load import get_declaration, is_benchmark
from oochub.records.table import Table
from oochub.report import format_numbers

AVERAGE = "Average"
_Trials = Mapping[int, float]  # the number of each trial


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
    made: list[Table] = []
    for metric in dict.fromkeys(taken["headline"].dropna()) if len(taken) else ():
        rows = taken[taken["headline"] == metric]
        trials = list(dict.fromkeys(rows["trial"]))
        methods = list(dict.fromkeys(rows["method"]))
        tasks_of: dict[str, list[str]] = {}
        for task in dict.fromkeys(rows["task"]):
            tasks_of.setdefault(_find_title(task), []).append(task)
        averages: dict[str, dict[str, _Trials]] = {}
        for title, tasks in tasks_of.items():
            cells = {
                method: {task: _collect_trials(rows, method, task, f"out_of_context/{metric}") for task in tasks}
                for method in methods
            }
            averages[title] = {method: _average(list(of.values()), trials) for method, of in cells.items()}
            if len(tasks) > 1:
                heads = {task: task.partition("/")[2] or task for task in tasks}
                made.append(_tabulate(f"{title}, {metric}", heads, cells, averages[title], trials))
        if len(tasks_of) > 1:
            by_method = {method: {title: of[method] for title, of in averages.items()} for method in methods}
            overall = {method: _average(list(of.values()), trials) for method, of in by_method.items()}
            made.append(_tabulate(f"Averages, {metric}", {name: name for name in tasks_of}, by_method, overall, trials))
    return made


def _find_title(task: str) -> str:
    return str(get_declaration(task).title) if is_benchmark(task) else task


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
    return Table(title=title, heads=("Method", *heads.values(), AVERAGE), rows=rows)


def _format_trials(values: _Trials, trials: Sequence[int]) -> str:
    """Mean and standard error; "" where a trial is missing."""
    numbers = [values[trial] for trial in trials if trial in values]
    if len(numbers) < len(trials):
        return ""
    mean = format_numbers.fraction(statistics.fmean(numbers))
    if len(numbers) < 2:
        return mean
    return f"{mean} ({format_numbers.fraction(statistics.stdev(numbers) / len(numbers) ** 0.5)})"
