"""The form of a training objective, and the sums over environments that most of them are made of."""

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from oochub.errors import OochubError
from oochub.records.typed_values import check_parameters
from oochub.trainers.batch import Batch
from oochub.trainers.losses import example_losses
from oochub.trainers.samplers import EpochSampler

if TYPE_CHECKING:
    from oochub.trainers.training_step import TrainingStep


class Step(NamedTuple):
    """What a step did: its scalar loss, and the batch that was trained on with its logits (n, k)."""

    loss: Tensor
    logits: Tensor
    batch: Batch


class CleanPass(NamedTuple):
    """What the model says of all training rows in evaluation mode, without augmentation, in their order, on the CPU.

    Attributes:
        logits: float (n, k).
        features: float (n, d), what the model's last layer sees; None unless the objective needs features.
        label: See `Objective.forward`.
        environment: int64 (n,).
    """

    logits: Tensor
    features: Tensor | None
    label: Tensor
    environment: Tensor


class Objective(nn.Module):  # type: ignore[misc]
    """A scalar loss of a batch that depends on its arguments and registered buffers only.

    A subclass overrides `forward` and, where it must know the training set, `prepare`. Its hyperparameters are the
    keyword arguments of its constructor, each kept as an attribute of the same name. Whatever it remembers from one
    step to the next is a registered buffer, so that its `state_dict` resumes it. In `eval()` mode it computes the same
    loss and remembers nothing.

    An objective that is more than a loss overrides a hook of the `RobustTrainer`: `examine` refuses a model or data
    that it cannot serve, `sampler` says which rows an epoch visits, `change` alters a batch before it meets the model,
    `take_step` is a step of the run, `shares` and `next_stage` divide the run.

    Attributes:
        needs_environments: Whether `forward` must be given `environment`; there are then two or more in training.
        needs_features: Whether `forward` must be given `features`.
        needs_classes: Whether labels must be class numbers; else they may be several per row, or numbers.
        accumulates: Whether gradients of several batches may be averaged into one step.
        order_free: Whether the loss of a batch is the same in any order of its rows.
        side_by_side: Where `forward` also takes heads side by side, as a last dimension of logits, label, environment,
            buffers and the losses that it returns: the hyperparameters in which the heads may differ, which are then
            float32 tensors (heads,). None: it takes one head.
        citation: Who proposed it, for the card of a model trained with it.
        anneal_steps: Batches after which the loss changes by a jump: the optimizer's moments are then set to zero.
    """

    needs_environments: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False
    needs_classes: ClassVar[bool] = False
    accumulates: ClassVar[bool] = True
    order_free: ClassVar[bool] = True
    side_by_side: ClassVar[frozenset[str] | None] = None
    citation: ClassVar[str] = ""
    anneal_steps: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_pre_hook(_take_shapes)  # type: ignore[no-untyped-call]

    if TYPE_CHECKING:  # hyperparameters are attributes, each of the type in the constructor's signature

        def __getattr__(self, name: str) -> Any: ...

    def keep(self, **hyperparameters: Any) -> None:
        """Checks hyperparameters by the types in the constructor's signature, and keeps each as an attribute.

        Args:
            **hyperparameters: Arguments of the subclass's constructor, by name.

        Raises:
            OochubError: A value of another type or out of its bounds; the hyperparameter is named.
        """
        read = check_parameters(type(self), hyperparameters, kind="hyperparameter", subject="{name}")
        for name, value in read.items():
            setattr(self, name, hyperparameters[name] if isinstance(hyperparameters[name], int) else value)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """What the objective must know of the training set, before the first batch.

        Args:
            class_counts: Training rows of each class, int (classes,); None where labels are not classes.
            environment_counts: Training rows of each environment, int (environments,); 0 for one that is only in
                other splits.
        """

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; without an override it is the mean loss of the rows.

        Args:
            logits: float (n, classes).
            label: int64 (n,), class numbers; float (n, k), several labels per row; float (n,), numbers: the loss of
                each row is that of `oochub.trainers.losses.example_losses`.
            environment: int64 (n,), environment numbers below `len(environment_counts)`.
            features: float (n, d), what the model's last layer sees.

        Returns:
            A scalar with a gradient to `logits` and `features`.

        Raises:
            OochubError: The objective needs `environment` or `features` and has None.
        """
        if self.needs_environments:
            check_environment(self, environment)
        if self.needs_features:
            check_features(self, features)
        return example_losses(logits, label).mean(0)

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Looks at the model and the training set before training.

        Args:
            model: The classifier.
            probe: Inputs of two rows of noise, to call it with.
            label: Labels of all training rows, see `forward`.
            environment: Environments of all training rows, int64 (n,).

        Raises:
            OochubError: The objective cannot train such a model, or on such rows.
        """

    def sampler(self, label: Tensor, environment: Tensor, *, seed: int) -> EpochSampler | None:
        """Which rows an epoch visits, at the start of each stage; None leaves that to the run's arguments.

        Args:
            label: Labels of all training rows, see `forward`.
            environment: Environments of all training rows, int64 (n,).
            seed: Random seed of the run.
        """
        return None

    def change(self, batch: Batch, draws: np.random.Generator) -> Batch:
        """The batch as the model gets it; `draws` are this step's random numbers."""
        return batch

    def take_step(self, batch: Batch, training: "TrainingStep") -> Step:
        """One step of the run: the model's outputs, their loss, an update."""
        logits, features = training.outputs(batch.inputs, batch.environment)
        loss = self(logits, batch.label, batch.environment, features)
        training.update(loss + training.auxiliary_loss(features, batch.row))
        return Step(loss, logits, batch)

    @property
    def shares(self) -> tuple[float, ...]:
        """The stages of the run as shares of its epochs, which sum to 1; the first may be all and the last 0."""
        return (1.0,)

    def next_stage(self, clean: CleanPass, training: "TrainingStep") -> None:
        """What happens between two stages; the optimizer's moments are zero and the schedule begins anew after it."""


