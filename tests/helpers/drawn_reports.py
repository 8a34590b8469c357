"""Predictions of odd shapes, drawn by a seed: what a report on them says is held against plain counts."""

from dataclasses import dataclass, replace
from random import Random
from typing import Any
from unittest import mock

import numpy as np

import oochub
from oochub.evaluation import evaluate as evaluation
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildFacts
from oochub.report.report import Report

NAMES = ("ant", "bee", "cow", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "koi", "lynx")
PLACES = ("bay", "cave", "dune", "fen", "glade", "hill", "isle", "lake")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What was drawn, as plain arrays of equal length; None for a column that the predictions lack.

    Attributes:
        logits: (n, classes) float32.
        label: -1 outside the classes.
        names: Of the classes.
        split: Of each row.
        challenge: Words of the criterion, or None for a row.
        group: "class/place", or None for a row.
        place: The context of each row.
        user: The cluster of each row.
        usual: Class to its usual contexts, where these are known.
        counts: Rows of each group in training, where these are known.
        match: What the gap is also matched on.
        metrics: Those that are asked for; None for the usual ones.
    """

    logits: np.ndarray
    label: np.ndarray
    names: tuple[str, ...]
    split: np.ndarray
    challenge: np.ndarray | None
    group: np.ndarray | None
    place: np.ndarray | None
    user: np.ndarray | None
    usual: dict[str, tuple[str, ...]] | None
    counts: dict[str, int] | None
    match: str | None
    metrics: tuple[str, ...] | None


def drawn(seed: str) -> Drawn:
    """One draw; the same seed gives the same rows."""
    random, rng = Random(seed), np.random.default_rng(Random(seed).randrange(2**32))
    is_large = random.random() < 0.4  # of which more can be said than that they are too few
    n = random.randint(200, 300) if is_large else random.choice([1, 2, 3, 5, 8, 20, 60, random.randint(1, 300)])
    classes = random.choice([2, 2, 3, 4] if is_large else [1, 2, 2, 2, 3, 4, 5, 8, 12])
    names, places = NAMES[:classes], PLACES[: random.randint(1, 8)]
    label = rng.integers(0, classes, n)
    place = rng.integers(0, len(places), n)
    usual_place = {k: random.randrange(len(places)) for k in range(classes)}
    tied = rng.random(n) < random.choice([0.0, 0.3, 0.5] if is_large else [0.0, 0.5, 0.9])
    place = np.where(tied, [usual_place[k] for k in label], place)
    is_usual = np.array([usual_place[k] == p for k, p in zip(label, place, strict=True)], bool)
    share, fall = (
        random.choice([0.7, 0.95, 1.0] if is_large else [0.0, 0.3, 0.6, 0.8, 1.0]),
        random.choice([0.0, 0.05, 0.2, 0.5, 1.0]),
    )
    right = rng.random(n) < np.where(is_usual, share, share * (1 - fall))
    said = np.where(right, label, (label + rng.integers(1, max(classes, 2), n)) % classes)
    size = random.choice([0.0, 0.5, 3.0, 30.0, 1e30])
    logits = rng.normal(size=(n, classes)) * random.choice([0.0, 0.1, 1.0]) + size * np.eye(classes)[said]
    sides = random.choice(["none", "hard", "two", "some", *["hard"] * 3 * is_large])
    hard = np.where(label == 1, "hard_positive", "hard_negative") if sides == "two" and classes == 2 else "hard"
    challenge = np.where(is_usual, "easy", hard).astype(object) if sides != "none" else None
    if sides == "some" and challenge is not None:
        challenge[rng.random(n) < 0.3] = None
    places_of = np.array(places, object)[place]
    if random.random() < 0.3:
        places_of[rng.random(n) < random.choice([0.2, 1.0])] = None
    group, has_groups = np.array([f"{names[k]}/{places[p]}" for k, p in zip(label, place, strict=True)], object), 0.7
    if random.random() < 0.3:
        group[rng.random(n) < 0.2] = None
    label = np.where(rng.random(n) < random.choice([0.0, 0.0, 0.1]), -1, label)
    several = random.choice([("test",), ("test",), ("train",), *([("validation", "test"), SPLITS] * (not is_large))])
    split = np.array([several[k] for k in rng.integers(0, len(several), n)], object)
    has_context = random.random() < 0.7
    usual = {name: (places[usual_place[k]],) for k, name in enumerate(names)}
    counts = {f"{names[k]}/{places[p]}": random.randint(0, 9) for k in range(classes) for p in range(len(places))}
    clusters = random.choice([0, 0, 0, 1, 3, 10, 60])
    return Drawn(
        logits=logits.astype(np.float32),
        label=label,
        names=names,
        split=split,
        challenge=challenge,
        group=group if random.random() < has_groups else None,
        place=places_of if has_context else None,
        user=np.array([f"u{k}" for k in rng.integers(0, clusters, n)], object) if clusters else None,
        usual=usual if has_context and random.random() < 0.5 else None,
        counts=counts if random.random() < 0.3 else None,
        match=random.choice([None, None, "label"]),
        metrics=random.choice([None, None, ("accuracy",), ("accuracy", "nll", "worst_group"), ("ece", "f1_macro")]),
    )


def predictions_of(rows: Drawn) -> Predictions:
    """The predictions of a draw."""
    columns: dict[str, Any] = {"challenge": rows.challenge, "group": rows.group, "context": rows.place}
    columns |= {"user": rows.user}
    made = Predictions.from_arrays(
        logits=rows.logits,
        label=rows.label,
        class_names=list(rows.names),
        split=rows.split,
        **{name: values for name, values in columns.items() if values is not None},
    )
    facts = BuildFacts(usual_contexts=rows.usual, group_counts=rows.counts)
    return Predictions(made.table, replace(made.metadata, facts=facts))


def report_of(rows: Drawn) -> Report:
    """The report on a draw, its intervals by cluster where it has clusters.

    Raises:
        OochubError: The rows have nothing to report on.
    """
    declared = evaluation.find_declaration
    cluster = None if rows.user is None else "user"
    with mock.patch.object(evaluation, "find_declaration", lambda part: replace(declared(part), cluster=cluster)):
        return oochub.evaluate(predictions_of(rows), match=rows.match, metrics=rows.metrics, resamples=100)
