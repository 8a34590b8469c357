"""The model's own last layer with another bias: logits adjusted for how frequent the classes are."""

from typing import ClassVar

import numpy as np

from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.head_method import HeadMethod, HeadRows


class AdjustLogits(HeadMethod):
    """Subtracts tau log pi_y from the logit of class y, where pi_y is its share of the rows.

    Args:
        tau: How much is subtracted; 1 makes a model of all rows one of balanced classes.

    >>> own = StoredHead(weight=np.zeros((2, 1)), bias=np.zeros(2))
    >>> rows = HeadRows(np.zeros((4, 1), np.float32), np.array([0, 0, 0, 1]), np.zeros(4, np.int64), 2, own)
    >>> AdjustLogits().fit(rows, seed=0).bias.round(3).tolist()  # -log 3/4, -log 1/4
    [0.288, 1.386]
    """

    title = "logits adjusted for the classes' shares"
    settings = tuple({"tau": tau} for tau in (0.5, 1.0))
    uses_groups = False
    uses_own = True
    citation: ClassVar[str] = (
        "Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit adjustment. ICLR 2021. "
        "arXiv:2007.07314"
    )

    def __init__(self, *, tau: float = 1.0) -> None:
        self.tau = tau

    def fit(self, rows: HeadRows, *, seed: int) -> StoredHead:
        """See `HeadMethod.fit`; nothing is drawn."""
        assert rows.head is not None  # noqa: S101  uses_own
        counts = np.bincount(rows.label, minlength=rows.classes)
        share = np.where(counts > 0, counts, len(rows.label)) / len(rows.label)  # a class without rows stays
        return StoredHead(weight=rows.head.weight, bias=rows.head.bias - self.tau * np.log(share))
