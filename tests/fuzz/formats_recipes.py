"""Sweep recipes with one thing wrong: the key or value is named, or the recipe is the same."""

import json
from pathlib import Path
from typing import Any

from fuzz_case import Format, Used

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


_THINGS = ("recipe", "method", "task", "training argument", "option", "tuning", "selection rule")
RECIPES = Format(
    name="recipes", make=lambda folder: (folder / _FILE).write_text(_text(_RECIPE)), use=_use, names=_THINGS
)
