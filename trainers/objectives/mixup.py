"""Mixup: the loss of images that are weighted means of two, against both labels with the same weights."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.records.typed_values import NotNegative
from oochub.trainers.batch import Batch, Mixed, mix_losses
from oochub.trainers.objective import check_environment
from oochub.trainers.objectives._mixing import Mixing, mean_of_environments, mix_pairs


class Mixup(Mixing):
    """Each row of a batch is mixed with another, by a random permutation of the batch.

    It goes across classes and environments, the "random shuffle" of the Spawrious paper:

        x = lambda x_i + (1 - lambda) x_j,   l = lambda l(f(x), y_i) + (1 - lambda) l(f(x), y_j)

    with one lambda ~ Beta(alpha, alpha) a batch, as in the authors' code (mixup-cifar10). For cross entropies l is the
    loss of the mixed label; for squared errors it has the same gradient. Under several processes each mixes its own
    rows.

    `form` names an implementation that differs: "domainbed" pairs whole environments of the batch in a random cycle,
    row by row up to the shorter one, with one lambda per pair, and averages over pairs. (The paper that Spawrious cites
    for Mixup, Xu et al. 2019, is another method, with an adversary.)

    Args:
        alpha: Default 0.2; 0 is `erm`. DomainBed and SubpopBench 10^U(-1, 1).
        form: None or "domainbed".

    Raises:
        OochubError: An alpha that is negative or not finite, or an unknown form; before training, texts, or with
            "domainbed" a single environment.

    Source: Zhang, Cisse, Dauphin, Lopez-Paz 2018 (arXiv 1710.09412), section 2; DomainBed, algorithms.py, Mixup.

    >>> logits = torch.tensor([[0.0, 2.0]])
    >>> both = Mixed(torch.tensor([0]), torch.tensor([1]), torch.tensor([0.25]))
    >>> round(Mixup()(logits, both).item(), 4)  # 0.25 x 2.1269 + 0.75 x 0.1269
    0.6269
    """

    citation: ClassVar[str] = (
        "Zhang, Cisse, Dauphin, Lopez-Paz. mixup: Beyond Empirical Risk Minimization. ICLR 2018. arXiv:1710.09412"
    )

    def __init__(self, *, alpha: NotNegative = 0.2, form: Literal["domainbed"] | None = None) -> None:
        super().__init__()
        self.keep(alpha=alpha, form=form)
        self._environments = 0

    def prepare(self, *, class_counts: Any = None, environment_counts: Any = None) -> None:
        """Takes the number of environments; see `Objective.prepare`."""
        self._environments = 0 if environment_counts is None else len(environment_counts)

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Refuses texts and single environments; see `Objective.examine`."""
        super().examine(model, probe, label=label, environment=environment)
        if self.form and environment.unique().numel() < 2:
            raise OochubError(
                "Mixup(form='domainbed') mixes environments, but there is only one. Set environment_column."
            )

    def change(self, batch: Batch, draws: np.random.Generator) -> Batch:
        """The batch with its rows mixed; see `Objective.change`."""
        count = len(batch.row)
        if not self.form:
            weight = self._draw_weights(1, draws, batch.row).expand(count)
            return mix_pairs(batch, range(count), draws.permutation(count), weight)
        environment = batch.environment.cpu().numpy()
        rows = [np.flatnonzero(environment == part) for part in draws.permutation(np.unique(environment))]
        weights = self._draw_weights(len(rows), draws, batch.row)
        lengths = [min(len(part), len(following)) for part, following in zip(rows, rows[1:] + rows[:1], strict=True)]
        first = [part[:length] for part, length in zip(rows, lengths, strict=True)]
        second = [part[:length] for part, length in zip(rows[1:] + rows[:1], lengths, strict=True)]
        repeats = torch.tensor(lengths, device=weights.device)
        return mix_pairs(batch, np.concatenate(first), np.concatenate(second), weights.repeat_interleave(repeats))

    def forward(
        self, logits: Tensor, label: Tensor | Mixed, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss, with "domainbed" of the pairs' means; see `Objective.forward`."""
        losses = mix_losses(logits, label)
        if not self.form:
            return losses.mean()
        environment = check_environment(self, environment)  # of each row's first part: one a pair
        return mean_of_environments(losses, environment, self._environments or int(environment.max()) + 1)
