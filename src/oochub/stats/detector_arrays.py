"""Checks of the arrays that detectors receive: rows of features or logits, labels, the head of the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_label
from oochub.stats.row_blocks import row_blocks
from oochub.storage.tensor_file import let_go

_TOGETHER = 1 << 22  # numbers looked at together
_HINTS = {
    "features": "predict(..., features=True) (--features) stores them.",
    "logits": "Every Predictions has them.",
    "label": "Give the class of each training row, int (n,).",
    "weight": "It is the last layer's, (classes, d); predict(..., features=True) stores the head.",
    "bias": "It is the last layer's, (classes,); a layer without one has zeros.",
    "odin_logits": "predict(..., odin=0.0014) stores the logits of the perturbed images.",
}


def check_arrays(needed: Sequence[str], arrays: Mapping[str, Any], *, by: str) -> dict[str, Array]:
    """Each of the arrays needed, as `check_array` gives it.

    Args:
        needed: Names.
        arrays: What was passed under each name, None for nothing.
        by: Who needs them, for the error.

    Raises:
        OochubError: One is missing or unfit.

    >>> list(check_arrays(["features"], {"features": [[1.0]], "logits": None}, by="Knn(k=1)"))
    ['features']
    """
    missing = [name for name in needed if arrays[name] is None]
    if missing:
        raise OochubError(f"{by} needs {', '.join(missing)} and got none. {_HINTS[missing[0]]}")
    return {name: check_array(arrays[name], name=name) for name in needed}


def check_array(values: Any, *, name: str) -> Array:
    """What a fit or a score was given under `name`, without a copy; integers become float64.

    Args:
        values: features, logits or odin_logits (n, d); label int (n,); weight (c, d); bias (c,).
        name: Which of these it is.

    Raises:
        OochubError: Another shape or type, no rows, or a number that is not finite.

    >>> check_array([[1, 2]], name="features").dtype
    dtype('float64')
    """
    if name == "label":
        return check_label(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; bfloat16, CUDA or grad tensors
        raise OochubError(f"{name} cannot become a numpy array: {error}. Give a numpy array.") from error
    least = 2 if "logits" in name else 1
    fits = array.ndim == (1 if name == "bias" else 2) and array.size and array.shape[-1] >= least
    if not fits or array.dtype.kind not in "fiu":
        shape = {"bias": "(classes,)", "weight": "(classes, d)", "features": "(n, d)"}.get(name, "(n, classes)")
        raise OochubError(
            f"{name} must be real numbers of shape {shape}, with one row and {least} columns or more, got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.dtype not in (np.float16, np.float32, np.float64):
        array = array.astype(np.float64)
    parts = row_blocks(len(array), max(1, _TOGETHER // array[:1].size))
    bad = np.concatenate([_unfit(array[part], array) for part in parts])
    if bad.any():
        raise OochubError(
            f"{name} must be finite, got NaN or infinity in {int(bad.sum())} of {len(array)} rows, the first at row "
            f"{int(np.argmax(bad))}. Find out why the model gave them, or leave these rows out."
        )
    return array


def _unfit(rows: Array, whole: Array) -> Array:
    """Which rows are not finite: one fast pass, for a sum keeps NaN and infinity; it may overflow, so a second look."""
    sums = rows @ np.ones(rows.shape[-1], rows.dtype) if rows.ndim > 1 else rows
    bad: Array = ~np.isfinite(sums)
    if bad.any():
        bad[bad] = ~np.isfinite(rows[bad]).reshape(bad.sum(), -1).all(axis=1)
    let_go(whole)
    return bad
