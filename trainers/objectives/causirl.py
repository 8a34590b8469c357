"""CausIRL: two random mixtures of the environments should have the same features."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from oochub.records.typed_values import NotNegative
from oochub.trainers.batch import gather_rows
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import check_features
from oochub.trainers.objectives._alignment import Kind, mean_distance
from oochub.trainers.objectives._penalized import Penalized, mean_over_present, position_in_environment


class Causirl(Penalized):
    """L = mean_e l_e + penalty_weight x the distance between two mixtures of the batch's rows.

    l_e is the mean loss of the rows of environment e. The first s_e of an environment's n_e rows in the batch go to the
    first mixture and the others to the second; s_e is uniform on 0, ..., n_e - 1 and drawn anew for each environment
    and batch. `distance` is that of `coral` or of `mmd`; where a mixture has fewer than two rows it is 0.

    The draws are a function of the batch's number, so a resumed run repeats them and all processes agree. The loss
    depends on the order of the rows: batches must be shuffled. Under several processes the mixtures are made of the
    rows of all; with gradient accumulation, of each batch.

    This is DomainBed's code, contributed by an author of the paper. The paper reports both distances; Spawrious
    reports one "CausIRL" and does not say which.

    Args:
        penalty_weight: Default 1. DomainBed 10^U(-1, 1).
        distance: "coral" or "mmd".

    Attributes:
        step: Batches seen in training mode, int64 (), a buffer.

    Raises:
        OochubError: A weight that is negative or not finite, an unknown distance; in use, no environments or features.

    Source: Chevalley, Bunne, Krause, Bauer 2022 (arXiv 2206.11646); DomainBed, algorithms.py, AbstractCausIRL.

    >>> features = torch.tensor([[0.0], [2.0], [1.0], [5.0]])
    >>> logits, label, environment = torch.zeros(4, 2), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])
    >>> objective = Causirl()
    >>> losses = [objective(logits, label, environment=environment, features=features).item() for _ in range(20)]
    >>> sorted({round(loss, 4) for loss in losses})  # log 2; with one row of each in the first, + (0.5 - 3.5)^2 + 4^2
    [0.6931, 25.6931]
    """

    order_free: ClassVar[bool] = False
    needs_features: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Chevalley, Bunne, Krause, Bauer. Invariant Causal Mechanisms through Distribution Matching. 2022. "
        "arXiv:2206.11646"
    )
    step: Tensor

    def __init__(self, *, penalty_weight: NotNegative = 1.0, distance: Kind = "coral") -> None:
        super().__init__()
        self.keep(penalty_weight=penalty_weight, distance=distance)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def _terms(
        self, logits: Tensor, label: Tensor, environment: Tensor, features: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        features = check_features(self, features)
        loss = mean_over_present(self._average_by_environment(example_losses(logits, label), environment))
        rows, environment = gather_rows(features), gather_rows(environment)
        size = self._count_environments(environment)
        count = functional.one_hot(environment, size).sum(0)
        cut = _hash_environments(self.step, size) * count >> 32
        second = position_in_environment(environment, size) >= cut[environment]
        if self.training:
            self.step += 1
        return loss, mean_distance(rows, second.long(), 2, kind=self.distance, least_rows=2)


def _hash_environments(step: Tensor, environments: int) -> Tensor:
    """A number in 0, ..., 2^32 - 1 for each environment: a hash of it and the step, so that no device is waited for."""
    mixed = (step * 0x9E3779B1 + torch.arange(1, environments + 1, device=step.device)) & 0xFFFFFFFF
    for _ in range(2):
        mixed = ((mixed >> 16 ^ mixed) * 0x45D9F3B) & 0xFFFFFFFF
    return mixed >> 16 ^ mixed
