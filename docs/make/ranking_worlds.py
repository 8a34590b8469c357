"""Worlds of rankings near 1, drawn as other people's data are: few rows far off, rare classes, unequal clusters.

A row has a margin of its own class over the other, `base` plus noise, less `_HARDER` if it is hard; its score is the
margin, with the other sign for class 0. Noise is normal, Student's t3 or t4, each of variance 1, or normal with one row
in twenty five times as wide; some rows are mislabeled, so that their margin has the other sign. Rows of a cluster share
a part of the noise. `docs/make/interval_worlds.py` takes these worlds as families of numbers.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as sklearn

import oochub
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import estimate, gap

Array = NDArray[Any]
Random = np.random.Generator
_HARDER = 0.5
_WIDE, _ONE_IN = 5.0, 20
NOISE: Mapping[str, Callable[[Random, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n) / math.sqrt(3),
    "t4": lambda rng, n: rng.standard_t(4, size=n) / math.sqrt(2),
    "some wide": lambda rng, n: rng.normal(size=n) * np.where(rng.random(n) < 1 / _ONE_IN, _WIDE, 1.0),
}


class Ranking(NamedTuple):
    """What is drawn.

    Attributes:
        noise: A name of `NOISE`.
        base: The mean margin of an easy row.
        positives: Share of class 1.
        mislabeled: Share of rows whose margin has the other sign.
        shared: Share of the variance that the rows of a cluster have in common.
    """

    noise: str
    base: float
    positives: float = 0.5
    mislabeled: float = 0.0
    shared: float = 0.0

    def draw(self, rng: Random, cluster: Array, _groups: int = 2) -> dict[str, Array]:
        """The rows of clusters (n,) numbered from 0 on: label, score, and whether each is hard."""
        n, noise = len(cluster), NOISE[self.noise]
        label, hard = (rng.random(n) < self.positives).astype(np.int64), rng.random(n) < 0.5
        common = noise(rng, int(cluster.max()) + 1)[cluster]
        margin = self.base - _HARDER * hard
        margin = margin + math.sqrt(self.shared) * common + math.sqrt(1 - self.shared) * noise(rng, n)
        margin = np.where(rng.random(n) < self.mislabeled, -margin, margin)
        return {"label": label, "score": margin * (2 * label - 1), "hard": hard}


RANKINGS: Mapping[str, Ranking] = {
    "normal noise, AUC .95": Ranking("normal", 1.163),
    "normal noise, AUC .95, 3% positive": Ranking("normal", 1.163, positives=0.03),
    "normal noise, AUC .99, 10% positive": Ranking("normal", 1.6455, positives=0.1),
    "t4 noise, AUC .96, 10% positive": Ranking("t4", 1.188, positives=0.1),
    "t4 noise, AUC .998": Ranking("t4", 2.715),
    "t4 noise, AUC .998, 10% positive": Ranking("t4", 2.715, positives=0.1),
    "t4 noise, AUC .998, 1% positive": Ranking("t4", 2.715, positives=0.01),
    "t3 noise, AUC .998": Ranking("t3", 3.0285),
    "some wide noise, AUC .98, 10% positive": Ranking("some wide", 2.177, positives=0.1),
    "0.1% mislabeled": Ranking("normal", 4.0, mislabeled=0.001),
    "0.5% mislabeled, 20% positive": Ranking("normal", 3.0, positives=0.2, mislabeled=0.005),
    "2% mislabeled, 10% positive": Ranking("normal", 3.0, positives=0.1, mislabeled=0.02),
    "rows alike in clusters, AUC .96": Ranking("normal", 1.25, shared=0.2),
    "rows much alike in clusters, AUC .99": Ranking("t4", 1.7, shared=0.5),
    "rows little alike in clusters, AUC .999": Ranking("t4", 3.0, shared=0.1),
}
"""Each world by its name; the AUC in a name is that of the easy rows."""


def measure_ranking(columns: Mapping[str, Array], sampling: Sampling) -> dict[str, Estimate]:
    """The numbers of a world, each with the interval that a report gives it."""
    shared = {"resamples": sampling.resamples, "seed": sampling.seed}
    sides = [{"label": columns["label"][rows], "score": columns["score"][rows]} for rows in _sides(columns)]
    own = [None if sampling.cluster is None else sampling.cluster[rows] for rows in _sides(columns)]
    auc, precision = oochub.get("metric", "auc"), oochub.get("metric", "average_precision")
    easy = {"score": sides[0]["score"], "is_ood": sides[0]["label"] == 0}
    estimates = {"AUC, easy rows": estimate(auc, sides[0], cluster=own[0], **shared)}
    estimates["AUC, hard rows"] = estimate(auc, sides[1], cluster=own[1], **shared)
    estimates["gap of AUC"] = gap(auc, *sides, in_cluster=own[0], out_cluster=own[1], **shared)
    for name, positive in (("class 1", "id"), ("class 0", "ood")):
        options = {"positive": positive}
        estimates[f"average precision of {name}"] = estimate(precision, easy, cluster=own[0], options=options, **shared)
    return estimates


def find_truths(columns: Mapping[str, Array]) -> dict[str, float]:
    """The same on a population, by scikit-learn."""
    sides = [(columns["label"][rows], columns["score"][rows]) for rows in _sides(columns)]
    (label, score), areas = sides[0], [float(sklearn.roc_auc_score(*side)) for side in sides]
    return {
        "AUC, easy rows": areas[0],
        "AUC, hard rows": areas[1],
        "gap of AUC": areas[1] - areas[0],
        "average precision of class 1": float(sklearn.average_precision_score(label, score)),
        "average precision of class 0": float(sklearn.average_precision_score(1 - label, -score)),
    }


def _sides(columns: Mapping[str, Array]) -> tuple[Array, Array]:
    return ~columns["hard"], columns["hard"]
