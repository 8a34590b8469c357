"""The nearest of many rows by cosine: exact in float64, by blocks, so that memory does not grow with the rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError

_ROWS = 1024  # of each side at once: 16 MiB of 2,048 features in float64


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
