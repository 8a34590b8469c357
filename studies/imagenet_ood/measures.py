"""Everything a study measures of one model, from its stored predictions: one number per row."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oochub.detection.detection_numbers import join_pair, make_detection_rows
from oochub.detection.detector_scores import (
    BASELINE,
    GOALS,
    ScoredSet,
    find_head,
    fit_detectors,
    make_detector,
    score_sets,
)
from oochub.errors import OochubError
from oochub.figures._detector_comparison import compare_auroc, gain_from_incorrect
from oochub.prediction.predictions import Predictions
from oochub.prediction.present_classes import Classes
from oochub.process.follow import follow
from oochub.process.ranks import Ranks
from oochub.records.finding_records import DetectionRow
from oochub.stats.array_checks import Array
from oochub.stats.delong import PairedDifference, delong
from oochub.stats.estimate import Estimate
from oochub.studies.imagenet_ood.plan import TABLES, Pair

COLUMNS = (
    *("model", "seed", "detector", "in", "out", "classes", "metric"),
    *("value", "low", "high", "n", "p_value", "method", "reason"),
)
"""Columns of the numbers of a study."""
DIFFERENCE = ".minus_msp"
"""What follows the name of an AUROC that is a difference to the baseline's."""
_SLOW = ("average_precision_id", "average_precision_ood")  # in no table


class SetScores(NamedTuple):
    """What the sanity check needs of one set of images.

    Attributes:
        is_ood: Whether a row is out of distribution (n,).
        correct: Whether the classifier is right on a row (n,); never where `is_ood`.
        scores: Each detector's scores (n,) by key.
    """

    is_ood: Array
    correct: Array
    scores: Mapping[str, Array]


class Measured(NamedTuple):
    """What was measured of one model.

    Attributes:
        rows: One dict per number, with the keys `COLUMNS` but for model, seed and classes.
        detection: What its report says about detectors; empty for random copies.
    """

    rows: list[dict[str, Any]]
    detection: tuple[DetectionRow, ...]


def scores_of(
    files: Mapping[str, Path],
    sets: Sequence[str],
    detectors: Sequence[str],
    reference: Path | None,
    classes: Classes = "all",
) -> tuple[dict[str, ScoredSet], dict[str, str]]:
    """Fits the detectors and scores one set after the other, both a block of rows at a time.

    Under torchrun all processes fit together, and the first alone scores.

    Args:
        files: The predictions by set.
        sets: Those to score; the head lies beside the first.
        detectors: Their keys.
        reference: Predictions of the training split; None where nothing is fitted on it.
        classes: What an answer may be, as in `oochub.evaluate`.

    Returns:
        The scores by set, of whose predictions the first row alone is kept; and why detectors are not in them, by key.
        Both are empty in the other processes.

    Raises:
        OochubError: No detector can score, or a set cannot be read.
    """
    training = None if reference is None else Predictions.load(reference)
    part = Predictions.load(files[sets[0]])
    parts = [rows_given for rows_given in (training, part) if rows_given is not None]
    fitted_detectors = fit_detectors({key: make_detector(key) for key in detectors}, training, find_head(parts))
    if not Ranks.here().is_first:  # the first process goes on alone
        return {}, {}
    fitted: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    unfit = {key: str(detector) for key, detector in fitted_detectors.items() if isinstance(detector, OochubError)}
    for key in follow(
        [key for key in fitted_detectors if key not in unfit],
        desc="Scoring",
        unit="detector",
        leave=False,
        disable=None,
        delay=2,
    ):
        try:
            (scored,) = score_sets([part], [fitted_detectors[key]], reference=training, classes=classes)
        except OochubError as error:
            unfit[key] = str(error)
            continue
        fitted |= scored.detectors
        scores |= scored.scores
    if not fitted:
        raise OochubError(f"No detector can score: {'; '.join(f'{key}: {reason}' for key, reason in unfit.items())}")
    del training
    scores_by_set = {sets[0]: _keep_first_row(replace(scored, scores=scores, detectors=fitted))}
    for name in follow(sets[1:], desc="Scoring", unit="set", leave=False, disable=None, delay=2):
        (scored,) = score_sets([Predictions.load(files[name])], list(fitted.values()), classes=classes)
        scores_by_set[name] = _keep_first_row(scored)
    return scores_by_set, unfit


