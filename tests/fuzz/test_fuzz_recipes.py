"""Sweep recipes with one thing wrong: the key or value is named, or the recipe is the same."""

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_case import CHANGED, REFUSED, SAFE, SAME, Case, Format, Used
from mutations import place_cases, text_cases

from oochub.records.schema import to_json
from oochub.sweep.sweep_recipe import read_recipe

_FILE = "own.toml"
_RECIPE: dict[str, Any] = {
    "about": "A recipe.",
    "source": "The paper, Section 5.",
    "tasks": ["spawrious/o2o_easy", "spawrious/o2o_hard"],
    "seeds": [0, 1],
    "model": "own/model",
    "pretrained": True,
    "image_size": 64,
    "environments": "background",
    "select": "validation_loss",
    "head": "mlp",
    "hidden_size": 8,
    "draw_seed": 3,
    "options": {"variant": "released"},
    "arguments": {"learning_rate": 0.01, "num_train_epochs": 2, "optim": "adam", "weight_decay": 0.0},
    "methods": {
        "ERM": {"objective": "erm", "grid": {"learning_rate": [0.1, 0.01]}},
        "DRO": {
            "objective": "group_dro",
            "fixed": {"adjustment": 0.5},
            "draws": 2,
            "random": {"step_size": {"loguniform": [0.001, 0.1]}},
        },
    },
    "per_task": {"spawrious/o2o_hard": {"arguments": {"max_steps": 5}, "fixed": {"ERM": {"weight_decay": 0.1}}}},
    "tuning": {"shared": "ERM", "seeds": [0], "carry": {"spawrious/o2o_easy": ["spawrious/o2o_hard"]}},
    "variants": {"short": {"seeds": [0]}},
}
_WRONG: dict[str, Any] = {
    "a text": "abc",
    "an empty text": "",
    "a number": 7,
    "a fraction": 0.5,
    "negative": -1,
    "huge": 10**18,
    "infinite": float("inf"),
    "not a number": float("nan"),
    "true": True,
    "a list": [],
    "a list of texts": ["abc"],
    "a list of lists": [[0]],
    "a table": {},
    "a table of a table": {"x": {"y": 1}},
}


def _toml(value: Any) -> str:
    """A value as TOML, tables inline; JSON's texts and numbers are TOML's."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value) if isinstance(value, float) else json.dumps(value)


def _text(recipe: dict[str, Any]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in recipe.items())


def _use(folder: Path, out: Path) -> Used:
    return Used(numbers=to_json(read_recipe(folder / _FILE)))


_THINGS = ("recipe", "method", "task", "training argument", "option", "tuning", "selection rule", "No head")
RECIPES = Format(
    name="recipes", make=lambda folder: (folder / _FILE).write_text(_text(_RECIPE)), use=_use, names=_THINGS
)


def _writing(recipe: dict[str, Any]) -> Any:
    return lambda folder: (folder / _FILE).write_text(_text(recipe))


def _grid(n: int) -> dict[str, Any]:
    numbers = [k / n for k in range(1, n + 1)]
    return {"ERM": {"objective": "erm", "grid": {"learning_rate": numbers, "weight_decay": numbers}}}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for key, item in inner:
        yield from _places(item, (*path, key))


def _changed() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """What is done, where, and the recipe that it gives."""
    for path in _places(_RECIPE):
        for word in (*_WRONG, "deleted", "renamed"):
            recipe = copy.deepcopy(_RECIPE)
            inner = recipe
            for step in path[:-1]:
                inner = inner[step]
            old = inner[path[-1]]
            if word == "deleted":
                inner.pop(path[-1])
            elif word == "renamed":
                if not isinstance(path[-1], str):
                    continue
                inner[f"{path[-1]}_"] = inner.pop(path[-1])
            else:
                inner[path[-1]] = copy.deepcopy(_WRONG[word])
            if recipe != _RECIPE or (word == "true" and type(old) is not bool):
                yield word, path, recipe


def _of_another_type(word: str, old: Any) -> bool:
    new = _WRONG.get(word)
    numbers = isinstance(old, int | float) and not isinstance(old, bool)
    if word in ("deleted", "renamed"):
        return False
    return not (numbers and type(new) in (int, float)) and type(new) is not type(old)


def _expected(word: str, path: tuple[Any, ...]) -> frozenset[str]:
    old = _RECIPE
    for step in path:
        old = old[step]
    if path[0] in ("variants", "options") or (path[0] == "methods" and path[-1] in ("grid", "random")):
        return SAFE | {CHANGED}  # read where they are chosen; an empty grid is one setting
    if _of_another_type(word, old) or word in ("infinite", "not a number"):
        return frozenset({REFUSED})
    return SAFE | {CHANGED}  # a recipe says what it says


CASES = [
    *text_cases(_FILE, blank=frozenset({REFUSED}), bom=frozenset({SAME, REFUSED})),
    *place_cases(_FILE),
    *(
        Case(
            name=f"{'.'.join(map(str, path))} {word}",
            mutate=_writing(recipe),
            expect=_expected(word, path),
            names=(*(str(step) for step in path if isinstance(step, str)), "own", f"{path[-1]}_"),
        )
        for word, path, recipe in _changed()
    ),
    *(
        Case(
            name=f"a task {task!r}",
            mutate=_writing(_RECIPE | {"tasks": [task, *_RECIPE["tasks"]]}),
            names=("task", task),
        )
        for task in (
            "../../x",
            "spawrious/../../x",
            "spawrious/nope",
            "",
            "/",
            "a/b/c",
            "nooch/*",
            "spawrious/\n",
            "..",
        )
    ),
    *(
        Case(
            name=f"a grid of {n:,} x {n:,}",
            mutate=_writing(_RECIPE | {"methods": _grid(n), "tuning": {}, "per_task": {}}),
            names=("ERM",),
        )
        for n in (2_999, 20_000)
    ),
    *(
        Case(
            name=f"{n:,} draws",
            mutate=_writing(
                _RECIPE | {"methods": {**_RECIPE["methods"], "DRO": _RECIPE["methods"]["DRO"] | {"draws": n}}}
            ),
            names=("DRO",),
        )
        for n in (0, -1, 10**7, 10**15)
    ),
    *(
        Case(name=f"{n:,} seeds", mutate=_writing(_RECIPE | {"seeds": list(range(n))}), expect=SAFE | {CHANGED})
        for n in (100, 5_000)
    ),
]


def test_the_writer_of_these_recipes():
    assert tomllib.loads(_text(_RECIPE)) == _RECIPE


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recipes(campaign, case):
    campaign.run(RECIPES, case)
