"""Reads a file of answers that another program wrote: CSV, Parquet or NPZ, as columns; nothing is unpickled."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.npyio import NpzFile
from pyarrow import csv

from oochub.errors import OochubError
from oochub.records.output_columns import column_of, given_array
from oochub.storage.parquet_file import read_parquet
from oochub.storage.reading import NUMPY_FAULTS, read_bytes, read_text

_TEXT = ("example_id", "split")  # 000000012345 is an id, no number
_OURS = b"oochub"
_LIGHT = 400 * 10**6  # bytes that any arrays may take
_TIMES = 40  # as many as their file has, that they may take where that is more


@dataclass(frozen=True, kw_only=True)
class AnswersFile:
    """The columns of a file, its name and the SHA-256 of its bytes."""

    name: str
    sha256: str
    table: pa.Table


def read_answers(path: str | Path) -> AnswersFile:
    """Reads a file by its suffix, .csv, .parquet or .npz.

    Raises:
        OochubError: No such file, another suffix, one that is damaged or not what its suffix says, no row, a column
            twice; Parquet of `oochub predict`, which says itself what it is of.
    """
    path = Path(path).expanduser()
    readers = {".csv": _csv, ".parquet": _parquet, ".npz": _npz}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise OochubError(f"Answers are read from {', '.join(readers)}, got {path}. Write them as one of these.")
    content = read_bytes(path)
    table = reader(path, content)
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise OochubError(f"{path} has the column {twice[0]!r} twice. Rename or drop one.")
    if not table.num_rows:
        raise OochubError(f"{path} holds no row. It needs one for each example.")
    return AnswersFile(name=path.name, sha256=hashlib.sha256(content).hexdigest(), table=table)


def _csv(path: Path, content: bytes) -> pa.Table:
    read_text(path)  # says in which line it is not UTF-8
    options = csv.ConvertOptions(column_types={name: pa.string() for name in _TEXT})
    try:
        return csv.read_csv(pa.BufferReader(content), convert_options=options)
    except pa.ArrowException as error:
        why = str(error).partition("\n")[0]
        raise OochubError(f"{path} is not a CSV file of one table: {why}. Write it again.") from error


def _parquet(path: Path, content: bytes) -> pa.Table:
    table = read_parquet(path).table
    if _OURS in (table.schema.metadata or {}):
        raise OochubError(
            f"{path} was written by oochub and says itself what it is of. Evaluate it without a benchmark."
        )
    return table


def _npz(path: Path, content: bytes) -> pa.Table:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            packed = arrays.zip if isinstance(arrays, NpzFile) else None
            size = sum([member.file_size for member in packed.infolist()]) if packed else 0
            if size > max(_LIGHT, _TIMES * len(content)):
                raise OochubError(
                    f"{path} is not read: its {len(content) / 1e6:.0f} MB hold {size / 1e6:.0f} MB. Write it again."
                )
            columns = {name: _native(arrays[name]) for name in arrays.files}
    except OochubError:
        raise
    except NUMPY_FAULTS as error:
        raise OochubError(
            f"{path} is not a whole NPZ file of plain arrays: {error}. Write it with numpy.savez."
        ) from error
    lengths = {name: _length(path, name, array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise OochubError(f"The arrays of {path} have several lengths ({shown}). Give each a row an example.")
    return pa.table({name: _column(path, name, array) for name, array in columns.items()})


def _native(array: Any) -> Any:
    """An array in the order of bytes of this machine, which Arrow needs."""
    is_swapped = isinstance(array, np.ndarray) and not array.dtype.isnative
    return array.astype(array.dtype.newbyteorder("=")) if is_swapped else array


def _length(path: Path, name: str, array: Any) -> int:
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or array.shape[1:] == (0,):
        shape = getattr(array, "shape", "no array")
        raise OochubError(f"{name} in {path} must be an array (n,) or (n, c), got {shape}. Write it so.")
    return len(array)


def _column(path: Path, name: str, array: Any) -> pa.Array:
    try:
        plain = given_array(name, array.astype(str) if array.dtype.kind == "S" else array)
        if isinstance(plain, np.ndarray) and plain.ndim == 2 and plain.dtype.kind in "fiub":
            return pa.FixedSizeListArray.from_arrays(pa.array(plain.ravel()), plain.shape[1])
        return column_of(name, plain)
    except (OochubError, UnicodeError) as error:
        raise OochubError(f"{path}: {error}") from None
