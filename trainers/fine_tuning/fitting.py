"""Whether an objective, a model, data and arguments go together, looked at before training."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from oochub.errors import OochubError
from oochub.models.extraction import check_whole_images, find_head
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.schedule import stage_epochs
from oochub.trainers.objective import Objective
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import BOXES, CLASSES, TOKENS
from oochub.trainers.samplers import (
    EnvironmentSampler,
    EpochSampler,
    UniformSampler,
    WeightedSampler,
    compute_power_weights,
    number_groups,
)


def find_head_layers(model: Any, probe: Mapping[str, Tensor]) -> tuple[nn.Module, ...]:
    """The model's last layers, whose inputs are its features.

    Args:
        model: A classifier, or a causal language model; its mode is as before afterwards.
        probe: Inputs of two different rows.

    Raises:
        OochubError: There is no linear last layer.

    >>> from oochub.trainers.backbone import open_backbone
    >>> model, _ = open_backbone("resnet-tiny", class_names=["cat", "dog"])
    >>> find_head_layers(model, {"pixel_values": torch.randn(2, 3, 48, 48)})
    (Linear(in_features=128, out_features=2, bias=True),)
    """
    if isinstance(model, PreTrainedModel) and model.can_generate():  # a token for each place
        return (model.get_output_embeddings(),)
    training = model.training
    model.eval()
    try:
        return find_head(model, probe).layers
    finally:
        model.train(training)


def check_detector(model: Any, processor: Any, args: RobustTrainingArguments, *, probe: Mapping[str, Tensor]) -> None:
    """Checks that a model of boxes can be trained with the loss of DETR on whole images.

    Args:
        model: The model.
        processor: Processor of its images.
        args: The settings.
        probe: Inputs of two rows.

    Raises:
        OochubError: Another model, images that are not squeezed whole to one size, or augmentation.
    """
    with torch.no_grad():
        output = model(**probe)
    logits, boxes = getattr(output, "logits", None), getattr(output, "pred_boxes", None)
    if boxes is None or logits is None or logits.shape[-1] != model.config.num_labels + 1:
        raise OochubError(
            "Boxes need a detector with the loss of DETR and one more class for no object, such as YOLOS or DETR; "
            f"{type(model).__name__} is not one. Use one with model=."
        )
    check_whole_images(processor)
    if args.augment != "none":
        raise OochubError(
            f"augment={args.augment!r} changes images but not their boxes. Remove it, or set augment='none'."
        )


def choose_sampler(args: RobustTrainingArguments, train: Examples, *, processes: int) -> EpochSampler:
    """The sampler that the arguments name.

    Args:
        args: The settings.
        train: The training rows.
        processes: Number of processes, each of which gets its share of a batch.

    Raises:
        OochubError: A sampler by class for labels that are not classes; see also `EnvironmentSampler`.
    """
    if args.sampler == "environments":
        return EnvironmentSampler(
            train.environment,
            batch_size=args.per_device_train_batch_size * processes,
            environments_per_batch=args.environments_per_batch,
            seed=args.seed,
        )
    if args.sampler == "uniform":
        return UniformSampler(len(train.environment), seed=args.seed)
    if args.sampler == "environment_balanced":
        return WeightedSampler(compute_power_weights(train.environment, args.sampler_power), seed=args.seed)
    label = np.asarray(train.label)
    if label.ndim != 1 or label.dtype.kind != "i":
        raise OochubError(
            f"sampler={args.sampler!r} needs one class per row. Use uniform, environment_balanced or environments."
        )
    codes = label if args.sampler == "class_balanced" else number_groups(label, train.environment)
    return WeightedSampler(compute_power_weights(codes, args.sampler_power), seed=args.seed)


def check_objective(
    objective: Objective,
    model: Any,
    args: RobustTrainingArguments,
    *,
    probe: Mapping[str, Tensor],
    train: Examples,
    problem_type: str,
) -> None:
    """Tries everything that an objective may refuse, on the first two rows and two rows of noise.

    Args:
        objective: Prepared.
        model: The classifier.
        args: The settings.
        probe: Inputs of two different rows.
        train: The training rows.
        problem_type: Type of the labels, see `Task`.

    Raises:
        OochubError: What does not go together.
    """
    name = type(objective).__name__
    if objective.needs_classes and problem_type != CLASSES:
        raise OochubError(
            f"{name} needs one class per row, but the labels here are of the kind {problem_type}. Use erm."
        )
    present = train.environment.unique().numel()
    if present < 2 and (objective.needs_environments or args.sampler in ("environments", "environment_balanced")):
        asks = name if objective.needs_environments else f"sampler={args.sampler!r}"
        raise OochubError(
            f"{asks} compares environments, but the training set has {present} "
            f"({', '.join(train.environment_names[:5])}). Set environment_column to a column with several, among "
            f"{', '.join(train.dataset.column_names)}."
        )
    if args.gradient_accumulation_steps > 1 and not objective.accumulates:
        raise OochubError(f"{name} updates the model several times per step. Set gradient_accumulation_steps to 1.")
    hooks = ("change", "take_step")
    whole = all(getattr(type(objective), hook) is getattr(Objective, hook) for hook in hooks)
    if args.auxiliary_column is not None and not whole:
        raise OochubError(f"auxiliary_column needs a loss of whole rows; {name} mixes rows or takes its own steps.")
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if args.forward != "joint" and processes > 1:
        raise OochubError(f"forward={args.forward!r} runs in one process, but there are {processes}. Use 'joint'.")
    chosen = choose_sampler(args, train, processes=processes)
    own = objective.sampler(train.label, train.environment, seed=args.seed)
    if not isinstance(chosen, UniformSampler) and own is not None:
        raise OochubError(f"{name} chooses its rows itself, so sampler={args.sampler!r} does nothing. Remove it.")
    if args.average != "none" and not objective.shares[-1]:
        raise OochubError(f"{name} ends without a step, so average={args.average!r} has no weights. Remove it.")
    stage_epochs(objective.shares, args.num_train_epochs)
    objective.examine(model, probe, label=train.label, environment=train.environment)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return  # sums over processes would need tensors on their devices
    rows = slice(0, 2)
    label, environment = train.label[rows], train.environment[rows]
    k = model.config.vocab_size if problem_type == TOKENS else model.config.num_labels
    shape = {BOXES: (len(label), 1, k + 5), TOKENS: (*label.shape, k)}.get(problem_type, (len(label), k))
    sizes = label.shape if problem_type == TOKENS else label.shape[:1]  # a vector a token, or a row
    features = torch.zeros(*sizes, 1) if objective.needs_features else None
    try:
        objective.eval()(torch.zeros(*shape), label, environment, features)
    except OochubError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise OochubError(f"{name} cannot serve labels of the kind {problem_type} ({error}). Use erm.") from error


def check_tokens(
    objective: Objective, model: Any, args: RobustTrainingArguments, splits: Mapping[str, Examples]
) -> None:
    """Whether an objective, a causal language model and arguments go together with rows of tokens.

    Args:
        objective: The objective with its hyperparameters.
        model: The model.
        args: The settings.
        splits: The rows of each split, by its name.

    Raises:
        OochubError: What is for one answer per row, a token that the model does not know, or more than it reads.
    """
    if len(objective.shares) > 1 or args.dropout or args.auxiliary_column:
        raise OochubError(
            f"Tokens give many answers per row, but {type(objective).__name__}, dropout= or auxiliary_column= is for "
            "one. Use erm, group_dro, irm or coral, without these arguments."
        )
    longest = getattr(model.config, "max_position_embeddings", None) or 2**31
    for split, examples in splits.items():
        table = examples.dataset.select_columns([examples.inputs.column, "tokens"]).with_format("arrow")[:]
        largest = max(pc.max(pc.list_flatten(column)).as_py() or 0 for column in table.columns)
        if largest >= model.config.vocab_size:
            raise OochubError(
                f"The {split} set has the token {largest}, but the model knows only those from 0 to "
                f"{model.config.vocab_size - 1}. Use a model with the same tokenizer."
            )
        length = examples.label.shape[1]
        if length > longest:
            raise OochubError(
                f"A row of the {split} set has {length} tokens, but the model reads at most {longest}. Cut the rows."
            )
