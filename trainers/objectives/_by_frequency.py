"""Objectives that go by how frequent a class or environment is among the training rows.

Undersample and undersample_environments share ERM's loss on rows that each epoch draws anew; reweight and
reweight_environments a weight for each class or environment.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from oochub.records.typed_values import NotNegative
from oochub.trainers.objective import Objective
from oochub.trainers.samplers import EpochSampler, WeightedSampler, compute_power_weights


class Resampled(Objective):
    """The mean loss of the batch; a subclass says in `sampler` by what rows are drawn."""

    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"alpha"})
    citation: ClassVar[str] = (
        "Madras, Zemel. Identifying and Benchmarking Natural Out-of-Context Prediction Problems. NeurIPS 2021"
    )

    def __init__(self, *, alpha: NotNegative = 1.0) -> None:
        super().__init__()
        self.keep(alpha=alpha)

    def _seed_draws(self, kind: Tensor, seed: int) -> EpochSampler:
        return WeightedSampler(compute_power_weights(kind, self.alpha), seed=seed)


class Weighted(Objective):
    """The mean over the batch of the weighted losses; a subclass says in `prepare` which counts give the weights.

    Attributes:
        weights: float32 (classes or environments,), a buffer; inf for one without training rows.
    """

    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"alpha"})
    weights: Tensor

    def __init__(self, *, alpha: NotNegative = 1.0, form: Literal["nooch", "subpopbench"] | None = None) -> None:
        super().__init__()
        self.keep(alpha=alpha, form=form)
        self.register_buffer("weights", torch.zeros(0))

    def _weigh(self, counts: Tensor) -> None:
        frequency = counts / counts.sum()
        if self.form == "nooch":
            weights = (1 - frequency) ** self.alpha
        elif self.form == "subpopbench":
            weights = torch.where(counts > 0, counts**-self.alpha, 0)
            weights = weights / weights.mean()
        else:
            weights = (1 / frequency) ** self.alpha
        self.weights = weights.to(self.weights)
