"""The methods of a sweep: an objective with its settings, a grid of values or seeded random draws."""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from inspect import signature
from itertools import product
from math import isfinite, prod
from typing import Any

import numpy as np

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.records.typed_values import check_values
from oochub.trainers.arguments import RobustTrainingArguments

_MOST_SETTINGS = 10_000  # of one method
_OF_THE_SWEEP = {"output_dir", "overwrite_output_dir", "seed", "environment_column"}
_OF_THE_SWEEP |= {"eval_strategy", "save_strategy"}  # each epoch is validated
ARGUMENTS = [field.name for field in fields(RobustTrainingArguments) if field.name not in _OF_THE_SWEEP]
"""The training arguments that a recipe may set, sweep or draw."""

Values = Mapping[str, Any]
"""Values of TOML by their names."""

METHOD_KEYS: Mapping[str, type] = {
    **dict.fromkeys(("objective", "environments"), str),
    **dict.fromkeys(("fixed", "grid", "random", "default"), dict),
    "draws": int,
}
"""What the table of a method may hold."""
_DISTRIBUTIONS: Mapping[str, Callable[[Any, float], Any]] = {  # of the range or list of the recipe, and u in [0, 1)
    "uniform": lambda ends, u: _shorten_value(ends[0] + (ends[1] - ends[0]) * u),
    "loguniform": lambda ends, u: _shorten_value(ends[0] * (ends[1] / ends[0]) ** u),
    "whole_loguniform": lambda ends, u: int(ends[0] * (ends[1] / ends[0]) ** u),
    "choice": lambda among, u: among[int(len(among) * u)],
}


@dataclass(frozen=True, kw_only=True)
class Method:
    """An objective with the settings that a sweep tries.

    Attributes:
        title: Name of the method in tables ("GDRO").
        objective: Name of the objective in the catalog ("group_dro").
        fixed: Hyperparameters of the objective and training arguments that all its runs have.
        settings: What varies, one mapping a setting; one empty mapping where nothing does.
        environments: Column that gives the objective its environments; None for the recipe's.
        random: Distribution of each name that is drawn.
        default: The setting that is tried before those that are drawn; empty for none.
        draws: How many settings are drawn.
        draw_seed: Random seed for the draws.
    """

    title: str
    objective: str
    fixed: Values = field(default_factory=dict)
    settings: tuple[Values, ...] = ({},)
    environments: str | None = None
    random: Values = field(default_factory=dict)
    default: Values = field(default_factory=dict)
    draws: int = 0
    draw_seed: int = 0

    def draw_settings(
        self,
        *,
        trial: int | None = None,
        random: Values | None = None,
        default: Values | None = None,
    ) -> tuple[Values, ...]:
        """The settings with draws of a trial's own, or from other distributions; those of a grid as they are.

        Args:
            trial: Number of the trial; each has streams of its own. None for the recipe's only draws.
            random: Distributions that take the place of the method's own of the same names.
            default: Values that take the place of those of `default` of the same names.

        >>> table = {"objective": "erm", "random": {"dropout": {"choice": [0.0, 0.1, 0.5]}}, "draws": 5}
        >>> method = read_method("ERM", table)
        >>> method.draw_settings() == method.settings, method.draw_settings(trial=1) == method.settings
        (True, False)
        """
        if not self.random:
            return self.settings
        tables = {**self.random, **{name: table for name, table in (random or {}).items() if name in self.random}}
        seeds = [self.draw_seed] if trial is None else [self.draw_seed, trial]
        values = [_draw_values(self.title, name, table, self.draws, seeds) for name, table in tables.items()]
        drawn = tuple(dict(zip(tables, combination, strict=True)) for combination in zip(*values, strict=True))
        own = {name: (default or {}).get(name, value) for name, value in self.default.items()}
        return (own, *drawn) if own else drawn


