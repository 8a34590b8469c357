"""GEN: a generalized entropy of the largest softmax probabilities, sensitive to small ones."""

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._hyperparameters import check_count, check_number
from oochub.stats.array_checks import Array

_TOP = 100


class Gen(Detector):
    """s(x) = -sum_j p_j^gamma (1 - p_j)^gamma over the `top` largest softmax probabilities p_j.

    Nothing is fitted. 1 - p of the most likely class is the sum of the others, not a difference, so that confident rows
    still differ. The score is 0 or less.

    Args:
        gamma: Exponent, above 0 and at most 1. Default 0.1, as in the paper.
        top: Number of classes, M in the paper. None: 100, as in the paper for ImageNet, or all if there are fewer.

    Raises:
        OochubError: gamma out of range; top is larger than the number of classes, which is given; logits that are
            missing or not finite.

    Source: Liu, Lochman and Zach 2023 (CVPR), the generalized entropy.

    >>> Gen(gamma=0.5).score(logits=np.log([[1, 3]])).round(6).tolist()  # twice sqrt(3/4 1/4)
    [-0.866025]
    """

    score_needs = ("logits",)

    def __init__(self, *, gamma: float = 0.1, top: int | None = None) -> None:
        super().__init__()
        self.gamma = check_number("gamma", gamma, low=0, high=1, above=True)
        self.top = None if top is None else check_count("top", top)

    def _score(self, rows: dict[str, Array]) -> Array:
        p = rows["logits"]
        classes = p.shape[1]
        if self.top is not None and self.top > classes:
            raise OochubError(f"top is {self.top}, but there are {classes} classes: the largest allowed is {classes}.")
        at, largest = np.arange(len(p)), p.argmax(axis=1)
        p -= p.max(axis=1, keepdims=True)
        np.exp(p, out=p)
        p[at, largest] = 0
        others = p.sum(axis=1)
        p[at, largest] = 1
        p /= 1 + others[:, None]
        left = 1 - p
        left[at, largest] = others / (1 + others)
        terms = (p * left) ** self.gamma
        k = min(self.top or _TOP, classes)
        if k < classes:  # x (1 - x) has the order of x in all but the largest, which is always among them
            terms[at, largest], first = np.inf, terms[at, largest]
            terms = np.partition(terms, -k, axis=1)[:, -k:]
            terms[np.isinf(terms)] = first
        entropy: Array = terms.sum(axis=1)
        return -entropy
