"""Worlds with a known truth, in which the intervals of a report's numbers are held against it.

A world is a draw of rows from a population that is written down here; the truth of a number is its value on the whole
population (a million rows, by plain numpy and scikit-learn, not by our metrics). Rows of a cluster share an effect on
the answer, with an intraclass correlation of 0.2 of the latent variable. `docs/make/intervals_page.py` counts how often
an interval holds the truth.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from ranking_worlds import RANKINGS, find_truths, measure_ranking
from scipy import special
from sklearn import metrics as sklearn

import oochub
from oochub.evaluation.evaluation_rows import read_metric
from oochub.evaluation.matching import estimate_matched_gap
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import estimate, gap
from oochub.stats.lift import lift
from oochub.stats.mean_interval import Answers, mean_estimate
from oochub.stats.stratified_gap import stratified_gap

Array = NDArray[Any]
Columns = Mapping[str, Array]
_SHARED = 0.5  # standard deviation of a cluster's effect beside rows of 1: intraclass correlation 0.2
_POPULATION = 1_000_000
_BINS = 15


class Cell(NamedTuple):
    """What is drawn: a family of numbers, rows, clusters (0: independent rows) and groups.

    With `sizes` "falling" the sizes of the clusters fall as 1, 1/2, 1/3, ...
    """

    family: str
    rows: int
    clusters: int
    groups: int = 2
    sizes: str = "equal"

    def __str__(self) -> str:
        parts = [re.sub(r"[^a-z0-9]+", "_", self.family), *self[1:4], *([self.sizes] if self.sizes != "equal" else [])]
        return "-".join(map(str, parts))

    @property
    def cluster(self) -> Array:
        """The cluster of each row (n,), of its own where rows are independent."""
        if self.sizes == "equal":
            return np.arange(self.rows) % (self.clusters or self.rows)
        share = 1 / np.arange(1, self.clusters + 1)
        ends = np.round(self.rows * np.cumsum(share) / share.sum()).astype(int)
        return np.unique(np.searchsorted(ends, np.arange(self.rows), side="right"), return_inverse=True)[1]


class Family(NamedTuple):
    """Numbers of the same rows.

    Attributes:
        draw: Of a generator, the cluster of each row (n,) and the number of groups: the columns, each (n, ...).
        numbers: Of the columns and how rows are drawn: every number with its interval.
        truth: Of the population's columns: the value of each number.
    """

    draw: Callable[[np.random.Generator, Array, int], dict[str, Array]]
    numbers: Callable[[Columns, Sampling], dict[str, Estimate]]
    truth: Callable[[Columns], dict[str, float]]


def world(cell: Cell, seed: int, *, resamples: int = 1000) -> dict[str, Estimate]:
    """Every number of one world, with the interval that a report gives it.

    Args:
        cell: What is drawn.
        seed: Of this world.
        resamples: Of the intervals that are bootstraps.
    """
    rng, family, cluster = np.random.default_rng([seed, *cell[1:4]]), FAMILIES[cell.family], cell.cluster
    columns = family.draw(rng, cluster, cell.groups)
    sampling = Sampling(cluster=cluster if cell.clusters else None, seed=seed, resamples=resamples)
    return family.numbers(columns, sampling)


@lru_cache(maxsize=8)
def truths(family: str, groups: int) -> dict[str, float]:
    """The value of each number on the population, whose rows are each of a cluster of their own."""
    rng = np.random.default_rng(2024)
    return FAMILIES[family].truth(FAMILIES[family].draw(rng, np.arange(_POPULATION), groups))


def _margin(rng: np.random.Generator, cluster: Array, mean: Any) -> Array:
    """How far each row (n,) lies on the right side: an effect of its cluster and one of its own."""
    return mean + _SHARED * rng.normal(size=cluster.max() + 1)[cluster] + rng.normal(size=len(cluster))


def _draw_classes(rng: np.random.Generator, cluster: Array, groups: int) -> dict[str, Array]:
    """Two classes; a row is hard with a chance of .4, and its group has its own difficulty."""
    n = len(cluster)
    label, group, hard = rng.integers(0, 2, n), rng.integers(0, groups, n), rng.random(n) < 0.4
    margin = _margin(rng, cluster, 1.2 - 0.8 * hard - 0.6 * group / groups)
    score = 1.6 * margin * (2 * label - 1)
    positive = special.expit(score)
    challenge = np.where(hard, np.where(label == 1, "hard_positive", "hard_negative"), "easy")
    return {
        "label": label,
        "score": score,
        "prediction": (score > 0).astype(np.int64),
        "probability": np.stack([1 - positive, positive], 1),
        "group": group,
        "challenge": challenge,
        "area": np.clip(rng.random(n) - 0.2 * hard, 0, 1),
        "context": rng.random(n) < np.where(label == 1, 0.7, 0.3),
    }


def _right(columns: Columns) -> Array:
    return (columns["label"] == columns["prediction"]).astype(np.float64)


def _nll(columns: Columns) -> Array:
    return np.logaddexp(0, -columns["score"] * (2 * columns["label"] - 1))


def _numbers_of_classes(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    shared = _shared(sampling)
    estimates = {
        name: _of(name, columns, **shared) for name in ("accuracy", "nll", "ece", "auc", "auc_hard", "f1_macro")
    }
    confidence, right = columns["probability"].max(axis=1), _right(columns)
    estimates["overconfidence"] = mean_estimate(
        confidence - right,
        sampling,
        are_shares=False,
        answers=Answers(if_right=confidence - 1, if_wrong=confidence),
        within=(-1.0, 1.0),
    )
    bin_ = (confidence > 0.8) & (confidence <= 0.9)
    if bin_.any():
        estimates["accuracy of a bin of confidence"] = mean_estimate(right[bin_], sampling.of_rows(bin_))
    hard = columns["challenge"] != "easy"
    if hard.any() and not hard.all():
        sides = [{name: column[rows] for name, column in columns.items()} for rows in (~hard, hard)]
        clusters = {"in_cluster": None, "out_cluster": None}
        if sampling.cluster is not None:
            clusters = {"in_cluster": sampling.cluster[~hard], "out_cluster": sampling.cluster[hard]}
        for name in ("accuracy", "nll", "auc"):
            arrays = [_taken(name, side) for side in sides]
            own = {name: value for name, value in shared.items() if name != "cluster"}
            estimates[f"gap of {name}"] = gap(oochub.get("metric", name), *arrays, **own, **clusters)
        taken = [{**_taken("accuracy", side), "area": side["area"]} for side in sides]
        estimates["matched gap of accuracy"] = estimate_matched_gap(
            "accuracy", *taken, column="area", seed=sampling.seed, resamples=sampling.resamples, **clusters
        ).estimate
    against = columns["context"] != (columns["label"] == 1)
    estimates["gap of a found context"] = stratified_gap(
        right, against, columns["label"], cluster=sampling.cluster
    ).estimate
    estimates["lift of a context"] = lift(columns["context"], columns["label"] == 1, sampling)
    return estimates


def _truth_of_classes(columns: Columns) -> dict[str, float]:
    label, score, right, nll = columns["label"], columns["score"], _right(columns), _nll(columns)
    confidence = columns["probability"].max(axis=1)
    hard, easy = columns["challenge"] != "easy", columns["challenge"] == "easy"
    of_hard, of_easy = (sklearn.roc_auc_score(label[rows], score[rows]) for rows in (hard, easy))
    bin_ = (confidence > 0.8) & (confidence <= 0.9)
    context = columns["context"]
    against = context != (label == 1)
    gaps = [right[against & (label == k)].mean() - right[~against & (label == k)].mean() for k in (0, 1)]
    return {
        "accuracy": right.mean(),
        "nll": nll.mean(),
        "ece": _calibration_error(confidence, right),
        "auc": sklearn.roc_auc_score(label, score),
        "auc_hard": of_hard,
        "f1_macro": sklearn.f1_score(label, columns["prediction"], average="macro"),
        "overconfidence": confidence.mean() - right.mean(),
        "accuracy of a bin of confidence": right[bin_].mean(),
        "gap of accuracy": right[hard].mean() - right[easy].mean(),
        "gap of nll": nll[hard].mean() - nll[easy].mean(),
        "gap of auc": of_hard - of_easy,
        "matched gap of accuracy": right[hard].mean() - right[easy].mean(),
        "gap of a found context": float(np.mean(gaps)),
        "lift of a context": context[label == 1].mean() / context[label == 0].mean(),
    }


def _calibration_error(confidence: Array, right: Array) -> float:
    number = np.clip(np.ceil(confidence * _BINS).astype(int) - 1, 0, _BINS - 1)
    sums = np.bincount(number, confidence - right, minlength=_BINS)
    return float(np.abs(sums).sum() / len(right))


def _numbers_of_groups(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    shared = _shared(sampling)
    worst = _of("worst_group", columns, **shared)
    weights = {group: 1.0 for group in np.unique(columns["group"]).tolist()}
    estimates = {f"worst group's {name}": worst[name] for name in ("accuracy", "nll")}
    estimates["adjusted accuracy"] = _of("adjusted_accuracy", columns, options={"weights": weights}, **shared)
    first = columns["group"] == 0
    if first.any():
        part = {name: column[first] for name, column in columns.items()}
        own = {**shared, "cluster": None if sampling.cluster is None else sampling.cluster[first]}
        estimates |= {f"{name} of a group": _of(name, part, **own) for name in ("accuracy", "nll")}
    return estimates


def _truth_of_groups(columns: Columns) -> dict[str, float]:
    group = columns["group"]
    accuracy, nll = (np.bincount(group, each) / np.bincount(group) for each in (_right(columns), _nll(columns)))
    return {
        "worst group's accuracy": accuracy.min(),
        "worst group's nll": nll.max(),
        "adjusted accuracy": accuracy.mean(),
        "accuracy of a group": accuracy[0],
        "nll of a group": nll[0],
    }


def _draw_detection(rng: np.random.Generator, cluster: Array, _groups: int) -> dict[str, Array]:
    """Half of the rows out of distribution; a detector that scores right answers higher."""
    n = len(cluster)
    is_ood = rng.random(n) < 0.5
    correct = ~is_ood & (rng.random(n) < 0.75)
    return {
        "score": _margin(rng, cluster, np.where(is_ood, 0.0, np.where(correct, 1.6, 0.6))),
        "is_ood": is_ood,
        "correct": correct,
    }


def _numbers_of_detection(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    shared = _shared(sampling)
    estimates = {
        name: _of(name, columns, **shared) for name in ("auroc_new_class", "auroc_failure", "correct_discarded")
    }
    estimates["fpr_at_tpr"] = _of("fpr_at_tpr", columns, **shared)
    estimates["average_precision"] = _of("average_precision", columns, **shared)
    parts = _of("ood_breakdown", columns, **shared)
    return estimates | {f"ood_breakdown.{name}": part for name, part in parts.items()}


def _truth_of_detection(columns: Columns) -> dict[str, float]:
    score, ood, correct = columns["score"], columns["is_ood"], columns["correct"]
    wrong = ~ood & ~correct
    limit = np.quantile(score[~ood], 0.05)
    rejected = np.quantile(score[ood], 0.75)

    def area(ahead: Array, behind: Array) -> float:
        rows = ahead | behind
        return float(sklearn.roc_auc_score(ahead[rows], score[rows]))

    return {
        "auroc_new_class": area(~ood, ood),
        "auroc_failure": area(correct, ~correct),
        "correct_discarded": float((score[correct] < rejected).mean()),
        "fpr_at_tpr": float((score[ood] >= limit).mean()),
        "average_precision": float(sklearn.average_precision_score(~ood, score)),
        "ood_breakdown.correct_vs_ood": area(correct, ood),
        "ood_breakdown.incorrect_vs_ood": area(wrong, ood),
        "ood_breakdown.correct_vs_incorrect": area(correct, wrong),
    }


def _draw_number(rng: np.random.Generator, cluster: Array, groups: int) -> dict[str, Array]:
    """A wealth that is predicted with an error, larger in the groups of higher number."""
    n = len(cluster)
    group, label = rng.integers(0, groups, n), rng.normal(size=n)
    error = _margin(rng, cluster, 0.0) * (0.6 + 0.4 * group / groups)
    return {"label": label, "prediction": label + error, "group": group}


def _numbers_of_number(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    names = ("mean_absolute_error", "mean_squared_error", "pearson", "pearson_worst_group")
    return {name: _of(name, columns, **_shared(sampling)) for name in names}


def _truth_of_number(columns: Columns) -> dict[str, float]:
    label, prediction, group = columns["label"], columns["prediction"], columns["group"]
    inside = [np.corrcoef(label[group == k], prediction[group == k])[0, 1] for k in range(group.max() + 1)]
    return {
        "mean_absolute_error": float(sklearn.mean_absolute_error(label, prediction)),
        "mean_squared_error": float(sklearn.mean_squared_error(label, prediction)),
        "pearson": float(np.corrcoef(label, prediction)[0, 1]),
        "pearson_worst_group": min(inside),
    }


def _draw_errors(rng: np.random.Generator, cluster: Array, groups: int) -> dict[str, Array]:
    """The same with errors of Student's t5 that grow with the label."""
    n = len(cluster)
    group, label = rng.integers(0, groups, n), rng.normal(size=n)
    error = rng.standard_t(5, size=n) + _SHARED * rng.normal(size=cluster.max() + 1)[cluster]
    return {"label": label, "prediction": label + error * np.exp(0.3 * label), "group": group}


