"""The small pictures and lines of a folder of parts, in a file of their own: most rows have none."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.storage.parquet_file import read_parquet, seal_of, write_parquet

_FILE = "_thumbnails.parquet"
_SHOWN = {"thumbnail": pa.types.is_binary, "thumbnail_text": pa.types.is_string}


def save_thumbnails(folder: Path, pictures: pa.Table) -> str | None:
    """Writes those of a folder of parts.

    Args:
        folder: Of the parts.
        pictures: Columns with one a row, null where there is none.

    Returns:
        The seal of the file.
    """
    kept = np.flatnonzero(np.logical_or.reduce([np.asarray(column.is_valid()) for column in pictures.columns]))
    return seal_of(write_parquet(pictures.take(pa.array(kept)).append_column("row", pa.array(kept)), folder / _FILE))


def load_thumbnails(folder: Path, rows: int, *, seal: str | None) -> dict[str, pa.ChunkedArray]:
    """Those of a folder of parts as columns of all its rows, null where there is none.

    Args:
        folder: Of the parts.
        rows: How many rows they have.
        seal: That the file must have; None, of a manifest of before, takes any.

    Raises:
        OochubError: It is damaged or of other predictions, or a row is none of theirs or has two.
    """
    file = folder / _FILE
    if not file.is_file():
        if seal is None:
            return {}
        raise OochubError(f"{folder} is not whole: {_FILE} is missing. Copy it again, or predict again.")
    some = read_parquet(file).table
    if seal is not None and seal_of(file) != seal:
        raise OochubError(f"{file} holds the small pictures of other predictions. Copy the folder again, or delete it.")
    columns = {name: some.column(name) for name in _SHOWN if name in some.column_names}
    strange = [name for name, column in columns.items() if not _SHOWN[name](column.type)]
    if strange:
        raise OochubError(f"{file}: {strange[0]} must not hold {columns[strange[0]].type}. Delete the file.")
    place = np.full(rows, -1)
    place[_rows(file, some, rows)] = np.arange(len(some))
    spread = pa.array(place, mask=place < 0)
    return {name: column.take(spread) for name, column in columns.items()}


def _rows(file: Path, some: pa.Table, rows: int) -> NDArray[np.integer]:
    """The number of the row (k,) that each picture is of."""
    names = some.column_names
    column = some.column("row") if names.count("row") == 1 else pa.chunked_array([pa.nulls(len(some))])
    found: NDArray[np.integer] = column.to_numpy()
    if not pa.types.is_integer(column.type) or column.null_count:
        raise OochubError(f"{file} must say of each picture the number of its row, got {column.type}. Delete the file.")
    wrong = (found < 0) | (found >= rows)
    if wrong.any():
        raise OochubError(f"{file} has a picture of row {found[wrong][0]}, of {rows} rows. Delete the file.")
    if len(np.unique(found)) < len(found):
        raise OochubError(f"{file} has two pictures of one row. Delete the file.")
    return found