def _keep_first_row(scored: ScoredSet) -> ScoredSet:
    """With the first row of its predictions alone."""
    part = scored.predictions
    return replace(scored, predictions=part.select(np.arange(len(part)) == 0))


def unfit_rows(unfit: Mapping[str, str], pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Rows that say of detectors which cannot score why there is no number, for every metric of the tables.

    Args:
        unfit: Reasons by key.
        pairs: (in distribution, out of it).

    >>> [row["metric"] for row in unfit_rows({"knn": "too few rows"}, [("a", "b")])][:2]
    ['auroc_new_class', 'auroc_failure']
    """
    metrics = dict.fromkeys(metric for table in TABLES.values() for metric in table.metrics)
    names = [*metrics, *(f"{goal}{DIFFERENCE}" for goal in GOALS)]
    return [
        _make_row(key, pair, name, Estimate(math.nan, n=0, method="none", reason=f"{key}: {reason}"))
        for key, reason in unfit.items()
        for pair in pairs
        for name in names
    ]


def trained_measures(sets: Mapping[str, ScoredSet], pairs: Sequence[Pair], classes: Classes = "all") -> Measured:
    """Every metric of detection of every detector and pair, and what it has more than the baseline.

    Args:
        sets: Scored sets by name, which `scores_of` returns first.
        pairs: (in distribution, out of it).
        classes: The same as for `scores_of`.
    """
    detection = make_detection_rows(list(sets.values()), pairs, classes=classes, without=_SLOW)
    rows = [
        _make_row(row.detector, (row.id_set, row.ood_set), metric, estimate)
        for row in detection
        for metric, estimate in row.metrics.items()
    ]
    for pair in pairs:
        scores, is_ood, correct, cluster = join_pair(sets[pair[0]], sets[pair[1]])
        for key in (score for score in scores if score != BASELINE and BASELINE in scores):
            differences = compare_auroc(scores[key], scores[BASELINE], is_ood, correct, cluster=cluster)
            rows.extend(_make_row(key, pair, f"{name}{DIFFERENCE}", estimate) for name, estimate in differences.items())
            share = gain_from_incorrect(scores[key], scores[BASELINE], is_ood, correct)
            rows.append(_make_row(key, pair, "gain_from_incorrect", share))
    return Measured(rows, detection)


def random_measures(sets: Mapping[str, SetScores], detectors: Sequence[str], pairs: Sequence[Pair]) -> Measured:
    """Both goals of a model that has learned nothing; a detector that measures what it should is at 0.5.

    auroc_new_class holds the first set of a pair against the second, whatever its classes. auroc_failure holds the rows
    of both that the model happens to get right against all others; rows of new classes are never right.

    Args:
        sets: The scores by set.
        detectors: Their keys.
        pairs: (in distribution, another set).

    >>> one = SetScores(np.array([False] * 3), np.array([False] * 3), {"msp": np.array([1.0, 2.0, 3.0])})
    >>> [row["value"] for row in random_measures({"a": one, "b": one}, ["msp"], [("a", "b")]).rows]
    [0.5, nan]
    """
    rows = []
    every = list(product(pairs, detectors))
    for (inside, outside), key in follow(
        every, desc="Random copies", unit="detector", leave=False, disable=None, delay=2
    ):
        first, second = sets[inside], sets[outside]
        score = np.concatenate([first.scores[key], second.scores[key]])
        against = np.repeat([1, 0], [len(first.is_ood), len(second.is_ood)])
        right = np.concatenate([first.correct, second.correct]).astype(int)
        failure = delong(right, score)
        if not right.any():
            reason = "none of the rows happens to be right"
            failure = Estimate(math.nan, n=len(right), method="delong", reason=reason)
        rows.append(_make_row(key, (inside, outside), "auroc_new_class", delong(against, score)))
        rows.append(_make_row(key, (inside, outside), "auroc_failure", failure))
    return Measured(rows, ())


def _make_row(detector: str, pair: Pair, metric: str, number: Estimate | PairedDifference) -> dict[str, Any]:
    estimate, p_value = number if isinstance(number, PairedDifference) else (number, math.nan)
    place = {"detector": detector, "in": pair[0], "out": pair[1], "metric": metric}
    numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n, "p_value": p_value}
    return {**place, **numbers, "method": estimate.method, "reason": estimate.reason}
