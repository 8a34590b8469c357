"""Wide columns of predictions that stay in their files until somebody asks: logits, features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.output_columns import check_vectors
from oochub.storage.parquet_file import read_seal

_BYTES = 1 << 23  # of a block of rows, so that reading holds little
_MOST = 1 << 16  # rows of a block, however narrow
_BUFFER = 1 << 20  # bytes that are read of a column at once


@dataclass(frozen=True, eq=False)
class _Segment:
    """Rows of one file, or of a table in memory.

    Attributes:
        source: The file or table.
        length: Number of its rows.
        rows: Numbers of the rows that are taken, in order; None for all.
        identity: Identity of the file when it was opened: another one of the same name has other rows.
    """

    source: Path | pa.Table
    length: int
    rows: NDArray[np.int64] | None = None
    identity: str = ""

    def __len__(self) -> int:
        return self.length if self.rows is None else len(self.rows)


class LazyColumns:
    """Columns of rows in files or in memory, read in blocks.

    Args:
        segments: Where the rows are.
        schema: Schema of the columns.

    >>> columns = LazyColumns.of(pa.table({"logits": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]}))
    >>> [block.to_pydict() for block in columns.select(np.array([2, 0])).blocks(["logits"])]
    [{'logits': [[4.0, 5.0], [0.0, 1.0]]}]
    """

    def __init__(self, segments: Sequence[_Segment], schema: pa.Schema) -> None:
        self._segments, self.schema = [each for each in segments if len(each)], schema

    @classmethod
    def of(cls, source: Path | pa.Table, schema: pa.Schema | None = None, length: int | None = None) -> "LazyColumns":
        """All rows of a table, or of the columns of a schema in a Parquet file with so many rows."""
        if isinstance(source, pa.Table):
            return cls([_Segment(source, len(source))], source.schema)
        segment = _Segment(source, int(length or 0), identity=_identify_file(source))
        return cls([segment], schema or pa.schema([]))

    @classmethod
    def joined(cls, parts: Sequence["LazyColumns"]) -> "LazyColumns":
        """The rows of several after each other; what one of them lacks is null there."""
        schema = pa.unify_schemas([part.schema for part in parts], promote_options="permissive")
        return cls([segment for part in parts for segment in part._segments], schema)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    def select(self, rows: NDArray[np.int64]) -> "LazyColumns":
        """The rows of these numbers, in their order.

        Args:
            rows: Row numbers, int (k,).
        """
        if len(rows) > 1 and (np.diff(rows) < 0).any():  # in the order of the files no row is looked for twice
            in_order, back = np.unique(rows, return_inverse=True)
            return LazyColumns.of(self.select(in_order).read(self.names).take(pa.array(back)))
        chosen, start = [], 0
        for segment in self._segments:
            first, last = np.searchsorted(rows, (start, start + len(segment)))
            own = rows[first:last] - start
            chosen.append(replace(segment, rows=own if segment.rows is None else segment.rows[own]))
            start += len(segment)
        return LazyColumns(chosen, self.schema)

    def read(self, names: Sequence[str]) -> pa.Table:
        """All rows of some columns."""
        schema = pa.schema([self.schema.field(name) for name in names])
        return pa.concat_tables([schema.empty_table(), *self.blocks(names)])

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of some columns, a few megabytes at a time.

        Raises:
            OochubError: A file that is not there any more, or that was replaced or damaged since it was opened; a
                column that holds no lists of floats, or lists of several lengths.
        """
        schema, lengths = pa.schema([self.schema.field(name) for name in names]), dict[str, int]()
        for segment in self._segments:
            for start, table in _iterate_blocks(segment, names):
                present = table.column_names
                named = {field.name: pa.nulls(len(table), field.type) for field in schema if field.name not in present}
                named |= {name: table.column(name).cast(schema.field(name).type) for name in present}
                block = pa.table([named[name] for name in names], schema=schema)
                if segment.rows is not None:
                    first, last = np.searchsorted(segment.rows, (start, start + len(table)))
                    block = block.take(pa.array(segment.rows[first:last] - start))
                if len(block):
                    _check_lengths(block, lengths, segment.source)
                    yield block


def _check_lengths(block: pa.Table, lengths: dict[str, int], source: Path | pa.Table) -> None:
    """That the lists of each column have one length, in this block and in those before it."""
    place = f"{source}: " if isinstance(source, Path) else ""
    for name in block.column_names:
        try:
            length = check_vectors(block, name)
        except OochubError as error:
            raise OochubError(f"{place}{error}") from None
        if lengths.setdefault(name, length) != length:
            shown = f"got lengths {[lengths[name], length]}"
            raise OochubError(f"{place}{name} must be lists of one length, a number or more a row, {shown}.")


def _iterate_blocks(segment: _Segment, names: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
    """Blocks of a segment's source with the number of their first row; those without a chosen row are passed over.

    Each block has those of the names that the source has.
    """
    if isinstance(segment.source, pa.Table):
        table = segment.source.select([name for name in names if name in segment.source.column_names])
        together = _count_rows_of_block(table.nbytes, len(table))
        for first in range(0, len(table), together):
            yield first, table.slice(first, together)
        return
    try:
        with pq.ParquetFile(segment.source, page_checksum_verification=True, buffer_size=_BUFFER) as file:
            if _identify_file(segment.source) != segment.identity:
                raise OochubError(
                    f"{segment.source} was replaced since it was opened, so its logits and features belong to other "
                    "rows. Load the predictions again; save a selection of them under another name."
                )
            there, start = set(file.schema_arrow.names), 0  # the schema is read anew each time that it is asked for
            present = [name for name in names if name in there]
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                stop = start + group.num_rows
                if segment.rows is None or np.diff(np.searchsorted(segment.rows, (start, stop)))[0]:
                    first, together = start, _count_rows_of_block(group.total_byte_size, group.num_rows)
                    for batch in file.iter_batches(together, row_groups=[number], columns=present):
                        batch.validate(full=True)
                        yield first, pa.Table.from_batches([batch])
                        first += len(batch)
                start = stop
    except (pa.ArrowException, OSError) as error:
        why = str(error).partition("\n")[0]
        raise OochubError(
            f"{segment.source} cannot be read any more: {why}. Copy it again, or predict again."
        ) from error


def _identify_file(file: Path) -> str:
    """What tells a file from another one of its name: its seal, else where it lies on the disk and its size."""
    about = file.stat()
    return read_seal(file) or f"{about.st_dev} {about.st_ino} {about.st_size}"


def _count_rows_of_block(size: int, rows: int) -> int:
    """How many rows a block has, if `rows` rows have `size` bytes."""
    return max(1, min(_MOST, _BYTES * rows // max(1, size)))
