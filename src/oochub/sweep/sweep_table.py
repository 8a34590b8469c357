"""The table of a sweep: one row per run, and what was selected, as mean and standard deviation over the seeds."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from oochub.report import format_numbers
from oochub.storage.parquet_file import write_parquet
from oochub.sweep.runs import Run, RunResult, format_setting
from oochub.sweep.selection import ORACLES, describe_rule, score_runs, select_settings
from oochub.sweep.sweep_recipe import SweepRecipe
from oochub.sweep.trial_tables import make_trial_tables

_KEY = b"oochub"
_SHARED = ["track", "rule", "stage", "task", "method", "objective", "setting", "headline"]  # what the seeds share


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


def to_markdown(table: pd.DataFrame, recipe: SweepRecipe, *, track: str) -> str:
    """The selection as a page: what was selected how, the table, what failed."""
    lines = [
        f"# Sweep {recipe.name}",
        "",
        f"{recipe.about} {recipe.source}".strip(),
        "",
        f"Track: {track}. Selection rule: {recipe.select}. {describe_rule(recipe.select)} Mean over seeds, with the "
        "standard deviation in brackets.",
    ]
    if recipe.select in ORACLES:
        lines += ["", f"**{ORACLES[recipe.select]}**"]
    lines += ["", f"| {' | '.join(SELECTION_HEADS)} |", f"|{' --- |' * len(SELECTION_HEADS)}"]
    lines += [f"| {' | '.join(row)} |" for row in selection_rows(make_selection_table(table))]
    tables = make_trial_tables(table) if recipe.trial_option else []
    lines += ["", "## Trials", "", TRIALS] if tables else []
    lines += [line for each in tables for line in ("", f"**{each.title}**", "", each.to_markdown())]
    failed = table[table["status"] == "failed"] if len(table) else table
    problems = list_unselected(table) + [f"Failed: {row['run']}: {row['error']}" for _, row in failed.iterrows()]
    lines += ["", *(f"- {problem}" for problem in problems)] if problems else []
    return "\n".join(lines) + "\n"


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
