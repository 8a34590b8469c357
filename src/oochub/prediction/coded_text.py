"""Text of few names, such as splits and groups, held as a number a row: a byte or two in place of the text.

A coded column is a dictionary of Arrow whose field is marked; one that a file holds itself is left as it is.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

_MARK = {b"oochub": b"coded"}
_LOOKED_AT = 1 << 10
_ROWS_A_NAME = 4  # where fewer rows share a name, text is as small
_CODES = (pa.int8(), pa.int16(), pa.int32())


def with_text(table: pa.Table) -> pa.Table:
    """The table with text in place of codes.

    >>> with_text(joined_text([pa.table({"split": ["test"] * 8})])).schema.field("split").type
    DataType(string)
    """
    return _with_text(table, table.column_names)


def joined_text(tables: Iterable[pa.Table]) -> pa.Table:
    """The rows of tables after each other, each column in one piece; what one of them lacks is null there.

    Text is coded where it has few names in each of them.

    Args:
        tables: One or more, with text or codes; of an iterator the text of each is let go before the next is taken.

    >>> table = joined_text([pa.table({"group": [name] * 8}) for name in ("sea", "land")])
    >>> table.column("group").chunk(0).indices.type, with_text(table).column("group")[8].as_py()
    (DataType(int8), 'land')
    """
    coded = []
    for table in tables:
        coded.append(_with_codes(table))
        del table
        pa.default_memory_pool().release_unused()
    texts = {field.name for table in coded for field in table.schema if not _is_coded(field)}
    alike = [_with_text(table, texts) for table in coded]
    is_same = all(table.schema == alike[0].schema for table in alike)
    joined = pa.concat_tables(alike, promote_options="none" if is_same else "permissive").unify_dictionaries()
    del coded, alike
    for place, field in enumerate(joined.schema):
        column = joined.select([place]).combine_chunks().column(0)  # texts of more than 2 GB stay in pieces
        if _is_coded(field):
            names = max((len(piece.dictionary) for piece in column.chunks), default=0)
            codes = next(kind for kind in _CODES if names <= 1 << (kind.bit_width - 1))
            column = column.cast(pa.dictionary(codes, field.type.value_type))
        joined = joined.set_column(place, field.with_type(column.type), column)
        del column
        pa.default_memory_pool().release_unused()  # what is let go is the system's again before the next is made
    return joined


def _with_codes(table: pa.Table) -> pa.Table:
    """The table with text of few names as codes of four bytes."""
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if _is_coded(field):
            table = table.set_column(
                place, _coded(_text(field)), column.cast(pa.dictionary(_CODES[-1], field.type.value_type))
            )
        elif (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)) and _has_few_names(column):
            table = table.set_column(place, _coded(field), pc.dictionary_encode(column))
    return table


def _with_text(table: pa.Table, names: Collection[str]) -> pa.Table:
    for place, field in enumerate(table.schema):
        if field.name in names and _is_coded(field):
            text = _text(field)
            table = table.set_column(place, text, table.column(place).cast(text.type))
    return table


def _has_few_names(column: pa.ChunkedArray) -> bool:
    """Whether many rows share a name, by the first rows and then by all."""
    first = column.slice(0, _LOOKED_AT)
    return all(pc.count_distinct(some).as_py() * _ROWS_A_NAME <= len(some) for some in (first, column))


def _is_coded(field: pa.Field) -> bool:
    return _MARK.items() <= (field.metadata or {}).items()


def _coded(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(_CODES[-1], field.type)).with_metadata({**(field.metadata or {}), **_MARK})


def _text(field: pa.Field) -> pa.Field:
    said = {key: value for key, value in field.metadata.items() if key not in _MARK}
    return field.with_type(field.type.value_type).with_metadata(said or None)
