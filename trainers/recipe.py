"""The record of a training run: what the weights depend on, and how they were chosen."""

import hashlib
import inspect
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import datasets
import pyarrow.compute as pc
import torch

from oochub import catalog
from oochub.input import Input
from oochub.process.own_files import describe_own_files
from oochub.records.build_record import BuildRecord
from oochub.records.origin_records import provenance
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.objective import Objective
from oochub.trainers.rows.context_environments import find_environments


def settings(
    model: Any, inputs: Input, objective: Objective, args: RobustTrainingArguments, splits: Mapping[str, Any]
) -> dict[str, Any]:
    """What two runs must have in common to be the same run; JSON types only.

    Args:
        model: The model before its first step; a digest of its weights enters.
        inputs: What the model is called with.
        objective: The objective with its hyperparameters.
        args: Arguments of the run.
        splits: The data sets by the name of their split, "train" first.
    """
    return {
        "objective": _describe_objective(objective),
        "arguments": args.settings,
        "model": {"architecture": type(model).__name__, "initial_weights": _digest_state(model.state_dict())},
        **inputs.settings(),
        "data": {split: {"fingerprint": _hash_dataset(data), "rows": len(data)} for split, data in splits.items()},
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }


def make_recipe(
    model: Any,
    objective: Objective,
    args: RobustTrainingArguments,
    splits: Mapping[str, Any],
    *,
    names: Sequence[str],
    problem_type: str,
    environment_column: str | None,
    environments: Mapping[str, int],
    selection: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of recipe.json; two equal runs differ under provenance.when and provenance.where alone.

    Args:
        model: The trained model.
        objective: See `settings`.
        args: See `settings`.
        splits: See `settings`.
        names: Names of the model's outputs in order.
        problem_type: What the labels are, see `Task`.
        environment_column: Column of the environments.
        environments: Training rows of each environment.
        selection: How the kept weights were chosen, and their numbers on the validation split.
    """
    train = next(iter(splits.values()))
    build = BuildRecord.of(train.info)
    base = getattr(model.config, "_name_or_path", "") or None  # an empty name: built from a config, not loaded
    return {
        "schema": 1,
        "objective": _describe_objective(objective),
        "arguments": args.settings,
        "model": {
            "architecture": type(model).__name__,
            "base": Path(base).name if base and Path(base).is_absolute() else base,
            **({"revision": commit} if (commit := getattr(model.config, "_commit_hash", None)) else {}),
            "pretrained": getattr(model, "is_pretrained", None if base else False),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "data": {
            "benchmark": build.benchmark if build else None,
            "config": build.config if build else None,
            "version": build.version if build else None,
            "notes": list(build.notes) if build else [],
            "rows": {split: len(data) for split, data in splits.items()},
            "fingerprints": {split: _hash_dataset(data) for split, data in splits.items()},
            "classes": list(names),
            "problem_type": problem_type,
            "environment_column": environment_column,
            "environments": dict(environments),
            "found_environments": find_environments(train, environment_column),
        },
        "selection": dict(selection),
        "provenance": provenance(seed=args.seed),
    }


def _describe_objective(objective: Objective) -> dict[str, Any]:
    """Its name and hyperparameters; of the user's own code also the digest."""
    name, kind = name_objective(objective), type(objective)
    own = {file: digest for file, digest in describe_own_files().items() if file == f"{name}.py"}
    if not own and name not in catalog.names("objective"):
        with suppress(OSError, TypeError):  # code that was typed into a plain interpreter has no source
            own = {kind.__qualname__: f"sha256 {hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()}"}
    return {"name": name, "hyperparameters": objective.hyperparameters, **({"file": own} if own else {})}


def name_objective(objective: Objective) -> str:
    """The name of an objective in the catalog: that of its file; of another class the class's own.

    >>> from oochub.trainers.objectives.erm import Erm
    >>> class StdRisk(Erm): ...
    >>> name_objective(Erm()), name_objective(StdRisk())
    ('erm', 'std_risk')
    """
    kind = type(objective)
    name = kind.__module__.rpartition(".")[2]
    if name in catalog.names("objective") and kind is catalog.get("objective", name):
        return name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def _hash_dataset(dataset: datasets.Dataset) -> str:
    """A hash of every value of every row; of the images only the sizes in bytes enter, so that none is read.

    `datasets`' own fingerprint names a file in a cache: it differs between two builds of the same data.

    >>> data = datasets.Dataset.from_dict({"label": [0, 1]})
    >>> _hash_dataset(data) == _hash_dataset(datasets.Dataset.from_dict({"label": [0, 1]}))
    True
    >>> _hash_dataset(data) == _hash_dataset(data.select([1, 0]))
    False
    """
    digest = hashlib.sha256(repr(sorted(dataset.features)).encode())
    pictures = [name for name, feature in dataset.features.items() if isinstance(feature, datasets.Image)]
    for name in pictures:
        dataset = dataset.cast_column(name, datasets.Image(decode=False))
    for batch in dataset.with_format("arrow").iter(1000):
        values: list[Any] = [
            pc.binary_length(pc.struct_field(batch[name], "bytes")).to_pylist()
            if name in pictures
            else batch[name].to_pylist()
            for name in sorted(batch.column_names)
        ]
        digest.update(repr(values).encode())
    return digest.hexdigest()[:40]


def _digest_state(state: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(dtype=torch.uint8).numpy().data)
    return digest.hexdigest()[:40]
