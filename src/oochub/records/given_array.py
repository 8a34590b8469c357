"""What a user has as an array, as NumPy or Arrow: an array, a tensor, a series, a list; what is doubtful is refused."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError

_SHOWN = 60  # characters of a value


def given_array(name: str, values: Any) -> NDArray[Any] | pa.Array | pa.ChunkedArray:
    """Values of any library as one array with a row an example; the numbers are those that were given.

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

    >>> given_array("label", pd.Series([1, 0], dtype="Int64")).tolist()
    [1, 0]
    >>> given_array("label", np.ma.masked_array([1, 0], mask=[False, True]))
    Traceback (most recent call last):
    oochub.errors.OochubError: label is masked in 1 of 2 rows, first row 1: got a MaskedArray of int64 (2,). Leave \
these rows out, or fill them in.
    """
    array = values if _is_arrow(values) else _unwrapped(name, values)
    if isinstance(array, np.ndarray):
        array = _plain(name, array, values)
    if isinstance(array, list):
        _check_rows(name, array, values)
        array = _listed(name, array, values)
    return array


def _unwrapped(name: str, values: Any) -> Any:
    """NumPy, Arrow, or a list of rows."""
    unfit = _unfit(values)
    if unfit is not None:
        raise OochubError(f"{name} must be an array with a row an example, got {_got(values)}: {unfit}.")
    try:
        if hasattr(values, "detach") and hasattr(values, "cpu"):
            return _of_tensor(values)
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
        raise _no_column(name, values, error) from None
    return [_of_tensor(row) if hasattr(row, "detach") and hasattr(row, "cpu") else row for row in rows]


_FAULTS = (pa.ArrowException, TypeError, ValueError, RuntimeError, OverflowError, MemoryError)


def _unfit(values: Any) -> str | None:
    """Why something is no array at all; None where it may be one."""
    if isinstance(values, AbstractSet) and not isinstance(values, Mapping):
        return "a set has no order. Give a list"
    if isinstance(values, Mapping):
        return "give its values as a list, in the order of the rows"
    if isinstance(values, str | bytes | bytearray):
        return "give a list with a value a row"
    if isinstance(values, pd.DataFrame) or (hasattr(values, "columns") and hasattr(values, "__arrow_c_stream__")):
        return "give one of its columns, or the whole to Predictions.from_pandas"
    is_array = hasattr(values, "__array__") or hasattr(values, "__arrow_c_stream__")
    if getattr(values, "ndim", 1) == 0 or not (isinstance(values, Iterable) or is_array):
        return "that is one value. Give one for each row"
    if hasattr(values, "tocsr"):
        return "give its toarray()"
    return None


def _plain(name: str, array: NDArray[Any], values: Any) -> Any:
    """The array in the machine's byte order; a list of its rows where they are objects or text."""
    if np.ma.isMaskedArray(array):
        masked = np.ma.getmaskarray(array).reshape(len(array), -1).any(axis=1)
        if masked.any():
            raise OochubError(
                f"{name} is masked in {int(masked.sum()):,} of {len(array):,} rows, first row "
                f"{int(np.argmax(masked))}: got {_got(values)}. Leave these rows out, or fill them in."
            )
        array = np.asarray(array.data)
    if array.ndim == 0 or array.dtype.names is not None or array.dtype.kind in "cV":
        kinds = {"c": "complex numbers are none that a model says or a row has", "V": "name one field of its records"}
        why = kinds.get(array.dtype.kind, "that is one value. Give one for each row")
        raise OochubError(f"{name} must be an array with a row an example, got {_got(values)}: {why}.")
    if array.dtype.kind in "OSU":  # Arrow ends bytes of "S" at a zero
        try:
            return list(array.tolist())
        except UnicodeError as error:
            raise _no_column(name, values, error) from None
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return np.asarray(array).astype(array.dtype.newbyteorder("="), copy=False)


def _of_tensor(tensor: Any) -> NDArray[Any]:
    """A tensor of torch: floats that NumPy does not know become float32, which holds each of them."""
    known = ("torch.float16", "torch.float32", "torch.float64")
    plain = tensor.detach().cpu()
    if plain.dtype.is_floating_point and str(plain.dtype) not in known:
        plain = plain.float()
    array: NDArray[Any] = plain.resolve_conj().resolve_neg().numpy()
    return array


def _check_rows(name: str, rows: list[Any], values: Any) -> None:
    """That no row is a set or masked, which Arrow would take in some order, or as it lies there."""
    for number, row in enumerate(rows):
        if isinstance(row, AbstractSet) and not isinstance(row, Mapping):
            raise OochubError(
                f"{name} holds a set in row {number}, and a set has no order: got {_got(values)}. Give lists."
            )
        if row is np.ma.masked or (np.ma.isMaskedArray(row) and np.ma.getmaskarray(row).any()):
            raise OochubError(
                f"{name} is masked in row {number}: got {_got(values)}. Leave the row out, or fill it in."
            )


def _listed(name: str, rows: list[Any], values: Any) -> pa.Array:
    """Rows of Python as Arrow, which takes values of one type alone; of NA and NaT as null."""
    have_text = any(isinstance(row, str) for row in rows)  # a missing one is then nan in pandas
    rows = [_plain_row(row, have_text=have_text) for row in rows]
    try:
        array = pa.array(rows)
    except _FAULTS as error:
        first = next((number for number in range(len(rows)) if not _holds(rows[number])), None)
        raise _no_column(name, values, error, row=first) from None
    inner = getattr(array.type, "value_type", array.type)
    is_number = pa.types.is_integer(inner) or pa.types.is_floating(inner)
    wrong = next((number for number, row in enumerate(rows) if _has_truth(row)), None) if is_number else None
    if wrong is not None:
        raise OochubError(f"{name} holds numbers, and {_short(rows[wrong])} in row {wrong}. Give values of one type.")
    return array


def _plain_row(row: Any, *, have_text: bool) -> Any:
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


def _is_arrow(values: Any) -> bool:
    return isinstance(values, pa.Array | pa.ChunkedArray)


def _no_column(name: str, values: Any, error: BaseException, row: int | None = None) -> OochubError:
    place = "" if row is None else f" in row {row}"
    why = str(error).partition("\n")[0].rstrip(".")
    return OochubError(
        f"{name} cannot become a column{place}: {why}; got {_got(values)}. Give an array with a row an example."
    )


def _got(values: Any) -> str:
    """Its type, what it holds and its shape, in words.

    >>> _got(np.zeros((2, 3))), _got(["a", "b"]), _got({"a"})
    ('a ndarray of float64 (2, 3)', "a list of 2, first 'a'", 'a set of 1')
    """
    kind = f"a {type(values).__name__}"
    dtype, shape = getattr(values, "dtype", None), getattr(values, "shape", None)
    if dtype is not None and shape is not None:
        return f"{kind} of {dtype} {tuple(shape)}"
    if isinstance(values, str | bytes | bytearray) or not hasattr(values, "__len__"):
        return f"{kind}, {_short(values)}" if isinstance(values, str | int | float | bytes) else kind
    is_listed = isinstance(values, list | tuple) and len(values)
    return f"{kind} of {len(values):,}" + (f", first {_short(values[0])}" if is_listed else "")


def _short(value: Any) -> str:
    text = repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
