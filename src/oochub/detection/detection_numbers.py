"""Scores out-of-distribution detectors on stored features and logits, for both goals of detection.

Every detector of a pair of sets is compared with the best one and with MSP, for both goals, by paired tests.
"""

from collections.abc import Collection, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.detection.detector_scores import BASELINE, ScoredSet, find_ood_rows
from oochub.errors import OochubError, choose_wording
from oochub.prediction.predictions import Predictions
from oochub.prediction.present_classes import Classes
from oochub.process.follow import follow
from oochub.records.finding_records import (
    AllowedClasses,
    DetectionRow,
    DetectorDifference,
    Recall,
)
from oochub.stats import RESAMPLES
from oochub.stats.delong import compare_aucs, delong_covariance, paired_delong
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import estimate

_METRICS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "auroc_new_class": ("auroc_new_class", {}),
    "auroc_failure": ("auroc_failure", {}),
    "ood_breakdown": ("ood_breakdown", {}),
    "fpr_at_tpr_id": ("fpr_at_tpr", {"positive": "id"}),
    "fpr_at_tpr_ood": ("fpr_at_tpr", {"positive": "ood"}),
    "average_precision_id": ("average_precision", {"positive": "id"}),
    "average_precision_ood": ("average_precision", {"positive": "ood"}),
    "correct_discarded": ("correct_discarded", {}),
}


def make_detection_rows(
    sets: Sequence[ScoredSet],
    pairs: Sequence[tuple[str, str]],
    *,
    classes: Classes = "all",
    resamples: int = RESAMPLES,
    seed: int = 0,
    without: Collection[str] = (),
) -> tuple[DetectionRow, ...]:
    """Every detector on every pair of a set in distribution and one out of it: `detection` of a report.

    Args:
        sets: Sets that `score_sets` gives, made with the same `classes`.
        pairs: Pairs that `choose_pairs` gives.
        classes: What "correct" is: the largest logit of "all" classes, or of those "present" in the set in
            distribution, such as the 200 of ImageNet-R. Each row says it. The scores are of all classes either way.
        resamples: Bootstrap replicates of the intervals that are bootstraps.
        seed: Random seed for the bootstrap.
        without: Metrics to leave out; see `measure_pair`.
    """
    named = {part.name: part for part in sets}
    keys = list(sets[0].detectors)
    sampling: dict[str, Any] = {"resamples": resamples, "seed": seed, "without": without}
    rows = {}
    with follow(total=len(keys) * len(pairs), desc="Scoring detectors", unit="pair", disable=None) as bar:
        for inside, outside in pairs:
            columns = join_pair(named[inside], named[outside])
            against = compare_detectors(columns.scores, columns.is_ood, columns.correct, cluster=columns.cluster)
            for key in keys:
                rows[key, inside, outside] = DetectionRow(
                    detector=key,
                    hyperparameters=sets[0].detectors[key].hyperparameters,
                    id_set=inside,
                    ood_set=outside,
                    n_id=int((~columns.is_ood).sum()),
                    n_ood=int(columns.is_ood.sum()),
                    n_incorrect=int((~columns.correct & ~columns.is_ood).sum()),
                    classes=AllowedClasses(rule=classes, n=len(named[inside].allowed)),
                    metrics=measure_pair(
                        columns.scores[key], columns.is_ood, columns.correct, cluster=columns.cluster, **sampling
                    ),
                    against_best=against[key].against_best,
                    against_msp=against[key].against_msp,
                    recall=_sum_recall(key, {inside: named[inside], outside: named[outside]}.values()),
                )
                bar.update()
    return tuple(rows[key, inside, outside] for key in keys for inside, outside in pairs)


def _sum_recall(key: str, sets: Collection[ScoredSet]) -> Recall | None:
    """The recall over the queries of all sets together; None if no set has one."""
    recalls = [part.recalls[key] for part in sets if key in part.recalls]
    queries = sum(recall.queries for recall in recalls)
    return (
        Recall(share=sum(recall.share * recall.queries for recall in recalls) / queries, queries=queries)
        if recalls
        else None
    )


class PairColumns(NamedTuple):
    """The rows of one pair: those in distribution of one set, then those out of it of another."""

    scores: Mapping[str, NDArray[np.float64]]
    is_ood: NDArray[np.bool_]
    correct: NDArray[np.bool_]
    cluster: NDArray[np.int64] | None


def join_pair(inside: ScoredSet, outside: ScoredSet) -> PairColumns:
    """What metrics of detection need of two sets: each detector's scores (n,), `is_ood`, `correct` and `cluster` (n,).

    A set without clusters beside one with them has a cluster a row.
    """
    is_id, unknown = ~inside.is_ood, outside.is_ood
    is_ood = np.repeat([False, True], [is_id.sum(), unknown.sum()])
    correct = np.concatenate([inside.correct[is_id], np.zeros(unknown.sum(), bool)])
    scores = {
        key: np.concatenate([inside.scores[key][is_id], outside.scores[key][unknown]]) for key in inside.detectors
    }
    parts = [(inside, is_id), (outside, unknown)]
    if all(part.cluster is None for part, _ in parts):
        return PairColumns(scores, is_ood, correct, None)
    names = [
        part.cluster[rows] if part.cluster is not None else np.char.add(f"{side} ", np.flatnonzero(rows).astype(str))
        for side, (part, rows) in enumerate(parts)
    ]
    return PairColumns(scores, is_ood, correct, np.unique(np.concatenate(names), return_inverse=True)[1])


class Differences(NamedTuple):
    """The AUROC of one detector minus that of the best and of MSP, by goal."""

    against_best: dict[str, DetectorDifference]
    against_msp: dict[str, DetectorDifference]


