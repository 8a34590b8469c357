"""Checks of what detectors receive: arrays of features, logits, labels and the head of the model, and a saved state.

The names, types and shapes of a saved state are those declared, and its numbers finite.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_label
from oochub.stats.row_blocks import row_blocks
from oochub.storage.tensor_file import release_pages

_TOGETHER = 1 << 22  # numbers looked at together
_HINTS = {
    "features": "predict(..., features=True) (--features) stores them.",
    "logits": "Every Predictions has them.",
    "label": "Give the class of each training row, int (n,).",
    "weight": "It is the last layer's, (classes, d); predict(..., features=True) stores the head.",
    "bias": "It is the last layer's, (classes,); a layer without one has zeros.",
    "odin_logits": "predict(..., odin=0.0014) stores the logits of the perturbed images.",
}


_STATE_TOGETHER = 1 << 21  # numbers looked at together
_FLOATS = ("float16", "float32", "float64")
_COLUMNS = {"d": "features", "c": "logits"}


def check_arrays(needed: Sequence[str], arrays: Mapping[str, Any], *, by: str) -> dict[str, Array]:
    """Each of the arrays needed, as `check_array` gives it.

    Args:
        needed: Names.
        arrays: What was passed under each name, None for nothing.
        by: Who needs them, for the error.

    Raises:
        OochubError: An array is missing or unfit.

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
    bad = np.concatenate([_find_unfit(array[part], array) for part in parts])
    if bad.any():
        raise OochubError(
            f"{name} must be finite, got NaN or infinity in {int(bad.sum())} of {len(array)} rows, the first at row "
            f"{int(np.argmax(bad))}. Find out why the model gave them, or leave these rows out."
        )
    return array


def _find_unfit(rows: Array, whole: Array) -> Array:
    """Which rows are not finite: one fast pass, for a sum keeps NaN and infinity; it may overflow, so a second look."""
    sums = rows @ np.ones(rows.shape[-1], rows.dtype) if rows.ndim > 1 else rows
    bad: Array = ~np.isfinite(sums)
    if bad.any():
        bad[bad] = ~np.isfinite(rows[bad]).reshape(bad.sum(), -1).all(axis=1)
    release_pages(whole)
    return bad


def check_state(
    declared: Iterable[str], state: Mapping[str, Array], columns: Mapping[str, int], *, file: str
) -> dict[str, Any]:
    """The state of a detector, arrays and numbers by name.

    Args:
        declared: See `Detector.fitted`; a name alone says nothing of type and shape.
        state: What was saved; a number as an array of one.
        columns: Number of columns of the features and logits that the detector was fitted on, by name.
        file: Where the state stands, for errors.

    Raises:
        OochubError: A name that is missing or not known, another type or shape, a number that is not finite.

    >>> check_state(["scale float64"], {"scale": np.array([2.0])}, {}, file="state.safetensors")
    {'scale': 2.0}
    >>> check_state(["mean float64 d"], {"mean": np.zeros(3)}, {"features": 4}, file="state.safetensors")
    Traceback (most recent call last):
    oochub.errors.OochubError: state.safetensors: mean must be float64 (4), got float64 (3). Fit the detector again.
    """
    forms = {name: form for name, _, form in (each.partition(" ") for each in declared)}
    missing, unknown = [name for name in forms if name not in state], [name for name in state if name not in forms]
    if missing or unknown:
        faults = [
            f"{', '.join(names)} {word}" for names, word in ((missing, "missing"), (unknown, "not known")) if names
        ]
        raise OochubError(f"{file}: {' and '.join(faults)}. Fit the detector again.")
    lengths = {letter: columns[name] for letter, name in _COLUMNS.items() if name in columns}
    found: dict[str, Any] = {}
    for name, form in forms.items():
        values = state[name]
        kind, *letters = form.split() or [values.dtype.name, *map(str, values.shape)]
        if not letters and values.shape == (1,):  # a safetensors file keeps a number as an array of one
            values = values.reshape(())
        fits = values.dtype.name in (_FLOATS if kind == "float" else (kind,)) and values.ndim == len(letters)
        wanted = [lengths.setdefault(letter, n) for letter, n in zip(letters, values.shape, strict=fits)]
        if not fits or wanted != list(values.shape):
            shape = ", ".join(str(lengths.get(letter, letter)) for letter in letters)
            got = f"{values.dtype.name} ({', '.join(map(str, values.shape))})"
            raise OochubError(f"{file}: {name} must be {kind} ({shape}), got {got}. Fit the detector again.")
        if not values.size:
            raise OochubError(f"{file}: {name} is empty. Fit the detector again.")
        if values.dtype.kind not in "fiu" or not _are_finite(values):
            raise OochubError(f"{file}: {name} must be finite numbers. Fit the detector again.")
        found[name] = values if values.ndim else values.item()
    return found


def _are_finite(values: Array) -> bool:
    rows = np.atleast_1d(values)
    for part in row_blocks(len(rows), max(1, _STATE_TOGETHER // rows[:1].size)):
        if not np.isfinite(rows[part]).all():
            return False
        release_pages(values)
    return True
