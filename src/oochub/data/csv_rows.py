"""CSV files, read as text first: a column becomes numbers only if nothing is lost by it.

pandas reads the classes `01` and `1` as one number, and the names "None", "NA" and "null" as missing values. Here a
column of names (a label, a context, a group, an id) stays text unless each of its values comes back from the number as
it was written. Other columns become numbers as they do in pandas, but a code with leading zeros stays text, and so does
"NA" in a column of words.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

import pandas as pd
import pyarrow as pa

from oochub.errors import OochubError, choose_wording

NAMES = frozenset(("label", "context", "group", "challenge", "example_id", "split", "cls", "answer", "environment"))
"""Columns that hold names if nothing says otherwise."""
_ROWS = 50_000
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
        yield pa.Table.from_arrays([_convert(frame[field.name], field.type) for field in schema], schema=schema)


def _read_frames(file: CsvFile, separator: str | None) -> Iterator[pd.DataFrame]:
    """Blocks of rows, all cells as text; what is not there at the end of a line is nan."""
    between = separator or ("\t" if re.search(r"\.tsv(\.\w+)?$", file.name.lower()) else ",")
    try:
        reader = pd.read_csv(file.open(), sep=between, dtype=str, keep_default_na=False, chunksize=_ROWS)
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
        raise OochubError(
            f"{file.name} cannot be read as CSV: {str(error).strip().rstrip('.')}. Correct it."
        ) from error


def _check_header(name: str, columns: Sequence[str], separator: str) -> None:
    for other, word in _SEPARATORS.items():
        if len(columns) == 1 and other in columns[0] and other != separator:
            given = choose_wording('options={"sep": ";"}', "--option sep=';'").replace(";", other)
            instead = "Save it with commas" if name.rpartition("/")[2].startswith("metadata.") else f"Give {given}"
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
        self.is_truth = self.is_truth and value in (("True", "False") if self.is_name else _TRUTHS)
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
            return pa.bool_() if self.is_truth and not self.has_gaps else pa.string()
        if not self.has_values:
            return pa.string() if self.has_missing_words else pa.float64()
        has_gaps = self.has_gaps or self.has_missing_words
        if self.is_whole:
            return pa.float64() if has_gaps else pa.int64()
        return pa.float64() if self.is_float else pa.bool_() if self.is_truth else pa.string()


def _convert(values: "pd.Series[str]", kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array([value if isinstance(value, str) and value else None for value in values], kind)
    if pa.types.is_boolean(kind):
        return pa.array([_TRUTHS.get(value) for value in values], kind)
    is_gap = values.isna() | (values == "") | values.isin(list(_MISSING))
    numbers = pd.to_numeric(values.where(~is_gap))
    return pa.array(numbers.to_numpy(), kind, from_pandas=True)
