"""The runs of a sweep: every task x method x setting x seed, in stages where later ones follow a selection.

What a sweep would run is listed for `oochub sweep --dry-run`: `RunListing`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rich.console import Group
from rich.table import Table
from rich.text import Text

from oochub.errors import OochubError, unknown_name
from oochub.process.own_files import describe_own_files
from oochub.records.schema import optional
from oochub.report import format_numbers
from oochub.sweep.methods import ARGUMENTS, Method, Values
from oochub.sweep.selection import describe_rule
from oochub.sweep.sweep_recipe import SweepRecipe, Tuning, is_place, list_left_out

_MODEL = ("model", "pretrained", "image_size", "environments", "hold_out")
_TRAINED = ("task", "objective", "hyperparameters", "arguments", *_MODEL, "options", "left_out")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training of a sweep.

    Attributes:
        task: benchmark/config, or the place of own data.
        method: Title of the method.
        objective: Name of the objective in the catalog.
        seed: Random seed for the weights that are not loaded, the order of rows and the augmentation.
        setting: The hyperparameters and training arguments that vary among the runs of the method, by name.
        fixed: Those that do not vary.
        model: Model as `oochub.training.train` takes it, like the next two.
        pretrained: Load the weights of `model`; False takes its architecture alone.
        image_size: Pixels; None for the model's own.
        environments: Column of the training environments; None for the benchmark's.
        hold_out: Whether rows are held out, as `train` takes it.
        options: Options of the builder.
        left_out: The environment whose rows it does not see, None for a run on all of them.
        stage: "tuning", whose runs only serve to select a setting, or "final".
        follows: A task and a method of earlier stages; the setting selected for them joins this run's.
        mixes: Ids of the runs whose weights it mixes in place of a training; its setting then names the kind of soup.
    """

    task: str
    method: str
    objective: str
    seed: int
    setting: Values
    fixed: Values
    model: str
    pretrained: bool = True
    image_size: int | None = None
    environments: str | None = None
    hold_out: bool = False
    options: Values = field(default_factory=dict)
    left_out: str | None = None
    stage: str = "final"
    follows: tuple[str, str] | None = None
    mixes: tuple[str, ...] = ()

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """Those of the objective."""
        values = {} if self.mixes and "soup" in self.setting else self.setting
        return {name: value for name, value in {**self.fixed, **values}.items() if name not in ARGUMENTS}

    @property
    def arguments(self) -> dict[str, Any]:
        """The training arguments, with the seed."""
        values = {**self.fixed, **self.setting}
        return {name: value for name, value in values.items() if name in ARGUMENTS} | {"seed": self.seed}

    @property
    def id(self) -> str:
        """The name of its folder: readable, and different for runs that differ in anything.

        >>> run = Run(task="nooch/ce_car", method="GDRO", objective="group_dro", seed=0, setting={"adjustment": 5},
        ...     fixed={}, model="resnet-tiny")
        >>> run.id.rpartition("-")[0]  # the last part is a digest of everything
        'nooch-ce_car-gdro-adjustment=5-seed0'
        """
        trained = {name: getattr(self, name) for name in _TRAINED}
        if not self.hold_out:
            del trained["hold_out"]  # runs of before keep their ids
        if self.mixes:
            trained["mixes"] = [*self.setting.values(), *self.mixes]
        if own := describe_own_files().get(f"{self.objective}.py"):
            trained["file"] = own  # a changed objective is trained anew
        digest = hashlib.sha256(json.dumps(trained, sort_keys=True).encode()).hexdigest()[:8]
        task = Path(self.task).name if is_place(self.task) else self.task
        parts = [task, self.method, format_setting(self.setting), self.left_out and f"without-{self.left_out}"]
        readable = "-".join(re.sub(r"[^a-z0-9_.=]+", "-", str(part).lower()).strip("-") for part in parts if part)
        return f"{readable[:120]}-seed{self.seed}-{digest}"

    def following(self, setting: Values) -> "Run":
        """The run with the setting that was selected for what it follows."""
        return replace(self, setting={**setting, **self.setting}, follows=None)


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of a run; its row in the table, and `rows/<id>.json`.

    Attributes:
        status: Whether it came to its end.
        error: Why it failed; None where it did not.
        headline: The primary metric of its benchmark; None where it failed.
        numbers: Numbers by name, see `oochub.sweep.measurement.collect_numbers`; None where one is undefined.
        seconds: How long it took; None where it was not done.
    """

    status: Literal["finished", "failed"] = "finished"
    error: str | None = optional()
    headline: str | None = optional()
    numbers: Mapping[str, int | float | None] = field(default_factory=dict)
    seconds: float | None = optional()

    @classmethod
    def failure(cls, error: Exception | str) -> "RunResult":
        """The result of a run that failed.

        >>> RunResult.failure(OochubError("The loss is nan.")).error, RunResult.failure(KeyError("x")).error
        ('The loss is nan.', "KeyError: 'x'")
        """
        is_expected = isinstance(error, OochubError | str)
        return cls(status="failed", error=str(error) if is_expected else f"{type(error).__name__}: {error}")


def format_setting(setting: Values) -> str:
    """A setting in words.

    >>> format_setting({"learning_rate": 0.001, "form": "nooch"})
    'learning_rate=0.001 form=nooch'
    """
    return " ".join(f"{name}={value}" for name, value in setting.items())


def plan_stages(recipe: SweepRecipe, *, only: Iterable[str] = ()) -> list[list[Run]]:
    """The runs of a recipe, one list a stage; those of a stage depend on earlier stages only.

    Args:
        recipe: The recipe.
        only: Tasks, and titles or objectives of methods, to keep; those that they follow are kept as well.

    Raises:
        OochubError: A name in `only` that is neither.

    >>> from oochub.sweep.sweep_recipe import read_recipe
    >>> [len(stage) for stage in plan_stages(read_recipe("nooch_suite"), only=["nooch/ce_car", "GDRO"])]
    [12]
    """
    every = (
        list(_list_tuned(recipe, recipe.tuning))
        if recipe.tuning
        else [_list_stage(recipe, recipe.tasks, recipe.methods)]
    )
    if recipe.soup:
        every.append(list(_list_soups(recipe, every[-1])))
    wanted = set(only)
    tasks = set(recipe.tasks)
    methods = {name for method in recipe.methods for name in (method.title, method.objective)}
    for name in wanted - tasks - methods:
        raise unknown_name("task or method of the recipe", name, tasks | methods)
    kept: list[list[Run]] = []
    needed: set[tuple[str, str]] = set()
    for stage in reversed(every):
        runs = [
            run for run in stage if (run.task, run.method) in needed or _matches(run, wanted & tasks, wanted - tasks)
        ]
        needed |= {run.follows for run in runs if run.follows}
        kept.insert(0, runs)
    return [runs for runs in kept if runs]


def _matches(run: Run, tasks: set[str], methods: set[str]) -> bool:
    return (not tasks or run.task in tasks) and (not methods or bool({run.method, run.objective} & methods))


def _list_tuned(recipe: SweepRecipe, tuning: Tuning) -> Iterator[list[Run]]:
    """What all share, then each method's own on the tuning tasks, then every task with what was selected."""
    shared = [method for method in recipe.methods if method.title == tuning.shared]
    others = [method for method in recipe.methods if method.title != tuning.shared]
    if shared:
        yield _list_stage(recipe, tuning.carry, shared, seeds=tuning.seeds, stage="tuning")
    first = [
        (run, tuning.shared) for run in _list_stage(recipe, tuning.carry, others, seeds=tuning.seeds, stage="tuning")
    ]
    yield [replace(run, follows=(run.task, title)) if title else run for run, title in first]
    source = {task: first for first, rest in tuning.carry.items() for task in (first, *rest)}
    plain = [replace(method, settings=({},)) for method in recipe.methods]
    final = _list_stage(recipe, recipe.tasks, plain, left_out=())
    yield [replace(run, follows=(source[run.task], run.method)) for run in final]


