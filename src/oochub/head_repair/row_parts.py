"""The rows of a repair in three parts: one fits new heads, one chooses among them, one proves the chosen one."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError

_TEST = "test"
_SHARES = (0.3, 0.3, 0.4)  # fit, choose, prove, of rows without a test split
FEWEST = 20
"""Rows of each class out of context that a part should have, before rows that the model has seen are asked."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowParts:
    """Numbers of the rows of each part; no row is in two.

    Attributes:
        fit: Rows that new heads are fitted on.
        choose: Rows that one head is chosen on.
        prove: Rows that the chosen head is proven on.
        seen: Which of all rows (n,) belong to a split that the model was trained on.
    """

    fit: NDArray[np.int64]
    choose: NDArray[np.int64]
    prove: NDArray[np.int64]
    seen: NDArray[np.bool_]


def divide_rows(
    split: NDArray[np.str_],
    cell: NDArray[np.int64],
    units: Sequence[object],
    *,
    trained: Collection[str],
    is_clustered: bool = False,
    seed: int = 0,
) -> RowParts:
    """Divides rows into fit, choose and prove.

    If there is a split "test", it proves. Else two fifths of the rows that the model was not trained on prove, by a
    hash. The others fit and choose, one half each, by the hash too. If the rows that the model was not trained on
    suffice for choosing (`FEWEST` in each cell), only they choose, and rows that it was trained on only fit.

    The hash is SHA-256 of the seed and the row's unit: its id, or its cluster, so that a cluster is never divided. Rows
    of their own are ranked by it within their cell, so that each part has its share of each cell.

    Args:
        split: Name of each row's split (n,).
        cell: Number of each row's cell (n,): its class and the side of its context.
        units: What is hashed (n,).
        trained: Splits that the model was trained on.
        is_clustered: Whether several rows share a unit.
        seed: Another seed is another division.

    Raises:
        OochubError: No row is left to prove, or too few for three parts.

    >>> split = np.array(["train"] * 4 + ["test"] * 2)
    >>> parts = divide_rows(split, np.zeros(6, np.int64), list("abcdef"), trained=["train"])
    >>> len(parts.fit), len(parts.choose), parts.prove.tolist()
    (2, 2, [4, 5])
    """
    seen, rank = np.isin(split, sorted(trained)), _rank_units(units, seed)
    if (split == _TEST).any():
        proves = split == _TEST
    else:
        proves = _take_share(~seen, cell, rank, _SHARES[2], is_clustered=is_clustered)
    if not (proves & ~seen).any():
        raise OochubError(
            f"The model was trained on the rows of {', '.join(sorted(trained))}, and no other rows are there to prove "
            "a repair on. Add a split test of rows that it has not seen."
        )
    rest = ~proves
    fresh = rest & ~seen
    fewest = min((int((fresh & (cell == each)).sum()) for each in np.unique(cell[rest])), default=0)
    among = fresh if seen[rest].any() and fewest >= 2 * FEWEST else rest
    chooses = _take_share(among, cell, rank, 0.5, is_clustered=is_clustered)
    parts = (rest & ~chooses, chooses, proves)
    if not all(part.any() for part in parts):
        raise OochubError(
            f"A repair needs rows to fit, to choose and to prove on, but {len(split):,} rows are too few for three "
            "parts. Give more rows."
        )
    fit, choose, prove = map(np.flatnonzero, parts)
    return RowParts(fit=fit, choose=choose, prove=prove, seen=seen)


def _rank_units(units: Sequence[object], seed: int) -> NDArray[np.float64]:
    """A number in [0, 1) for each row, by a hash of its unit."""
    digests = (hashlib.sha256(f"repair/{seed}/{unit}".encode()).digest() for unit in units)
    numbers = np.fromiter((int.from_bytes(digest[:6], "big") for digest in digests), np.float64, len(units))
    ranks: NDArray[np.float64] = numbers / 2.0**48
    return ranks


def _take_share(
    among: NDArray[np.bool_], cell: NDArray[np.int64], rank: NDArray[np.float64], share: float, *, is_clustered: bool
) -> NDArray[np.bool_]:
    """Which rows (n,) are that share: those of low rank, of each cell where rows stand alone."""
    if is_clustered:
        return among & (rank < share)
    taken = np.zeros(len(among), bool)
    for each in np.unique(cell[among]):
        rows = np.flatnonzero(among & (cell == each))
        taken[rows[np.argsort(rank[rows], kind="stable")][: round(share * len(rows))]] = True
    return taken