def read_method(title: str, table: Values, *, draw_seed: int = 0) -> Method:
    """A method from its table in a recipe.

    Args:
        title: Name of the method in tables.
        table: `objective` (the title where it is left out), `environments` and `fixed`; to sweep, either `grid`, lists
            of values of which all combinations are tried, or `random` and `draws`, how many settings are drawn.
            `random` gives each name one of {uniform = [low, high]}, {loguniform = [low, high]},
            {whole_loguniform = [low, high]} (rounded down to whole numbers) or {choice = [...]}. Numbers are drawn to
            four digits; `times = 3` beside a range multiplies what is drawn. `default` is a setting of the same names
            that is tried before those that are drawn.
        draw_seed: Random seed for the draws. Each name of each method has a stream of its own, so that neither the
            order in the file nor another name changes them, and more draws begin with the same ones.

    Raises:
        OochubError: An unknown key, objective, hyperparameter or distribution, or a range that is none.

    >>> method = read_method("GDRO", {"objective": "group_dro", "grid": {"adjustment": [5, 30], "form": ["nooch"]}})
    >>> method.settings
    ({'adjustment': 5, 'form': 'nooch'}, {'adjustment': 30, 'form': 'nooch'})
    >>> table = {"objective": "group_dro", "random": {"step_size": {"loguniform": [1e-3, 1e-1]}}, "draws": 3}
    >>> [1e-3 <= setting["step_size"] < 1e-1 for setting in read_method("GroupDRO", table).settings]
    [True, True, True]
    """
    where = f"the method {title}"
    check_table(table, METHOD_KEYS, where)
    fixed, grid, random = (table.get(part, {}) for part in ("fixed", "grid", "random"))
    if grid and random:
        raise OochubError(f"The method {title} has both a grid and random draws. Keep one of them.")
    if bool(random) != ("draws" in table) or table.get("draws", 1) < 1:
        raise OochubError(
            f"The method {title} needs `random` and `draws`, 1 or more, together; got draws={table.get('draws')}."
        )
    objective = table.get("objective", title)
    check_names(objective, [*fixed, *grid, *random], where)
    if twice := [name for name in fixed if name in grid or name in random]:
        raise OochubError(f"The method {title} both fixes and sweeps {', '.join(twice)}. Keep one of them.")
    default, environments = table.get("default", {}), table.get("environments")
    if default and set(default) != set(random):
        raise OochubError(
            f"`default` of {where} must have the names that are drawn, {', '.join(random) or 'none'}; it has "
            f"{', '.join(default)}."
        )
    settings: Iterable[Values]
    drawn: dict[str, Any] = {}
    if random:
        _check_count(table["draws"], f"`draws` of {where}")
        drawn = {"random": random, "default": default, "draws": table["draws"], "draw_seed": draw_seed}
        settings = Method(title=title, objective=objective, **drawn).draw_settings()
    else:
        if wrong := [name for name, values in grid.items() if not isinstance(values, list) or not values]:
            raise OochubError(f"The grid of {where} needs a list of values of {wrong[0]}, got {grid[wrong[0]]!r}.")
        _check_count(prod(map(len, grid.values())), f"The grid of {where}")
        settings = (dict(zip(grid, values, strict=True)) for values in product(*grid.values()))
    return Method(
        title=title, objective=objective, fixed=fixed, settings=tuple(settings), environments=environments, **drawn
    )


def join_draws(recipe: Values, table: Values) -> Values:
    """A method's table with what all methods draw: the recipe's `random`, `default` and `draws`.

    >>> shared = {"random": {"dropout": {"uniform": [0.0, 0.5]}}, "draws": 3}
    >>> join_draws(shared, {"objective": "erm"})["draws"]
    3
    """
    if not recipe.get("random") or table.get("grid"):
        return table
    shared = {part: {**recipe.get(part, {}), **table.get(part, {})} for part in ("random", "default")}
    return {**table, **shared, "draws": table.get("draws", recipe.get("draws", 0))}


def _check_count(count: int, what: str) -> None:
    """Said before anything is expanded."""
    if count > _MOST_SETTINGS:
        raise OochubError(f"{what} gives {count:,} settings, and at most {_MOST_SETTINGS:,} are allowed. Take fewer.")


def check_names(objective: str, names: Iterable[str], where: str) -> None:
    """Checks that each name is a hyperparameter of the objective or a training argument.

    Raises:
        OochubError: An unknown objective or name.

    >>> check_names("group_dro", ["adjustment", "learning_rate"], "the method GDRO")
    """
    try:
        own = list(signature(catalog.get("objective", objective)).parameters)
    except OochubError as error:
        raise OochubError(f"{where[0].upper()}{where[1:]}: {error}") from None
    for name in names:
        if name not in own and name not in ARGUMENTS:
            raise unknown_name(f"hyperparameter of {objective} or training argument in {where}", name, own + ARGUMENTS)


def check_table(table: Any, allowed: Mapping[str, Any], where: str) -> None:
    """Checks that a table of TOML has only allowed keys, each with a value of its type.

    Raises:
        OochubError: Not a table, an unknown key or another type.

    >>> check_table({"seeds": [0]}, {"seeds": list}, "the recipe")
    """
    if not isinstance(table, Mapping):
        raise OochubError(f"{where} must be a table of TOML, got {table!r}.")
    check_values(table, allowed, kind=f"key in {where}", subject=f"{{name}} in {where}")


def _draw_values(title: str, name: str, table: Any, count: int, seeds: list[int]) -> list[Any]:
    where = f"random of {name} in the method {title}"
    check_table(table, {**dict.fromkeys(_DISTRIBUTIONS, list), "times": int}, where)
    kind, ends = next(((kind, ends) for kind, ends in table.items() if kind != "times"), ("", []))
    times = table.get("times", 1)
    if len(table) != 1 + ("times" in table) or (kind == "choice" and not ends) or times < 1:
        raise OochubError(f"{where} must be one distribution, for example {{uniform = [0, 1]}}, got {table!r}.")
    if kind != "choice":
        numbers = all(isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in ends)
        if len(ends) != 2 or not numbers or not ends[0] < ends[1] or ("log" in kind and ends[0] <= 0):
            least = ", both above 0" if "log" in kind else ""
            raise OochubError(f"{kind} in {where} needs [low, high] with low < high{least}, got {ends!r}.")
    stream = np.random.default_rng([*seeds, zlib.crc32(f"{title}/{name}".encode())])
    values = [_DISTRIBUTIONS[kind](ends, float(u)) for u in stream.random(count)]
    return [value * times for value in values] if "times" in table else values


def _shorten_value(value: float) -> float:
    return float(f"{value:.4g}")
