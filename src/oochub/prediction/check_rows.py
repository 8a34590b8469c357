"""Checks that rows hold what their metadata say: every column, every row once, truth and answers of the kind."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from oochub.errors import OochubError
from oochub.output import output_of
from oochub.output_columns import check_vectors
from oochub.prediction.coded_text import with_text
from oochub.prediction.metadata import VECTORS, Metadata, row_counts
from oochub.prediction.stored_rows import StoredRows

_ROW = ("example_id", "split")
_TOGETHER = 1 << 13  # rows whose names are looked at together


def check_rows(rows: StoredRows, metadata: Metadata) -> None:
    """Checks what can be seen without the vectors.

    Raises:
        OochubError: What is missing, doubled or not allowed; the first bad row is named.
    """
    required, table = _required(metadata), rows.light
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
    _check_each_once(table.select(_ROW))
    counts = row_counts(table.column("split"))
    if counts != dict(metadata.rows):
        shown = ", ".join(f"{split}: {counts.get(split, 0)} of {n}" for split, n in metadata.rows.items())
        raise OochubError(f"Examples are missing ({shown}). Predict again; a score on a part is not the benchmark's.")
    if "group" in table.column_names and pa.types.is_nested(table.schema.field("group").type):
        raise OochubError("group must hold one name a row. Several names a row are a column groups.")
    if "thumbnail" in table.column_names and not pa.types.is_binary(table.schema.field("thumbnail").type):
        found = table.schema.field("thumbnail").type
        raise OochubError(f"thumbnail must hold the bytes of small pictures, got {found}. Rename the column.")


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


def check_answers(rows: StoredRows, metadata: Metadata) -> None:
    """Checks truth, answers and vectors, a block of rows at a time.

    Raises:
        OochubError: What the kind of output does not allow, vectors of several lengths; the first bad row is named.
    """
    output, required = output_of(metadata.kind), _required(metadata)
    own = [name for name in rows.column_names if name in {*required, *VECTORS} - {"split"}]
    lengths: dict[str, int] = {}
    for block in rows.blocks(own):
        _check_nulls(block, required)
        output.check(block, metadata.class_names)
        for name in {*VECTORS} & {*own} - {*output.columns}:
            length = check_vectors(block, name)
            if lengths.setdefault(name, length) != length:
                shown = [lengths[name], length]
                raise OochubError(f"{name} must be lists of one length, a number or more a row, got lengths {shown}.")


def _required(metadata: Metadata) -> tuple[str, ...]:
    output = output_of(metadata.kind)
    return (*_ROW, output.label_column, *output.columns)


def _check_nulls(table: pa.Table, required: Sequence[str]) -> None:
    nulls = [name for name in required if name in table.column_names and table.column(name).null_count]
    if nulls:
        raise OochubError(f"Every row needs {', '.join(required)}; {', '.join(nulls)} empty in some.")
