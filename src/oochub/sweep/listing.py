"""What a sweep would run, listed: for `oochub sweep --dry-run`."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from oochub.report import numbers
from oochub.sweep.runs import Run, words
from oochub.sweep.selection import rule_words
from oochub.sweep.sweep_recipe import SweepRecipe


def listing(recipe: SweepRecipe, stages: Iterable[Iterable[Run]]) -> dict[str, Any]:
    """The runs of a sweep and how many there are, JSON types only.

    Args:
        recipe: The recipe.
        stages: Its runs, see `oochub.sweep.runs.stages`.

    Returns:
        recipe, about, source, select, rule, missing_benchmarks, `runs` (one record each), `per_task` and `total`: how
        many trainings these are. A final run that repeats the tuning run that was selected (`repeats`) is not
        counted: it is trained once.

    >>> from oochub.sweep.sweep_recipe import read_recipe
    >>> from oochub.sweep.runs import stages
    >>> recipe = read_recipe("nooch_suite")
    >>> told = listing(recipe, stages(recipe))
    >>> told["total"], set(told["per_task"].values())
    (1152, {96})
    """
    runs = [run for stage in stages for run in stage]
    tuned = {(run.task, run.method, run.seed) for run in runs if run.stage == "tuning"}
    records = [_record(run, tuned) for run in runs]
    return {
        "recipe": recipe.name,
        "about": recipe.about,
        "source": recipe.source,
        "select": recipe.select,
        "rule": rule_words(recipe.select),
        "missing_benchmarks": recipe.missing_benchmarks,
        "runs": records,
        "per_task": dict(Counter(one["task"] for one in records if not one["repeats"])),
        "total": sum(not one["repeats"] for one in records),
    }


def terminal(told: dict[str, Any]) -> Group:
    """A listing for a terminal: a line for each method and setting, the count of each task, the total.

    Args:
        told: What `listing` returned.
    """
    kinds: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in told["runs"]:
        own, followed = words(one["setting"]), one["follows"] and f"as selected for {one['follows'][1]}"
        carried = f" on {one['follows'][0]}" if followed and one["follows"][0] != one["task"] else ""
        setting = ", ".join(filter(None, [followed and followed + carried, own])) or numbers.ABSENT
        kinds.setdefault((one["stage"], one["method"], setting), []).append(one)
    runs = _table("Stage", "Method", "Setting", "Tasks", "Seeds", "Left out", "Runs")
    for (stage, method, setting), group in kinds.items():
        left_out = sorted({one["left_out"] for one in group if one["left_out"]})
        counts = [str(len({one[key] for one in group})) for key in ("task", "seed")]
        runs.add_row(stage, method, setting, *counts, ", ".join(left_out) or numbers.ABSENT, str(len(group)))
    tasks = _table("Task", "Runs")
    for task, count in told["per_task"].items():
        tasks.add_row(task, numbers.count(count))
    repeats = sum(one["repeats"] for one in told["runs"])
    lines = [
        f"{numbers.count(told['total'])} runs of {told['recipe']}. Selection rule: {told['select']}. {told['rule']}"
    ]
    if repeats:
        lines.append(f"{repeats} of the final runs above repeat a tuning run and are trained once.")
    if told["missing_benchmarks"]:
        missing = ", ".join(told["missing_benchmarks"])
        lines.append(f"Not in this version: the benchmark {missing}. These runs can be listed, not run.")
    return Group(Text(told["about"]), runs, Text(), tasks, Text(), *map(Text, lines))


def _record(run: Run, tuned: set[tuple[str, str, int]]) -> dict[str, Any]:
    return {
        "run": None if run.follows else run.id,
        "stage": run.stage,
        "task": run.task,
        "method": run.method,
        "objective": run.objective,
        "environments": run.environments,
        "setting": dict(run.setting),
        "follows": list(run.follows) if run.follows else None,
        "repeats": run.stage == "final" and (run.task, run.method, run.seed) in tuned,
        "hyperparameters": run.hyperparameters,
        "arguments": run.arguments,
        "seed": run.seed,
        "left_out": run.left_out,
        "model": run.model,
    }


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in ("Tasks", "Seeds", "Runs") else "left")
    return table
