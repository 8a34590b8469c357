"""What undersample and undersample_environments share: ERM's loss on rows that each epoch draws anew."""

from typing import ClassVar

from torch import Tensor

from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective
from oochub.trainers.objectives._objective_checks import check_not_negative
from oochub.trainers.samplers import EpochSampler, WeightedSampler, power_weights


class Resampled(Objective):
    """The mean loss of the batch; a subclass says in `sampler` by what rows are drawn."""

    side_by_side: ClassVar[frozenset[str] | None] = frozenset({"alpha"})
    citation: ClassVar[str] = (
        "Madras, Zemel. Identifying and Benchmarking Natural Out-of-Context Prediction Problems. NeurIPS 2021"
    )

    def __init__(self, *, alpha: float = 1.0) -> None:
        super().__init__()
        check_not_negative("alpha", alpha)
        self.alpha = alpha

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss; see `Objective.forward`."""
        return example_losses(logits, label).mean(0)

    def _draws(self, kind: Tensor, seed: int) -> EpochSampler:
        return WeightedSampler(power_weights(kind, self.alpha), seed=seed)
