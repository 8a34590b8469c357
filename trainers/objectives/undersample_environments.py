"""Undersampling by environment: each epoch draws its rows anew, rows of rare environments more often."""

from typing import ClassVar

from torch import Tensor

from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective, checked_environment
from oochub.trainers.objectives._checks import check_not_negative
from oochub.trainers.samplers import EpochSampler, WeightedSampler, power_weights


class UndersampleEnvironments(Objective):
    """The mean loss over I, n row numbers drawn with replacement in each epoch: P(j = i) proportional to (1/w_i)^alpha.

    w_i is the share of the training rows that are in the environment of row i, and n the number of training rows.
    Under several processes the draws are the same in all.

    Its loss of a batch is ERM's; the rows of the batches differ, which a `RobustTrainer` asks `sampler` for. With
    label x context as environments and alpha 1 it is "RWG" of Idrissi et al. 2022 and the group-balanced sampling of
    group_DRO's `--reweight_groups`.

    Args:
        alpha: 0 draws all rows alike, 1 all environments alike. NOOCH Table 8: 0.2, 0.5, 0.7, 1.

    Raises:
        OochubError: alpha is negative or not finite; in use, no environments.

    Source: NOOCH, section 4.3 with Eq. 3.

    >>> import torch
    >>> environment = torch.tensor([0] * 90 + [1] * 10)
    >>> sampler = UndersampleEnvironments().sampler(torch.zeros(100), environment, seed=0)
    >>> 40 <= sum(row >= 90 for row in sampler) <= 60
    True
    """

    needs_environments: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Madras, Zemel. Identifying and Benchmarking Natural Out-of-Context Prediction Problems. NeurIPS 2021"
    )

    def __init__(self, *, alpha: float = 1.0) -> None:
        super().__init__()
        check_not_negative("alpha", alpha)
        self.alpha = alpha

    def sampler(self, label: Tensor, environment: Tensor, *, seed: int) -> EpochSampler | None:
        """Draws by environment; see `Objective.sampler`."""
        return WeightedSampler(power_weights(environment, self.alpha), seed=seed)

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss; see `Objective.forward`."""
        checked_environment(self, environment)
        return example_losses(logits, label).mean()
