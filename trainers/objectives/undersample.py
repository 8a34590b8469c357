"""Undersampling by class: resamples the rows in each epoch, with higher probability for rare classes."""

from typing import ClassVar

from torch import Tensor

from oochub.trainers.objectives._by_frequency import Resampled
from oochub.trainers.samplers import EpochSampler


class Undersample(Resampled):
    """The mean loss over I, n row numbers drawn with replacement in each epoch: P(j = i) proportional to (1/w_i)^alpha.

    w_i is the share of the training rows that have the class of row i, and n the number of training rows. The name is
    the paper's; rare classes are drawn more often than once. Under several processes the draws are the same in all.

    Its loss of a batch is ERM's; the rows of the batches differ, which a `RobustTrainer` asks `sampler` for. NOOCH's
    code (a WeightedRandomSampler) and SubpopBench's "ReSample" (alpha 1, by group) do the same.

    Args:
        alpha: 0 draws all rows alike, 1 all classes alike. NOOCH Table 8: 0.2, 0.5, 0.7, 1.

    Raises:
        OochubError: alpha is negative or not finite.

    Source: NOOCH, section 4.2, Eq. 3.

    >>> import torch
    >>> sampler = Undersample().sampler(torch.tensor([0] * 90 + [1] * 10), torch.zeros(100), seed=0)
    >>> 40 <= sum(row >= 90 for row in sampler) <= 60
    True
    """

    needs_classes: ClassVar[bool] = True

    def sampler(self, label: Tensor, environment: Tensor, *, seed: int) -> EpochSampler | None:
        """Draws by class; see `Objective.sampler`."""
        return self._seed_draws(label, seed)
