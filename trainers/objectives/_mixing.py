"""What mixup and lisa share: images are mixed, their losses too, and anything else is refused."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.trainers.batch import Batch, Mixed, mix_batches, mix_losses
from oochub.trainers.objective import EnvironmentMeans, Objective, environment_means


class Mixing(Objective):
    """The mean loss of mixed rows; a subclass mixes them in `change`.

    Args of the constructor: alpha, of the Beta(alpha, alpha) from which weights are drawn; 0 mixes nothing.
    """

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Refuses what is not images; see `Objective.examine`."""
        if "pixel_values" not in probe:
            raise OochubError(
                f"{type(self).__name__} mixes images; tokens cannot be mixed. Use another objective for texts."
            )

    def forward(
        self, logits: Tensor, label: Tensor | Mixed, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss of the rows, of which `label` may be `Mixed`; see `Objective.forward`."""
        return mix_losses(logits, label).mean()

    def _draw_weights(self, count: int, draws: Any, like: Tensor) -> Tensor:
        """Weights of the rows themselves, float32 (count,), one draw each."""
        drawn = draws.beta(self.alpha, self.alpha, count) if self.alpha else [1.0] * count
        return torch.as_tensor(drawn, dtype=torch.float32).to(like.device)


def mix_pairs(batch: Batch, first: Any, second: Any, weight: Tensor) -> Batch:
    """The rows at the positions `first` mixed with those at `second`; `weight` belongs to the first."""
    places = [torch.as_tensor(positions, dtype=torch.int64).to(batch.row.device) for positions in (first, second)]
    return mix_batches(batch.take(places[0]), batch.take(places[1]), weight)


def mean_of_environments(losses: Tensor, environment: Tensor, environments: int) -> Tensor:
    """The mean over environments with rows of their mean losses.

    >>> mean_of_environments(torch.tensor([1.0, 3.0, 6.0]), torch.tensor([0, 0, 2]), 3)
    tensor(4.)
    """
    means: EnvironmentMeans = environment_means(losses, environment, environments)
    return means.mean.sum() / (means.count > 0).sum()
