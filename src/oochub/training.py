"""Trains on a benchmark by name: data, backbone, objective and trainer put together, everything checked first."""

from collections.abc import Mapping
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.files import check_writable
from oochub.loading import load, split_name

DEFAULTS: Mapping[str, Any] = {
    "num_train_epochs": 12,
    "per_device_train_batch_size": 64,
    "learning_rate": 2e-3,
    "weight_decay": 1e-3,
    "lr_scheduler_type": "onecycle",
    "warmup_ratio": 0.1,
    "augment": "flip_shift",
}
"""What `oochub train` sets; they train the small network from scratch. The fields not named keep their defaults."""


def train(
    benchmark: str,
    out: str | Path,
    *,
    objective: str = "erm",
    hyperparameters: Mapping[str, Any] | None = None,
    model: str = "resnet-tiny",
    environments: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    image_size: int | None = None,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Trains `model` on `benchmark/config` and leaves a Hugging Face model directory in `out`.

    Args:
        benchmark: "spawrious/o2o_hard".
        out: The folder of the run; an interrupted run with the same settings goes on.
        objective: A name of `oochub list objective`.
        hyperparameters: Of the objective.
        model: A folder, a Hub id, or "resnet-tiny", a small network from scratch.
        environments: Column of the training environments; None takes the benchmark's own.
        arguments: Fields of RobustTrainingArguments, over `DEFAULTS`.
        image_size: Pixels, only for "resnet-tiny".
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        options: Options of the builder.
        overwrite: Replace another run in `out`.

    Returns:
        run (the folder), best_epoch, best_value (its validation loss) and global_step, JSON types only.

    Raises:
        OochubError: An unknown name, hyperparameter or argument, an output that cannot be written, broken data.
    """
    made = _objective(objective, hyperparameters or {})
    check_writable(Path(out) / "config.json")
    declared = catalog.get("benchmark", split_name(benchmark)[0])
    column = environments or declared.environments
    settings = _arguments(out, {**DEFAULTS, **(arguments or {})}, column, overwrite)

    from oochub.trainers.backbone import backbone
    from oochub.trainers.robust_trainer import RobustTrainer

    data = load(benchmark, data_dir=data_dir, options=options)
    if column not in data["train"].column_names:
        raise unknown_name(f"column of {benchmark}", column, data["train"].column_names)
    names = data["train"].features["label"].names
    network, processor = backbone(model, class_names=names, image_size=image_size, seed=settings.seed)
    trainer = RobustTrainer(
        network,
        settings,
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        objective=made,
        image_processor=processor,
    )
    result = trainer.train()
    return {
        "run": str(result.output_dir),
        "best_epoch": result.best_epoch,
        "best_value": result.best_value,
        "global_step": result.global_step,
    }


def _objective(name: str, hyperparameters: Mapping[str, Any]) -> Any:
    made = catalog.get("objective", name)
    allowed = list(signature(made).parameters)
    for key in hyperparameters:
        if key not in allowed:
            raise unknown_name(f"hyperparameter of {name}", key, allowed)
    try:
        return made(**hyperparameters)
    except TypeError as error:
        raise OochubError(
            f"{name} does not take {dict(hyperparameters)}: {error}. It takes {', '.join(allowed)}."
        ) from error


def _arguments(out: str | Path, given: Mapping[str, Any], column: str, overwrite: bool) -> Any:
    from oochub.trainers.arguments import RobustTrainingArguments

    allowed = [field.name for field in fields(RobustTrainingArguments)]
    for name in given:
        if name not in allowed:
            raise unknown_name("training argument", name, allowed)
    return RobustTrainingArguments(output_dir=out, overwrite_output_dir=overwrite, environment_column=column, **given)
