"""What the criteria share: which values have no answer, and the sign that a binary label gives to what is hard."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError


def check_column(name: str, values: ArrayLike, *, numbers: bool = False) -> NDArray[Any]:
    """One column as an array (n,) without missing values; with `numbers`, as finite float64.

    Raises:
        OochubError: Another shape, a missing value, or, with `numbers`, text or an infinite one.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise OochubError(f"{name} takes one value per example, (n,), got {array.shape}.")
    missing = pd.isna(array)
    if missing.any():
        raise OochubError(
            f"{name} is missing or nan in {missing.sum()} of {len(array)} examples, first in row {missing.argmax()}. "
            "Whether they are hard is undefined: remove these examples."
        )
    if not numbers:
        return array
    if array.dtype.kind not in "buif" or not np.isfinite(array).all():
        raise OochubError(f"{name} takes finite numbers, got {array.dtype} with {array[:3].tolist()} ...")
    return array.astype(np.float64)


def is_binary(label: NDArray[Any]) -> bool:
    """Whether a label is of two classes, negative and positive: truth values, or numbers 0 and 1 only."""
    return label.dtype.kind in "buif" and bool(np.isin(label, (0, 1)).all())


def check_positives(name: str, label: ArrayLike) -> NDArray[np.bool_]:
    """The positive examples of a binary label.

    Raises:
        OochubError: A label that is not of 0 and 1.
    """
    array = check_column(name, label)
    if not is_binary(array):
        values = ", ".join(map(str, pd.unique(array)[:5]))
        advice = (
            "Name its two classes, the absent one first: "
            f'dataset.cast_column("{name}", datasets.ClassLabel(names=["absent", "present"])).'
        )
        raise OochubError(
            f"{name} takes truth values or 0 and 1 only, got {array.dtype} with {values}."
            + (f" {advice}" if array.dtype.kind in "OU" else "")
        )
    return array.astype(bool)


def name_challenges(hard: NDArray[np.bool_], positive: NDArray[np.bool_] | None = None) -> NDArray[np.str_]:
    """The names of a challenge column: "easy", and "hard" or, where the positives are known, its two kinds.

    Raises:
        OochubError: `positive` of another length.
    """
    if positive is not None and positive.shape != hard.shape:
        raise OochubError(f"label has {len(positive)} examples, the other columns have {len(hard)}.")
    kind: Any = "hard" if positive is None else np.where(positive, "hard_positive", "hard_negative")
    return np.where(hard, kind, "easy").astype("<U13")
