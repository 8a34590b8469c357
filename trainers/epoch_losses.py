"""The losses of an epoch so far, summed on the device so that no step waits for them."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class MeanLosses(NamedTuple):
    """Means of an epoch: of the objective over batches, of the cross entropy over rows and those of an environment."""

    objective: float
    loss: float
    by_environment: list[float | None]


class EpochLosses:
    """Sums and counts of the objective and of the rows' cross entropies by environment.

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

    def count(self, objective: Tensor, logits: Tensor, label: Tensor, environment: Tensor) -> None:
        """Adds a batch: its scalar objective, logits (n, c), label and environment (n,)."""
        with torch.no_grad():
            losses = functional.cross_entropy(logits.float(), label, reduction="none")
            self.sums[:, 0] += torch.stack([objective.float(), torch.ones_like(objective, dtype=torch.float32)])
            self.sums.index_add_(1, environment + 1, torch.stack([losses, torch.ones_like(losses)]))

    def means(self, sums: Tensor) -> MeanLosses:
        """The means of `sums`, which are `self.sums` added up over all processes."""
        (total, *by_environment), (batches, *counts) = sums.tolist()
        means = [each / count if count else None for each, count in zip(by_environment, counts, strict=True)]
        return MeanLosses(total / batches, sum(by_environment) / sum(counts), means)