def _list_stage(
    recipe: SweepRecipe,
    tasks: Iterable[str],
    methods: Iterable[Method],
    *,
    seeds: tuple[int, ...] | None = None,
    stage: str = "final",
    left_out: tuple[str, ...] | None = None,
) -> list[Run]:
    runs = []
    methods, of_task = list(methods), list_left_out(recipe)
    for task in tasks:
        own = recipe.per_task.get(task, {})
        common: dict[str, Any] = {
            "task": task,
            "stage": stage,
            **{name: own.get(name, getattr(recipe, name)) for name in _MODEL},
            "options": {**recipe.options, **own.get("options", {})},
        }
        arguments, environments = {**recipe.arguments, **own.get("arguments", {})}, common["environments"]
        for method in (candidate for candidate in methods if candidate.title in own.get("methods", [candidate.title])):
            fixed = {**arguments, **method.fixed, **own.get("fixed", {}).get(method.title, {})}
            common["environments"] = method.environments or environments
            for seed, setting in _list_settings(recipe, method, own, seeds):
                trial = {recipe.trial_option: seed} if recipe.trial_option else {}
                for environment in (None, *(of_task[task] if left_out is None else left_out)):
                    run = Run(
                        **common | {"options": {**common["options"], **trial}},
                        method=method.title,
                        objective=method.objective,
                        seed=seed,
                        setting=setting,
                        fixed={name: value for name, value in fixed.items() if name not in setting},
                        left_out=environment,
                    )
                    runs.append(run)
    return runs


