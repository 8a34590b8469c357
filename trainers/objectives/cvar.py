"""Conditional value at risk: the mean of the largest losses of the batch."""

import math
from typing import Annotated, ClassVar, Literal

from torch import Tensor

from oochub.records.typed_values import Bounds
from oochub.trainers.batch import gather_rows
from oochub.trainers.losses import example_losses
from oochub.trainers.objective import Objective


class Cvar(Objective):
    """L = the mean of the ceil(p n) largest losses of the n rows of the batch.

    The paper takes the p-percent worst losses of the training set, this takes those of the batch, as NOOCH's code
    does. Under several processes the n rows are those of all of them; with gradient accumulation, of each batch.

    `form="subpopbench"` does not round p n: with k = floor(p n), the k largest losses weigh 1 / (p n) each and the next
    one the rest, 1 - k / (p n). That is CVaR of the batch's own distribution, exactly.

    Args:
        p: The share of rows, above 0 and at most 1; 1 is `erm`. Default 0.1. NOOCH Table 8 0.05, 0.1, 0.15; SubpopBench
            (as alpha) 10^U(-2, 0), default 0.1.
        form: None or "subpopbench".

    Raises:
        OochubError: A p out of its range, an unknown form.

    Source: Rockafellar and Uryasev 2000; NOOCH section 4.4; SubpopBench's form is Levy et al. 2020 (arXiv 2010.05893).

    >>> import torch
    >>> logits, label = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0, 0])
    >>> round(Cvar(p=0.5)(logits, label).item(), 4)  # losses 0.6931, 0.1269 and 2.1269; the mean of the largest 2
    1.41
    """

    side_by_side: ClassVar[frozenset[str] | None] = frozenset()
    citation: ClassVar[str] = (
        "Rockafellar, Uryasev. Optimization of Conditional Value-at-Risk. Journal of Risk 2(3), 2000"
    )

    p: float

    def __init__(
        self, *, p: Annotated[float, Bounds(0, 1, above=True)] = 0.1, form: Literal["subpopbench"] | None = None
    ) -> None:
        super().__init__()
        self.keep(p=p, form=form)

    def forward(
        self, logits: Tensor, label: Tensor, environment: Tensor | None = None, features: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; `environment` and `features` are not used. See `Objective.forward`."""
        losses = gather_rows(example_losses(logits, label))
        share = self.p * len(losses)
        largest = losses.topk(max(1, math.ceil(share - 1e-9)), dim=0).values  # 0.07 * 100 is 7.000000000000001
        if self.form == "subpopbench":
            return (largest.sum(0) - (len(largest) - share) * largest[-1]) / share  # the last counts in part
        return largest.mean(0)