class EnvironmentMeans(NamedTuple):
    """The mean of each environment (environments,), 0 where it has no row, and its number of rows.

    Heads side by side have the shape (environments, heads).
    """

    mean: Tensor
    count: Tensor  # type: ignore[assignment]  # of a tuple it is a method


def environment_means(values: Tensor, environment: Tensor, environments: int) -> EnvironmentMeans:
    """The mean of the values of each environment, over the batches of all processes together.

    Under torch.distributed the sums and counts of all processes are added. The gradient goes to this process's own
    rows, times the number of processes: after DistributedDataParallel has averaged gradients over the processes, the
    step is that of one process on the joint batch.

    Args:
        values: float (n,), for example the losses of the rows; (n, heads) of heads side by side.
        environment: int64, shaped as `values`, numbers below `environments`.
        environments: Number of environments.

    >>> environment_means(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 2]), 3).mean
    tensor([2., 0., 5.])
    """
    zeros = values.new_zeros(environments, *values.shape[1:])
    sums, count = (zeros.scatter_add(0, environment, value) for value in (values, torch.ones_like(values)))
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        sums, count = _sum_over_processes(torch.stack([sums, count]))
        count = count.detach()
    return EnvironmentMeans(sums / count.clamp(min=1), count)


def check_environment(objective: Objective, environment: Tensor | None) -> Tensor:
    """`environment` as it was given.

    Raises:
        OochubError: It is None; the message says what to pass.
    """
    if environment is None:
        raise OochubError(
            f"{type(objective).__name__} compares environments but got none. Pass environment=, int64 (n,), one "
            "number per row; in a RobustTrainer set environment_column to the column that holds them."
        )
    return environment


def check_features(objective: Objective, features: Tensor | None) -> Tensor:
    """`features` as they were given.

    Raises:
        OochubError: They are None or not one vector per row.
    """
    if features is None or features.ndim != 2:
        got = "none" if features is None else f"the shape {tuple(features.shape)}"
        raise OochubError(
            f"{type(objective).__name__} compares the features of environments, float (n, d), but got {got}. Pass "
            "features=, the inputs of the model's last layer."
        )
    return features


def check_classes(objective: Objective, label: Tensor, *, dimensions: int = 1) -> None:
    """Raises an OochubError unless `label` is class numbers; with 2 dimensions, those of heads side by side.

    >>> from oochub.trainers.objectives.erm import Erm
    >>> check_classes(Erm(), torch.tensor([0, 2, 1]))
    """
    if label.ndim != dimensions or label.is_floating_point():
        raise OochubError(
            f"{type(objective).__name__} here needs class numbers, int64 (n,), got {label.dtype} {tuple(label.shape)}. "
            "Use reweight_environments or group_dro for several labels and for regression."
        )


def check_counts(objective: Objective, counts: Any, *, of: Literal["environment", "class"] = "environment") -> Tensor:
    """Training rows of each environment, or of each class, as float64 (k,).

    Raises:
        OochubError: There are none, or no environment or class has a row.
    """
    if counts is None:
        hint = "in a RobustTrainer set environment_column" if of == "environment" else "it serves classification only"
        raise OochubError(
            f"{type(objective).__name__} must know how many training rows each {of} has. Call "
            f"prepare({of}_counts=[...]) first; {hint}."
        )
    rows = torch.as_tensor(counts, dtype=torch.float64)
    if rows.ndim != 1 or not bool((rows >= 0).all()) or not bool(rows.any()):
        raise OochubError(f"{of}_counts must hold the number of training rows of each {of}, got {counts}.")
    return rows


def _sum_over_processes(local: Tensor) -> Tensor:
    total = local.detach().clone()
    torch.distributed.all_reduce(total)
    # the value of the total; its gradient is the local part's, undoing the division by DistributedDataParallel
    return total + torch.distributed.get_world_size() * (local - local.detach())


def _take_shapes(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Buffers get the shapes of the saved ones, so that a state loads into an objective that was not prepared."""
    for name, buffer in module.named_buffers(recurse=False):
        if prefix + name in state:
            module.register_buffer(name, torch.empty_like(state[prefix + name], device=buffer.device))
