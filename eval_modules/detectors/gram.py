"""Gram: how far products of activations leave the ranges that they have on training rows of the predicted class."""

from collections.abc import Iterator, Mapping

import numpy as np

from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._hyperparameters import check_count
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks

_SOFT = 1e-6  # is added to the bound that a distance is divided by


class Gram(Detector):
    """s(x) = -sum_p sum_j [max(0, lo - g) / |lo + 1e-6| + max(0, g - hi) / |hi + 1e-6|], g = g_pj(x), p = 1..powers.

    g_pj(f) is the signed p-th root of f_j^p sum_i f_i^p, the sum of row j of the Gram matrix of order p. lo and hi are
    the smallest and largest g_pj over the training rows of the class that the model predicts for x. The method adds up
    the deviations of many layers, each divided by its mean; here is one layer, that of the features, whose mean
    deviation would change no ranking. The fit is one pass, in memory of 2 powers c d numbers. The score is 0 or less.

    Args:
        powers: The largest order, 1 or more. Default 5, as in OpenOOD; the paper takes 10.

    Attributes:
        lowest: lo, float64 (c, powers, d).
        highest: hi, of the same shape.

    Raises:
        OochubError: powers is not a whole number of 1 or more; a class without training rows; something missing or
            unfit.

    Source: Sastry and Oore 2020 (arXiv 1912.12510); row sums as in the code of OpenOOD and pytorch-ood.

    >>> rows = {"features": [[1.0, 2.0], [2.0, 2.0], [1.0, 1.0]], "logits": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]}
    >>> detector = Gram(powers=1).fit(**rows, label=[0, 0, 1])
    >>> detector.highest[0].tolist()  # of [1, 2] times 3, and of [2, 2] times 4
    [[8.0, 8.0]]
    >>> detector.score(features=[[2.0, 2.0], [2.0, 3.0]], logits=rows["logits"][:2]).round(6).tolist()  # 2/8 + 7/8
    [-0.0, -1.125]
    """

    fit_needs = ("features", "logits", "label")
    score_needs = ("features", "logits")
    fitted = ("lowest float64 c p d", "highest float64 c p d")
    lowest: Array
    highest: Array

    def __init__(self, *, powers: int = 5) -> None:
        super().__init__()
        self.powers = check_count("powers", powers)

    def _empty(self) -> "_Ranges":
        return _Ranges(self._columns["logits"], self.powers, self._columns["features"])

    def _finish(self, gathered: "_Ranges") -> None:
        unseen = np.flatnonzero(np.isinf(gathered.lowest[:, 0, 0]))
        if len(unseen):
            raise OochubError(
                f"Class {unseen[0]} has no training rows, so it has no ranges ({len(unseen)} of "
                f"{len(gathered.lowest)} classes are like this). Fit on rows of all classes."
            )
        self.lowest, self.highest = gathered.lowest, gathered.highest

    def _score(self, rows: dict[str, Array]) -> Array:
        top = rows["logits"].argmax(axis=1)
        away = np.zeros(len(top))
        for place, sums in enumerate(_row_sums(rows["features"], self.powers)):
            low, high = self.lowest[top, place], self.highest[top, place]
            away += (np.maximum(low - sums, 0) / np.abs(low + _SOFT)).sum(axis=1)
            away += (np.maximum(sums - high, 0) / np.abs(high + _SOFT)).sum(axis=1)
        return -away


class _Ranges:
    """The smallest and largest row sums of each class."""

    def __init__(self, classes: int, powers: int, columns: int) -> None:
        self.lowest = np.full((classes, powers, columns), np.inf)
        self.highest = np.full((classes, powers, columns), -np.inf)

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        features, label = rows["features"], rows["label"]
        for part in fit_blocks(*features.shape):
            order = np.argsort(label[part], kind="stable")
            of, starts = np.unique(label[part][order], return_index=True)
            block = features[part][order].astype(np.float64)
            for place, sums in enumerate(_row_sums(block, self.lowest.shape[1])):
                low, high = np.minimum.reduceat(sums, starts), np.maximum.reduceat(sums, starts)
                self.lowest[of, place] = np.minimum(self.lowest[of, place], low)
                self.highest[of, place] = np.maximum(self.highest[of, place], high)

    def merge(self, other: "_Ranges") -> None:
        np.minimum(self.lowest, other.lowest, out=self.lowest)
        np.maximum(self.highest, other.highest, out=self.highest)


def _row_sums(features: Array, powers: int) -> Iterator[Array]:
    """g_p for p = 1..powers, float64 (n, d) each."""
    raised = np.ones_like(features)
    for p in range(1, powers + 1):
        raised = raised * features
        sums = raised * raised.sum(axis=1, keepdims=True)
        yield np.sign(sums) * np.abs(sums) ** (1 / p)
