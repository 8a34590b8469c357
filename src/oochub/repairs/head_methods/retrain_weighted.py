"""A last layer retrained with a weight for each row, so that all groups count the same."""

from typing import ClassVar

from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.head_method import HeadMethod, HeadRows, balance_groups, fit_logistic


class RetrainWeighted(HeadMethod):
    """Logistic regression on all rows, each weighted by one over the size of its group.

    Args:
        c: Inverse strength of the L2 penalty, on standardized features.

    >>> import numpy as np
    >>> rows = HeadRows(np.eye(2, dtype=np.float32), np.array([0, 1]), np.array([0, 1]), 2)
    >>> head = RetrainWeighted().fit(rows, seed=0)
    >>> (rows.features @ head.weight.T + head.bias).argmax(axis=1).tolist()
    [0, 1]
    """

    title = "last layer retrained on weighted groups"
    settings = tuple({"c": c} for c in (1e-3, 1e-2, 1e-1, 1.0))
    citation: ClassVar[str] = (
        "Idrissi, Arjovsky, Pezeshki, Lopez-Paz. Simple data balancing achieves competitive worst-group-accuracy. "
        "CLeaR 2022. arXiv:2110.14503"
    )

    def __init__(self, *, c: float = 0.1) -> None:
        self.c = c

    def fit(self, rows: HeadRows, *, seed: int) -> StoredHead:
        """See `HeadMethod.fit`; nothing is drawn."""
        features, scale = rows.standardized()
        weights = balance_groups(rows.group)
        return scale.fold(*fit_logistic(features, rows.label, weights, classes=rows.classes, c=self.c))
