"""Rows of length 1, also where squares leave float64; zero rows stay zero."""

import numpy as np

from oochub.stats.array_checks import Array


def unit_factors(rows: Array) -> Array:
    """What each row of float64 (n, d) is to be multiplied by for a length of 1, 0 for a zero row.

    >>> unit_factors(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [0.2, 0.0]
    """
    largest = np.abs(rows).max(axis=1)
    some = largest > np.finfo(np.float64).tiny
    safe = np.where(some, largest, 1)
    factors: Array = np.where(some, 1 / np.maximum(np.linalg.norm(rows / safe[:, None], axis=1), 1) / safe, 0)
    return factors


def unit_rows(rows: Array) -> Array:
    """Rows times their factors.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).round(9).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    of_one: Array = rows * unit_factors(rows)[:, None]
    return of_one
