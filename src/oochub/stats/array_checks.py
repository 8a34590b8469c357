"""Checks of the arrays that metrics receive: what is not allowed is an error that says so, never a guess.

Groups of rows, by any hashable name, become codes that can be counted.

The criteria check their columns here too, and name what is hard by the sign of a binary label.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError

Array = NDArray[Any]

_ROWS = 4096  # rows of a matrix looked at together: they stay in the processor's cache
_SUM_TOLERANCE = 1e-3  # half-precision softmax rows of 1,000 classes sum to 1 within this


class GroupCodes(NamedTuple):
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
    if array.item(array.argmin()) < 0:  # of few rows a fifth of the time of a minimum
        raise OochubError(
            f"{name} must be 0 or larger, got {int(array.min())} at row {int(np.argmax(array < 0))} "
            f"({int((array < 0).sum())} such rows). -1 means outside the label set: remove those rows."
        )
    if classes is not None and array.item(array.argmax()) >= classes:
        at = int(np.argmax(array >= classes))
        raise OochubError(
            f"{name} must be one of 0..{classes - 1}, got {int(array[at])} at row {at}. "
            "The labels and the scores must speak of the same classes."
        )
    return array


NO_CLASS = -1
"""The answer that is none of the classes: wrong, whatever the label."""


def check_answer(prediction: object) -> Array:
    """The class that was answered in each row (n,), int, at least one row; `NO_CLASS`, -1, is none of the classes.

    Raises:
        OochubError: Another shape or type, no rows, or a number below -1.

    >>> check_answer([1, -1]).tolist()
    [1, -1]
    """
    array = check_whole(prediction, name="prediction")
    if array.item(array.argmin()) < NO_CLASS:
        raise OochubError(
            f"prediction must be a class number, or -1 for none of the classes, got {int(array.min())} at row "
            f"{int(np.argmax(array < NO_CLASS))} ({int((array < NO_CLASS).sum())} such rows). Give each row its class."
        )
    return array


def check_whole(values: Any, *, name: str) -> Array:
    """Whole numbers of any sign as a one-dimensional integer array (n,), at least one row.

    Raises:
        OochubError: Another shape or type, or no rows.

    >>> check_whole([-1, 2], name="label").tolist()
    [-1, 2]
    """
    array = check_vector(values, name)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    if array.dtype.kind not in "iu":
        raise OochubError(
            f"{name} must hold whole numbers (int or bool), got {describe_array(array)}. "
            f"Convert it with .astype(int) after dropping rows without a {name}."
        )
    return array


def check_score(score: Any, *, name: str = "score", per_label: bool = False) -> Array:
    """Scores as float32 or float64, infinities allowed, without NaN.

    float16 becomes float32 and integers become float64: neither changes an order.

    Args:
        score: Real numbers (n,), or (n, k) with `per_label`.
        name: What the array is called in an error.
        per_label: Whether each of k labels has a score of its own.

    Raises:
        OochubError: Another shape or type, no rows, or NaN.

    >>> check_score([1, 2]).dtype
    dtype('float64')
    """
    array = _check_matrix(score, name) if per_label else check_vector(score, name)
    if array.dtype.kind not in "fiu":
        raise OochubError(f"{name} must hold real numbers, got {describe_array(array)}.")
    array = (
        array.astype(np.float32 if array.dtype == np.float16 else np.float64, copy=False)
        if (array.dtype != np.float32)
        else array
    )
    _refuse_nan(array, name)
    return array


def check_vector(value: Any, name: str) -> Array:
    """Values of any type as an array (n,), at least one row.

    Raises:
        OochubError: Another shape, or no rows.

    >>> check_vector(["easy", "hard"], "challenge").shape
    (2,)
    """
    array = _convert_to_array(value, name)
    if array.ndim != 1:
        raise OochubError(f"{name} must have shape (n,), one value a row, got shape {array.shape}.")
    _refuse_empty(array, name)
    return array


def check_numbers(**arrays: Any) -> list[Array]:
    """Columns of numbers of any sign, each as float64 (n,), finite and all of one length, at least one row.

    Args:
        **arrays: Real numbers (n,), by what each is called in an error.

    Raises:
        OochubError: Another shape or type, no rows, NaN, an infinity, or different lengths.

    >>> check_numbers(label=[-1, 2], prediction=[0.5, 2.5])
    [array([-1.,  2.]), array([0.5, 2.5])]
    """
    numbers = [check_score(array, name=name).astype(np.float64, copy=False) for name, array in arrays.items()]
    for name, array in zip(arrays, numbers, strict=True):
        infinite = np.isinf(array)
        if infinite.any():
            raise OochubError(
                f"{name} must hold finite numbers, got {array[infinite][0]} at row {int(np.argmax(infinite))} "
                f"({int(infinite.sum())} such rows). Find out where it comes from, or remove these rows."
            )
    check_same_length(**dict(zip(arrays, numbers, strict=True)))
    return numbers


def check_labels(label: Any, score: Any) -> tuple[Array, Array]:
    """Several labels per row and a score for each of them, both (n, k) with at least one row and one label.

    Args:
        label: 1 where a label holds, 0 where not, nan where nobody knows (n, k).
        score: Real numbers (n, k), see `check_score`.

    Returns:
        The labels as float64 and the scores as float32 or float64.

    Raises:
        OochubError: Another shape or type, two shapes that differ, another label, or a score that is NaN.

    >>> check_labels([[1, 0], [0, float("nan")]], [[0.5, 2], [1, 3]])[0].shape
    (2, 2)
    """
    labels = _check_matrix(label, "label")
    if labels.dtype.kind not in "fiub":
        raise OochubError(f"label must hold 1, 0 or nan (unknown), got {describe_array(labels)}.")
    wrong = ~((labels == 0) | (labels == 1) | np.isnan(labels))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise OochubError(
            f"label must be 1, 0 or nan (unknown), got {labels[row, column]} at row {row}, label {column} "
            f"({int(wrong.sum())} such labels). Lists of the classes that hold are to become 1 and 0 first."
        )
    scores = check_score(score, per_label=True)
    if labels.shape != scores.shape:
        raise OochubError(f"label and score must have one shape (n, k), got {labels.shape} and {scores.shape}.")
    return labels.astype(np.float64, copy=False), scores


def check_probability(probability: Any, *, name: str = "probability") -> Array:
    """Probabilities: (n,) of class 1 of two, or (n, c) with rows that sum to 1; each within [0, 1].

    Logits are refused, never turned into probabilities.

    Raises:
        OochubError: Another shape or type, no rows, NaN, a value outside [0, 1], or a row whose sum
            differs from 1 by more than 1e-3.

    >>> check_probability([[0.25, 0.75]]).shape
    (1, 2)
    """
    array = _convert_to_array(probability, name)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] < 2):
        raise OochubError(
            f"{name} must have shape (n,), the probability of class 1, or (n, classes) with two or more "
            f"classes, got shape {array.shape}."
        )
    _refuse_empty(array, name)
    if array.dtype.kind not in "fiu":
        raise OochubError(f"{name} must hold real numbers, got {describe_array(array)}.")
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


def check_same_length(**arrays: Any) -> int:
    """The number of rows that all arrays share; None is left out.

    Raises:
        OochubError: The lengths differ.

    >>> check_same_length(label=np.zeros(3), score=np.ones(3), group=None)
    3
    """
    lengths = [len(array) for array in arrays.values() if array is not None]
    if lengths.count(lengths[0]) < len(lengths):
        counts = ", ".join(f"{name} {len(array)}" for name, array in arrays.items() if array is not None)
        raise OochubError(f"All columns must have the same number of rows, got {counts}.")
    return lengths[0]


def check_class_probability(label: Any, probability: Any) -> tuple[Array, Array]:
    """Labels and probabilities that fit each other: see `check_label` and `check_probability`.

    Raises:
        OochubError: What those raise, different lengths, or a label without a column.

    >>> check_class_probability([1, 0], [0.9, 0.2])[0].tolist()
    [1, 0]
    """
    probability = check_probability(probability)
    label = check_label(label, classes=2 if probability.ndim == 1 else probability.shape[1])
    check_same_length(label=label, probability=probability)
    return label, probability


def check_group(group: Any, *, name: str = "group") -> GroupCodes:
    """Any hashable group names (n,) as codes for `numpy.bincount`.

    Args:
        group: A list or tuple of hashables, a one-dimensional array of integers, booleans or strings, or a pandas
            Categorical.
        name: What the array is called in an error.

    Raises:
        OochubError: Another shape, no rows, NaN, or something not hashable.

    >>> check_group(["water", "land", "water"])
    GroupCodes(codes=array([0, 1, 0]), names=['water', 'land'])
    """
    if isinstance(group, list | tuple):
        return _group_objects(group, name)
    if hasattr(group, "codes") and len(group) and (group.codes >= 0).all():  # -1 is a missing name
        return GroupCodes(group.codes, group.categories.tolist())
    array = check_vector(group, name)
    if array.dtype.kind == "f":
        check_score(array, name=name)  # without NaN
    if array.dtype.kind == "b":
        return GroupCodes(array.view(np.uint8), [False, True])
    if array.dtype.kind in "iu":
        unsigned = array.view(array.dtype.str.replace("i", "u"))  # numbers below 0 are the largest: one pass finds both
        largest = int(unsigned[unsigned.argmax()])
        if largest <= min(4 * len(array) + 1024, np.iinfo(array.dtype).max):
            return GroupCodes(array, range(largest + 1))
    if array.dtype.kind == "O":
        return _group_objects(array.tolist(), name)
    names, codes = np.unique(array, return_inverse=True)
    return GroupCodes(codes, names.tolist())


def number_groups(codes: Array) -> Array:
    """Codes (n,) of `check_group`, numbered anew without a gap; their order stays.

    >>> number_groups(np.array([7, 2, 7, 4]))
    array([2, 0, 2, 1])
    """
    if not len(codes) or codes.max() > 4 * len(codes) + 1024:  # few of many names: sorting is quicker
        numbers: Array = np.unique(codes, return_inverse=True)[1]
        return numbers
    codes = codes.astype(np.intp, copy=False)
    return (np.cumsum(np.bincount(codes) > 0) - 1)[codes]


def _group_objects(group: Sequence[Any], name: str) -> GroupCodes:
    if len(group) == 0:
        check_vector(group, name)  # the error of no rows
    code: dict[Hashable, int] = {}
    try:
        plain = (value.item() if isinstance(value, np.generic) else value for value in group)
        codes = np.fromiter((code.setdefault(value, len(code)) for value in plain), np.int64, len(group))
    except TypeError as error:
        raise OochubError(f"{name} must hold hashable names (str, int, tuple): {error}.") from error
    if any(key != key for key in code):
        raise OochubError(f"{name} contains NaN, which names no group. Give such rows a name or remove them.")
    return GroupCodes(codes, list(code))


def _convert_to_array(value: Any, name: str) -> Array:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; bfloat16, CUDA or grad tensors
        raise OochubError(f"{name} cannot become a numpy array: {error}. Pass a numpy array.") from error


def _check_matrix(value: Any, name: str) -> Array:
    array = _convert_to_array(value, name)
    if array.ndim != 2 or array.shape[1] == 0:
        raise OochubError(f"{name} must have shape (n, k), one value for each of k labels a row, got {array.shape}.")
    _refuse_empty(array, name)
    return array


def _refuse_empty(array: Array, name: str) -> None:
    if len(array) == 0:
        raise OochubError(f"{name} has no rows: the metric of nothing is undefined. Check the selection.")


def _refuse_nan(array: Array, name: str) -> None:
    if array.dtype.kind == "f" and np.isnan(array.min()):  # one fast pass: a minimum keeps NaN
        bad = np.isnan(array).reshape(len(array), -1).any(axis=1)
        raise OochubError(
            f"{name} contains NaN in {int(bad.sum())} of {len(array)} rows, the first at row {int(np.argmax(bad))}. "
            "Find out why the model gave none, or remove these rows."
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


def describe_array(array: Array) -> str:
    """What an array holds, for an error.

    >>> describe_array(np.array([1, 2]))
    'int64 values such as 1'
    """
    return f"{array.dtype} values such as {array[:1].tolist()[0]!r}"


def check_column(name: str, values: ArrayLike, *, numbers: bool = False) -> NDArray[Any]:
    """One column as an array (n,) without missing values; with `numbers`, as finite float64.

    Raises:
        OochubError: Another shape, a missing value, or, with `numbers`, text or an infinite one.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise OochubError(f"{name} takes one value per example, (n,), got {array.shape}.")
    import pandas as pd  # metrics are imported without it

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
        import pandas as pd

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