def compare_detectors(
    scores: Mapping[str, Any], is_ood: NDArray[np.bool_], correct: NDArray[np.bool_], *, cluster: Any = None
) -> dict[str, Differences]:
    """The AUROC of each detector minus that of the best and that of MSP, on the same rows.

    Paired, by DeLong; by Obuchowski where rows share clusters.

    Args:
        scores: Each detector's scores (n,), higher is more in-distribution, by its key.
        is_ood: Whether a row is out of distribution (n,).
        correct: Whether the classifier is right (n,), not looked at where `is_ood`.
        cluster: What the rows (n,) share; None if they are independent.

    Returns:
        By detector: `against_best` and `against_msp`, each by goal (`auroc_new_class`, `auroc_failure`) the difference
        with `p_value` (two-sided, not corrected for their number) and `other`, the key compared with. The best of a
        goal, the first of equals, has no comparison with itself; neither has MSP. A goal without rows on one side has
        none, and without the detector "msp" `against_msp` is empty.

    >>> score = {"msp": [1, 3, 2, 4, 0, 5], "vim": [5, 4, 3, 2, 1, 0]}
    >>> is_ood = np.array([False, False, False, True, True, True])
    >>> differences = compare_detectors(score, is_ood, ~is_ood)
    >>> differences["vim"].against_best, round(differences["vim"].against_msp["auroc_new_class"].estimate, 3)
    ({}, 0.667)
    """
    keys = list(scores)
    differences = {key: Differences(against_best={}, against_msp={}) for key in scores}
    sides = {"auroc_new_class": ~is_ood, "auroc_failure": correct & ~is_ood}
    for goal, ahead in sides.items():
        if ahead.all() or not ahead.any():
            continue
        covariance = delong_covariance(ahead, list(scores.values()))
        best = keys[int(np.argmax(covariance.auc))]
        for key in keys:
            for field, other in (("against_best", best), ("against_msp", BASELINE)):
                if key != other and other in scores:
                    compared = None
                    if cluster is None:
                        compared = compare_aucs(covariance, keys.index(key), keys.index(other), len(ahead))
                    # Scores that order all rows alike, and sides of one row, are not decided by the variance.
                    compared = compared or paired_delong(ahead, scores[key], scores[other], cluster=cluster)
                    getattr(differences[key], field)[goal] = DetectorDifference(
                        estimate=compared.difference, p_value=compared.p_value, other=other
                    )
    return differences


def measure_pair(
    score: Any,
    is_ood: Any,
    correct: Any,
    *,
    cluster: Any = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    without: Collection[str] = (),
) -> dict[str, Estimate]:
    """Every metric of detection on the rows of one pair of sets.

    Args:
        score: Score of one detector for each row (n,); higher is more in-distribution.
        is_ood: Whether a row is out of distribution (n,).
        correct: Whether the classifier is right on a row (n,), not looked at where `is_ood`.
        cluster: What the rows (n,) share; None if they are independent.
        resamples: Bootstrap replicates of the intervals that are bootstraps.
        seed: Random seed for the bootstrap.
        without: Metrics to leave out: average_precision takes as long as all others together, for its bootstrap.

    Returns:
        Estimates by name: auroc_new_class, auroc_failure, the three of ood_breakdown, and the others of a
        report's `detection`.

    >>> measure_pair([3, 2, 1], [False, False, True], [True, False, False])["auroc_new_class"].value
    1.0
    """
    columns = {"score": score, "is_ood": is_ood, "correct": correct}
    metrics: dict[str, Estimate] = {}
    for title, (name, options) in _METRICS.items():
        if name in without:
            continue
        metric = catalog.get("metric", name)
        arrays = {parameter: columns[parameter] for parameter in signature(metric).parameters if parameter in columns}
        value = estimate(metric, arrays, cluster=cluster, options=options, resamples=resamples, seed=seed)
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        metrics |= {f"{title}.{part}" if part else title: number for part, number in parts}
    return metrics


def choose_pairs(
    parts: Sequence[Predictions], wanted: Sequence[tuple[str, str]] | None = None
) -> list[tuple[str, str]]:
    """The pairs of configs that are set against each other: (in distribution, out of it).

    Args:
        parts: Predictions, one config each.
        wanted: What to take; None takes every pair of a config with rows in distribution and one with rows out of it.

    Raises:
        OochubError: A config twice or unknown, a side without rows, no pair.
    """
    named: dict[str, Predictions] = {}
    for part in parts:
        if str(part.metadata.config) in named:
            raise OochubError(
                f"Two of the predictions are for {part.metadata.config}. Detectors take one file per set: predict "
                "all its splits into one, or remove one."
            )
        named[str(part.metadata.config)] = part
    for name in (config for pair in wanted or () for config in pair):
        if name not in named:
            raise OochubError(
                f"{choose_wording('pairs=', '--pair')} names {name!r}, but the predictions are for {', '.join(named)}."
            )
    ood = {name: find_ood_rows(part) for name, part in named.items()}
    every = [(a, b) for a in named for b in named if not ood[a].all() and ood[b].any()]
    pairs = list(wanted) if wanted is not None else every
    for inside, outside in pairs:
        if ood[inside].all() or not ood[outside].any():
            raise OochubError(
                f"The pair ({inside}, {outside}) has no rows {'in' if ood[inside].all() else 'out of'} distribution. "
                "Write it as (in distribution, out of distribution)."
            )
    if not pairs:
        raise OochubError(
            "Detectors need rows in and out of distribution (column is_ood, or label -1). Pass predictions for both: "
            + choose_wording(
                "oochub.evaluate([id_predictions, ood_predictions], detectors=[...]).",
                "oochub evaluate ID.parquet OOD.parquet --detector NAME.",
            )
        )
    return pairs
