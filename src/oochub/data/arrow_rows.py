"""Parquet and Arrow files: their class names are compared, and types that `datasets` does not know become plain ones.

polars and duckdb write texts as string views, and other types that are newer than `datasets`: they mean the same as a
plain text, list or number, and are read as these.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from oochub.data.file_rows import FileRows, digest_files
from oochub.errors import OochubError

_ROWS = 1_000
_SHOWN = 6
_Names = dict[str, tuple[str, ...]]


def check_class_names(files: Sequence[Path], *, said: Mapping[str, Mapping[str, object]] | None = None) -> None:
    """Checks that the files of one data set have the same class names, in the same order.

    A number stands for a class by these names, and they are read from one file for all.

    Args:
        files: Parquet and Arrow files; others say no names.
        said: Features that are said elsewhere (by a card, or the record of a saved data set), by what says them.

    Raises:
        OochubError: Two of them have other names for a column; both are named.
    """
    first: dict[str, tuple[str, tuple[str, ...]]] = {}
    for place, names in _iterate_names(files, said or {}):
        for column, own in names.items():
            where, other = first.setdefault(column, (place, own))
            if other != own:
                raise OochubError(
                    f"The classes of column {column!r} are {_list(own)} in {place}, but {_list(other)} in {where}: a "
                    "number would mean another class in each. Write both with the same ClassLabel."
                )


def _iterate_names(files: Sequence[Path], said: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, _Names]]:
    for place, features in said.items():
        yield place, _collect_names(features)
    for file in files:
        schema = read_schema(file)
        try:
            told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}")) if schema is not None else {}
            yield str(file), _collect_names(told["info"]["features"])
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def _collect_names(features: object, column: str = "") -> _Names:
    """The names of each column of classes, also of those in lists and records, as `Features.to_dict` says them."""
    if isinstance(features, list):
        features = features[0] if len(features) == 1 else {}
    if not isinstance(features, Mapping):
        return {}
    if features.get("_type") == "ClassLabel":
        names = features.get("names")
        return {column: tuple(map(str, names))} if isinstance(names, list) else {}
    found: _Names = {}
    for name, each in features.items():
        is_inner = name in ("feature", "_type") and bool(column)
        found |= _collect_names(each, column if is_inner else f"{column}.{name}".lstrip("."))
    return found


def read_schema(file: Path) -> pa.Schema | None:
    """The columns of a Parquet or Arrow file; None for another file, or one that is damaged."""
    try:
        if file.suffix.lower() == ".arrow":
            with pa.memory_map(str(file)) as source:
                return _open_arrow(source).schema
        return pq.read_schema(file) if file.suffix.lower() in (".parquet", ".geoparquet", ".gpq") else None
    except (OSError, pa.ArrowException):
        return None


def _open_arrow(source: pa.NativeFile) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
    """A reader of either form that Arrow has for files."""
    try:
        return ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source)


def find_arrow_rows(name: str, splits: Mapping[str, Sequence[Path]]) -> FileRows | None:
    """The rows of files that hold a type which `datasets` does not know; None where it knows all.

    Args:
        name: What the data are called.
        splits: Files of each split.

    Raises:
        OochubError: A type that has no plain one.
    """
    files = [file for own in splits.values() for file in own]
    schemas = [read_schema(file) for file in files]
    if None in schemas or not schemas:
        return None
    plain = [pa.schema([_make_plain(field) for field in schema], schema.metadata) for schema in schemas if schema]
    if all(schema is not None and schema.equals(own) for schema, own in zip(schemas, plain, strict=True)):
        return None
    try:
        features = datasets.Features.from_arrow_schema(plain[0])
    except (ValueError, TypeError) as error:
        raise OochubError(
            f"{files[0]} has a column that cannot be read: {error}. Cast it to text or a number."
        ) from error
    tables = {split: partial(_read_tables, own, features.arrow_schema) for split, own in splits.items()}
    return FileRows(name, "arrow", features, tables, state=digest_files(files, list(splits)))


def _read_tables(files: Iterable[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    for file in files:
        for batch in _read_batches(file):
            if batch.schema.names != schema.names:
                raise OochubError(
                    f"{file} has the columns {', '.join(batch.schema.names)}, but another file of the data set "
                    f"{', '.join(schema.names)}. Give all files the same columns."
                )
            yield pa.Table.from_arrays(
                [_convert(batch.column(field.name), field.type) for field in schema], schema=schema
            )


def _read_batches(file: Path) -> Iterator[pa.RecordBatch]:
    if file.suffix.lower() == ".arrow":
        with pa.memory_map(str(file)) as source:
            opened = _open_arrow(source)
            if hasattr(opened, "num_record_batches"):
                yield from map(opened.get_batch, range(opened.num_record_batches))
            else:
                yield from opened
        return
    with pq.ParquetFile(file) as opened:
        yield from opened.iter_batches(batch_size=_ROWS)


def _make_plain(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _find_plain_type(field.type), field.nullable, field.metadata)


def _find_plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that means the same and that `datasets` knows.

    >>> _find_plain_type(pa.list_view(pa.string_view()))
    ListType(list<item: string>)
    """
    is_a = pa.types
    if is_a.is_string_view(kind):
        return pa.string()
    if is_a.is_binary_view(kind):
        return pa.binary()
    if is_a.is_list_view(kind) or is_a.is_list(kind):
        return pa.list_(_find_plain_type(kind.value_type))
    if is_a.is_large_list_view(kind) or is_a.is_large_list(kind):
        return pa.large_list(_find_plain_type(kind.value_type))
    if is_a.is_struct(kind):
        return pa.struct([_make_plain(kind.field(number)) for number in range(kind.num_fields)])
    if is_a.is_run_end_encoded(kind) or is_a.is_dictionary(kind):
        return _find_plain_type(kind.value_type)
    if is_a.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    if is_a.is_interval(kind) or str(kind) == "extension<arrow.uuid>":
        return pa.string()
    if isinstance(kind, pa.BaseExtensionType) and str(kind).startswith("extension<arrow."):
        return _find_plain_type(kind.storage_type)
    return kind


def _convert(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in a plain type."""
    if values.type == kind:
        return values
    if pa.types.is_run_end_encoded(values.type):
        return _convert(pc.run_end_decode(values), kind)
    is_text = pa.types.is_string(kind)
    if isinstance(values, pa.ExtensionArray) and (not is_text or pa.types.is_string(values.storage.type)):
        return _convert(values.storage, kind)
    # of views of lists pyarrow's cast makes lists without their offsets
    if "list_view" not in str(values.type) and not isinstance(values, pa.ExtensionArray):
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return values.cast(kind)
    listed = values.to_pylist()
    if is_text:
        listed = [None if value is None else str(value) for value in listed]
    return pa.array(listed, kind)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
