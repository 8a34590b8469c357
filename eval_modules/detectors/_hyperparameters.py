"""Checks of the hyperparameters of detectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from oochub.errors import OochubError


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """A hyperparameter that counts something.

    Raises:
        OochubError: It is not a whole number, or below `least`.

    >>> check_count("k", 50)
    50
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OochubError(f"{name} must be a whole number, {least} or more, got {value!r}.")
    return int(value)


def check_k(k: int, rows: int) -> None:
    """Checks a number of neighbors.

    Raises:
        OochubError: There are fewer rows; the largest allowed is given.

    >>> check_k(50, 100)
    """
    if k > rows:
        raise OochubError(
            f"k is {k}, but the fit has {rows} rows: the largest k allowed is {rows}. "
            "Set a smaller k, or fit on more rows."
        )


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """A hyperparameter that is one of some words.

    Raises:
        OochubError: It is another.

    >>> check_choice("index", "exact", ["exact", "faiss"])
    'exact'
    """
    if not isinstance(value, str) or value not in choices:
        raise OochubError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")
    return value


def check_number(name: str, value: Any, *, low: float, high: float = np.inf, above: bool = False) -> float:
    """A hyperparameter in [low, high], in (low, high] with `above`.

    Raises:
        OochubError: It is not a finite number in that range.

    >>> check_number("percentile", 65, low=0, high=100)
    65.0
    """
    number = not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating)
    if not number or not abs(value) <= np.finfo(float).max or value > high or value < low or (above and value == low):
        start = f"above {low:g}" if above else f"{low:g} or more"
        end = f" and at most {high:g}" if np.isfinite(high) else ""
        raise OochubError(f"{name} must be a number, {start}{end}, got {value!r}.")
    return float(value)
