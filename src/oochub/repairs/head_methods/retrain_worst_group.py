"""A last layer retrained for the group with the largest loss: GroupDRO on fixed features."""

from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.head_method import HeadMethod, HeadRows, fit_logistic


class RetrainWorstGroup(HeadMethod):
    """The head that minimizes the largest mean loss of a group, plus an L2 penalty.

    On fixed features the problem is convex. In each round the groups' weights q grow with the groups' losses, and a
    logistic regression is fitted at these weights; the mean of the rounds is the head (Freund and Schapire 1999).

        q_g <- q_g exp(step * loss_g) / sum

    Args:
        c: Inverse strength of the L2 penalty, on standardized features.
        step: Step size of the groups' weights, per nat.
        rounds: Number of rounds.

    >>> rows = HeadRows(np.eye(2, dtype=np.float32), np.array([0, 1]), np.array([0, 1]), 2)
    >>> head = RetrainWorstGroup().fit(rows, seed=0)
    >>> (rows.features @ head.weight.T + head.bias).argmax(axis=1).tolist()
    [0, 1]
    """

    title = "last layer retrained for the worst group (GroupDRO)"
    settings = tuple({"c": c} for c in (1e-2, 1e-1))
    citation: ClassVar[str] = (
        "Sagawa, Koh, Hashimoto, Liang. Distributionally Robust Neural Networks for Group Shifts. ICLR 2020. "
        "arXiv:1911.08731"
    )

    def __init__(self, *, c: float = 0.1, step: float = 1.0, rounds: int = 10) -> None:
        self.c, self.step, self.rounds = c, step, rounds

    def fit(self, rows: HeadRows, *, seed: int) -> StoredHead:
        """See `HeadMethod.fit`; nothing is drawn."""
        features, scale = rows.standardized()
        _, place, counts = np.unique(rows.group, return_inverse=True, return_counts=True)
        share = np.full(len(counts), 1 / len(counts))
        fits = []
        for _ in range(self.rounds):
            weights = (share / counts)[place] * len(place)
            weight, bias = fit_logistic(features, rows.label, weights, classes=rows.classes, c=self.c)
            fits.append((weight, bias))
            losses = -log_softmax(features @ weight.T + bias, axis=1)[np.arange(len(place)), rows.label]
            share = share * np.exp(self.step * np.bincount(place, losses) / counts)
            share /= share.sum()
        return scale.fold(*(np.mean(tensors, axis=0) for tensors in zip(*fits, strict=True)))
