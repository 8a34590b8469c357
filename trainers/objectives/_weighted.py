"""What reweight and reweight_environments share: a weight for each class or environment, from its training rows."""

from typing import ClassVar

import torch
from torch import Tensor

from oochub.trainers.objective import Objective
from oochub.trainers.objectives._objective_checks import check_form, check_not_negative


class Weighted(Objective):
    """The mean over the batch of the weighted losses; a subclass says in `prepare` which counts give the weights.

    Attributes:
        weights: float32 (classes or environments,), a buffer; inf for one without training rows.
    """

    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"alpha"})
    weights: Tensor

    def __init__(self, alpha: float, form: str | None) -> None:
        super().__init__()
        check_not_negative("alpha", alpha)
        check_form(form, "nooch", "subpopbench")
        self.alpha, self.form = alpha, form
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
