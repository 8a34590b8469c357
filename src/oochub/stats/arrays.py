"""Checks of the arrays that metrics receive: what is not allowed is an error that says so, never a guess."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError

Array = NDArray[Any]

_CHALLENGES = ("easy", "hard_positive", "hard_negative", "hard")
_ROWS = 4096  # rows of a matrix looked at together: they stay in the processor's cache
_SUM_TOLERANCE = 1e-3  # half-precision softmax rows of 1,000 classes sum to 1 within this


class Groups(NamedTuple):
    """Groups as counted by `numpy.bincount`: row i belongs to `names[codes[i]]`; a name may have no row."""

    codes: Array
    names: Sequence[Hashable]


def check_label(label: Any, *, name: str = "label", classes: int | None = None) -> Array:
    """Class numbers as a one-dimensional integer array (n,), at least one row, none negative.

    Args:
        label: Integers or booleans (n,).
        name: What the array is called in an error.
        classes: How many classes there are; None leaves the largest number open.

    Raises:
        OochubError: Another shape or type, no rows, or a number outside 0..classes-1.

    >>> check_label([True, False]).tolist()
    [1, 0]
    """
    array = check_whole(label, name=name)
    if array.min() < 0:
        raise OochubError(
            f"{name} must be 0 or larger, got {int(array.min())} at row {int(np.argmax(array < 0))} "
            f"({int((array < 0).sum())} such rows). -1 means outside the label set: leave those rows out."
        )
    if classes is not None and array.max() >= classes:
        at = int(np.argmax(array >= classes))
        raise OochubError(
            f"{name} must be one of 0..{classes - 1}, got {int(array[at])} at row {at}. "
            "The labels and the scores must speak of the same classes."
        )
    return array


def check_whole(values: Any, *, name: str) -> Array:
    """Whole numbers of any sign as a one-dimensional integer array (n,), at least one row.

    Raises:
        OochubError: Another shape or type, or no rows.

    >>> check_whole([-1, 2], name="label").tolist()
    [-1, 2]
    """
    array = _vector(values, name)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    if array.dtype.kind not in "iu":
        raise OochubError(
            f"{name} must hold whole numbers (int or bool), got {_described(array)}. "
            f"Convert it with .astype(int) after dropping rows without a {name}."
        )
    return array


def check_score(score: Any, *, name: str = "score") -> Array:
    """Scores (n,) as float32 or float64, infinities allowed, without NaN.

    float16 becomes float32 and integers become float64: neither changes an order.

    Raises:
        OochubError: Another shape or type, no rows, or NaN.

    >>> check_score([1, 2]).dtype
    dtype('float64')
    """
    array = _vector(score, name)
    if array.dtype.kind not in "fiu":
        raise OochubError(f"{name} must hold real numbers, got {_described(array)}.")
    array = (
        array.astype(np.float32 if array.dtype == np.float16 else np.float64, copy=False)
        if (array.dtype != np.float32)
        else array
    )
    _refuse_nan(array, name)
    return array


def check_probability(probability: Any, *, name: str = "probability") -> Array:
    """Probabilities: (n,) of class 1 of two, or (n, c) with rows that sum to 1; each within [0, 1].

    Logits are refused, never turned into probabilities.

    Raises:
        OochubError: Another shape or type, no rows, NaN, a value outside [0, 1], or a row whose sum
            differs from 1 by more than 1e-3.

    >>> check_probability([[0.25, 0.75]]).shape
    (1, 2)
    """
    array = _as_array(probability, name)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] < 2):
        raise OochubError(
            f"{name} must have shape (n,), the probability of class 1, or (n, classes) with two or more "
            f"classes, got shape {array.shape}."
        )
    _refuse_empty(array, name)
    if array.dtype.kind not in "fiu":
        raise OochubError(f"{name} must hold real numbers, got {_described(array)}.")
    for start in range(0, len(array), _ROWS):
        rows = array[start : start + _ROWS]
        # Negated, so that NaN, which no comparison holds for, is caught as well.
        if not (rows.min() >= 0 and rows.max() <= 1):
            _refuse_nan(array, name)
            bad = start + int(np.argmax(((rows < 0) | (rows > 1)).reshape(len(rows), -1).any(axis=1)))
            raise OochubError(
                f"{name} must lie in [0, 1], got {array[bad].tolist()} at row {bad}. "
                "If these are logits, apply a softmax (two classes as one number: a sigmoid) first."
            )
        if array.ndim == 2:
            _refuse_wrong_sum(rows, start, name)
    return array


def check_group(group: Any, *, name: str = "group") -> Groups:
    """Any hashable group names (n,) as codes for `numpy.bincount`.

    Args:
        group: A list or tuple of hashables, or a one-dimensional array of integers, booleans or strings.
        name: What the array is called in an error.

    Raises:
        OochubError: Another shape, no rows, NaN, or something not hashable.

    >>> check_group(["water", "land", "water"])
    Groups(codes=array([0, 1, 0]), names=['water', 'land'])
    """
    if isinstance(group, list | tuple):
        return _groups_of_objects(group, name)
    array = _vector(group, name)
    if array.dtype.kind == "f":
        _refuse_nan(array, name)
    if array.dtype.kind == "b":
        return Groups(array.view(np.uint8), [False, True])
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() <= 4 * len(array) + 1024:
        return Groups(array, range(int(array.max()) + 1))
    if array.dtype.kind == "O":
        return _groups_of_objects(array.tolist(), name)
    names, codes = np.unique(array, return_inverse=True)
    return Groups(codes, names.tolist())


def check_challenge(challenge: Any, label: Array) -> Array:
    """Which rows (n,) are out of context, from the names of the `challenge` column.

    Args:
        challenge: "easy", "hard_positive", "hard_negative" or "hard" (n,).
        label: 0 or 1 (n,), as `check_label` gives it.

    Returns:
        bool (n,), True where the row is hard.

    Raises:
        OochubError: Numbers instead of names, another name, another length, or a sign that the label denies.

    >>> check_challenge(["easy", "hard"], np.array([0, 1])).tolist()
    [False, True]
    """
    array = _vector(challenge, "challenge")
    if array.dtype.kind not in "OUT":
        raise OochubError(
            f"challenge must hold names ({', '.join(_CHALLENGES)}), got {_described(array)}. "
            "A ClassLabel column gives names with features['challenge'].int2str(numbers)."
        )
    is_named = {name: array == name for name in _CHALLENGES}
    unknown = ~np.logical_or.reduce(list(is_named.values()))
    if unknown.any():
        raise OochubError(
            f"challenge must be one of {', '.join(_CHALLENGES)}, got {array[unknown].tolist()[0]!r} at row "
            f"{int(np.argmax(unknown))} ({int(unknown.sum())} such rows)."
        )
    check_same_length(label=label, challenge=array)
    denied = (is_named["hard_positive"] & (label != 1)) | (is_named["hard_negative"] & (label != 0))
    if denied.any():
        at = int(np.argmax(denied))
        raise OochubError(
            f"challenge is {str(array[at])!r} but label is {int(label[at])} at row {at} ({int(denied.sum())} such "
            "rows). The two columns come from different tasks, or their rows are out of step."
        )
    return ~np.asarray(is_named["easy"])


def check_same_length(**arrays: Any) -> int:
    """The number of rows that all arrays share; None is left out.

    Raises:
        OochubError: The lengths differ.

    >>> check_same_length(label=np.zeros(3), score=np.ones(3), group=None)
    3
    """
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise OochubError(f"All columns must have the same number of rows, got {shown}.")
    return next(iter(lengths.values()))


def check_class_probability(label: Any, probability: Any) -> tuple[Array, Array]:
    """Labels and probabilities that fit each other: see `check_label` and `check_probability`.

    Raises:
        OochubError: As those, different lengths, or a label without a column.

    >>> check_class_probability([1, 0], [0.9, 0.2])[0].tolist()
    [1, 0]
    """
    probability = check_probability(probability)
    label = check_label(label, classes=2 if probability.ndim == 1 else probability.shape[1])
    check_same_length(label=label, probability=probability)
    return label, probability


def _as_array(value: Any, name: str) -> Array:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; bfloat16, CUDA or grad tensors
        raise OochubError(f"{name} cannot become a numpy array: {error}. Give a numpy array.") from error


def _vector(value: Any, name: str) -> Array:
    array = _as_array(value, name)
    if array.ndim != 1:
        raise OochubError(f"{name} must have shape (n,), one value a row, got shape {array.shape}.")
    _refuse_empty(array, name)
    return array


def _refuse_empty(array: Array, name: str) -> None:
    if len(array) == 0:
        raise OochubError(f"{name} has no rows: the metric of nothing is undefined. Check the selection.")


def _refuse_nan(array: Array, name: str) -> None:
    if array.dtype.kind == "f" and np.isnan(array.min()):  # one fast pass: a minimum keeps NaN
        bad = np.isnan(array).reshape(len(array), -1).any(axis=1)
        raise OochubError(
            f"{name} holds NaN in {int(bad.sum())} of {len(array)} rows, the first at row "
            f"{int(np.argmax(bad))}. Find out why the model gave none, or leave these rows out."
        )


def _refuse_wrong_sum(rows: Array, start: int, name: str) -> None:
    sums = rows.sum(axis=1, dtype=np.float64 if rows.dtype == np.float16 else None)
    wrong = np.abs(sums - 1) > _SUM_TOLERANCE
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise OochubError(
            f"{name} rows must sum to 1, got {float(sums[bad]):.6g} at row {start + bad}. "
            "Several labels a row, or scores that are not probabilities, have no place here."
        )


def _groups_of_objects(group: Sequence[Any], name: str) -> Groups:
    if len(group) == 0:
        raise OochubError(f"{name} has no rows: the metric of nothing is undefined. Check the selection.")
    code: dict[Hashable, int] = {}
    try:
        plain = (one.item() if isinstance(one, np.generic) else one for one in group)
        codes = np.fromiter((code.setdefault(one, len(code)) for one in plain), np.int64, len(group))
    except TypeError as error:
        raise OochubError(f"{name} must hold hashable names (str, int, tuple): {error}.") from error
    if any(one != one for one in code):
        raise OochubError(f"{name} holds NaN, which names no group. Give such rows a name or leave them out.")
    return Groups(codes, list(code))


def _described(array: Array) -> str:
    return f"{array.dtype} values such as {array[:1].tolist()[0]!r}"
