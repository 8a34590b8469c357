"""Scores out-of-distribution detectors on stored features and logits, for both goals of detection."""

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError
from oochub.predictions import Predictions
from oochub.scoring.detector_scores import ScoredSet, detector_scores, ood_rows
from oochub.statistics import estimate

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


def detection(
    parts: Sequence[Predictions],
    detectors: Iterable[str | Any],
    *,
    reference: Predictions | None = None,
    head: Mapping[str, NDArray[Any]] | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Every detector on every pair of a set in distribution and one out of it.

    Args:
        parts: Predictions of one model, one config each. Rows are out of distribution where the column `is_ood` says
            so, or where their label is -1.
        detectors: Names of the catalogue ("msp", or "odin:epsilon=0.0014"), or detectors, fitted or not.
        reference: Predictions of the training split, to fit detectors on.
        head: "weight" (c, d) and "bias" (c,) of the model's last layer, for detectors that need them.
        pairs: Configs to set against each other, (in distribution, out of it); None takes every pair of a config with
            rows in distribution and one with rows out of it. Sets are never pooled.
        resamples: Bootstrap replicates of the intervals that are bootstraps.
        seed: Of the bootstrap.

    Returns:
        One dict a detector and pair: detector, hyperparameters, id_set, ood_set, n_id, n_ood, n_incorrect, and metrics,
        each an estimate with interval. A higher score is more in-distribution; "correct" is the classifier's own.

    Raises:
        OochubError: An unknown detector or config, a detector that lacks the reference, features or head, no pair.

    Source: ImageNet-OOD, Sections 2 and 4: new-class detection and failure detection.
    """
    chosen = _pairs({str(part.metadata["config"]): part for part in parts}, pairs)
    sets = {one.name: one for one in detector_scores(parts, detectors, reference=reference, head=head)}
    keys = next(iter(sets.values())).detectors
    sampling = {"resamples": resamples, "seed": seed}
    return [_row(key, sets[inside], sets[outside], sampling) for key in keys for inside, outside in chosen]


def _row(key: str, inside: ScoredSet, outside: ScoredSet, sampling: Mapping[str, Any]) -> dict[str, Any]:
    known, unknown = ~inside.is_ood, outside.is_ood
    correct = inside.correct[known]
    columns = {
        "score": np.concatenate([inside.scores[key][known], outside.scores[key][unknown]]),
        "is_ood": np.concatenate([np.zeros(known.sum(), bool), np.ones(unknown.sum(), bool)]),
        "correct": np.concatenate([correct, np.zeros(unknown.sum(), bool)]),
    }
    metrics: dict[str, Any] = {}
    for title, (name, options) in _METRICS.items():
        metric = catalog.get("metric", name)
        arrays = {each: columns[each] for each in signature(metric).parameters if each in columns}
        found = estimate(metric, arrays, options=options, **sampling)
        named_numbers = found.items() if isinstance(found, Mapping) else [("", found)]
        metrics |= {f"{title}.{part}" if part else title: one.to_dict() for part, one in named_numbers}
    return {
        "detector": key,
        "hyperparameters": inside.detectors[key].hyperparameters,
        "id_set": inside.name,
        "ood_set": outside.name,
        "n_id": int(known.sum()),
        "n_ood": int(unknown.sum()),
        "n_incorrect": int((~correct).sum()),
        "metrics": metrics,
    }


def _pairs(named: Mapping[str, Predictions], asked: Sequence[tuple[str, str]] | None) -> list[tuple[str, str]]:
    for name in (one for pair in asked or () for one in pair):
        if name not in named:
            raise OochubError(f"pairs= names {name!r}, and the predictions are of {', '.join(named)}.")
    ood = {name: ood_rows(part) for name, part in named.items()}
    every = [(a, b) for a in named for b in named if not ood[a].all() and ood[b].any()]
    found = list(asked) if asked is not None else every
    for inside, outside in found:
        if ood[inside].all() or not ood[outside].any():
            raise OochubError(
                f"The pair ({inside}, {outside}) has no row {'in' if ood[inside].all() else 'out of'} distribution. "
                "Write it as (in distribution, out of distribution)."
            )
    if not found:
        raise OochubError(
            "Detectors need rows in and out of distribution (column is_ood, or label -1). Give predictions of both: "
            "oochub.evaluate([id_predictions, ood_predictions], detectors=[...])."
        )
    return found
