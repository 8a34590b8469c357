"""Rows that are drawn together: many rows of a stratum with like values count as one cell of a bootstrap."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from oochub.stats.array_checks import Array

_CELLS = 512  # of ranks; and so many of the largest values that each are a cell


class RowCells(NamedTuple):
    """Cells (m,): what a weighted metric reads of them, the stratum and the number of rows of each."""

    columns: dict[str, Array]
    stratum: Array
    rows: Array


def row_cells(columns: Mapping[str, Array], stratum: Array, value: str) -> RowCells:
    """The cells of many rows: a stratum and one of 512 ranks of a value, or one of the 512 largest values.

    A resample of independent rows holds multinomial numbers of each cell. Rows of one cell differ by less than the
    resamples do: `value` of a cell is the mean of its rows (a loss), or its place among all (a score, whose order alone
    counts: rows of one place are ties). Of values that are few, such as 0 and 1, nothing is lost.

    Args:
        columns: `value`; with `label` of each row (n,), which is the same within a stratum.
        stratum: Numbers (n,).
        value: The name of the column, "loss" or "score".

    >>> row_cells({"loss": np.array([0.0, 1.0, 1.0])}, np.array([0, 0, 0]), "loss")
    RowCells(columns={'loss': array([0., 1.])}, stratum=array([0, 0]), rows=array([1, 2]))
    """
    values = np.asarray(columns[value], dtype=np.float64)
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) > 2 * _CELLS:
        below = np.cumsum(np.bincount(place)) - 1  # the rank of the last row of each distinct value
        largest = len(values) - _CELLS
        place = np.where(below < largest, below * _CELLS // len(values), _CELLS + below - largest)[place]
    together = stratum * (int(place.max()) + 1) + place
    first, cell, rows = np.unique(together, return_index=True, return_inverse=True, return_counts=True)[1:]
    taken = place[first] if value == "score" else np.bincount(cell, values) / rows
    label = {"label": columns["label"][first]} if "label" in columns else {}
    return RowCells({value: taken, **label}, stratum[first], rows)
