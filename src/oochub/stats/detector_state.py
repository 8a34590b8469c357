"""Checks of the state of a saved detector: its names, types and shapes are those declared, its numbers finite."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import row_blocks
from oochub.storage.tensor_file import let_go

_TOGETHER = 1 << 21  # numbers looked at together
_FLOATS = ("float16", "float32", "float64")
_COLUMNS = {"d": "features", "c": "logits"}


def check_state(
    declared: Iterable[str], state: Mapping[str, Array], columns: Mapping[str, int], *, file: str
) -> dict[str, Any]:
    """The state of a detector, arrays and numbers by name.

    Args:
        declared: See `Detector.fitted`; a name alone says nothing of type and shape.
        state: What was saved; a number as an array of one.
        columns: Of the features and logits that the detector was fitted on.
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
    for part in row_blocks(len(rows), max(1, _TOGETHER // rows[:1].size)):
        if not np.isfinite(rows[part]).all():
            return False
        let_go(values)
    return True
