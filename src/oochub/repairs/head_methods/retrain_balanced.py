"""A last layer retrained on as many rows of each group: deep feature reweighting."""

from typing import ClassVar

import numpy as np
import torch

from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.head_method import HeadMethod, HeadRows
from oochub.trainers.heads.balanced_refits import fit_balanced_heads

_FEWEST, _MOST = 3, 10  # regressions
_NUMBERS = 4_000_000  # features that all regressions together should see


class RetrainBalanced(HeadMethod):
    """The mean of several logistic regressions, each on as many rows of each group as the smallest has.

    Args:
        c: Inverse strength of the L1 penalty, on standardized features.
        refits: Number of regressions; None takes 10, as the authors, or as few as 3 where each sees a million features.

    >>> rows = HeadRows(np.eye(2, dtype=np.float32), np.array([0, 1]), np.array([0, 1]), 2)
    >>> head = RetrainBalanced(c=10.0).fit(rows, seed=0)
    >>> (rows.features @ head.weight.T + head.bias).argmax(axis=1).tolist()
    [0, 1]
    """

    title = "last layer retrained on balanced groups (DFR)"
    settings = tuple({"c": c} for c in (0.1, 1.0))
    citation: ClassVar[str] = (
        "Kirichenko, Izmailov, Wilson. Last Layer Re-Training is Sufficient for Robustness to Spurious Correlations. "
        "ICLR 2023. arXiv:2204.02937"
    )

    def __init__(self, *, c: float = 0.1, refits: int | None = None) -> None:
        self.c, self.refits = c, refits

    def fit(self, rows: HeadRows, *, seed: int) -> StoredHead:
        """See `HeadMethod.fit`; the rows of each refit are drawn."""
        counts = np.unique(rows.group, return_counts=True)[1]
        few = int(np.clip(_NUMBERS // (counts.min() * len(counts) * rows.features.shape[1]), _FEWEST, _MOST))
        weight, bias, _ = fit_balanced_heads(
            torch.from_numpy(rows.features),
            torch.from_numpy(rows.label),
            rows.group,
            classes=rows.classes,
            c=self.c,
            refits=few if self.refits is None else self.refits,
            draws=np.random.default_rng(seed),
        )
        return StoredHead(weight=weight.numpy(), bias=bias.numpy())
