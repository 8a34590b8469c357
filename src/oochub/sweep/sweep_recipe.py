"""Sweep recipes: TOML files that say which tasks, methods, settings and seeds a sweep trains, and how it selects."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from inspect import signature
from pathlib import Path
from typing import Any

import datasets

from oochub import catalog
from oochub.data.load import check_options
from oochub.errors import OochubError, unknown_name
from oochub.sweep.head_kinds import HIDDEN_SIZE, hidden_width
from oochub.sweep.methods import ARGUMENTS, Method, check_names, check_table, read_method
from oochub.sweep.selection import RULES
from oochub.trainers.arguments import RobustTrainingArguments

FOLDER = Path(__file__).parent / "recipes"
"""Where the recipes lie that come with the hub."""

_TASK_KEYS: Mapping[str, type] = {
    "model": str,
    "pretrained": bool,
    "image_size": int,
    "environments": str,
    "seeds": list,
    "options": dict,
    "arguments": dict,
    "fixed": dict,
}
_PLAIN_KEYS: Mapping[str, type] = {
    **{key: kind for key, kind in _TASK_KEYS.items() if kind is not dict},
    **dict.fromkeys(("about", "source", "select", "head"), str),
    **dict.fromkeys(("tasks", "leave_out"), list),
    **dict.fromkeys(("draw_seed", "hidden_size"), int),
}
_KEYS = {**_PLAIN_KEYS, **dict.fromkeys(("options", "arguments", "methods", "per_task", "tuning", "variants"), dict)}
_VARIANT_KEYS = {**_PLAIN_KEYS, "options": dict, "arguments": dict, "tuning": dict, "methods": list}
_TUNING_KEYS: Mapping[str, type] = {"shared": str, "seeds": list, "carry": dict}


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Settings are selected on some tasks and carried to others.

    Attributes:
        seeds: Of the runs among which a setting is selected.
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
        name: Of its file, and of the variant after a slash where one was chosen.
        about: What it is, in a sentence.
        source: Paper and section.
        tasks: benchmark/config each.
        methods: In the order of the tables.
        seeds: Of the runs.
        model: As `oochub.training.train` takes it, like the next two.
        pretrained: Load the weights of `model`; False takes its architecture alone.
        image_size: Pixels; None for the model's own.
        environments: Column of the training environments; None for the benchmark's.
        options: Of the builder.
        arguments: Fields of RobustTrainingArguments that all runs have.
        select: Name of the selection rule.
        leave_out: The environments that leave_one_environment_out leaves out in turn.
        per_task: What is different on single tasks; `fixed` in it is by title of the method.
        tuning: None where a setting is selected on each task among all its runs.
        head: Of the runs on features, which has no part in fine-tuning: "linear", or "mlp" with one hidden layer.
        hidden_size: Of that layer.
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
    options: Mapping[str, Any]
    arguments: Mapping[str, Any]
    select: str = "validation_loss"
    leave_out: tuple[str, ...] = ()
    per_task: Mapping[str, Mapping[str, Any]]
    tuning: Tuning | None = None
    head: str = "linear"
    hidden_size: int = HIDDEN_SIZE

    @property
    def missing_benchmarks(self) -> list[str]:
        """Benchmarks of the tasks that this version does not have: the recipe can be listed, and not be run."""
        known = catalog.names("benchmark")
        return sorted({name for task in self.tasks if (name := task.partition("/")[0]) not in known})


def recipe_names() -> list[str]:
    """The recipes that come with the hub.

    >>> "nooch_suite" in recipe_names()
    True
    """
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read_recipe(
    recipe: str | Path, *, variant: str | None = None, overrides: Mapping[str, Any] | None = None
) -> SweepRecipe:
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
    name, raw = _opened(recipe)
    check_table(raw, _KEYS, f"the recipe {name}")
    if variant is not None:
        if variant not in raw.get("variants", {}):
            raise unknown_name(f"variant of {name}", variant, raw.get("variants", {}))
        raw, name = _varied(raw, raw["variants"][variant], f"the variant {variant} of {name}"), f"{name}/{variant}"
    raw = _overridden(raw, overrides or {})
    check_table(raw, _KEYS, f"the recipe {name}")
    for key in ("tasks", "methods", "model"):
        if not raw.get(key):
            raise OochubError(f"The recipe {name} has no {key}. The files in {FOLDER} are examples.")
    tasks = _tasks(raw["tasks"])
    seed = raw.get("draw_seed", 0)
    methods = tuple(read_method(title, one, draw_seed=seed) for title, one in raw["methods"].items())
    plain = ("model", "pretrained", "image_size", "environments", "about", "source", "select", "head", "hidden_size")
    made = SweepRecipe(
        **{key: raw[key] for key in plain if key in raw},
        name=name,
        tasks=tasks,
        methods=methods,
        seeds=_seeds(raw.get("seeds", [0]), f"the recipe {name}"),
        options=raw.get("options", {}),
        arguments=raw.get("arguments", {}),
        leave_out=tuple(raw.get("leave_out", ())),
        per_task=raw.get("per_task", {}),
        tuning=_tuning(raw["tuning"], tasks, methods) if raw.get("tuning") else None,
    )
    _check(made)
    return made


def _opened(recipe: str | Path) -> tuple[str, dict[str, Any]]:
    file = Path(recipe).expanduser()
    if file.suffix != ".toml":
        if str(recipe) not in recipe_names():
            hint = "A recipe of your own is a file whose name ends in .toml."
            raise unknown_name("recipe", str(recipe), recipe_names(), hint)
        file = FOLDER / f"{recipe}.toml"
    try:
        return file.stem, tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise OochubError(f"Could not read the recipe {file}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OochubError(f"{file} is not TOML: {error}.") from error


def _varied(raw: Mapping[str, Any], change: Mapping[str, Any], where: str) -> dict[str, Any]:
    check_table(change, _VARIANT_KEYS, where)
    made = dict(raw)
    for key, value in change.items():
        if key == "methods":
            for title in value:
                if title not in raw[key]:
                    raise unknown_name(f"method in {where}", title, raw[key])
            made[key] = {title: raw[key][title] for title in value}
        else:
            made[key] = {**made.get(key, {}), **value} if isinstance(value, Mapping) else value
    return made


def _overridden(raw: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    made = {**raw, "arguments": dict(raw.get("arguments", {})), "per_task": dict(raw.get("per_task", {}))}
    for key, value in overrides.items():
        if key not in _PLAIN_KEYS and key not in ARGUMENTS:
            raise unknown_name("key of a recipe, nor training argument,", key, [*_PLAIN_KEYS, *ARGUMENTS])
        for title, method in raw.get("methods", {}).items():
            if key in method or any(key in method.get(part, {}) for part in ("fixed", "grid", "random")):
                raise OochubError(f"The method {title} itself sets {key}. Change it in a recipe of your own.")
        if _PLAIN_KEYS.get(key) is list:
            value = [int(one) if str(one).isdigit() else one for one in (value if isinstance(value, list) else [value])]
        (made["arguments"] if key in ARGUMENTS else made)[key] = value
        for task, one in made["per_task"].items():
            kept = {name: of for name, of in one.items() if name != key}
            kept["arguments"] = {name: of for name, of in one.get("arguments", {}).items() if name != key}
            made["per_task"][task] = kept
    return made


def _tasks(patterns: list[str]) -> tuple[str, ...]:
    """The tasks, with `*` in the name of a config standing for all that match."""
    found: list[str] = []
    for pattern in patterns:
        benchmark, _, config = str(pattern).partition("/")
        if benchmark not in catalog.names("benchmark"):
            found.append(pattern)
            continue
        configs = datasets.get_dataset_config_names(benchmark)
        if not config and len(configs) == 1:
            found.append(benchmark)
            continue
        matching = [name for name in configs if fnmatchcase(name, config)]
        if not matching:
            raise unknown_name(f"config of {benchmark}", config, configs, "Write tasks as benchmark/config.")
        found += [f"{benchmark}/{name}" for name in matching]
    return tuple(dict.fromkeys(found))


def _seeds(seeds: list[Any], where: str) -> tuple[int, ...]:
    wrong = [one for one in seeds if isinstance(one, bool) or not isinstance(one, int) or one < 0]
    if wrong or not seeds or len(set(seeds)) < len(seeds):
        raise OochubError(f"seeds of {where} must be different whole numbers, 0 or larger, got {seeds!r}.")
    return tuple(seeds)


def _tuning(table: Mapping[str, Any], tasks: tuple[str, ...], methods: tuple[Method, ...]) -> Tuning:
    check_table(table, _TUNING_KEYS, "tuning")
    carry, shared, titles = table.get("carry", {}), table.get("shared"), [one.title for one in methods]
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
        seeds=_seeds(table.get("seeds", [0]), "tuning"),
        carry={task: tuple(others) for task, others in carry.items()},
    )


def _check(recipe: SweepRecipe) -> None:
    """Builds every objective and all training arguments once, so that a wrong value is said now."""
    if recipe.select not in RULES:
        raise unknown_name("selection rule", recipe.select, RULES)
    hidden_width(recipe.head, recipe.hidden_size)
    if (recipe.select == "leave_one_environment_out") != bool(recipe.leave_out):
        raise OochubError(
            "select = 'leave_one_environment_out' and leave_out, the list of the environments to leave out, go "
            f"together; got select = {recipe.select!r} and leave_out = {list(recipe.leave_out)}."
        )
    for benchmark in {task.partition("/")[0] for task in recipe.tasks} - set(recipe.missing_benchmarks):
        check_options(benchmark, recipe.options)
    titles = {one.title: dict for one in recipe.methods}
    for task, different in {"": {}, **recipe.per_task}.items():
        if task and task not in recipe.tasks:
            raise unknown_name("task of per_task", task, recipe.tasks)
        check_table(different, _TASK_KEYS, f"per_task of {task}")
        check_table(different.get("fixed", {}), titles, f"fixed of {task}")
        _seeds(different.get("seeds", [0]), f"per_task of {task}")
        for method in recipe.methods:
            own = {**method.fixed, **different.get("fixed", {}).get(method.title, {})}
            check_names(method.objective, own, f"the method {method.title}")
            for setting in method.settings:
                _check_values(method, {**recipe.arguments, **different.get("arguments", {}), **own, **setting})


def _check_values(method: Method, given: Mapping[str, Any]) -> None:
    own = list(signature(catalog.get("objective", method.objective)).parameters)
    if unknown := [name for name in given if name not in own and name not in ARGUMENTS]:
        raise unknown_name("training argument", unknown[0], ARGUMENTS)
    RobustTrainingArguments(output_dir="runs", **{name: one for name, one in given.items() if name in ARGUMENTS})
    hyperparameters = {name: one for name, one in given.items() if name not in ARGUMENTS}
    try:
        catalog.get("objective", method.objective)(**hyperparameters)
    except TypeError as error:
        raise OochubError(f"{method.objective} does not take {hyperparameters}: {error}.") from error
