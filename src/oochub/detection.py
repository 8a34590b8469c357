"""Scores out-of-distribution detectors on stored features and logits, for both goals of detection."""

from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError
from oochub.predictions import Predictions
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
        detectors: Names of the catalogue (with their defaults), or detectors, fitted or not.
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
    named = {str(part.metadata["config"]): part for part in parts}
    chosen = _pairs(named, pairs)
    made = [_fitted(one, reference, head) for one in detectors]
    rows = []
    for detector in made:
        used = dict.fromkeys(name for pair in chosen for name in pair)
        scores = {name: _scores(detector, named[name], name) for name in used}
        for inside, outside in chosen:
            rows.append(_row(detector, scores, named, (inside, outside), {"resamples": resamples, "seed": seed}))
    return rows


def _row(
    detector: Any,
    scores: Mapping[str, NDArray[np.float64]],
    named: Mapping[str, Predictions],
    pair: tuple[str, str],
    sampling: Mapping[str, Any],
) -> dict[str, Any]:
    inside, outside = named[pair[0]], named[pair[1]]
    known, unknown = ~_is_ood(inside), _is_ood(outside)
    correct = (inside.prediction == inside.label)[known]
    columns = {
        "score": np.concatenate([scores[pair[0]][known], scores[pair[1]][unknown]]),
        "is_ood": np.concatenate([np.zeros(known.sum(), bool), np.ones(unknown.sum(), bool)]),
        "correct": np.concatenate([correct, np.zeros(unknown.sum(), bool)]),
    }
    metrics: dict[str, Any] = {}
    for key, (name, options) in _METRICS.items():
        metric = catalog.get("metric", name)
        arrays = {each: columns[each] for each in signature(metric).parameters if each in columns}
        found = estimate(metric, arrays, options=options, **sampling)
        named_numbers = found.items() if isinstance(found, Mapping) else [("", found)]
        metrics |= {f"{key}.{part}" if part else key: one.to_dict() for part, one in named_numbers}
    return {
        "detector": catalog_name(detector),
        "hyperparameters": detector.hyperparameters,
        "id_set": pair[0],
        "ood_set": pair[1],
        "n_id": int(known.sum()),
        "n_ood": int(unknown.sum()),
        "n_incorrect": int((~correct).sum()),
        "metrics": metrics,
    }


def catalog_name(detector: Any) -> str:
    """The name of a detector in the catalogue: that of its file.

    >>> catalog_name(catalog.get("detector", "max_logit")())
    'max_logit'
    """
    return type(detector).__module__.rpartition(".")[2]


def _is_ood(part: Predictions) -> NDArray[np.bool_]:
    if "is_ood" in part.table.column_names:
        return part.column("is_ood").astype(bool)
    found: NDArray[np.bool_] = part.label < 0
    return found


def _pairs(named: Mapping[str, Predictions], asked: Sequence[tuple[str, str]] | None) -> list[tuple[str, str]]:
    for name in (one for pair in asked or () for one in pair):
        if name not in named:
            raise OochubError(f"pairs= names {name!r}, and the predictions are of {', '.join(named)}.")
    ood = {name: _is_ood(part) for name, part in named.items()}
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


def _fitted(detector: Any, reference: Predictions | None, head: Mapping[str, NDArray[Any]] | None) -> Any:
    made = catalog.get("detector", detector)() if isinstance(detector, str) else detector
    needs = [name for name in made.fit_needs if not _is_ready(made)]
    if not needs:
        return made
    lacking = [name for name in needs if name in ("features", "logits", "label") and reference is None]
    if lacking:
        raise OochubError(
            f"{catalog_name(made)} is fitted on the training split ({', '.join(lacking)}). Give reference= "
            "(--reference): predictions of it with features, by `oochub predict ... --split train --features`."
        )
    given: dict[str, Any] = {}
    if reference is not None:
        given = {"features": reference.features, "logits": reference.logits, "label": reference.label}
    given |= dict(head or {})
    missing = [name for name in needs if given.get(name) is None]
    if missing:
        raise OochubError(
            f"{catalog_name(made)} needs {', '.join(missing)}. Predict with features=True (--features), which stores "
            "the features and, in <predictions>.head.safetensors, the head."
        )
    return made.fit(**{name: given[name] for name in needs})


def _is_ready(detector: Any) -> bool:
    return bool(getattr(detector, "_is_fitted", False))


def _scores(detector: Any, part: Predictions, name: str) -> NDArray[np.float64]:
    lying: dict[str, Any] = {"features": part.features, "logits": part.logits}
    if "odin_logits" in part.table.column_names:
        lying["odin_logits"] = np.stack(part.table.column("odin_logits").to_numpy())
    missing = [need for need in detector.score_needs if lying.get(need) is None]
    if missing:
        raise OochubError(
            f"{catalog_name(detector)} needs {', '.join(missing)}, which the predictions of {name} lack. Predict with "
            "features=True (--features)."
        )
    scores: NDArray[np.float64] = detector.score(**{need: lying[need] for need in detector.score_needs})
    return scores


def read_head(predictions: str | Path) -> dict[str, NDArray[Any]] | None:
    """The head beside a file of predictions; None where there is none.

    >>> read_head("nowhere.parquet") is None
    True
    """
    from safetensors.numpy import load_file

    file = Path(predictions).with_suffix(".head.safetensors")
    return dict(load_file(file)) if file.is_file() else None
