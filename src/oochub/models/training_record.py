"""Reads how a model was trained from the recipe that `oochub train` leaves beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.records.metadata import HeldOut, Training
from oochub.records.schema import from_json, optional, to_json
from oochub.storage.reading import read_json


@dataclass(frozen=True, kw_only=True)
class _Objective:
    name: str
    hyperparameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Data:
    benchmark: str | None
    config: str | None
    version: str | None
    rows: Mapping[str, int]
    environment_column: str | None


@dataclass(frozen=True, kw_only=True)
class _Selection:
    rule: str
    held_out: HeldOut | None = optional()


@dataclass(frozen=True, kw_only=True)
class _Model:
    architecture: str | None = optional()
    base: str | None = optional()
    pretrained: bool | None = optional()


@dataclass(frozen=True, kw_only=True)
class _Recipe:
    """What of `trainers.recipe.recipe` is read again."""

    objective: _Objective
    arguments: Mapping[str, Any]
    data: _Data
    selection: _Selection
    model: _Model = optional(_Model())


def training_record(recipe: Path) -> Training | None:
    """What a report says of the training; None where there is no recipe: `oochub train` did not make the model.

    Args:
        recipe: The file `recipe.json` of a model.

    Raises:
        OochubError: The file is no recipe; a field that is missing or of another type is named.

    >>> training_record(Path("nowhere/recipe.json")) is None
    True
    """
    if not recipe.exists():
        return None
    content: _Recipe = from_json(_Recipe, read_json(recipe), what=str(recipe))
    data, arguments = content.data, content.arguments
    known = {
        "objective": content.objective.name,
        "hyperparameters": content.objective.hyperparameters,
        "environments": data.environment_column,
        "seed": arguments.get("seed"),
        "epochs": arguments.get("num_train_epochs"),
        "selection": content.selection.rule,
        "arguments": arguments,
        "data": {"benchmark": data.benchmark, "config": data.config, "version": data.version, "rows": data.rows},
        "architecture": content.model.architecture,
        "base": content.model.base,
        "pretrained": content.model.pretrained,
    }
    if content.selection.held_out is not None:
        known["held_out"] = to_json(content.selection.held_out)
    record: Training = from_json(Training, known, what=str(recipe))
    return record
