"""Sweep recipes: TOML files that say which tasks, methods, settings and seeds a sweep trains, and how it selects.

They are read and checked here.

Which tasks of a recipe a raw folder can give: those that a pattern matches and it cannot build are left out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import datasets

from oochub import catalog
from oochub.benchmark import find_data_folder
from oochub.data.load import get_builder_class
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.typed_values import Bounds, check_parameters
from oochub.storage.reading import TomlFile
from oochub.sweep.methods import (
    ARGUMENTS,
    METHOD_KEYS,
    Method,
    Values,
    check_names,
    check_table,
    join_draws,
    read_method,
)
from oochub.sweep.selection import RULES
from oochub.trainers.arguments import RobustTrainingArguments

FOLDER = Path(__file__).parent / "recipes"
"""Folder of the recipes that come with the hub."""

_LARGEST_SIZE = 100_000  # pixels a side, or numbers of a layer
_LARGEST_SEED = 2**32 - 1  # that numpy and torch take
_Size = Annotated[int, Bounds(1, _LARGEST_SIZE)]
_LISTS = ("seeds", "tasks", "leave_out", "needs")  # an override may give one item of them
_TASK_KEYS: Mapping[str, Any] = {
    "model": str,
    "pretrained": bool,
    "image_size": _Size,
    "environments": str,
    "hold_out": bool,
    "seeds": list,
    **dict.fromkeys(("options", "arguments", "fixed", "random", "default"), dict),
    "methods": list,
}
_PLAIN_KEYS: Mapping[str, Any] = {
    **{key: kind for key, kind in _TASK_KEYS.items() if kind is not dict and key != "methods"},
    **dict.fromkeys(("about", "source", "select", "trial_option"), str),
    "head": Literal["linear", "mlp"],
    "soup": Literal["", "uniform", "greedy"],  # as in model_soup, which imports torch
    "tasks": list,
    **dict.fromkeys(("leave_out", "needs"), Sequence[str]),
    **dict.fromkeys(("draw_seed", "draws"), int),
    "hidden_size": _Size,
}
_TABLES = ("options", "arguments", "methods", "per_task", "tuning", "variants", "random", "default")
_KEYS = {**_PLAIN_KEYS, **dict.fromkeys(_TABLES, dict)}
_VARIANT_KEYS = {**_PLAIN_KEYS, "options": dict, "arguments": dict, "tuning": dict, "methods": list}
_MOST_RUNS = 100_000
_TASK = re.compile(r"\w[\w-]*(/(?!\.)[\w.*?\[\]-]+)?")  # its config may hold * and ?; it becomes a part of a path
_PLACE = re.compile(r"\.(/(?!\.)[\w.-]+)+")  # of own data, below the working directory
_TUNING_KEYS: Mapping[str, type] = {"shared": str, "seeds": list, "carry": dict}


HIDDEN_SIZE = 256
"""Width of the hidden layer of an MLP head, where a recipe does not say; no paper gives one."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Settings are selected on some tasks and carried to others.

    Attributes:
        seeds: Random seeds of the runs among which a setting is selected.
        carry: Each tuning task with the tasks that take over what was selected on it.
        shared: Title of the method whose selected setting all others take over on the same task, besides their own.
    """

    seeds: tuple[int, ...]
    carry: Mapping[str, tuple[str, ...]]
    shared: str | None = None


@dataclass(frozen=True, kw_only=True)
class SweepRecipe:
    """A recipe, read and checked.

    Attributes:
        name: Name of its file, and of the variant after a slash if one was chosen.
        about: What it is, in a sentence.
        source: Paper and section.
        tasks: benchmark/config, ./repository or an id on the Hub each.
        methods: Methods in the order of the tables.
        seeds: Random seeds of the runs.
        model: Model as `oochub.training.train` takes it, like the next two.
        pretrained: Load the weights of `model`; False takes its architecture alone.
        image_size: Pixels; None for the model's own.
        environments: Column of the training environments; None for the benchmark's.
        hold_out: Whether half of the rows that would choose and be reported choose epoch and setting, as `train` takes
            it.
        options: Options of the builder.
        arguments: Fields of RobustTrainingArguments that all runs have.
        select: Name of the selection rule.
        leave_out: The environments that leave_one_environment_out leaves out in turn; "*" stands for those that the
            benchmark declares for its training.
        trial_option: Option of the builder that takes the seed: each seed is a trial, with rows divided by it, settings
            drawn anew for it, and a selection of its own. "" where seeds are repetitions of one setting.
        soup: "uniform" or "greedy" mixes the weights of a method's settings, for each task and seed, into one more
            setting, see `oochub.sweep.model_soup.make_soup`; "" mixes none.
        per_task: What is different on single tasks; `fixed` in it is by title of the method, `methods`
            are the titles of those that are run there, `random` and `default` take the place of the methods' own.
        tuning: None where a setting is selected on each task among all its runs.
        head: Head of the runs on features, which has no part in fine-tuning: "linear", or "mlp" with one hidden layer.
        hidden_size: Size of that layer.
        matched: Tasks that stand in the recipe as a pattern with `*`.
        needs: Benchmarks of the tasks that not every version has; other tasks of no benchmark are ids on the Hub.
    """

    name: str
    tasks: tuple[str, ...]
    methods: tuple[Method, ...]
    model: str
    about: str = ""
    source: str = ""
    seeds: tuple[int, ...] = (0,)
    pretrained: bool = True
    image_size: int | None = None
    environments: str | None = None
    hold_out: bool = False
    options: Values
    arguments: Values
    select: str = "validation_loss"
    leave_out: tuple[str, ...] = ()
    trial_option: str = ""
    soup: str = ""
    per_task: Mapping[str, Values]
    tuning: Tuning | None = None
    head: str = "linear"
    hidden_size: int = HIDDEN_SIZE
    needs: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()

    @property
    def missing_benchmarks(self) -> list[str]:
        """Those of `needs` that this version does not have: the recipe can be listed, and not be run."""
        return sorted(set(self.needs) - set(catalog.names("benchmark")))

    @property
    def benchmarks(self) -> list[str]:
        """Benchmarks of the tasks that this version has."""
        return sorted({name for task in self.tasks if (name := task.partition("/")[0]) in catalog.names("benchmark")})

    @property
    def hidden(self) -> int:
        """Width of the hidden layer of the heads on features; 0 for linear ones."""
        return self.hidden_size if self.head == "mlp" else 0


def is_place(task: str) -> bool:
    """Whether a task of a recipe is own data here, by their place, and not benchmark/config or an id on the Hub.

    >>> is_place("./birds"), is_place("nooch/ce_car")
    (True, False)
    """
    return task.startswith("./")


def name_features_track(hidden: int) -> str:
    """What tables call the track of heads on features; each kind of head is a track of its own.

    >>> name_features_track(0), name_features_track(256)
    ('features', 'features, MLP head of 256')
    """
    return f"features, MLP head of {hidden}" if hidden else "features"


def list_recipes() -> list[str]:
    """The recipes that come with the hub.

    >>> "nooch_suite" in list_recipes()
    True
    """
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read_recipe(recipe: str | Path, *, variant: str | None = None, overrides: Values | None = None) -> SweepRecipe:
    """Reads a recipe and checks every key, name and value in it; nothing is loaded or trained.

    Args:
        recipe: A file ending in .toml, or the name of a recipe that comes with the hub.
        variant: One of the recipe's `variants`: other values for some of its keys, and `methods` a list of titles.
        overrides: Keys of the recipe whose value is no table, or training arguments, in the place of what the recipe
            says of all tasks and of single ones.

    Raises:
        OochubError: No such file, recipe or variant; no TOML; an unknown key, name or value; an override of what a
            method itself sets or sweeps.

    >>> recipe = read_recipe("nooch_suite", overrides={"seeds": [0, 1]})
    >>> len(recipe.tasks), sum(len(method.settings) for method in recipe.methods), recipe.seeds
    (12, 32, (0, 1))
    """
    name, raw = _read_recipe(recipe)
    check_table(raw, _KEYS, f"the recipe {name}")
    if variant is not None:
        if variant not in raw.get("variants", {}):
            raise unknown_name(f"variant of {name}", variant, raw.get("variants", {}))
        raw, name = (
            _apply_change(raw, raw["variants"][variant], f"the variant {variant} of {name}"),
            f"{name}/{variant}",
        )
    for title, table in raw.get("methods", {}).items():
        check_table(table, METHOD_KEYS, f"the method {title}")
    for task, table in raw.get("per_task", {}).items():
        check_table(table, _TASK_KEYS, f"per_task of {task}")
        fixed = table.get("fixed", {})
        check_table(fixed, dict.fromkeys(fixed, dict), f"fixed in per_task of {task}")
    raw = _apply_overrides(raw, overrides or {})
    check_table(raw, _KEYS, f"the recipe {name}")
    for key in ("tasks", "methods", "model"):
        if not raw.get(key):
            raise OochubError(f"The recipe {name} has no {key}. The files in {FOLDER} are examples.")
    tasks = _expand_tasks(raw["tasks"])
    (seed,) = _check_seeds([raw.get("draw_seed", 0)], "the draws (draw_seed)")
    methods = tuple(
        read_method(title, join_draws(raw, table), draw_seed=seed) for title, table in raw["methods"].items()
    )
    plain = ("model", "pretrained", "image_size", "environments", "hold_out", "about", "source", "select")
    checked = SweepRecipe(
        **{key: raw[key] for key in (*plain, "head", "hidden_size", "trial_option", "soup") if key in raw},
        name=name,
        tasks=tasks,
        methods=methods,
        seeds=_check_seeds(raw.get("seeds", [0]), f"the recipe {name}"),
        options=raw.get("options", {}),
        arguments=raw.get("arguments", {}),
        leave_out=tuple(raw.get("leave_out", ())),
        needs=tuple(raw.get("needs", ())),
        matched=tuple(task for task in tasks if task not in raw["tasks"]),
        per_task=raw.get("per_task", {}),
        tuning=_read_tuning(raw["tuning"], tasks, methods) if raw.get("tuning") else None,
    )
    runs = len(checked.tasks) * len(checked.seeds) * sum(len(method.settings) for method in checked.methods)
    if runs > _MOST_RUNS:
        raise OochubError(
            f"The recipe {name} has {runs:,} runs ({len(checked.tasks)} tasks, {len(checked.seeds):,} seeds), and at "
            f"most {_MOST_RUNS:,} are allowed. Cut the grids, seeds or tasks, or make several recipes."
        )
    _check(checked)
    return checked


def _read_recipe(recipe: str | Path) -> tuple[str, dict[str, Any]]:
    file = Path(recipe).expanduser()
    if file.suffix != ".toml":
        if str(recipe) not in list_recipes():
            hint = "A recipe of your own is a file whose name ends in .toml."
            raise unknown_name("recipe", str(recipe), list_recipes(), hint)
        file = FOLDER / f"{recipe}.toml"
    return file.stem, TomlFile(file).content


def _apply_change(raw: Values, change: Values, where: str) -> dict[str, Any]:
    check_table(change, _VARIANT_KEYS, where)
    variant = dict(raw)
    for key, value in change.items():
        if key == "methods":
            for title in map(str, value):
                if title not in raw[key]:
                    raise unknown_name(f"method in {where}", title, raw[key])
            variant[key] = {title: raw[key][title] for title in value}
        else:
            variant[key] = {**variant.get(key, {}), **value} if isinstance(value, Mapping) else value
    return variant


def _apply_overrides(raw: Values, overrides: Values) -> dict[str, Any]:
    table = {**raw, "arguments": dict(raw.get("arguments", {})), "per_task": dict(raw.get("per_task", {}))}
    for key, value in overrides.items():
        if key not in _PLAIN_KEYS and key not in ARGUMENTS:
            raise unknown_name("key of a recipe, nor training argument,", key, [*_PLAIN_KEYS, *ARGUMENTS])
        for title, method in raw.get("methods", {}).items():
            if key in method or any(key in method.get(part, {}) for part in ("fixed", "grid", "random")):
                raise OochubError(f"The method {title} itself sets {key}. Change it in a recipe of your own.")
        if key in _LISTS:
            items = value if isinstance(value, list) else [value]
            value = [int(item) if str(item).isdecimal() else item for item in items]
        (table["arguments"] if key in ARGUMENTS else table)[key] = value
        for task, own in table["per_task"].items():
            rest = _drop_key(own, key)
            fixed = {title: _drop_key(values, key) for title, values in own.get("fixed", {}).items()}
            table["per_task"][task] = {**rest, "arguments": _drop_key(own.get("arguments", {}), key), "fixed": fixed}
    return table


def _drop_key(table: Values, key: str) -> dict[str, Any]:
    return {name: content for name, content in table.items() if name != key}


def _expand_tasks(patterns: list[str]) -> tuple[str, ...]:
    """The tasks, with `*` in the name of a config standing for all that match."""
    tasks: list[str] = []
    for pattern in patterns:
        if not isinstance(pattern, str) or not (_TASK.fullmatch(pattern) or _PLACE.fullmatch(pattern)):
            hint = "Write your own data below the working directory as ./folder, and data on the Hub as user/name."
            raise OochubError(f"A task of a recipe is written benchmark/config, got {pattern!r}. {hint}")
        benchmark, _, config = pattern.partition("/")
        if benchmark not in catalog.names("benchmark"):
            tasks.append(pattern)
            continue
        configs = datasets.get_dataset_config_names(benchmark)
        if not config and len(configs) == 1:
            tasks.append(benchmark)
            continue
        matching = [name for name in configs if fnmatchcase(name, config)]
        if not matching:
            raise unknown_name(f"config of {benchmark}", config, configs, "Write tasks as benchmark/config.")
        tasks += [f"{benchmark}/{name}" for name in matching]
    return tuple(dict.fromkeys(tasks))


def _check_seeds(seeds: list[Any], where: str) -> tuple[int, ...]:
    right = all(type(seed) is int and 0 <= seed <= _LARGEST_SEED for seed in seeds)
    if not right or not seeds or len(set(seeds)) < len(seeds):
        raise OochubError(
            f"seeds of {where} must be different whole numbers from 0 to {_LARGEST_SEED}, got {str(seeds)[:100]}."
        )
    return tuple(seeds)


def _read_tuning(table: Values, tasks: tuple[str, ...], methods: tuple[Method, ...]) -> Tuning:
    check_table(table, _TUNING_KEYS, "tuning")
    check_table(table.get("carry", {}), dict.fromkeys(tasks, list), "tuning.carry")
    carry, shared, titles = table.get("carry", {}), table.get("shared"), [method.title for method in methods]
    if shared is not None and shared not in titles:
        raise unknown_name("method of tuning.shared", shared, titles)
    covered = [task for source, others in carry.items() for task in (source, *others)]
    for task in covered:
        if task not in tasks:
            raise unknown_name("task of tuning.carry", task, tasks)
    if sorted(covered) != sorted(tasks):
        raise OochubError(
            f"tuning.carry must hold each task once, as a tuning task or in the list of one; it holds "
            f"{', '.join(covered)}, and the tasks are {', '.join(tasks)}."
        )
    return Tuning(
        shared=shared,
        seeds=_check_seeds(table.get("seeds", [0]), "tuning"),
        carry={task: tuple(others) for task, others in carry.items()},
    )


def _check(recipe: SweepRecipe) -> None:
    """Builds every objective and all training arguments once, so that a wrong value is said now."""
    if recipe.select not in RULES:
        raise unknown_name("selection rule", recipe.select, RULES)
    if (recipe.select == "leave_one_environment_out") != bool(recipe.leave_out):
        raise OochubError(
            "select = 'leave_one_environment_out' and leave_out, the list of the environments to leave out, go "
            f"together; got select = {recipe.select!r} and leave_out = {list(recipe.leave_out)}."
        )
    for benchmark in recipe.benchmarks:
        trials = dict.fromkeys([recipe.trial_option] if recipe.trial_option else [], 0)
        get_builder_class(benchmark).checked_options({**recipe.options, **trials})
    if recipe.soup and (recipe.tuning or recipe.leave_out):
        raise OochubError(
            f"soup={recipe.soup!r} mixes the settings of a task, so tuning and leave_out do not go with it. Remove "
            "one of them."
        )
    if recipe.tuning and (
        recipe.trial_option or any({"random", "default"} & set(own) for own in recipe.per_task.values())
    ):
        raise OochubError(
            "tuning carries settings to other tasks, so trial_option and random or default of per_task, which give "
            "others there, do not go with it. Remove one of them."
        )
    list_left_out(recipe)
    titles = {method.title: dict for method in recipe.methods}
    for task, table in {"": {}, **recipe.per_task}.items():
        if task and task not in recipe.tasks:
            raise unknown_name("task of per_task", task, recipe.tasks)
        check_table(table.get("fixed", {}), titles, f"fixed of {task}")
        for title in table.get("methods", ()):
            if title not in titles:
                raise unknown_name(f"method in per_task of {task}", str(title), titles)
        _check_seeds(table.get("seeds", [0]), f"per_task of {task}")
        for method in recipe.methods:
            own = {**method.fixed, **table.get("fixed", {}).get(method.title, {})}
            check_names(method.objective, own, f"the method {method.title}")
            drawn = {part: table.get(part) for part in ("random", "default")}
            numbers = recipe.seeds if recipe.trial_option else (None,)
            settings = [method.draw_settings(trial=number, **drawn) for number in numbers]
            for setting in chain(*settings):
                _check_values(method, {**recipe.arguments, **table.get("arguments", {}), **own, **setting})


def list_left_out(recipe: SweepRecipe) -> dict[str, tuple[str, ...]]:
    """The environments that each task leaves out in turn.

    Raises:
        OochubError: A task whose benchmark does not declare its environments, where "*" asks for them.

    >>> list_left_out(read_recipe("domainbed", variant="leave_one_domain_out"))["domains/pacs_sketch"]
    ('art_painting', 'cartoon', 'photo')
    """
    if "*" not in recipe.leave_out:
        return dict.fromkeys(recipe.tasks, recipe.leave_out)
    declared = {task: _find_training_environments(task) for task in recipe.tasks}
    if unknown := [task for task, environments in declared.items() if not environments]:
        raise OochubError(
            f"leave_out = ['*'] takes the environments that a benchmark declares for its training, and {unknown[0]} "
            "declares none. List their names."
        )
    return declared


def _find_training_environments(task: str) -> tuple[str, ...]:
    benchmark, _, config = task.partition("/")
    if benchmark not in catalog.names("benchmark"):
        return ()
    environments: tuple[str, ...] = catalog.get("benchmark", benchmark).of(config).training_environments
    return environments


def _check_values(method: Method, values: Values) -> None:
    own = list(signature(catalog.get("objective", method.objective)).parameters)
    if unknown := [name for name in values if name not in own and name not in ARGUMENTS]:
        raise unknown_name("training argument", unknown[0], ARGUMENTS)
    RobustTrainingArguments(output_dir="runs", **{name: value for name, value in values.items() if name in ARGUMENTS})
    hyperparameters = {name: value for name, value in values.items() if name not in ARGUMENTS}
    objective = catalog.get("objective", method.objective)
    check_parameters(objective, hyperparameters, kind=f"hyperparameter of {method.objective} in {method.title}")
    objective(**hyperparameters)


def keep_buildable_tasks(
    recipe: SweepRecipe, *, data_dir: str | None = None, needed: bool = True, only: Iterable[str] = ()
) -> SweepRecipe:
    """The recipe with the matched tasks that can be built; `about` says how many they are.

    Tasks that the recipe names itself stay, and so do those of a recipe with tuning, which names all.

    Args:
        recipe: The recipe.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        needed: Whether the raw folder must be there; False leaves all tasks where none is found and says so.
        only: Tasks that are asked for by name.

    Raises:
        OochubError: No raw folder, one that cannot be read, or no task that can be built; one of `only` that cannot.

    >>> from oochub.sweep.sweep_recipe import read_recipe
    >>> recipe = read_recipe("spawrious")
    >>> keep_buildable_tasks(recipe, needed=False) == recipe  # nothing of it is matched
    True
    """
    for name in recipe.benchmarks if recipe.tuning is None else ():
        declared = catalog.get("benchmark", name)
        matched = [task for task in recipe.matched if task.partition("/")[0] == name]
        if not matched or declared.not_buildable is None:
            continue
        try:
            folder = find_data_folder(declared, data_dir)
        except OochubError:
            if needed or data_dir is not None:
                raise
            text = (
                f"Which of the {len(matched)} matching tasks of {name} can be built follows from its raw folder: with "
                f"{choose_wording('data_dir=')} the others are left out."
            )
            recipe = replace(recipe, about=f"{recipe.about} {text}".strip())
            continue
        reasons = declared.not_buildable(folder, recipe.options)
        left_out = {task: reasons[config] for task in matched if (config := task.partition("/")[2]) in reasons}
        for task in only:
            if task in left_out:
                raise OochubError(f"{task} cannot be built from {folder}. {left_out[task]}")
        if not set(recipe.tasks) - set(left_out):
            task, reason = next(iter(left_out.items()))
            raise OochubError(f"None of the tasks can be built from {folder}, such as {task}: {reason}")
        text = f"{len(matched) - len(left_out)} of the {len(matched)} matching tasks of {name} can be built."
        text += "".join(f" The others are left out: {task}, for one. {why}" for task, why in [*left_out.items()][:1])
        tasks = tuple(task for task in recipe.tasks if task not in left_out)
        recipe = replace(recipe, tasks=tasks, about=f"{recipe.about} {text}".strip())
    return recipe
