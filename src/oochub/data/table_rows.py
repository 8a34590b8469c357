"""Parquet and Arrow files: their class names are compared, and types that `datasets` does not know become plain ones.

polars and duckdb write texts as string views, and other types that are newer than `datasets`: they mean the same as a
plain text, list or number, and are read as these.

CSV files, read as text first: a column becomes numbers only if nothing is lost by it.

pandas reads the classes `01` and `1` as one number, and the names "None", "NA" and "null" as missing values. Here a
column of names (a label, a context, a group, an id) stays text unless each of its values comes back from the number as
it was written. Other columns become numbers as they do in pandas, but a code with leading zeros stays text, and so does
"NA" in a column of words.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from oochub.data.file_rows import FileRows, digest_files
from oochub.errors import OochubError, choose_wording

_ROWS = 1_000
_SHOWN = 6
_Names = dict[str, tuple[str, ...]]


NAMES = frozenset(("label", "context", "group", "challenge", "example_id", "split", "cls", "answer", "environment"))
"""Columns that hold names if nothing says otherwise."""
_CSV_ROWS = 50_000
_MOST = 100_000  # values that are compared with each other
_PATHS = re.compile(r"(.*_)?file_names?")
_INT = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})", re.ASCII)
_FLOAT = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_MISSING = frozenset(
    "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|")
)
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


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
    told = {place: _collect_names(features) for place, features in (said or {}).items()}
    for file in files:
        schema = read_schema(file)
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            about = json.loads((schema.metadata or {}).get(b"huggingface", b"{}")) if schema is not None else {}
            told[str(file)] = _collect_names(about["info"]["features"])
    for place, names in told.items():
        for column, own in names.items():
            where, other = first.setdefault(column, (place, own))
            if other != own:
                raise OochubError(
                    f"The classes of column {column!r} are {_list(own)} in {place}, but {_list(other)} in {where}: a "
                    "number would mean another class in each. Write both with the same ClassLabel."
                )


def _collect_names(features: object, column: str = "") -> _Names:
    """The names of each column of classes, also of those in lists and records, as `Features.to_dict` says them."""
    if isinstance(features, list):
        features = features[0] if len(features) == 1 else {}
    if not isinstance(features, Mapping):
        return {}
    if features.get("_type") == "ClassLabel":
        names = features.get("names")
        return {column: tuple(map(str, names))} if isinstance(names, list) else {}
    inner_names: _Names = {}
    for name, feature in features.items():
        is_inner = name in ("feature", "_type") and bool(column)
        inner_names |= _collect_names(feature, column if is_inner else f"{column}.{name}".lstrip("."))
    return inner_names


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
                    f"{file} has the columns {', '.join(batch.schema.names)}, but another file of the dataset "
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


@dataclass(frozen=True)
class CsvFile:
    """A CSV file.

    Attributes:
        name: What errors call it.
        open: Gives its content: a path that pandas opens, or a stream of bytes.
    """

    name: str
    open: Callable[[], str | IO[bytes]]


def read_csv_schema(
    files: Sequence[CsvFile], *, named: Mapping[str, str] | None = None, separator: str | None = None
) -> pa.Schema:
    r"""The columns of files of one table and their types, from every value.

    Args:
        files: The files.
        named: Role to column, as the user named them: `DataSettings.named`.
        separator: What stands between the columns; None takes a comma, and a tab in a file .tsv.

    Raises:
        OochubError: A file that is no CSV or has other columns than the first, or that is separated otherwise.

    >>> import io
    >>> file = CsvFile("a.csv", lambda: io.BytesIO(b"label,code,n,place\n01,007,1,NA\n1,7,,sea\n"))
    >>> [f"{column.name} {column.type}" for column in read_csv_schema([file])]
    ['label string', 'code string', 'n double', 'place string']
    """
    roles = {column: role for role, column in (named or {}).items()}
    columns: dict[str, _Column] = {}
    for file in files:
        own: list[str] | None = None
        for frame in _read_frames(file, separator):
            if own is None:
                own = list(frame.columns)
                if columns and own != list(columns):
                    raise OochubError(
                        f"{file.name} has the columns {', '.join(own)}, but {files[0].name} {', '.join(columns)}. Give "
                        "all files the same columns."
                    )
            for name in own:
                role = roles.get(name, "label" if name == "label" and "label" not in roles.values() else "")
                if name not in columns:
                    is_path = role == "image" or _PATHS.fullmatch(name) is not None
                    columns[name] = _Column(bool(role) or name in NAMES, role == "label", is_path)
                columns[name].add(frame[name])
    return pa.schema([(name, column.type) for name, column in columns.items()])


def read_csv_tables(file: CsvFile, schema: pa.Schema, *, separator: str | None = None) -> Iterator[pa.Table]:
    """The rows of a file with the types of `read_csv_schema`."""
    for frame in _read_frames(file, separator):
        yield pa.Table.from_arrays([_convert_text(frame[field.name], field.type) for field in schema], schema=schema)


def _read_frames(file: CsvFile, separator: str | None) -> Iterator[pd.DataFrame]:
    """Blocks of rows, all cells as text; what is not there at the end of a line is nan."""
    between = separator or ("\t" if re.search(r"\.tsv(\.\w+)?$", file.name.lower()) else ",")
    try:
        reader = pd.read_csv(file.open(), sep=between, dtype=str, keep_default_na=False, chunksize=_CSV_ROWS)
        first = True
        for frame in reader:
            frame.columns = [str(name) for name in frame.columns]
            if first:
                _check_header(file.name, list(frame.columns), between)
                first = False
            if not isinstance(frame.index, pd.RangeIndex):
                raise OochubError(
                    f"{file.name} has lines with more cells than its header has names. Name every column, and put a "
                    "text that holds a comma in quotes."
                )
            yield frame
    except (ValueError, OSError, pd.errors.EmptyDataError) as error:  # of pandas: no table, no UTF-8
        raise OochubError(f"{file.name} cannot be read as CSV: {str(error).strip().rstrip('.')}. Fix it.") from error


def _check_header(name: str, columns: Sequence[str], separator: str) -> None:
    for other, word in _SEPARATORS.items():
        if len(columns) == 1 and other in columns[0] and other != separator:
            given = choose_wording('options={"sep": ";"}', "--option sep=';'").replace(";", other)
            instead = "Save it with commas" if name.rpartition("/")[2].startswith("metadata.") else f"Pass {given}"
            raise OochubError(
                f"{name} is separated by {word}, not by commas: its first line is {columns[0][:60]!r}. {instead}."
            )


@dataclass
class _Column:
    """What the values of a column allow."""

    is_name: bool
    is_label: bool
    is_path: bool
    has_values: bool = False
    has_gaps: bool = False
    has_missing_words: bool = False
    is_int: bool = True
    is_whole: bool = True
    is_float: bool = True
    has_fractions: bool = False
    is_exact: bool = True
    is_truth: bool = True
    numbers: dict[float, str] = field(default_factory=dict)

    def add(self, values: "pd.Series[str]") -> None:
        """Looks at more values."""
        for value in values.unique():
            if not isinstance(value, str) or value == "":
                self.has_gaps = True
            elif value in _MISSING:
                self.has_missing_words = True
            else:
                self.has_values = True
                self._add(value)

    def _add(self, value: str) -> None:
        self.is_truth = self.is_truth and value in _TRUTHS
        self.is_int = self.is_int and _INT.fullmatch(value) is not None
        self.is_whole = self.is_whole and _WHOLE.fullmatch(value) is not None
        self.is_float = self.is_float and _FLOAT.fullmatch(value) is not None
        if self.is_float and self.is_name and len(self.numbers) < _MOST:
            number = float(value)
            self.is_exact = self.is_exact and repr(number) == value
            self.has_fractions = self.has_fractions or not number.is_integer()
            self.is_float = self.numbers.setdefault(number, value) == value  # 0.5 and 0.50 are two names

    @property
    def type(self) -> pa.DataType:
        """The type that loses nothing."""
        if self.is_path:
            return pa.string()
        if self.is_name:
            is_number = self.is_label and self.is_float and self.has_fractions
            if not self.has_values or (self.has_missing_words and not is_number):
                return pa.string()
            if self.is_int:
                return pa.float64() if self.has_gaps else pa.int64()
            if is_number or (self.is_float and self.is_exact):
                return pa.float64()
            return pa.string()
        if not self.has_values:
            return pa.string() if self.has_missing_words else pa.float64()
        has_gaps = self.has_gaps or self.has_missing_words
        if self.is_whole:
            return pa.float64() if has_gaps else pa.int64()
        return pa.float64() if self.is_float else pa.bool_() if self.is_truth else pa.string()


def _convert_text(values: "pd.Series[str]", kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array([value if isinstance(value, str) and value else None for value in values], kind)
    if pa.types.is_boolean(kind):
        return pa.array([_TRUTHS.get(value) for value in values], kind)
    is_gap = values.isna() | (values == "") | values.isin(list(_MISSING))
    numbers = pd.to_numeric(values.where(~is_gap))
    return pa.array(numbers.to_numpy(), kind, from_pandas=True)
