"""The nearest of many rows by cosine: exact in float64, by blocks, so that memory does not grow with the rows."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, either
from oochub.evaluation.detector_scores import ScoredSet
from oochub.evaluation.set_parts import inside_part
from oochub.prediction.predictions import Predictions

_ROWS = 1024  # of each side at once: 16 MiB of 2,048 features in float64


class Nearest(NamedTuple):
    """For each row of a set the nearest row in distribution.

    Attributes:
        row: Numbers of the rows (n,) of the set in distribution; -1 for a row that is one of those itself.
        distance: 1 - cosine (n,), in [0, 2]; nan for a row that is one of those itself.
    """

    row: NDArray[np.int64]
    distance: NDArray[np.float64]


def nearest_rows(features: Any, bank: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of each row the nearest row of a bank by cosine distance, 1 - cos.

    The distance is measured from the difference of the two unit vectors, so that of near-duplicates is right as well.

    Args:
        features: Numbers (n, d).
        bank: Numbers (m, d), at least one row.

    Returns:
        Numbers of the nearest rows (n,), the first of equals; their distances (n,) in [0, 2].

    Raises:
        OochubError: Shapes that do not fit, no row, or a row that is all zeros or not finite: it has no direction.

    >>> index, distance = nearest_rows([[2.0, 0.0], [1.0, 1.0]], [[0.0, 3.0], [5.0, 0.0]])
    >>> index.tolist(), distance.round(4).tolist()
    ([1, 0], [0.0, 0.2929])
    """
    rows, others = np.asarray(features), np.asarray(bank)
    for name, matrix in (("features", rows), ("bank", others)):
        if matrix.ndim != 2 or not matrix.size:
            raise OochubError(f"{name} must be a matrix (rows, features) that is not empty, got shape {matrix.shape}.")
    if rows.shape[1] != others.shape[1]:
        raise OochubError(
            f"features have {rows.shape[1]} columns and the bank {others.shape[1]}. Take both from the same model."
        )
    from tqdm import tqdm

    best, index = np.full(len(rows), -np.inf), np.zeros(len(rows), np.int64)
    parts = range(0, len(others), _ROWS)
    for start in tqdm(parts, desc="Nearest", unit="block", delay=2, disable=None if len(parts) > 1 else True):
        block = _unit(others, slice(start, start + _ROWS), "bank")
        for some in _slices(len(rows)):
            cosine = _unit(rows, some, "features") @ block.T
            at = cosine.argmax(axis=1)
            highest = np.take_along_axis(cosine, at[:, None], axis=1)[:, 0]
            closer = highest > best[some]
            best[some] = np.where(closer, highest, best[some])
            index[some] = np.where(closer, at + start, index[some])
    distance = np.empty(len(rows))
    for some in _slices(len(rows)):
        apart = _unit(rows, some, "features") - _unit(others, index[some], "bank")
        distance[some] = np.einsum("ij,ij->i", apart, apart) / 2
    return index, distance


def nearest_inside(
    scored_sets: Sequence[ScoredSet], *, embedding: Sequence[Predictions] | None = None
) -> dict[str, Nearest]:
    """For every row of every set the nearest row in distribution, by cosine.

    Args:
        scored_sets: Of `detector_scores`.
        embedding: Predictions of the same examples by a model whose features say what is near (in the paper a
            self-supervised one), one for each set, matched by config, split and example_id. None takes the features
            of the scored predictions.

    Returns:
        Set to Nearest.

    Raises:
        OochubError: Features or examples that are missing, or features without a direction.
    """
    bank = inside_part(scored_sets)
    features = {scored.name: _features(scored, embedding) for scored in scored_sets}
    own = np.flatnonzero(bank.rows)
    nearest = {}
    for scored in scored_sets:
        searched = ~bank.rows if scored is bank.scored else np.ones(len(scored.is_ood), bool)
        index, distance = np.full(len(searched), -1, np.int64), np.full(len(searched), np.nan)
        if searched.any():
            near, distance[searched] = nearest_rows(features[scored.name][searched], features[bank.scored.name][own])
            index[searched] = own[near]
        nearest[scored.name] = Nearest(index, distance)
    return nearest


def _slices(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _ROWS):
        yield slice(start, min(start + _ROWS, rows))


def _unit(matrix: NDArray[Any], some: slice | NDArray[np.int64], name: str) -> NDArray[np.float64]:
    """Rows of length 1, scaled first: squares of very large or small numbers leave even float64."""
    taken = matrix[some].astype(np.float64)
    largest = np.abs(taken).max(axis=1, keepdims=True)
    wrong = ~(np.isfinite(largest) & (largest > 0))[:, 0]
    if wrong.any():
        row = np.arange(len(matrix))[some][np.argmax(wrong)]
        raise OochubError(f"Row {row} of {name} is all zeros or not finite, so it has no direction. Leave it out.")
    taken /= largest
    unit: NDArray[np.float64] = taken / np.linalg.norm(taken, axis=1, keepdims=True)
    return unit


def _features(scored: ScoredSet, embedding: Sequence[Predictions] | None) -> NDArray[np.float32]:
    """Features (n, d) of the rows of a set, in their order."""
    if embedding is None:
        if scored.predictions.features is None:
            raise OochubError(
                f"The predictions of {scored.name} lack features, by which pictures are near. Predict with "
                f"{either('features=True', '--features')}, or give those of another model with "
                f"{either('embedding=', '--embedding')}."
            )
        return scored.predictions.features
    parts = [part for part in embedding if part.metadata.config == scored.name]
    if len(parts) != 1 or parts[0].features is None:
        configs = ", ".join(str(part.metadata.config) for part in embedding)
        lacks = "has no features" if parts and parts[0].features is None else f"is there {len(parts)} times"
        raise OochubError(
            f"The embedding of {scored.name} {lacks}; given: {configs}. Give one file with features a set."
        )
    row_of = {key: row for row, key in enumerate(_keys(parts[0]))}
    missing = [key for key in _keys(scored.predictions) if key not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing)} of {len(scored.is_ood)} examples of {scored.name} are not in the embedding, first "
            f"{missing[0][1]} of split {missing[0][0]}. Predict both on the same data."
        )
    return parts[0].features[[row_of[key] for key in _keys(scored.predictions)]]


def _keys(predictions: Predictions) -> list[tuple[str, str]]:
    return list(zip(predictions.split.tolist(), predictions.column("example_id").tolist(), strict=True))
