"""Linear and MLP heads on features that were extracted once, with the objectives of the hub, many runs at a time."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.fitting import choose_sampler
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.heads.fitted_head import FittedHead, Probe
from oochub.trainers.heads.head_stack import HeadStack, group_by
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import name_objective
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import CLASSES, Task
from oochub.trainers.samplers import EpochSampler

_STACKED = (
    "optim",
    "num_train_epochs",
    "max_steps",
    "early_stopping_patience",
    "metric_for_best_model",
    "greater_is_better",
    "per_device_train_batch_size",
    "dropout",
    "max_grad_norm",
)
"""What runs have in common that train in one stack; they may differ in all else."""


def fit_linear_probe(
    train: Examples,
    features: Tensor,
    probes: Sequence[Probe],
    *,
    task: Task,
    evaluation: tuple[Examples, Tensor] | None = None,
    hidden: int = 0,
) -> list[FittedHead]:
    """Trains a head for each run; each comes out as a `torch.nn.Linear` of its seed would, trained alone.

    Runs that differ in objective, hyperparameters, seed, sampler, learning rate, schedule or weight decay only are one
    `HeadStack`. The order of rows is that of a `RobustTrainer` with the same seed.

    Args:
        train: Labels and environments of the training rows; its images are not read.
        features: Features of the training rows, float32 (n, d).
        probes: The runs; arguments that are about images, folders or machines are not used.
        task: What is predicted, see `find_task`.
        evaluation: The validation rows and their features; without them the last epoch is kept.
        hidden: Width of a hidden layer with ReLU; 0 for a linear head.

    Returns:
        One FittedHead per run, in order. A run that cannot be done, or whose loss is not finite, has an error, and
        stops no other.

    Raises:
        OochubError: Features that are not one row per example, or a metric_for_best_model that cannot be computed.
    """
    for examples, given in ((train, features), *([evaluation] if evaluation else [])):
        if given.ndim != 2 or len(given) != len(examples):
            raise OochubError(f"features must be ({len(examples)}, d), one row per example, got {tuple(given.shape)}.")
    outputs = len(task.names) if task.names else int(train.label.max()) + 1
    heads: dict[int, FittedHead] = {}
    samplers: dict[int, EpochSampler] = {}
    for number, probe in enumerate(probes):
        try:
            samplers[number] = _prepare_sampler(probe, train, task, outputs)
        except OochubError as error:
            heads[number] = FittedHead((), 0, None, [], str(error))
    stacks = group_by(samplers, lambda i: (len(samplers[i]), *(getattr(probes[i].args, name) for name in _STACKED)))
    total = sum(len(members) * probes[members[0]].args.num_train_epochs for members in stacks.values())
    with follow(total=total, desc=f"{len(probes)} heads", unit="epoch", disable=None) as bar:
        for members in stacks.values():
            ours = [probes[number] for number in members]
            stack = HeadStack(train, features, ours, [samplers[i] for i in members], outputs=outputs, hidden=hidden)
            judge = (
                (_make_validation(evaluation[0], ours[0].args, task, outputs), evaluation[1]) if evaluation else None
            )
            heads |= dict(zip(members, stack.fit(judge, bar), strict=True))
    return [heads[number] for number in range(len(probes))]


def check_stackable(objective: Objective, args: RobustTrainingArguments) -> None:
    """Checks that a run is a loss of logits on batches of rows, so that its head can train on fixed features.

    Raises:
        OochubError: The objective changes batches, takes steps or stages of its own, or compares features, which stay
            as they are; or gradients are to be accumulated.

    >>> from oochub.trainers.objectives.jtt import Jtt
    >>> check_stackable(Jtt(), RobustTrainingArguments(output_dir="x"))
    Traceback (most recent call last):
    oochub.errors.OochubError: jtt is more than a loss of logits: it cannot train a stack of heads on fixed features.
    """
    own = ("change", "take_step", "shares", "next_stage")
    if objective.needs_features or any(getattr(type(objective), name) is not getattr(Objective, name) for name in own):
        name = name_objective(objective)
        raise OochubError(f"{name} is more than a loss of logits: it cannot train a stack of heads on fixed features.")
    if args.affine_after_blocks or args.auxiliary_column is not None or args.peft or args.freeze is not None:
        names = "affine_after_blocks, auxiliary_column, freeze and peft"
        raise OochubError(f"{names} change features, but features are fixed here.")
    if args.gradient_accumulation_steps > 1:
        raise OochubError("Heads take whole batches: leave gradient_accumulation_steps at 1.")


def _prepare_sampler(probe: Probe, train: Examples, task: Task, outputs: int) -> EpochSampler:
    """The sampler of a run, whose objective now knows the training set."""
    objective, args = probe.objective, probe.args
    check_stackable(objective, args)
    if objective.needs_classes and task.problem_type != CLASSES:
        raise OochubError(f"{name_objective(objective)} needs one class per row, not {task.problem_type}. Use erm.")
    environments = train.counts(train.environment, len(train.environment_names))
    if objective.needs_environments and sum(count > 0 for count in environments) < 2:
        raise OochubError(f"{name_objective(objective)} compares environments, but the training rows have only one.")
    objective.prepare(
        class_counts=train.counts(train.label, outputs) if task.problem_type == CLASSES else None,
        environment_counts=environments,
    )
    own = objective.sampler(train.label, train.environment, seed=args.seed)
    return own or choose_sampler(args, train, processes=1)


def _make_validation(rows: Examples, args: RobustTrainingArguments, task: Task, outputs: int) -> Validation:
    chosen: dict[str, Any] = {name: getattr(args, name) for name in ("metric_for_best_model", "greater_is_better")}
    column = args.environment_column
    return Validation(rows, problem_type=task.problem_type, classes=outputs, environment_column=column, **chosen)
