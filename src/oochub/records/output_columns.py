"""Columns of truth and answers: arrays from Arrow and back, checked, and never rounded on the way."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.given_array import given_array

LONGEST_NAME = 2_000
"""Characters of the name of a class, a context or a group; the longest scaffold of a molecule has fewer than 600."""


def no_truth(column: str, found: str) -> OochubError:
    """An error for a column of truth that holds something else.

    Args:
        column: Its name.
        found: What it holds.

    >>> print(no_truth("label", "string"))
    The column 'label' must hold class numbers or numbers, got string. Name the classes: \
dataset.cast_column("label", datasets.ClassLabel(names=[...])), or dataset.class_encode_column("label").
    """
    if column != "label":
        return OochubError(
            f"The column {column!r} must hold lists of class numbers, or of 0, 1 and nan, got {found}. "
            f'Name the classes: dataset.cast_column("{column}", datasets.List(datasets.ClassLabel(names=[...]))).'
        )
    return OochubError(
        f"The column 'label' must hold class numbers or numbers, got {found}. Name the classes: "
        'dataset.cast_column("label", datasets.ClassLabel(names=[...])), or dataset.class_encode_column("label").'
    )


def truth_array(column: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The truth of rows as an Arrow array of `kind`; nothing is rounded on the way, and null stays null.

    Args:
        column: What an error calls it.
        values: A number a row, or a list of numbers.
        kind: int64 or float64, or a list of these; whole numbers become floats, never the other way.

    Raises:
        OochubError: Text, booleans, or fractions where whole numbers are asked for.

    >>> truth_array("label", [1, None], pa.int64()).to_pylist()
    [1, None]
    """
    try:
        array = pa.array(values)
        inner = getattr(array.type, "value_type", array.type)
        wanted = getattr(kind, "value_type", kind)
        fits = pa.types.is_integer(inner) or pa.types.is_null(inner)
        if fits or (pa.types.is_floating(inner) and pa.types.is_floating(wanted)):
            return array.cast(kind)
    except (pa.ArrowException, TypeError, ValueError) as error:  # values of several types, or too large ones
        raise no_truth(column, str(error)) from None
    shown = next(value for value in values if value is not None)
    raise no_truth(column, f"{array.type}, first {shown!r}")


def vectors(column: pa.ChunkedArray) -> NDArray[np.float32]:
    """A column of lists of one length as float32 (n, k).

    >>> vectors(pa.chunked_array([[[0.5, 1.0]]])).tolist()
    [[0.5, 1.0]]
    """
    flat = [chunk.flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False) for chunk in column.chunks]
    together: NDArray[np.float32] = flat[0] if len(flat) == 1 else np.concatenate(flat or [np.empty(0, np.float32)])
    return together.reshape(len(column), -1 if len(column) else 0)


def vector_array(matrix: NDArray[Any]) -> pa.Array:
    """A matrix (n, k) as an Arrow array of lists of float32, the inverse of `vectors`.

    Of more than 2^31 numbers the offsets have 64 bits.

    >>> vector_array(np.array([[0.5, 1.0]])).to_pylist()
    [[0.5, 1.0]]
    """
    flat = pa.array(np.ascontiguousarray(matrix, dtype=np.float32).ravel())
    is_large = len(flat) > np.iinfo(np.int32).max
    offsets = np.arange(0, len(flat) + 1, matrix.shape[1], dtype=np.int64 if is_large else np.int32)
    return (pa.LargeListArray if is_large else pa.ListArray).from_arrays(offsets, flat)


def check_logits(table: pa.Table, width: int, class_names: Sequence[str]) -> None:
    """Checks that every row has `width` finite logits.

    Raises:
        OochubError: Logits that are no floats, too few, too many, or not finite.
    """
    lengths = check_vectors(table, "logits")
    if lengths != width:
        shown = ", ".join(class_names[:6]) + (", ..." if width > 6 else "")
        raise OochubError(f"Every row needs {width} logits, one a class ({shown}), got {lengths}.")
    logits = vectors(table.column("logits"))
    broken = ~np.isfinite(logits).all(axis=1)
    if broken.any():
        example = table.column("example_id")[int(np.argmax(broken))]
        raise OochubError(f"{broken.sum()} rows have logits that are not finite, first {example}. The model diverged.")