def _draw_labels(rng: np.random.Generator, cluster: Array, _groups: int) -> dict[str, Array]:
    """Three properties of a molecule, each true of some."""
    n = len(cluster)
    label = (rng.random((n, 3)) < (0.5, 0.3, 0.4)).astype(np.float64)
    right = np.stack([_margin(rng, cluster, 1.0) for _ in range(3)], 1)
    return {"label": label, "score": right * (2 * label - 1)}


def _numbers_of_labels(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    name = "mean_average_precision"
    return {name: _of(name, columns, **_shared(sampling))}


def _truth_of_labels(columns: Columns) -> dict[str, float]:
    label, score = columns["label"], columns["score"]
    areas = [sklearn.average_precision_score(label[:, k], score[:, k]) for k in range(label.shape[1])]
    return {"mean_average_precision": float(np.mean(areas))}


def _draw_users(rng: np.random.Generator, cluster: Array, _groups: int) -> dict[str, Array]:
    """Rows of users, some of whom are harder to please; a user is a cluster."""
    right = _margin(rng, cluster, 0.9) > 0
    return {"label": np.ones(len(cluster), np.int64), "prediction": right.astype(np.int64), "group": cluster}


def _numbers_of_users(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    return {"accuracy_percentile": _of("accuracy_percentile", columns, **_shared(sampling))}


def _truth_of_users(columns: Columns) -> dict[str, float]:
    """Of users of ten rows each."""
    rng, rows = np.random.default_rng(7), 10
    cluster = np.repeat(np.arange(len(columns["label"]) // rows), rows)
    right = _draw_users(rng, cluster, 0)["prediction"].reshape(-1, rows).mean(axis=1)
    return {"accuracy_percentile": float(np.percentile(right, 10))}


def _draw_boxes(rng: np.random.Generator, cluster: Array, _groups: int) -> dict[str, Array]:
    """Images of one box each, which is found or not; a session is a cluster, and a group."""
    n = len(cluster)
    box = np.tile(np.array([[[0.0, 0.0, 9.0, 9.0]]]), (n, 1, 1))
    missed = _margin(rng, cluster, 0.9) <= 0
    return {
        "boxes": box + 20.0 * missed[:, None, None],
        "scores": np.full((n, 1), 0.9),
        "true_boxes": box,
        "group": cluster,
    }


def _numbers_of_boxes(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    return {"detection_accuracy": _of("detection_accuracy", columns, **_shared(sampling))}


def _truth_of_boxes(columns: Columns) -> dict[str, float]:
    return {"detection_accuracy": float((columns["boxes"][:, 0, 0] == 0).mean())}


def _draw_tokens(rng: np.random.Generator, cluster: Array, _groups: int) -> dict[str, Array]:
    """Files of four tokens, which share the file's effect as the files of a cluster share its own."""
    right = _margin(rng, cluster, 0.9)[:, None] + rng.normal(size=(len(cluster), 4)) > 0
    return {
        "label": np.ones(right.shape, np.int64),
        "prediction": right.astype(np.int64),
        "kind": np.zeros_like(right, int),
    }


def _numbers_of_tokens(columns: Columns, sampling: Sampling) -> dict[str, Estimate]:
    return {"token_accuracy": _of("token_accuracy", columns, **_shared(sampling))}


def _truth_of_tokens(columns: Columns) -> dict[str, float]:
    return {"token_accuracy": float(columns["prediction"].mean())}


def _taken(name: str, columns: Columns) -> dict[str, Array]:
    taken = {"auc": ("label", "score"), "nll": ("label", "probability")}.get(name, ("label", "prediction"))
    return {each: columns[each] for each in taken}


def _shared(sampling: Sampling) -> dict[str, Any]:
    return {"cluster": sampling.cluster, "seed": sampling.seed, "resamples": sampling.resamples}


def _of(name: str, columns: Columns, **sampling: Any) -> Any:
    metric = oochub.get("metric", name)
    arrays = {array: columns[array] for array in read_metric(metric).arrays if array in columns and array != "groups"}
    return estimate(metric, arrays, **sampling)


FAMILIES: dict[str, Family] = {
    "classes": Family(_draw_classes, _numbers_of_classes, _truth_of_classes),
    "groups": Family(_draw_classes, _numbers_of_groups, _truth_of_groups),
    "detection": Family(_draw_detection, _numbers_of_detection, _truth_of_detection),
    "number": Family(_draw_number, _numbers_of_number, _truth_of_number),
    "labels": Family(_draw_labels, _numbers_of_labels, _truth_of_labels),
    "tokens": Family(_draw_tokens, _numbers_of_tokens, _truth_of_tokens),
    "users": Family(_draw_users, _numbers_of_users, _truth_of_users),
    "boxes": Family(_draw_boxes, _numbers_of_boxes, _truth_of_boxes),
    "errors": Family(_draw_errors, _numbers_of_number, _truth_of_number),
    **{name: Family(each.draw, measure_ranking, find_truths) for name, each in RANKINGS.items()},
}
"""Every family of numbers, by its name."""

_SIZES = ((10, 0), (30, 0), (100, 0), (1000, 0), (10, 5), (30, 10), (100, 5), (100, 33), (1000, 10), (1000, 100))
_GROUPS = ((30, 0, 2), (100, 0, 2), (100, 0, 10), (1000, 0, 2), (1000, 0, 10), (1000, 0, 30), (1000, 0, 100))
_GROUPS += ((100, 20, 2), (1000, 20, 2), (1000, 100, 10), (1000, 100, 30))
_ERRORS = ((30, 0), (150, 0), (1000, 0), (1000, 100))
_WHOLE = ((100, 10), (300, 30), (1000, 100))  # rows of groups that are clusters
_OWN = {"groups": _GROUPS, "users": _WHOLE, "boxes": _WHOLE, "errors": _ERRORS}
_FALLING = ((600, 50), (2000, 100), (2000, 300))
_RANKED = {
    name: ((600, 50, "equal"), (1000, 200, "equal"), *((*size, "falling") for size in _FALLING))
    if each.shared
    else ((600 if each.positives >= 0.1 else 2000, 0, "equal"),)
    for name, each in RANKINGS.items()
}
CELLS = (
    *(Cell(family, *size) for family in FAMILIES if family not in RANKINGS for size in _OWN.get(family, _SIZES)),
    Cell("classes", 600, 50, sizes="falling"),
    *(Cell(name, rows, clusters, sizes=sizes) for name, cells in _RANKED.items() for rows, clusters, sizes in cells),
    Cell("normal noise, AUC .95", 5000, 0),
    *(Cell(name, 40, 0) for name in ("normal noise, AUC .95", "t4 noise, AUC .998", "0.1% mislabeled")),
)
"""All that the table shows."""


def holds(number: Estimate, truth: float) -> bool | None:
    """Whether the interval holds the truth; None without an interval. One end that is not known holds everything."""
    if math.isnan(number.low) and math.isnan(number.high):
        return None
    return not (number.low > truth or number.high < truth)
