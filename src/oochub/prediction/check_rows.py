"""Checks that rows hold what their metadata say: every column, every row once, truth and answers of the kind."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from oochub.errors import OochubError
from oochub.output import output_of
from oochub.prediction.coded_text import with_text
from oochub.prediction.stored_rows import StoredRows
from oochub.records.metadata import VECTORS, Metadata, check_name_length, row_counts
from oochub.records.output_columns import LONGEST_NAME

_ROW = ("example_id", "split")
_TOGETHER = 1 << 13  # rows whose names are looked at together
_FEW = 10  # splits of a row each that a small file may have
_OF_SPLITS = re.compile(r"((id|ood)[-_]?)?(train|val|valid|validation|dev|test)", re.IGNORECASE)


def check_rows(rows: StoredRows, metadata: Metadata) -> None:
    """Checks what can be seen without the vectors.

    Raises:
        OochubError: What is missing, doubled or not allowed; the first bad row is named.
    """
    required, table = _required(metadata), rows.light
    check_name_length("the names of columns", rows.column_names)
    missing = [name for name in required if name not in rows.column_names]
    if missing:
        raise OochubError(f"Predictions need the columns {', '.join(required)}; {', '.join(missing)} missing.")
    if not len(rows):
        raise OochubError("The predictions hold no row.")
    _check_nulls(table, required)
    for name in _ROW:
        kind = table.schema.field(name).type
        found = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(found) or pa.types.is_large_string(found)):
            raise OochubError(f"{name} must hold text, got {kind}. Write it as text.")
    for name in {*_ROW, "group"} & {*table.column_names}:
        _check_length(name, table.column(name))
    _check_each_once(table.select(_ROW))
    counts = row_counts(table.column("split"))
    _check_not_swapped(table.column("example_id"), counts)
    if counts != dict(metadata.rows):
        shown = ", ".join(f"{split}: {counts.get(split, 0)} of {n}" for split, n in metadata.rows.items())
        raise OochubError(f"Examples are missing ({shown}). Predict again; a score on a part is not the benchmark's.")
    if "group" in table.column_names:
        _check_group(table.schema.field("group").type)
    if "thumbnail" in table.column_names and not pa.types.is_binary(table.schema.field("thumbnail").type):
        found = table.schema.field("thumbnail").type
        raise OochubError(f"thumbnail must hold the bytes of small pictures, got {found}. Rename the column.")


def _check_group(kind: pa.DataType) -> None:
    """That groups are named by text or numbers, one a row."""
    found = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(found):
        raise OochubError("group must hold one name a row. Several names a row are a column groups.")
    if pa.types.is_binary(found) or pa.types.is_large_binary(found) or pa.types.is_fixed_size_binary(found):
        raise OochubError(f"group must hold text or numbers, got {kind}. Decode it: [name.decode() for name in group].")


def _check_length(name: str, column: pa.ChunkedArray) -> None:
    """See `check_name_length`."""
    for chunk in column.chunks:
        texts = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            continue
        if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST_NAME:
            check_name_length(name, filter(None, texts.to_pylist()))


def _check_each_once(keys: pa.Table) -> None:
    """That no example occurs twice in a split: by a number for each row, and by the names where two numbers agree."""
    numbers, start = np.empty(len(keys), np.uint64), 0
    for block in keys.to_batches(max_chunksize=_TOGETHER):
        names = with_text(pa.Table.from_batches([block])).to_pandas().astype(str)
        numbers[start : start + len(block)] = pd.util.hash_pandas_object(names, index=False)
        start += len(block)
    numbers.sort()
    if not (numbers[1:] == numbers[:-1]).any():
        return
    names = with_text(keys).to_pandas()
    doubled = names[names.duplicated()]
    if len(doubled):
        first = doubled.iloc[0]
        raise OochubError(
            f"{len(doubled)} examples occur twice, first {first['example_id']} in split {first['split']}. "
            "Each example must be predicted once; predict again, or drop the copies."
        )


def _check_not_swapped(ids: pa.ChunkedArray, splits: Mapping[str, int]) -> None:
    """That ids and splits are not in each other's column: fewer ids than splits of one row, or ids that name splits."""
    n = len(ids)
    is_named, is_single = _names_split(ids[0].as_py()), len(splits) > _FEW and 2 * len(splits) > n
    if not is_named and not is_single:
        return
    found = pc.unique(ids).to_pylist()
    is_named = all(map(_names_split, found)) and not any(map(_names_split, splits))
    if is_named or (is_single and len(found) < len(splits)):
        raise OochubError(
            f"split has {len(splits):,} values in {n:,} rows, and example_id {len(found):,}: were the two columns "
            f"swapped? A split is a part of the data, such as test; the first row has split {next(iter(splits))} and "
            f"example_id {found[0]}. Swap the columns, or rename the splits."
        )


def _names_split(name: str) -> bool:
    return _OF_SPLITS.fullmatch(name) is not None


def check_answers(rows: StoredRows, metadata: Metadata) -> None:
    """Checks truth, answers and vectors, a block of rows at a time.

    Raises:
        OochubError: What the kind of output does not allow, vectors of several lengths; the first bad row is named.
    """
    for _ in checked_blocks(rows, metadata, VECTORS):
        pass


def checked_blocks(rows: StoredRows, metadata: Metadata, more: Sequence[str] = ()) -> Iterator[pa.Table]:
    """The id, truth and answer of all rows, a block at a time, each checked before it is given.

    Args:
        rows: That passed `check_rows`.
        metadata: What they say of themselves.
        more: Vectors that are read too, where they are there; reading checks their lengths.

    Raises:
        OochubError: See `check_answers`.
    """
    output, required = output_of(metadata.kind), _required(metadata)
    own = [name for name in rows.column_names if name in {*required, *more} - {"split"}]
    for block in rows.blocks(own):
        _check_nulls(block, required)
        output.check(block, metadata.class_names)
        yield block


def _required(metadata: Metadata) -> tuple[str, ...]:
    output = output_of(metadata.kind)
    return (*_ROW, output.label_column, *output.columns)


def _check_nulls(table: pa.Table, required: Sequence[str]) -> None:
    nulls = [name for name in required if name in table.column_names and table.column(name).null_count]
    if nulls:
        missing = table.column(nulls[0]).is_null().to_numpy(zero_copy_only=False)
        first = table.column("example_id")[int(np.argmax(missing))] if "example_id" in table.column_names else ""
        raise OochubError(
            f"Every row needs {', '.join(required)}; {', '.join(nulls)} empty in some, {nulls[0]} in "
            f"{missing.sum():,}, first {first}. Fill them in, or leave these rows out."
        )