def check_class_numbers(table: pa.Table, column: str, class_names: Sequence[str], *, lowest: int) -> None:
    """Checks a column of class numbers.

    Args:
        table: With the column.
        column: Its name.
        class_names: Names of the classes (c,).
        lowest: The smallest number allowed: -1 where a row may be outside the label set, else 0.

    Raises:
        OochubError: No whole numbers, or one that is no class; the first is named.
    """
    kind = table.schema.field(column).type
    if not pa.types.is_integer(kind):
        raise OochubError(
            f"{column} must hold class numbers (integers), got {kind}. Give each row the number of its class in "
            "class_names; -1 is outside the label set."
        )
    numbers = table.column(column).to_numpy()
    wrong = (numbers < lowest) | (numbers >= len(class_names))
    if wrong.any():
        or_less = " or -1" if lowest < 0 else ""
        raise OochubError(
            f"{wrong.sum()} {column}s are not one of the {len(class_names)} classes{or_less}, first "
            f"{numbers[wrong][0]}."
        )


def check_vectors(table: pa.Table, name: str) -> int:
    """The length that all lists of a column have.

    Raises:
        OochubError: The column holds no lists of floats, or lists of several lengths, or of none.
    """
    column = table.column(name)
    inner = getattr(column.type, "value_type", None)
    if inner is None or pa.types.is_dictionary(column.type) or not pa.types.is_floating(inner):
        raise OochubError(f"{name} must be lists of floats, got {column.type}. Store what the model said, unrounded.")
    lengths = sorted(pc.unique(pc.list_value_length(column)).to_pylist(), key=str)
    if len(lengths) > 1 or lengths[0] in (0, None):
        of_rows = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        odd = int(np.argmax((of_rows != of_rows[0]) | (of_rows == 0)))
        raise OochubError(
            f"{name} must be lists of one length, a number or more a row, got lengths {lengths[:6]}, first another in "
            f"row {odd}."
        )
    return int(lengths[0])


def column_of(name: str, values: Any) -> pa.Array:
    """An Arrow column of what a user has, see `given_array`; a matrix of floats becomes lists of float32.

    Args:
        name: Of the column.
        values: n values or rows.

    Raises:
        OochubError: As `given_array`.

    >>> column_of("logits", np.array([[0.5, 1.0]])).type
    ListType(list<item: float>)
    """
    array = given_array(name, values)
    if not isinstance(array, np.ndarray):
        return array
    if array.ndim == 2 and array.shape[1] and array.dtype.kind == "f":
        return vector_array(array)
    return pa.array(array if array.ndim == 1 else array.tolist())


def text_column(name: str, values: Any) -> pa.Array:
    """Ids or names, one a row, as text.

    Raises:
        OochubError: A row has none, bytes or a list; as `given_array`.

    >>> text_column("example_id", [1, "b"]).to_pylist()
    ['1', 'b']
    """
    is_plain = isinstance(values, list | tuple | range)  # numbers and texts may stand beside each other
    texts = list(values) if is_plain else given_array(name, values).tolist()
    for row, text in enumerate(texts):
        if text is None or text is pd.NA or text is np.ma.masked or bool(text != text):
            raise OochubError(f"Every row needs {name}, and row {row} has none. Give each one.")
        if isinstance(text, bytes | bytearray | np.ndarray) or (
            isinstance(text, Iterable) and not isinstance(text, str)
        ):
            raise OochubError(f"{name} must be text or a number in each row, got a {type(text).__name__} in row {row}.")
    return column_of(name, list(map(str, texts))).cast(pa.string())


def class_numbers(labels: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """The classes (n,) that labels of text mean.

    Raises:
        OochubError: A label that is no class, or that several classes are called.

    >>> class_numbers(["dog", "cat"], ["cat", "dog"]).tolist()
    [1, 0]
    """
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise OochubError(f"Labels must be among the classes {', '.join(names)}; got {', '.join(unknown[:5])}.")
    doubtful = sorted(name for name in set(labels) if names.count(name) > 1)
    if doubtful:
        raise OochubError(f"Labels are names, and several classes are {doubtful[0]!r}. Give class numbers.")
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in labels], dtype=np.int64)
