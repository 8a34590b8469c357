"""What a sweep would run, listed: for `oochub sweep --dry-run`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from oochub.report import numbers
from oochub.sweep.runs import Run, words
from oochub.sweep.selection import rule_words
from oochub.sweep.sweep_recipe import SweepRecipe


@dataclass(frozen=True, kw_only=True)
class RunListing:
    """The runs of a sweep and how many trainings they are.

    Attributes:
        recipe: The recipe.
        runs: Every run, stage after stage.

    >>> from oochub.sweep.read_recipe import read_recipe
    >>> from oochub.sweep.runs import stages
    >>> recipe = read_recipe("nooch_suite")
    >>> listing = RunListing.of(recipe, stages(recipe))
    >>> listing.total, set(listing.per_task.values())
    (1152, {96})
    """

    recipe: SweepRecipe
    runs: tuple[Run, ...]

    @classmethod
    def of(cls, recipe: SweepRecipe, stages: Iterable[Iterable[Run]]) -> "RunListing":
        """The listing of a recipe's stages, see `oochub.sweep.runs.stages`."""
        return cls(recipe=recipe, runs=tuple(run for stage in stages for run in stage))

    @property
    def repeats(self) -> tuple[bool, ...]:
        """Of each run, whether it is a final run that repeats the tuning run that was selected: it is trained once."""
        tuned = {(run.task, run.method, run.seed) for run in self.runs if run.stage == "tuning"}
        return tuple(run.stage == "final" and (run.task, run.method, run.seed) in tuned for run in self.runs)

    @property
    def per_task(self) -> dict[str, int]:
        """How many trainings each task takes."""
        trainings = (run.task for run, repeats in zip(self.runs, self.repeats, strict=True) if not repeats)
        return dict(Counter(trainings))

    @property
    def total(self) -> int:
        """How many trainings there are."""
        return sum(self.per_task.values())

    def to_json(self) -> dict[str, Any]:
        """The listing as JSON types."""
        return {
            "recipe": self.recipe.name,
            "about": self.recipe.about,
            "source": self.recipe.source,
            "select": self.recipe.select,
            "rule": rule_words(self.recipe.select),
            "missing_benchmarks": self.recipe.missing_benchmarks,
            "runs": [_record(run, repeats) for run, repeats in zip(self.runs, self.repeats, strict=True)],
            "per_task": self.per_task,
            "total": self.total,
        }

    def terminal(self) -> Group:
        """The listing for a terminal: a line for each method and setting, what is fixed, the counts."""
        kinds: dict[tuple[str, ...], list[Run]] = {}
        for run in self.runs:
            kinds.setdefault((run.stage, run.method, _setting(run)), []).append(run)
        runs = _table("Stage", "Method", "Setting", "Tasks", "Seeds", "Left out", "Runs")
        for (stage, method, setting), group in kinds.items():
            left_out = sorted({run.left_out for run in group if run.left_out})
            counts = [str(len({run.task for run in group})), str(len({run.seed for run in group}))]
            runs.add_row(stage, method, setting, *counts, ", ".join(left_out) or numbers.ABSENT, str(len(group)))
        fixed = _table("Method", "Fixed")
        shared = _common(self.runs)
        fixed.add_row("all", words(shared) or numbers.ABSENT)
        for method in dict.fromkeys(run.method for run in self.runs):
            own = _common([run for run in self.runs if run.method == method])
            if rest := {name: value for name, value in own.items() if (name, value) not in shared.items()}:
                fixed.add_row(method, words(rest))
        tasks = _table("Task", "Runs")
        for task, count in self.per_task.items():
            tasks.add_row(task, numbers.count(count))
        rule = self.recipe.select
        lines = [f"{numbers.count(self.total)} runs of {self.recipe.name}. Selection rule: {rule}. {rule_words(rule)}"]
        if repeats := sum(self.repeats):
            lines.append(f"{repeats} of the final runs above repeat a tuning run and are trained once.")
        if self.recipe.missing_benchmarks:
            missing = ", ".join(self.recipe.missing_benchmarks)
            lines.append(f"Not in this version: the benchmark {missing}. These runs can be listed, not run.")
        return Group(Text(self.recipe.about), runs, Text(), fixed, Text(), tasks, Text(), *map(Text, lines))


def _common(runs: Iterable[Run]) -> dict[str, Any]:
    """What is fixed alike in all of the runs, such as a sampler."""
    first, *others = [run.fixed for run in runs] or [{}]
    return {name: value for name, value in first.items() if all(fixed.get(name) == value for fixed in others)}


def _setting(run: Run) -> str:
    """What is particular to a run, in words: the setting it follows and its own."""
    follows = ""
    if run.follows:
        task, method = run.follows
        follows = f"as selected for {method}" + (f" on {task}" if task != run.task else "")
    return ", ".join(filter(None, [follows, words(run.setting)])) or numbers.ABSENT


def _record(run: Run, repeats: bool) -> dict[str, Any]:
    return {
        "run": None if run.follows else run.id,
        "stage": run.stage,
        "task": run.task,
        "method": run.method,
        "objective": run.objective,
        "environments": run.environments,
        "setting": dict(run.setting),
        "follows": list(run.follows) if run.follows else None,
        "repeats": repeats,
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