def _list_settings(
    recipe: SweepRecipe, method: Method, own: Values, seeds: tuple[int, ...] | None
) -> Iterator[tuple[int, Values]]:
    """Each setting of a method with each seed; in trials, each seed with the settings that are drawn for it."""
    numbers, drawn = seeds or own.get("seeds", recipe.seeds), {part: own.get(part) for part in ("random", "default")}
    if recipe.trial_option:
        for seed in numbers:
            yield from ((seed, setting) for setting in method.draw_settings(trial=seed, **drawn))
        return
    for setting in method.draw_settings(**drawn) if any(drawn.values()) else method.settings:
        yield from ((seed, setting) for seed in numbers)


def _list_soups(recipe: SweepRecipe, runs: Iterable[Run]) -> Iterator[Run]:
    """A run for each task, method and seed that mixes the weights of its settings."""
    together: dict[tuple[str, str, int], list[Run]] = {}
    for run in runs:
        together.setdefault((run.task, run.method, run.seed), []).append(run)
    for first, *others in together.values():
        if others:
            ids = tuple(run.id for run in (first, *others))
            yield replace(first, setting={"soup": recipe.soup}, mixes=ids)


@dataclass(frozen=True, kw_only=True)
class RunListing:
    """The runs of a sweep and how many trainings they are.

    Attributes:
        recipe: The recipe.
        runs: Every run, stage after stage.

    >>> from oochub.sweep.sweep_recipe import read_recipe
    >>> from oochub.sweep.runs import plan_stages
    >>> recipe = read_recipe("nooch_suite")
    >>> listing = RunListing.of(recipe, plan_stages(recipe))
    >>> listing.total, set(listing.per_task.values())
    (1152, {96})
    """

    recipe: SweepRecipe
    runs: tuple[Run, ...]

    @classmethod
    def of(cls, recipe: SweepRecipe, stages: Iterable[Iterable[Run]]) -> "RunListing":
        """The listing of a recipe's stages, see `oochub.sweep.runs.plan_stages`."""
        return cls(recipe=recipe, runs=tuple(run for stage in stages for run in stage))

    @property
    def repeats(self) -> tuple[bool, ...]:
        """Whether each run is a final run that repeats the tuning run that was selected: it is trained once."""
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
            "rule": describe_rule(self.recipe.select),
            "missing_benchmarks": self.recipe.missing_benchmarks,
            "runs": [_record(run, repeats) for run, repeats in zip(self.runs, self.repeats, strict=True)],
            "per_task": self.per_task,
            "total": self.total,
        }

    def terminal(self) -> Group:
        """The listing for a terminal: a line for each method and setting, what is fixed, the counts."""
        kinds: dict[tuple[str, ...], list[Run]] = {}
        for run in self.runs:
            kinds.setdefault((run.stage, run.method, _describe_setting(run)), []).append(run)
        runs = _build_table("Stage", "Method", "Setting", "Tasks", "Seeds", "Left out", "Runs")
        for (stage, method, setting), group in kinds.items():
            left_out = sorted({run.left_out for run in group if run.left_out})
            counts = [str(len({run.task for run in group})), str(len({run.seed for run in group}))]
            runs.add_row(stage, method, setting, *counts, ", ".join(left_out) or format_numbers.ABSENT, str(len(group)))
        fixed = _build_table("Method", "Fixed")
        shared = _find_common(self.runs)
        fixed.add_row("all", format_setting(shared) or format_numbers.ABSENT)
        for method in dict.fromkeys(run.method for run in self.runs):
            own = _find_common([run for run in self.runs if run.method == method])
            if rest := {name: value for name, value in own.items() if (name, value) not in shared.items()}:
                fixed.add_row(method, format_setting(rest))
        tasks = _build_table("Task", "Runs")
        for task, count in self.per_task.items():
            tasks.add_row(task, format_numbers.count(count))
        rule = self.recipe.select
        lines = [
            f"{format_numbers.count(self.total)} runs of {self.recipe.name}. Selection rule: {rule}. "
            f"{describe_rule(rule)}"
        ]
        if repeats := sum(self.repeats):
            lines.append(f"{repeats} of the final runs above repeat a tuning run and are trained once.")
        if self.recipe.missing_benchmarks:
            missing = ", ".join(self.recipe.missing_benchmarks)
            lines.append(f"Not in this version: the benchmark {missing}. These runs can be listed, not run.")
        return Group(Text(self.recipe.about), runs, Text(), fixed, Text(), tasks, Text(), *map(Text, lines))


def _find_common(runs: Iterable[Run]) -> dict[str, Any]:
    """What is fixed alike in all of the runs, such as a sampler."""
    first, *others = [run.fixed for run in runs] or [{}]
    return {name: value for name, value in first.items() if all(fixed.get(name) == value for fixed in others)}


def _describe_setting(run: Run) -> str:
    """What is particular to a run, in words: the setting it follows and its own."""
    follows = ""
    if run.follows:
        task, method = run.follows
        follows = f"as selected for {method}" + (f" on {task}" if task != run.task else "")
    return ", ".join(filter(None, [follows, format_setting(run.setting)])) or format_numbers.ABSENT


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


def _build_table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in ("Tasks", "Seeds", "Runs") else "left")
    return table
