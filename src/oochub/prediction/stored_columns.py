"""Rows of predictions: narrow columns in memory, wide ones where they lie, read when they are asked for.

Text of few names, such as splits and groups, is held as a number per row: a byte or two in place of the text. A coded
column is a dictionary of Arrow whose field is marked; one that a file holds itself is left as it is.

Wide columns, logits, features and small images, stay in their files until somebody asks.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from oochub.errors import OochubError, first_line
from oochub.records.metadata import THUMBNAIL, VECTORS, WIDE
from oochub.records.output_columns import check_vectors, vectors
from oochub.storage.parquet_file import check_growth, read_seal

_BYTES = 1 << 23  # of a block of rows, so that reading holds little
_MOST = 1 << 16  # rows of a block, however narrow
_IMAGES = 1 << 10  # small images of a block, whatever the file says of their size
_BUFFER = 1 << 20  # bytes that are read of a column at once


_MARK = {b"oochub": b"coded"}
_LOOKED_AT = 1 << 10
_ROWS_A_NAME = 4  # where fewer rows share a name, text is as small
_CODES = (pa.int8(), pa.int16(), pa.int32())


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
        self._segments, self.schema = [segment for segment in segments if len(segment)], schema

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

    def only(self, names: Sequence[str]) -> "LazyColumns":
        """Those of some names; others are passed over."""
        return LazyColumns(self._segments, pa.schema([field for field in self.schema if field.name in names]))

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
    for name in (name for name in block.column_names if name in VECTORS):
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
            yield first, table.slice(first, min(together, len(table) - first))  # one without columns is cut at no end
        return
    try:
        with pq.ParquetFile(segment.source, page_checksum_verification=True, buffer_size=_BUFFER) as file:
            if _identify_file(segment.source) != segment.identity:
                raise OochubError(
                    f"{segment.source} was replaced since it was opened, so its logits and features belong to other "
                    "rows. Load the predictions again; save a selection of them under another name."
                )
            start = size = 0
            there = set(file.schema_arrow.names)  # the schema is read anew each time that it is asked for
            present = [name for name in names if name in there]
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                stop = start + group.num_rows
                if segment.rows is None or np.diff(np.searchsorted(segment.rows, (start, stop)))[0]:
                    first, together = start, _count_rows_of_block(group.total_byte_size, group.num_rows)
                    together = min(together, _IMAGES) if THUMBNAIL in present else together
                    for batch in file.iter_batches(together, row_groups=[number], columns=present):
                        batch.validate(full=True)
                        if THUMBNAIL in present:
                            check_growth(segment.source, size := size + batch.column(THUMBNAIL).nbytes)
                        yield first, pa.Table.from_batches([batch])
                        first += len(batch)
                        if segment.rows is not None and first > segment.rows[-1]:
                            return
                start = stop
    except (pa.ArrowException, OSError) as error:
        raise OochubError(
            f"{segment.source} cannot be read any more: {first_line(error)}. Copy it again, or predict again."
        ) from error


def _identify_file(file: Path) -> str:
    """What tells a file from another one of its name: its seal, else where it lies on the disk and its size."""
    about = file.stat()
    return read_seal(file) or f"{about.st_dev} {about.st_ino} {about.st_size}"


def _count_rows_of_block(size: int, rows: int) -> int:
    """How many rows a block has, if `rows` rows have `size` bytes."""
    return max(1, min(_MOST, _BYTES * rows // max(1, size)))


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The columns of predictions.

    Attributes:
        light: Columns in memory; text of few names may be coded, see `oochub.prediction.stored_columns`.
        lazy: Columns of `WIDE`, in memory or in files.
        column_names: Names of all columns, in order.

    >>> rows = StoredRows.of(pa.table({"logits": [[0.0, 1.0], [2.0, 3.0]], "label": [0, 1]}))
    >>> rows.take(np.array([1])).table.to_pydict()
    {'logits': [[2.0, 3.0]], 'label': [1]}
    """

    light: pa.Table
    lazy: LazyColumns
    column_names: list[str]

    @classmethod
    def of(cls, table: pa.Table) -> "StoredRows":
        """The rows of a table."""
        wide = [name for name in WIDE if name in table.column_names]
        return cls(table.drop_columns(wide), LazyColumns.of(table.select(wide)), table.column_names)

    @classmethod
    def joined(cls, parts: Sequence["StoredRows"]) -> "StoredRows":
        """The rows of several after each other; what one of them lacks is null there."""
        light = join_text([part.light for part in parts])
        names = dict.fromkeys(name for part in parts for name in part.column_names)
        return cls(light, LazyColumns.joined([part.lazy for part in parts]), list(names))

    def __len__(self) -> int:
        return int(self.light.num_rows)

    @cached_property
    def width(self) -> int:
        """Numbers of a row in vectors, by the first block."""
        names = [name for name in self.lazy.names if name in VECTORS]
        block = next(self.lazy.blocks(names), None) if names else None
        return 0 if block is None else sum(len(block.column(name)[0]) for name in names)

    @cached_property
    def by_id(self) -> NDArray[np.uint32]:
        """The rows in the order of their example ids."""
        ids = self.column("example_id").cast(pa.string())  # Arrow sorts no dictionary
        order: NDArray[np.uint32] = pc.sort_indices(ids).to_numpy().astype(np.uint32)
        return order

    @cached_property
    def table(self) -> pa.Table:
        """All columns; those that lie in files are read."""
        columns = _get_columns(decode_text(self.light))
        if self.lazy.names:
            columns |= _get_columns(self.lazy.read(self.lazy.names))
        return pa.table({name: columns[name] for name in self.column_names})

    def column(self, name: str) -> pa.ChunkedArray:
        """One column.

        Raises:
            OochubError: There is no such column.
        """
        if name not in self.column_names:
            raise OochubError(f"The predictions have no column {name!r}. They have {', '.join(self.column_names)}.")
        return (self.lazy.read([name]) if name in self.lazy.names else decode_text(self.light.select([name]))).column(
            name
        )

    def blocks(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, a few megabytes at a time.

        Raises:
            OochubError: See `LazyColumns.blocks`; vectors of more or fewer rows than the other columns.
        """
        wide = [name for name in names if name in self.lazy.names]
        light = self.light.select([name for name in names if name not in wide])
        if not wide:
            yield decode_text(light)
            return
        start = 0
        for block in self.lazy.blocks(wide):
            if start + len(block) > len(light):
                raise OochubError(
                    f"{wide[0]} has more rows than the {len(light)} of the other columns. Make the file again."
                )
            columns = {**_get_columns(decode_text(light.slice(start, len(block)))), **_get_columns(block)}
            yield pa.table({name: columns[name] for name in names})
            start += len(block)
            del block, columns
        pa.default_memory_pool().release_unused()  # once: what the next block would take again is not given back
        if start < len(light):
            raise OochubError(f"{wide[0]} has {start} rows, but the other columns {len(light)}. Make the file again.")

    def row(self, number: int) -> dict[str, Any]:
        """One row by the names of its columns, without vectors."""
        values: dict[str, Any] = self.light.slice(number, 1).to_pylist()[0]
        if THUMBNAIL in self.lazy.names:
            values[THUMBNAIL] = self.lazy.select(np.array([number])).read([THUMBNAIL]).column(0)[0].as_py()
        return values

    def take(self, rows: NDArray[np.int64]) -> "StoredRows":
        """The rows of these numbers, in their order."""
        return StoredRows(self.light.take(pa.array(rows)), self.lazy.select(rows), self.column_names)

    def without(self, names: Sequence[str]) -> "StoredRows":
        """The same rows without some columns."""
        kept = [name for name in self.column_names if name not in names]
        light = self.light.select([name for name in kept if name in self.light.column_names])
        return StoredRows(light, self.lazy.only(kept), kept)

    def with_column(self, name: str, values: Any) -> "StoredRows":
        """The same rows with a column more, or another in its place; not one of `lazy`."""
        if name not in self.column_names:
            return StoredRows(self.light.append_column(name, values), self.lazy, [*self.column_names, name])
        place = self.light.column_names.index(name)
        return StoredRows(self.light.set_column(place, name, values), self.lazy, self.column_names)


class WithStoredRows:
    """What reads its columns of rows."""

    rows: StoredRows

    @property
    def table(self) -> pa.Table:
        """The rows as an Arrow table; all vectors are read."""
        return self.rows.table

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return self.rows.column_names

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def column(self, name: str) -> NDArray[Any]:
        """One column as an array: text as strings, numbers as they are, nested columns as objects.

        Text of which some is missing is an array of objects, None where it is.
        """
        values = self.rows.column(name).combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        array: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return array.astype(str) if pa.types.is_string(values.type) and not values.null_count else array

    def vectors(self, name: str) -> NDArray[np.float32]:
        """A column of lists of one length, such as `odin_logits`, as float32 (n, k)."""
        return vectors(self.rows.column(name))

    def blocks(self, *names: str) -> Iterator[tuple[slice, dict[str, NDArray[np.float32]]]]:
        """Columns of vectors a few megabytes at a time: which rows, and float32 (b, k) by name.

        >>> from oochub import Predictions
        >>> predictions = Predictions.from_arrays(logits=[[2.0, 0.0], [0.0, 1.0]], label=[0, 0])
        >>> [(rows, block["logits"].shape) for rows, block in predictions.blocks("logits")]
        [(slice(0, 2, None), (2, 2))]
        """
        start = 0
        for block in self.rows.blocks(names):
            rows = slice(start, start + len(block))
            yield rows, {name: vectors(block.column(name)) for name in names}
            start = rows.stop


def _get_columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))


def list_repeated_text(file: pq.ParquetFile) -> list[str]:
    """The columns of text whose first rows share names.

    Args:
        file: An open file; its first rows alone are read, as any others are, since its footer may be damaged.
    """
    names = file.schema_arrow.names
    texts = [
        name for name in names if names.count(name) == 1 and pa.types.is_string(file.schema_arrow.field(name).type)
    ]
    for first in file.iter_batches(_LOOKED_AT, columns=texts, use_threads=False):
        first.validate(full=True)
        return [name for name in texts if pc.count_distinct(first[name]).as_py() * _ROWS_A_NAME <= len(first)]
    return []


def decode_text(table: pa.Table) -> pa.Table:
    """The table with text in place of codes.

    >>> decode_text(join_text([pa.table({"split": ["test"] * 8})])).schema.field("split").type
    DataType(string)
    """
    return _decode_texts(table, table.column_names)


def join_text(tables: Iterable[pa.Table], coded: Collection[str] = ()) -> pa.Table:
    """The rows of tables after each other, each column in one piece; what one of them lacks is null there.

    Text is coded where it has few names in each of them.

    Args:
        tables: One or more, with text or codes; for an iterator the text of each is let go before the next is taken.
        coded: Names of columns that are dictionaries, but are text where the tables come from.

    >>> table = join_text([pa.table({"group": [name] * 8}) for name in ("sea", "land")])
    >>> table.column("group").chunk(0).indices.type, decode_text(table).column("group")[8].as_py()
    (DataType(int8), 'land')
    """
    encoded = []
    for table in tables:
        encoded.append(_encode_texts(table, coded))
        del table
        pa.default_memory_pool().release_unused()
    texts = {field.name for table in encoded for field in table.schema if not _is_coded(field)}
    alike = [_decode_texts(table, texts) for table in encoded]
    is_same = all(table.schema == alike[0].schema for table in alike)
    joined = pa.concat_tables(alike, promote_options="none" if is_same else "permissive").unify_dictionaries()
    del encoded, alike
    for place, field in enumerate(joined.schema):
        column = joined.select([place]).combine_chunks().column(0)  # texts of more than 2 GB stay in pieces
        if _is_coded(field):
            codes = next(kind for kind in _CODES if _count_names(column) <= 1 << (kind.bit_width - 1))
            column = column.cast(pa.dictionary(codes, field.type.value_type))
        joined = joined.set_column(place, field.with_type(column.type), column)
        del column
        pa.default_memory_pool().release_unused()  # what is let go is the system's again before the next is made
    return joined


def _encode_texts(table: pa.Table, coded: Collection[str]) -> pa.Table:
    """The table with text of few names as codes of four bytes."""
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if field.name in coded or _is_coded(field):
            table = table.set_column(
                place, _make_coded(_is_text(field)), column.cast(pa.dictionary(_CODES[-1], field.type.value_type))
            )
        elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            if pc.count_distinct(first := column.slice(0, _LOOKED_AT)).as_py() * _ROWS_A_NAME <= len(first):
                codes = pc.dictionary_encode(column)
                if _count_names(codes) * _ROWS_A_NAME <= len(column):
                    table = table.set_column(place, _make_coded(field), codes)
    return table


def _decode_texts(table: pa.Table, names: Collection[str]) -> pa.Table:
    for place, field in enumerate(table.schema):
        if field.name in names and _is_coded(field):
            text = _is_text(field)
            table = table.set_column(place, text, table.column(place).cast(text.type))
    return table


def _count_names(codes: pa.ChunkedArray) -> int:
    return max((len(piece.dictionary) for piece in codes.chunks), default=0)


def _is_coded(field: pa.Field) -> bool:
    return _MARK.items() <= (field.metadata or {}).items()


def _make_coded(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(_CODES[-1], field.type)).with_metadata({**(field.metadata or {}), **_MARK})


def _is_text(field: pa.Field) -> pa.Field:
    metadata = {key: value for key, value in (field.metadata or {}).items() if key not in _MARK}
    return field.with_type(field.type.value_type).with_metadata(metadata or None)
