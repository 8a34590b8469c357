"""LISA: mixes rows of one class across environments, or rows of one environment across classes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from oochub.errors import OochubError
from oochub.records.typed_values import NotNegative, Share
from oochub.trainers.batch import Batch, Mixed
from oochub.trainers.objective import check_environment
from oochub.trainers.objectives._mixing import Mixing, mix_pairs


class Lisa(Mixing):
    """With probability p_select a batch is mixed within classes, else within environments.

        within classes:        x = lambda x_i + (1 - lambda) x_j with y_i = y_j and e_i != e_j
        within environments:   the same with e_i = e_j and y_i != y_j

    lambda ~ Beta(alpha, alpha) anew for each row, the loss lambda l(f(x), y_i) + (1 - lambda) l(f(x), y_j). j is drawn
    from the rows of the batch that may be row i's partner; a row that has none stays as it is. Classes and
    environments that are rare in batches are rarely mixed: `sampler="group_balanced"` makes all pairs of class and
    environment equally likely, as the authors' loaders, one for each such pair, do. Under several processes each mixes
    its own rows. The Spawrious paper's "alternate" says no more of the order.

    `form` names an implementation that differs:

    - "subpopbench": partners in blocks. For each class that has several environments in the batch, the rows of one are
      paired with those of another, up to the shorter (or the like with the two exchanged), again and again until there
      are as many pairs as rows; no row stays unmixed unless all do.

    The authors' code is the default's formula with pairs from group loaders; its CutMix (used for CelebA and MetaShift,
    with alpha 0.2 by an oversight) and its mixing of encoder outputs for texts are not here.

    Args:
        alpha: Default 2; 0 mixes nothing. SubpopBench 10^U(-1, 1).
        p_select: Default 0.5. SubpopBench U(0, 1).
        form: None or "subpopbench".

    Raises:
        OochubError: An alpha that is negative or not finite, a p_select outside [0, 1], or an unknown form; before
            training, texts, labels that are not classes, or rows of which none can be mixed; in use, no environments.

    Source: Yao, Wang, Li, Zhang, Liang, Zou, Finn 2022 (arXiv 2201.00299), section 3.

    >>> logits, environment = torch.tensor([[0.0, 2.0]]), torch.tensor([0])
    >>> both = Mixed(torch.tensor([0]), torch.tensor([1]), torch.tensor([0.25]))
    >>> round(Lisa()(logits, both, environment).item(), 4)  # 0.25 x 2.1269 + 0.75 x 0.1269
    0.6269
    """

    needs_environments: ClassVar[bool] = True
    needs_classes: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Yao, Wang, Li, Zhang, Liang, Zou, Finn. Improving Out-of-Distribution Robustness via Selective Augmentation. "
        "ICML 2022. arXiv:2201.00299"
    )

    def __init__(
        self, *, alpha: NotNegative = 2.0, p_select: Share = 0.5, form: Literal["subpopbench"] | None = None
    ) -> None:
        super().__init__()
        self.keep(alpha=alpha, p_select=p_select, form=form)

    def examine(self, model: Any, probe: Mapping[str, Tensor], *, label: Tensor, environment: Tensor) -> None:
        """Refuses texts, and rows of which none can be mixed; see `Objective.examine`."""
        super().examine(model, probe, label=label, environment=environment)
        table = np.zeros((int(label.max()) + 1, int(environment.max()) + 1), bool)
        table[label.numpy(), environment.numpy()] = True
        wanted = [(self.p_select > 0, table.sum(1)), (self.p_select < 1, table.sum(0))]
        if not any(needed and (counts > 1).any() for needed, counts in wanted):
            raise OochubError(
                f"Lisa(p_select={self.p_select}) finds nothing to mix: no class is in two environments"
                f"{' and no environment has two classes' if self.p_select < 1 else ''}. Choose another "
                "environment_column."
            )

    def change(self, batch: Batch, draws: np.random.Generator) -> Batch:
        """The batch with its rows mixed; see `Objective.change`."""
        assert isinstance(batch.label, Tensor)  # noqa: S101  rows are mixed once
        alike, unlike = batch.label, batch.environment
        if draws.random() >= self.p_select:
            alike, unlike = unlike, alike
        if self.form:
            return self._permute_in_blocks(batch, alike.cpu().numpy(), unlike.cpu().numpy(), draws)
        may = (alike[:, None] == alike) & (unlike[:, None] != unlike)
        # the largest of random keys: a draw among the partners, without asking the device for anything
        keys = torch.as_tensor(draws.random(may.shape), dtype=torch.float32).to(may.device) + 1
        partner = (keys * may).argmax(1)
        weight = self._draw_weights(len(may), draws, may).where(may.any(1), 1.0)
        return mix_pairs(batch, torch.arange(len(may)), partner, weight)

    def _permute_in_blocks(
        self, batch: Batch, alike: np.ndarray[Any, Any], unlike: np.ndarray[Any, Any], draws: np.random.Generator
    ) -> Batch:
        blocks = []
        for kind in np.unique(alike):
            parts = [np.flatnonzero((alike == kind) & (unlike == other)) for other in np.unique(unlike)]
            blocks.append([rows for rows in parts if len(rows)])
        blocks = [parts for parts in blocks if len(parts) > 1]
        if not blocks:
            return batch
        count, pairs_of_rows = len(alike), np.zeros((2, 0), int)
        while pairs_of_rows.shape[1] < count:
            for parts in blocks:
                first, second = draws.choice(len(parts), 2, replace=False)
                length = min(len(parts[first]), len(parts[second]))
                pairs_of_rows = np.concatenate([pairs_of_rows, [parts[first][:length], parts[second][:length]]], axis=1)
        first, second = pairs_of_rows[:, draws.permutation(pairs_of_rows.shape[1])[:count]]
        return mix_pairs(batch, first, second, self._draw_weights(count, draws, batch.row))

    def forward(
        self, logits: Tensor, label: Tensor | Mixed, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The mean loss of the rows, of which `label` may be `Mixed`; see `Objective.forward`."""
        check_environment(self, environment)
        return super().forward(logits, label, environment, features)
