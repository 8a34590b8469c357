"""A last layer between the model's own and one retrained on weighted groups, for a loss in context that is allowed."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.head_method import HeadMethod, HeadRows, balance_groups, fit_logistic


class MixWithOwn(HeadMethod):
    """(1 - share) times the model's own head, plus share times a retrained one, at logits of the same spread.

    A head that ignores the context may lose more in usual contexts than is allowed; one between the two loses less.
    The retrained head is that of `RetrainWeighted`. The spread is the standard deviation of a class's logit over the
    rows, averaged over the classes.

    Args:
        share: How much of the retrained head is taken, from 0 to 1.
        c: Inverse strength of the L2 penalty, on standardized features.

    >>> own = StoredHead(weight=np.array([[0.0, -1.0], [0.0, 1.0]]), bias=np.zeros(2))
    >>> features = np.array([[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]], np.float32)
    >>> rows = HeadRows(features, np.array([0, 1, 0, 1]), np.array([0, 1, 2, 3]), 2, own)
    >>> MixWithOwn(share=0.25).fit(rows, seed=0).weight.round(2).tolist()  # the label is feature 0, own looks at 1
    [[-0.25, -0.75], [0.25, 0.75]]
    """

    title = "between the model's own and one retrained on weighted groups"
    settings = tuple({"share": share} for share in (0.25, 0.5, 0.75))
    uses_own = True
    citation: ClassVar[str] = (
        "Wortsman, Ilharco, Kim, Li, Kornblith, et al. Robust fine-tuning of zero-shot models. CVPR 2022. "
        "arXiv:2109.01903"
    )

    def __init__(self, *, share: float = 0.5, c: float = 0.01) -> None:
        self.share, self.c = share, c

    def fit(self, rows: HeadRows, *, seed: int) -> StoredHead:
        """See `HeadMethod.fit`; nothing is drawn."""
        own = rows.head
        assert own is not None  # noqa: S101  uses_own
        features, scale = rows.standardized()
        weights = balance_groups(rows.group)
        new = scale.fold(*fit_logistic(features, rows.label, weights, classes=rows.classes, c=self.c))
        spread = _measure_spread(new, rows.features)
        ratio = self.share * (_measure_spread(own, rows.features) / spread if spread > 0 else 1.0)
        rest = 1 - self.share
        return StoredHead(weight=rest * own.weight + ratio * new.weight, bias=rest * own.bias + ratio * new.bias)


def _measure_spread(head: StoredHead, features: NDArray[np.float32]) -> float:
    return float((features.astype(np.float64) @ np.asarray(head.weight).T).std(axis=0).mean())
