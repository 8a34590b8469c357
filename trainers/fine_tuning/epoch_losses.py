"""The losses of an epoch so far, summed on the device so that no step waits for them."""

from typing import NamedTuple

import torch
from torch import Tensor

from oochub.trainers.batch import Mixed, mixed_losses


class MeanLosses(NamedTuple):
    """Means of an epoch, None without a row: the objective over batches, the loss over rows and by environment."""

    objective: float | None
    loss: float | None
    by_environment: list[float | None]


class EpochLosses:
    """Sums and counts of the objective and of the rows' losses by environment.

    Args:
        environments: How many environments there are.
        device: Where the batches are.
        sums: The state of an interrupted epoch, from `state`.

    >>> losses = EpochLosses(2, torch.device("cpu"))
    >>> losses.count(torch.tensor(0.5), torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([0, 0]))
    >>> means = losses.means(losses.sums)
    >>> means.objective, round(means.loss, 4), means.by_environment[1]
    (0.5, 0.6931, None)
    """

    def __init__(self, environments: int, device: torch.device, sums: list[list[float]] | None = None) -> None:
        # float32: some devices have no float64, and a mean over 1e6 rows keeps five digits
        zeros = torch.zeros(2, 1 + environments, device=device)
        self.sums = zeros if sums is None else torch.tensor(sums, dtype=torch.float32, device=device)

    def count(self, objective: Tensor, logits: Tensor, label: Tensor | Mixed, environment: Tensor) -> None:
        """Adds a batch: its scalar objective, logits (n, k), label and environment (n,)."""
        with torch.no_grad():
            losses = mixed_losses(logits.float(), label)
            self.sums[:, 0] += torch.stack([objective.float(), torch.ones_like(objective, dtype=torch.float32)])
            self.sums.index_add_(1, environment + 1, torch.stack([losses, torch.ones_like(losses)]))

    def means(self, sums: Tensor) -> MeanLosses:
        """The means of `sums`, which are `self.sums` added up over all processes."""
        (total, *by_environment), (batches, *counts) = sums.tolist()
        means = [each / count if count else None for each, count in zip(by_environment, counts, strict=True)]
        rows = sum(counts)
        return MeanLosses(total / batches if batches else None, sum(by_environment) / rows if rows else None, means)
