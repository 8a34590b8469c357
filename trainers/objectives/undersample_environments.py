"""Undersampling by environment: each epoch draws its rows anew, rows of rare environments more often."""

from typing import ClassVar

from torch import Tensor

from oochub.trainers.objectives._by_frequency import Resampled
from oochub.trainers.samplers import EpochSampler


class UndersampleEnvironments(Resampled):
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

    def sampler(self, label: Tensor, environment: Tensor, *, seed: int) -> EpochSampler | None:
        """Draws by environment; see `Objective.sampler`."""
        return self._seed_draws(environment, seed)
