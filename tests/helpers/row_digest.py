"""One hash of all rows: every value, images by their bytes, however the rows are stored, cut or streamed."""

import hashlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, Image, IterableDataset
from datasets.table import table_cast


def row_digest(rows: Dataset | IterableDataset) -> str:
    """A hash of the values of every row, in order; of the columns' names, not of their order.

    Arrays are hashed as Arrow holds them: as Python's lists a satellite image of eight bands takes a second.
    """
    for name, feature in rows.features.items():
        if isinstance(feature, Image):
            rows = rows.cast_column(name, Image(decode=False))
    parts = [table_cast(part, rows.features.arrow_schema) for part in rows.with_format("arrow").iter(1000)]
    table = pa.concat_tables(parts).combine_chunks()
    digest = hashlib.sha256(str(len(table)).encode())
    for name in sorted(table.column_names):
        digest.update(name.encode())
        for values in table[name].chunks:
            _update(digest, values)
    return digest.hexdigest()


def _update(digest: Any, values: pa.Array) -> None:
    """Which values are there, how long each list is, then what is in them."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    kind = values.type
    digest.update(_bytes(values.is_valid()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        digest.update(_bytes(pc.list_value_length(values).fill_null(0).cast("int64")))
        _update(digest, values.flatten())
    elif pa.types.is_struct(kind):
        for name, child in zip((field.name for field in kind), values.flatten(), strict=True):
            digest.update(name.encode())
            _update(digest, child)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        digest.update(_bytes(values.fill_null(0)))
    else:
        digest.update(repr(values.to_pylist()).encode())


def _bytes(values: pa.Array) -> bytes:
    return values.to_numpy(zero_copy_only=False).tobytes()
