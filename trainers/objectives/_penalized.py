"""What irm, vrex, coral, mmd and causirl share: a loss, a weighted penalty, and a weight that waits for some steps."""

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from oochub.trainers.objective import (
    EnvironmentMeans,
    Objective,
    check_counts,
    check_environment,
    environment_means,
)


class Penalized(Objective):
    """L = loss + penalty_weight x penalty; a subclass computes the two in `_terms`.

    How many environments there are, `prepare` says; without it, the largest number of a batch does.
    """

    needs_environments: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._environments = 0

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """Takes the number of environments; see `Objective.prepare`."""
        self._environments = len(check_counts(self, environment_counts))

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; see `Objective.forward`."""
        loss, penalty = self._terms(logits, label, check_environment(self, environment), features)
        return self._sum(loss, penalty)

    def _terms(
        self, logits: Tensor, label: Tensor, environment: Tensor, features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def _sum(self, loss: Tensor, penalty: Tensor) -> Tensor:
        return loss.add(penalty, alpha=self.penalty_weight)

    def _count_environments(self, environment: Tensor) -> int:
        if self._environments:
            return self._environments
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            check_counts(self, None)  # the processes would not agree: an error that names prepare()
        return int(environment.max()) + 1

    def _average_by_environment(self, values: Tensor, environment: Tensor) -> EnvironmentMeans:
        return environment_means(values, environment, self._count_environments(environment))


class Annealed(Penalized):
    """A penalty with weight 1 in the first `anneal_steps` batches of training and `penalty_weight` from then on.

    Attributes:
        step: Batches seen in training mode, int64 (), a buffer.
    """

    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"penalty_weight", "anneal_steps"})
    step: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def _sum(self, loss: Tensor, penalty: Tensor) -> Tensor:
        # not .item(): the device is not waited for
        weight = torch.where(self.step < self.anneal_steps, penalty.new_ones(()), self.penalty_weight)
        if self.training:
            self.step.add_(1)
        return torch.addcmul(loss, weight, penalty)


def mean_over_present(risk: EnvironmentMeans) -> Tensor:
    """The mean over the environments that have rows; the others' means are 0.

    >>> mean_over_present(EnvironmentMeans(torch.tensor([2.0, 0.0, 5.0]), torch.tensor([4.0, 0.0, 1.0])))
    tensor(3.5000)
    """
    mean: Tensor = torch.linalg.vecdot(shares_of_present(risk.count), risk.mean, dim=0)
    return mean


def shares_of_present(count: Tensor) -> Tensor:
    """1 / m of the m environments that have rows, 0 of the others.

    >>> shares_of_present(torch.tensor([4.0, 0.0, 1.0]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    present = count.clamp(max=1)
    return present / present.sum(0)


def position_in_environment(environment: Tensor, environments: int) -> Tensor:
    """How many rows of its environment stand before each row, int64 (n,).

    >>> position_in_environment(torch.tensor([0, 2, 0, 0, 2]), 3)
    tensor([0, 0, 1, 2, 1])
    """
    seen = functional.one_hot(environment, environments).cumsum(0)
    return seen.gather(-1, environment[..., None])[..., 0] - 1
