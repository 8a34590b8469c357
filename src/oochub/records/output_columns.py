"""Columns of truth and answers: arrays from Arrow and back, checked, and never rounded on the way.

What a user has as an array becomes NumPy or Arrow: an array, a tensor, a series, a list; what is doubtful is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError, first_line, unknown_name
from oochub.stats.logits import RightClasses

ALSO_RIGHT = "also_right"
"""Column of the classes that are right beside the label."""


def no_truth(column: str, found: str) -> OochubError:
    """An error for a column of truth that holds something else.

    Args:
        column: Name of the column.
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


def read_truth(column: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The truth of rows as an Arrow array of `kind`; nothing is rounded on the way, and null stays null.

    Args:
        column: What an error calls it.
        values: A number per row, or a list of numbers.
        kind: int64 or float64, or a list of these; whole numbers become floats, never the other way.

    Raises:
        OochubError: Text, booleans, or fractions where whole numbers are asked for.

    >>> read_truth("label", [1, None], pa.int64()).to_pylist()
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


def make_vectors(matrix: NDArray[Any]) -> pa.Array:
    """A matrix (n, k) as an Arrow array of lists of float32, the inverse of `vectors`.

    If there are more than 2^31 numbers, the offsets have 64 bits.

    >>> make_vectors(np.array([[0.5, 1.0]])).to_pylist()
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
        raise OochubError(f"Every row needs {width} logits, one per class ({shown}), got {lengths}.")
    logits = vectors(table.column("logits"))
    broken = ~np.isfinite(logits).all(axis=1)
    if broken.any():
        example = table.column("example_id")[int(np.argmax(broken))]
        raise OochubError(f"{broken.sum()} rows have logits that are not finite, first {example}. The model diverged.")


def check_class_numbers(table: pa.Table, column: str, class_names: Sequence[str], *, lowest: int) -> None:
    """Checks a column of class numbers.

    Args:
        table: Table with the column.
        column: Name of the column.
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
        raise OochubError(f"{name} must be lists of floats, got {column.type}. Store the model's output, unrounded.")
    lengths = sorted(pc.unique(pc.list_value_length(column)).to_pylist(), key=str)
    if len(lengths) > 1 or lengths[0] in (0, None):
        of_rows = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        odd = int(np.argmax((of_rows != of_rows[0]) | (of_rows == 0)))
        raise OochubError(
            f"{name} must be lists of one length, a number or more a row, got lengths {lengths[:6]}, first another in "
            f"row {odd}."
        )
    return int(lengths[0])


def read_right_classes(column: pa.ChunkedArray, class_names: Sequence[str]) -> RightClasses:
    """The classes that are right beside the label, of the column `also_right`.

    Args:
        column: Lists of names of classes, or text with ; between names; an empty list or null where there is none.
        class_names: Names of the classes (c,).

    Raises:
        OochubError: Another kind of column, a name that is no class, or fewer than three classes.

    >>> also = read_right_classes(pa.chunked_array([[["b", "c"], []]]), ["a", "b", "c"])
    >>> also.rows.tolist(), also.classes.tolist()
    ([0, 0], [1, 2])
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.split_pattern(column.cast(pa.large_string()), ";")
    elif not pa.types.is_null(kind) and not pa.types.is_list(kind) and not pa.types.is_large_list(kind):
        raise OochubError(
            f"{ALSO_RIGHT} must hold lists of names of classes, or text with ; between them, got {column.type}."
        )
    if pa.types.is_null(kind):
        return RightClasses(np.empty(0, np.int64), np.empty(0, np.int64))
    rows = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    encoded = pc.dictionary_encode(pc.list_flatten(column).cast(pa.string())).combine_chunks()
    names = [name.strip() for name in encoded.dictionary.to_pylist()]
    numbers = {name: number for number, name in enumerate(class_names)}
    for name in names:
        if name and name not in numbers:
            raise OochubError(f"{ALSO_RIGHT}: {unknown_name('class', name, class_names)}")
    if any(names) and len(class_names) < 3:
        raise OochubError(f"{ALSO_RIGHT} needs three classes or more: with two, every answer would be right. Drop it.")
    of_names = np.array([numbers.get(name, -1) for name in names], np.int64)
    classes = of_names[encoded.indices.to_numpy()] if names else np.empty(0, np.int64)
    return RightClasses(rows[classes >= 0], classes[classes >= 0])


def drop_right_classes(names: Sequence[str] | str | None, left_out: Sequence[str]) -> Sequence[str] | str | None:
    """The names of `also_right` of one row, as it writes them, without those of some classes.

    >>> drop_right_classes(["cat", "dog"], ["dog"]), drop_right_classes("cat; dog", ["dog"])
    (['cat'], 'cat')
    """
    if isinstance(names, str):
        return ";".join(name for name in names.split(";") if name.strip() not in left_out)
    return None if names is None else [name for name in names if name not in left_out]


def coerce_column(name: str, values: Any) -> pa.Array:
    """An Arrow column of what a user has, see `coerce_array`; a matrix of floats becomes lists of float32.

    Args:
        name: Name of the column.
        values: n values or rows.

    Raises:
        OochubError: What `coerce_array` raises.

    >>> coerce_column("logits", np.array([[0.5, 1.0]])).type
    ListType(list<item: float>)
    """
    array = coerce_array(name, values)
    if not isinstance(array, np.ndarray):
        return array
    if array.ndim == 2 and array.shape[1] and array.dtype.kind == "f":
        return make_vectors(array)
    return pa.array(array if array.ndim == 1 else array.tolist())


def coerce_text_column(name: str, values: Any) -> pa.Array:
    """Ids or names, one per row, as text.

    Raises:
        OochubError: A row has none, bytes or a list; as `coerce_array`.

    >>> coerce_text_column("example_id", [1, "b"]).to_pylist()
    ['1', 'b']
    """
    is_plain = isinstance(values, list | tuple | range)  # numbers and texts may stand beside each other
    texts = list(values) if is_plain else coerce_array(name, values).tolist()
    for row, text in enumerate(texts):
        if text is None or text is pd.NA or text is np.ma.masked or bool(text != text):
            raise OochubError(f"Every row needs {name}, but row {row} has none. Give each one.")
        if isinstance(text, bytes | bytearray | np.ndarray) or (
            isinstance(text, Iterable) and not isinstance(text, str)
        ):
            raise OochubError(f"{name} must be text or a number in each row, got a {type(text).__name__} in row {row}.")
    return coerce_column(name, list(map(str, texts))).cast(pa.string())


def number_classes(labels: Sequence[str], names: Sequence[str]) -> NDArray[np.int64]:
    """The classes (n,) that labels of text mean.

    Raises:
        OochubError: A label that is no class, or that several classes are called.

    >>> number_classes(["dog", "cat"], ["cat", "dog"]).tolist()
    [1, 0]
    """
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise OochubError(f"Labels must be among the classes {', '.join(names)}; got {', '.join(unknown[:5])}.")
    doubtful = sorted(name for name in set(labels) if names.count(name) > 1)
    if doubtful:
        raise OochubError(f"Labels are names, but several classes are called {doubtful[0]!r}. Pass class numbers.")
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in labels], dtype=np.int64)


_SHOWN = 60  # characters of a value


def coerce_array(name: str, values: Any) -> NDArray[Any] | pa.Array | pa.ChunkedArray:
    """Values of any library as one array with one row per example; the numbers are those that were given.

    Args:
        name: What an error calls them.
        values: NumPy (n, ...), and what gives itself as such, as arrays of JAX do; a tensor of torch on any device, of
            any float, with or without gradient; a Series or an array of pandas, of any type; Arrow, and what gives
            itself as such, as a Series of polars does; a list, tuple, range or iterator of n values or rows.

    Returns:
        NumPy of numbers or dates in the machine's byte order, else Arrow.

    Raises:
        OochubError: A masked entry; a set, a mapping, text or a single value; a frame; records; complex numbers;
            integers beyond 64 bits, half a character, values of several types or of none that a column holds. It says
            what was given, and the first bad row.

    >>> coerce_array("label", pd.Series([1, 0], dtype="Int64")).tolist()
    [1, 0]
    >>> coerce_array("label", np.ma.masked_array([1, 0], mask=[False, True]))
    Traceback (most recent call last):
    oochub.errors.OochubError: label is masked in 1 of 2 rows, first row 1: got a MaskedArray of int64 (2,). Remove \
these rows, or fill them in.
    """
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else _unwrap(name, values)
    if isinstance(array, np.ndarray):
        array = _normalize_array(name, array, values)
    if isinstance(array, list):
        _check_rows(name, array, values)
        array = _convert_list(name, array, values)
    return array


def _unwrap(name: str, values: Any) -> Any:
    """NumPy, Arrow, or a list of rows."""
    unfit = _explain_unfit(values)
    if unfit is not None:
        raise OochubError(f"{name} must be an array with one row per example, got {_describe_given(values)}: {unfit}.")
    try:
        if hasattr(values, "detach") and hasattr(values, "cpu"):
            return _convert_tensor(values)
        if isinstance(values, pd.Series | pd.Index):
            values = values.array
        if isinstance(values, pd.api.extensions.ExtensionArray):
            if type(values).__name__ in ("NumpyExtensionArray", "SparseArray"):
                return np.asarray(values)
            arrow = pa.array(values, from_pandas=True)
            return arrow.dictionary_decode() if pa.types.is_dictionary(arrow.type) else arrow
        if isinstance(values, np.ndarray):
            return values
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values).combine_chunks()
        if hasattr(values, "__array__") and not isinstance(values, list | tuple):
            return np.asarray(values)
        rows = list(values)
    except _FAULTS as error:
        raise _explain_no_column(name, values, error) from None
    return [_convert_tensor(row) if hasattr(row, "detach") and hasattr(row, "cpu") else row for row in rows]


_FAULTS = (pa.ArrowException, TypeError, ValueError, RuntimeError, OverflowError, MemoryError)


def _explain_unfit(values: Any) -> str | None:
    """Why something is no array at all; None where it may be one."""
    if isinstance(values, AbstractSet) and not isinstance(values, Mapping):
        return "a set has no order. Pass a list"
    if isinstance(values, Mapping):
        return "give its values as a list, in the order of the rows"
    if isinstance(values, str | bytes | bytearray):
        return "give a list with one value per row"
    if isinstance(values, pd.DataFrame) or (hasattr(values, "columns") and hasattr(values, "__arrow_c_stream__")):
        return "give one of its columns, or the whole to Predictions.from_pandas"
    is_array = hasattr(values, "__array__") or hasattr(values, "__arrow_c_stream__")
    if getattr(values, "ndim", 1) == 0 or not (isinstance(values, Iterable) or is_array):
        return "that is one value. Pass one for each row"
    if hasattr(values, "tocsr"):
        return "give its toarray()"
    return None


def _normalize_array(name: str, array: NDArray[Any], values: Any) -> Any:
    """The array in the machine's byte order; a list of its rows where they are objects or text."""
    if np.ma.isMaskedArray(array):
        masked = np.ma.getmaskarray(array).reshape(len(array), -1).any(axis=1)
        if masked.any():
            raise OochubError(
                f"{name} is masked in {int(masked.sum()):,} of {len(array):,} rows, first row "
                f"{int(np.argmax(masked))}: got {_describe_given(values)}. Remove these rows, or fill them in."
            )
        array = np.asarray(array.data)
    if array.ndim == 0 or array.dtype.names is not None or array.dtype.kind in "cV":
        kinds = {"c": "complex numbers are not supported", "V": "name one field of its records"}
        why = kinds.get(array.dtype.kind, "that is one value. Pass one for each row")
        raise OochubError(f"{name} must be an array with one row per example, got {_describe_given(values)}: {why}.")
    if array.dtype.kind in "OSU":  # Arrow ends bytes of "S" at a zero
        try:
            return list(array.tolist())
        except UnicodeError as error:
            raise _explain_no_column(name, values, error) from None
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return np.asarray(array).astype(array.dtype.newbyteorder("="), copy=False)


def _convert_tensor(tensor: Any) -> NDArray[Any]:
    """A tensor of torch: floats that NumPy does not know become float32, which holds each of them."""
    dtypes = ("torch.float16", "torch.float32", "torch.float64")
    plain = tensor.detach().cpu()
    if plain.dtype.is_floating_point and str(plain.dtype) not in dtypes:
        plain = plain.float()
    array: NDArray[Any] = plain.resolve_conj().resolve_neg().numpy()
    return array


def _check_rows(name: str, rows: list[Any], values: Any) -> None:
    """That no row is a set or masked, which Arrow would take in some order, or as it lies there."""
    for number, row in enumerate(rows):
        if isinstance(row, AbstractSet) and not isinstance(row, Mapping):
            raise OochubError(
                f"{name} contains a set in row {number}, but a set has no order: got {_describe_given(values)}. Pass "
                "lists."
            )
        if row is np.ma.masked or (np.ma.isMaskedArray(row) and np.ma.getmaskarray(row).any()):
            raise OochubError(
                f"{name} is masked in row {number}: got {_describe_given(values)}. Remove the row, or fill it in."
            )


def _convert_list(name: str, rows: list[Any], values: Any) -> pa.Array:
    """Rows of Python as Arrow, which takes values of one type alone; of NA and NaT as null."""
    have_text = any(isinstance(row, str) for row in rows)  # a missing one is then nan in pandas
    rows = [_normalize_row(row, have_text=have_text) for row in rows]
    try:
        array = pa.array(rows)
    except _FAULTS as error:
        first = next((number for number in range(len(rows)) if not _holds(rows[number])), None)
        raise _explain_no_column(name, values, error, row=first) from None
    inner = getattr(array.type, "value_type", array.type)
    is_number = pa.types.is_integer(inner) or pa.types.is_floating(inner)
    wrong = next((number for number, row in enumerate(rows) if _has_truth(row)), None) if is_number else None
    if wrong is not None:
        raise OochubError(
            f"{name} contains numbers, but {_shorten(rows[wrong])} in row {wrong}. Pass values of one type."
        )
    return array


def _normalize_row(row: Any, *, have_text: bool) -> Any:
    """The row as Arrow reads it: NA and NaT as None, a matrix as lists."""
    if row is pd.NA or row is pd.NaT or (have_text and isinstance(row, float) and row != row):
        return None
    return row.tolist() if isinstance(row, np.ndarray) and row.ndim != 1 else row


def _has_truth(row: Any) -> bool:
    """Whether a row is a truth, or one is among its cells, which Arrow takes for 0 or 1 where it is beside floats."""
    if isinstance(row, np.ndarray) and row.dtype != object:
        return bool(row.dtype.kind == "b")
    kinds = set(map(type, row)) if isinstance(row, list | tuple | np.ndarray) else {type(row)}
    return not kinds.isdisjoint((bool, np.bool_))


def _holds(value: Any) -> bool:
    try:
        pa.array([value])
    except _FAULTS:
        return False
    return True


def _explain_no_column(name: str, values: Any, error: BaseException, row: int | None = None) -> OochubError:
    place = "" if row is None else f" in row {row}"
    return OochubError(
        f"{name} cannot become a column{place}: {first_line(error)}; got {_describe_given(values)}. "
        "Pass an array with one row per example."
    )


def _describe_given(values: Any) -> str:
    """Its type, what it holds and its shape, in words.

    >>> _describe_given(np.zeros((2, 3))), _describe_given(["a", "b"]), _describe_given({"a"})
    ('a ndarray of float64 (2, 3)', "a list of 2, first 'a'", 'a set of 1')
    """
    kind = f"a {type(values).__name__}"
    dtype, shape = getattr(values, "dtype", None), getattr(values, "shape", None)
    if dtype is not None and shape is not None:
        return f"{kind} of {dtype} {tuple(shape)}"
    if isinstance(values, str | bytes | bytearray) or not hasattr(values, "__len__"):
        return f"{kind}, {_shorten(values)}" if isinstance(values, str | int | float | bytes) else kind
    is_listed = isinstance(values, list | tuple) and len(values)
    return f"{kind} of {len(values):,}" + (f", first {_shorten(values[0])}" if is_listed else "")


def _shorten(value: Any) -> str:
    text = repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
