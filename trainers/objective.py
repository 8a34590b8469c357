"""The form of a training objective, and the sums over environments that most of them are made of."""

from inspect import signature
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from oochub.errors import OochubError


class Objective(nn.Module):  # type: ignore[misc]
    """A scalar loss of a batch that depends on its arguments and registered buffers only.

    A subclass implements `forward` and, where it must know the training set, `prepare`. Its hyperparameters are the
    keyword arguments of its constructor, each kept as an attribute of the same name. Whatever it remembers from one
    step to the next is a registered buffer, so that its `state_dict` resumes it. In `eval()` mode it computes the same
    loss and remembers nothing.

    Attributes:
        needs_environments: Whether `forward` must be given `environment`.
        citation: Who proposed it, for the card of a model trained with it.
        order_free: Whether the loss of a batch is the same in any order of its rows.
    """

    needs_environments: ClassVar[bool] = False
    order_free: ClassVar[bool] = True
    citation: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_pre_hook(_take_shapes)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """What the objective must know of the training set, before the first batch.

        Args:
            class_counts: Training rows of each class, int (classes,).
            environment_counts: Training rows of each environment, int (environments,); 0 for one that is only in
                other splits.
        """

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch.

        Args:
            logits: float (n, classes).
            label: int64 (n,), class numbers.
            environment: int64 (n,), environment numbers below `len(environment_counts)`.
            features: float (n, d), what the model's last layer sees.

        Returns:
            A scalar with a gradient to `logits` and `features`.

        Raises:
            OochubError: The objective needs `environment` and has None.
        """
        raise NotImplementedError


class EnvironmentMeans(NamedTuple):
    """The mean of each environment (environments,), 0 where it has no row, and its number of rows."""

    mean: Tensor
    count: Tensor


def environment_means(values: Tensor, environment: Tensor, environments: int) -> EnvironmentMeans:
    """The mean of the values of each environment, over the batches of all processes together.

    Under torch.distributed the sums and counts of all processes are added. The gradient goes to this process's own
    rows, times the number of processes: after DistributedDataParallel has averaged gradients over the processes, the
    step is that of one process on the joint batch.

    Args:
        values: float (n,), for example the losses of the rows.
        environment: int64 (n,), numbers below `environments`.
        environments: How many environments there are.

    >>> environment_means(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 2]), 3).mean
    tensor([2., 0., 5.])
    """
    both = torch.stack([values, torch.ones_like(values)])
    sums = _over_processes(values.new_zeros(2, environments).index_add_(1, environment, both))
    count = sums[1].detach()
    return EnvironmentMeans(sums[0] / count.clamp(min=1), count)


def checked_environment(objective: Objective, environment: Tensor | None) -> Tensor:
    """`environment` as it was given.

    Raises:
        OochubError: It is None; the message says what to pass.
    """
    if environment is None:
        raise OochubError(
            f"{type(objective).__name__} compares environments and got none. Pass environment=, int64 (n,), one number "
            "a row; in a RobustTrainer set environment_column to the column that holds them."
        )
    return environment


def checked_counts(objective: Objective, environment_counts: Any) -> Tensor:
    """Rows of each environment as float64 (environments,).

    Raises:
        OochubError: There are none, or no environment has a row.
    """
    if environment_counts is None:
        raise OochubError(
            f"{type(objective).__name__} must know how many training rows each environment has. Call "
            "prepare(environment_counts=[...]) first; in a RobustTrainer set environment_column."
        )
    counts = torch.as_tensor(environment_counts, dtype=torch.float64)
    if counts.ndim != 1 or not counts.numel() or bool((counts < 0).any()) or not bool(counts.any()):
        raise OochubError(
            f"environment_counts must hold the number of training rows of each environment, got {environment_counts}."
        )
    return counts


def _over_processes(local: Tensor) -> Tensor:
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return local
    total = local.detach().clone()
    torch.distributed.all_reduce(total)
    # the value of the total; its gradient is the local part's, undoing the division by DistributedDataParallel
    return total + torch.distributed.get_world_size() * (local - local.detach())


def _take_shapes(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Buffers get the shapes of the saved ones, so that a state loads into an objective that was not prepared."""
    for name, buffer in module.named_buffers(recurse=False):
        if prefix + name in state:
            module.register_buffer(name, torch.empty_like(state[prefix + name], device=buffer.device))
