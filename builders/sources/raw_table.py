"""Raw tables: a builder declares each column that it takes, and one reader checks every value of it.

Tables are CSV files, whole or part by part, lines of text, lines of JSON, and lists of JSON objects as COCO has them.
"""

import csv
import errno
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError, did_you_mean
from oochub.storage.reading import check_regular_file, parse_plain_number, read_text

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 12  # codes in an error
_NAMED = 5  # of the files that are missing
_PART = 1 << 24  # bytes of a long file that are read at a time; no row is longer
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # io.StringIO would hold 4 bytes a character
_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_WHOLE = re.compile("[0-9]{1,18}")
_AGAIN = "Download it again."


@dataclass(frozen=True, kw_only=True)
class RawColumn:
    """What the values of a column must be; text of any kind where nothing else is declared.

    Attributes:
        kind: "text", "number" (a finite one), "whole" (a number without fraction), or "count" (one of 0 or more).
        codes: The values allowed, each with what it stands for; a sequence where they are names already.
        lowest: Minimum of a number.
        highest: Maximum of a number.
        is_round: Whether a number may have no fraction, as in "4.0".
        pattern: Regular expression that a text must match as a whole.
        form: What a text of the pattern is, or what the numbers count, in words.
        default: Value of a field that a JSON object leaves out or has as null; None makes such an object an error.
        is_unique: Whether no two rows have the same value, apart from the default.
        folder: Folder below which each value must name a file that is there.
    """

    kind: Literal["text", "number", "whole", "count"] = "text"
    codes: Mapping[Any, Any] | Sequence[str] = ()
    lowest: float = -np.inf
    highest: float = np.inf
    is_round: bool = False
    pattern: str = ""
    form: str = ""
    default: Any = None
    is_unique: bool = False
    folder: Path | None = None

    @property
    def names(self) -> Mapping[Any, Any]:
        """The codes, each with what it stands for."""
        return self.codes if isinstance(self.codes, Mapping) else dict(zip(self.codes, self.codes, strict=True))

    @property
    def allowed(self) -> str:
        """What a value must be, in words.

        >>> RawColumn(codes={"0": "landbird", "1": "waterbird"}).allowed
        '0 (landbird) or 1 (waterbird)'
        >>> RawColumn(kind="count", highest=4, form="the hospitals").allowed
        'a whole number in 0..4, the hospitals'
        """
        if self.codes:
            codes = [
                f"{k}" if f"{k}" == f"{name}" else f"{k if k != '' else 'nothing'} ({name})"
                for k, name in self.names.items()
            ]
            more = f", ... ({len(codes)} in all)" if len(codes) > _SHOWN else ""
            return (", " if more else " or ").join(codes[:_SHOWN]) + more
        if self.kind == "text":
            return self.form or "text"
        lowest = max(self.lowest, 0) if self.kind == "count" else self.lowest
        number = f"a {'finite' if self.kind == 'number' and not self.is_round else 'whole'} number"
        if np.isfinite(self.highest):
            number = f"{number.replace('finite ', '')} in {lowest:g}..{self.highest:g}"
        elif np.isfinite(lowest):
            number = f"{number}, {lowest:g} or more"
        return f"{number}, {self.form}" if self.form else number

    def parse_texts(self, texts: Sequence[str] | pa.Array) -> tuple[Any, NDArray[np.bool_]]:
        """The values of a text column (n,), numbers as arrays, and which of them are allowed."""
        if self.kind == "number":
            try:
                array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
                numbers: NDArray[np.float64] = pc.cast(array, pa.float64()).to_numpy()
            except pa.ArrowInvalid:
                numbers = np.array([parse_plain_number(str(text)) for text in texts])
            return numbers, self._is_in_range(numbers)
        if self.codes:
            names = self.names
        elif self.kind == "count":
            names = {text: int(text) for text in set(texts) if _WHOLE.fullmatch(text)}
        elif self.pattern:
            names = {text: text for text in set(texts) if re.fullmatch(self.pattern, text, re.DOTALL)}
        else:
            return texts, np.ones(len(texts), bool)
        values = list(map(names.get, texts))
        right = np.array([value is not None for value in values]) if None in values else np.ones(len(texts), bool)
        if self.kind == "count" and not self.codes:
            numbers = np.array([value or 0 for value in values], np.int64)
            return numbers, right & self._is_in_range(numbers)
        return values, right

    def parse_fields(self, values: Sequence[Any]) -> tuple[Any, NDArray[np.bool_]]:
        """The values of a field of JSON objects (n,), numbers as arrays, and which of them are allowed."""
        kinds_of: dict[str, set[type]] = {"text": {str}, "number": {int, float}}
        kinds = kinds_of.get(self.kind, {int})
        if not set(map(type, values)) <= kinds:
            return values, np.array([type(value) in kinds for value in values])
        if self.kind == "text":
            return self.parse_texts(values)
        try:
            numbers = np.array(values, np.float64 if self.kind == "number" else np.int64)
        except OverflowError:
            limit = 2**1023 if self.kind == "number" else 2**63
            return values, np.array([type(value) is float or abs(value) < limit for value in values])
        if self.codes:
            return numbers, np.isin(numbers, list(self.codes))
        return numbers, self._is_in_range(numbers) | (numbers == self.default)

    def _is_in_range(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = np.isfinite(numbers) & (numbers >= self.lowest) & (numbers <= self.highest)
        return np.logical_and(right, numbers == np.round(numbers)) if self.is_round else right


@dataclass(frozen=True, kw_only=True)
class RawTable:
    """The declared columns of a table, checked; others of the file are passed over.

    Attributes:
        file: The file that it was read from.
        place: What errors call a row by its number from 0: "line 4".
        columns: The n values of each column: numbers as arrays, codes as what they stand for.
    """

    file: Path
    place: Callable[[int], str]
    columns: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_csv(cls, file: Path, columns: Mapping[str, RawColumn], *, separator: str = ",") -> "RawTable":
        """Reads a CSV file, or one of another separator, whose first line names its columns.

        Raises:
            OochubError: It cannot be read, is no UTF-8 or no CSV, lacks a column, has it twice, or has no row; a row
                with more or fewer fields than columns, a value that its column does not allow.
        """
        text = read_text(file)
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise OochubError(f"{file}, line {line}: not a text file, it holds a zero byte. {_AGAIN}")
        reader = csv.reader((line[0] for line in _LINE.finditer(text)), strict=True, delimiter=separator)
        try:
            header = next(reader, [])
            return cls.of_rows(file, header, ((reader.line_num, row) for row in reader), columns)
        except csv.Error as error:
            raise OochubError(f"{file}, line {reader.line_num}: not valid CSV ({error}). {_AGAIN}") from None

    @classmethod
    def of_rows(
        cls,
        file: Path,
        header: Sequence[str],
        rows: Iterable[tuple[int, Sequence[str]]],
        columns: Mapping[str, RawColumn],
    ) -> "RawTable":
        """Takes the columns out of rows that are given with their lines; an empty row is passed over.

        Raises:
            OochubError: As for `of_csv`.
        """
        _check_header(file, header, columns)
        places = [header.index(name) for name in columns]
        lines: list[int] = []
        kept: list[list[str]] = [[] for _ in columns]
        checked: dict[str, str] = {}  # a text once, however many rows have it
        for line, row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise OochubError(
                    f"{file}, line {line}: {len(row)} fields, but {len(header)} columns are named. {_AGAIN}"
                )
            for values, place in zip(kept, places, strict=True):
                values.append(checked.setdefault(row[place], row[place]))
            lines.append(line)
        if not lines:
            raise OochubError(f"{file} has no rows. {_AGAIN}")
        table = cls(file=file, place=lambda row: f"line {lines[row]}")
        return replace(table, columns=dict(zip(columns, kept, strict=True))).check(columns)

    @classmethod
    def of_csv_parts(cls, file: Path, columns: Mapping[str, RawColumn]) -> Iterator["RawTable"]:
        """Reads a CSV file part by part that is too long to be held whole; quoted texts may have line breaks.

        Text stays what it is: "NA" and "nan" are words, and a field without characters is an empty text. Rows are
        named by their number in the file, from 0, which is the column `row`.

        Raises:
            OochubError: As for `of_csv`.
        """
        done = 0
        try:
            for batch in _open_table(file, columns):
                if len(batch):
                    texts = {
                        name: batch.column(name) if column.kind == "number" else batch.column(name).to_pylist()
                        for name, column in columns.items()
                    }
                    numbers = np.arange(done, done + len(batch))
                    part = cls(file=file, place=_count_rows_from(done), columns={**texts, "row": numbers})
                    done += len(batch)
                    yield part.check(columns)
        except (pa.ArrowException, OSError) as error:
            raise _describe_read_error(file, done, str(error)) from error
        if not done:
            raise OochubError(f"{file} has no rows. {_AGAIN}")

    @classmethod
    def of_json_lines(cls, file: Path, columns: Mapping[str, RawColumn]) -> "RawTable":
        """Reads a file with a JSON object in each line, of whose fields some are texts.

        Raises:
            OochubError: It cannot be read, is no JSON, is no UTF-8, has no line; a field that is missing or no text.
        """
        schema = pa.schema([(name, pa.string()) for name in columns])
        try:
            rows = pa_json.read_json(
                check_regular_file(file),
                read_options=pa_json.ReadOptions(block_size=_PART),
                parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
            rows.validate(full=True)  # bytes that are no UTF-8 pass the parser
        except (pa.ArrowException, OSError) as error:
            raise OochubError(f"{file} is not UTF-8 JSON with an object in each line: {error}. {_AGAIN}") from error
        if not len(rows):
            raise OochubError(f"{file} has no line. {_AGAIN}")
        table = cls(file=file, place=lambda row: f"line {row + 1}")
        for name in columns:
            table.require(rows[name].is_valid().to_numpy(), f"the field {name} is missing")
        return replace(table, columns={name: rows[name].to_pylist() for name in columns}).check(columns)

    def check(self, columns: Mapping[str, RawColumn]) -> "RawTable":
        """The table with some of its columns of texts checked; errors as for `add`."""
        table = self
        for name, column in columns.items():
            table = table.add(name, self[name], column)
        return table

    def __getitem__(self, name: str) -> Any:
        """The values of a column (n,)."""
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def where(self, kept: ArrayLike) -> "RawTable":
        """The rows where `kept` (n,) is True.

        >>> rows = [(2, ["1"]), (3, ["2"])]
        >>> table = RawTable.of_rows(Path("a.csv"), ["x"], rows, {"x": RawColumn(kind="count")})
        >>> table.where([False, True])["x"].tolist()
        [2]
        """
        rows = np.flatnonzero(kept)
        columns = {
            name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]
            for name, values in self.columns.items()
        }
        return replace(self, place=lambda row: self.place(int(rows[row])), columns=columns)

    def add(self, name: str, values: Sequence[Any], column: RawColumn) -> "RawTable":
        """The table with one more column, from its texts or as it is made of others.

        Args:
            name: Name of the column.
            values: Its texts (n,).
            column: What they must be.

        Raises:
            OochubError: A value that is not allowed; its line is named.

        >>> rows = [(2, ["0"]), (3, ["2"])]
        >>> birds = RawColumn(codes={"0": "landbird", "1": "waterbird"})
        >>> RawTable.of_rows(Path("metadata.csv"), ["y"], rows, {"y": birds})
        Traceback (most recent call last):
        oochub.errors.OochubError: metadata.csv, line 3: y must be 0 (landbird) or 1 (waterbird), got '2'. Download it \
again.
        """
        return self._add(name, values, column, *column.parse_texts(values))

    def _add(
        self, name: str, values: Sequence[Any], column: RawColumn, parsed: Any, right: NDArray[np.bool_]
    ) -> "RawTable":
        if not right.all():
            row = int(np.argmin(right))
            got = str(values[row])[:80] if isinstance(values[row], str | pa.StringScalar) else values[row]
            near = did_you_mean(str(got), filter(str.isidentifier, map(str, column.names))) if column.codes else ""
            must = f"{name} must be {column.allowed}, got {repr(got)[:100]}.{near}"
            raise OochubError(f"{self.file}, {self.place(row)}: {must} {_AGAIN}")
        if column.is_unique:
            self._check_unique(name, values, column.default)
        if column.folder is not None:
            self._check_files(name, values, column.folder)
        return replace(self, columns={**self.columns, name: parsed})

    def require(self, right: ArrayLike | Sequence[object], words: str | Callable[..., str]) -> None:
        """Checks a rule of several columns.

        Args:
            right: Whether each row follows it (n,).
            words: What is wrong, for the number of a row, or for any.

        Raises:
            OochubError: A row that does not; it is named.
        """
        for row in np.flatnonzero(~np.asarray(right, bool))[:1].tolist():
            wrong = words if isinstance(words, str) else words(row)
            raise OochubError(f"{self.file}, {self.place(row)}: {wrong}. {_AGAIN}")

    def count(self, name: str, what: str) -> tuple[list[str], list[str]]:
        """A column of things that are counted from 0, by names made of their numbers: (of each row (n,), all of them).

        Args:
            name: The column, one of counts.
            what: What is counted, in one word.

        Raises:
            OochubError: A number as large as there are rows; its line is named.

        >>> rows = [(2, ["0"]), (3, ["1"]), (4, ["0"])]
        >>> table = RawTable.of_rows(Path("a.csv"), ["slide"], rows, {"slide": RawColumn(kind="count")})
        >>> table.count("slide", "slide")
        (['slide_0', 'slide_1', 'slide_0'], ['slide_0', 'slide_1'])
        """
        numbers = self[name]
        self.require(
            numbers < len(numbers),
            lambda row: (
                f"{name} must be in 0..{len(numbers) - 1}, which counts from 0, and no more than there are "
                f"rows, got {numbers[row]}"
            ),
        )
        names = [f"{what}_{number}" for number in range(1 + max(numbers))]
        return [names[number] for number in numbers.tolist()], names

    def parse_times(self, name: str, form: str) -> "pd.DatetimeIndex":
        """A column of texts as times (n,).

        Args:
            name: The column.
            form: Format as `datetime.strptime` takes it, or "ISO8601" for that of any precision, in UTC.

        Raises:
            OochubError: A value of another form; its line is named.

        >>> rows = [(2, ["2017-02-03T04:05:06.7Z"])]
        >>> table = RawTable.of_rows(Path("t.csv"), ["t"], rows, {"t": RawColumn()})
        >>> list(table.parse_times("t", "ISO8601").year)
        [2017]
        """
        import pandas as pd  # commands that only list their options import this module

        times: pd.DatetimeIndex = pd.to_datetime(
            pd.Index(self[name]), format=form, errors="coerce", utc=form == "ISO8601"
        )
        self.require(
            times.notna(), lambda row: f"{name} must be a time of the form {form}, got {self[name][row][:80]!r}"
        )
        return times

    def _check_unique(self, name: str, values: Sequence[Hashable], default: Any) -> None:
        if len(set(values)) == len(values):
            return
        first: dict[Hashable, int] = {}
        for row, value in enumerate(values):
            if value != default and first.setdefault(value, row) != row:
                raise OochubError(
                    f"{self.file}, {self.place(row)}: {name} must be unique, got {repr(value)[:80]}, as in "
                    f"{self.place(first[value])}. Remove one."
                )

    def _check_files(self, name: str, paths: Sequence[str], root: Path) -> None:
        """Checks that the paths lie below a folder, where a file of each name is; their content is not read."""
        folders: dict[str, set[str]] = {}
        missing = []
        for row, path in enumerate(paths):
            parts = path.split("/")  # no Path: there may be 200,000
            if ".." in parts or "" in parts or "." in parts or "\\" in path or "\0" in path:
                raise OochubError(
                    f"{self.file}, {self.place(row)}: {name} must be a path below {root}, which it does not leave, got "
                    f"{path[:80]!r}. {_AGAIN}"
                )
            folder, _, file = path.rpartition("/")
            if folder not in folders:
                folders[folder] = _list_folder(root / folder)
            if file not in folders[folder]:
                missing.append(f"{self.place(row)}, {path[:120]}")
        if missing:
            more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
            raise OochubError(
                f"{len(missing):,} of the {len(paths):,} files that {self.file} names in {name} are not in {root}: "
                f"{'; '.join(missing[:_NAMED])}{more}. Unpack the archive again."
            )


@dataclass(frozen=True, kw_only=True)
class RawRecords:
    """A list of JSON objects in a file, whose fields are read as columns.

    Attributes:
        file: The file that they stand in.
        what: What errors call one of them, such as "image".
        rows: The n objects.

    >>> images = RawRecords.of(Path("a.json"), {"images": [{"id": 7, "height": 10.5}]}, "images")
    >>> images.read("id", RawColumn(kind="whole")).tolist(), images.read("license", RawColumn(default=""))
    ([7], [''])
    >>> images.read("height", RawColumn(kind="whole"))
    Traceback (most recent call last):
    oochub.errors.OochubError: a.json, image 7: height must be a whole number, got 10.5. Download it again.
    """

    file: Path
    what: str
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, file: Path, content: Any, key: str, *, required: bool = True) -> "RawRecords":
        """The list `key` of a file's content.

        Args:
            file: The file that errors name.
            content: JSON types.
            key: "images".
            required: Whether a content without the list is an error; else it is empty.

        Raises:
            OochubError: There is no such list, or it holds something other than objects.
        """
        rows = content.get(key, None if required else []) if isinstance(content, dict) else None
        if not isinstance(rows, list) or not set(map(type, rows)) <= {dict}:
            got = (
                ""
                if not isinstance(rows, list)
                else next(f", got {row!r:.60}" for row in rows if type(row) is not dict)
            )
            raise OochubError(f"{file} must have a list {key!r} of objects, as COCO's files have{got}. {_AGAIN}")
        return cls(file=file, what={"categories": "category"}.get(key, key.removesuffix("s")), rows=rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def table(self) -> RawTable:
        """The objects as a table without columns, to check rules of several."""
        return RawTable(file=self.file, place=self.place)

    def place(self, row: int) -> str:
        """What errors call an object: "annotation 906 of image 139"."""
        record = self.rows[row]
        name = f"{self.what} {record['id']!s:.60}" if "id" in record else f"{self.what} number {row + 1}"
        return f"{name} of image {record['image_id']!s:.60}" if "image_id" in record else name

    def read(self, key: str, column: RawColumn) -> Any:
        """A field (n,): numbers as an array.

        Raises:
            OochubError: An object without the field, or with a value that is not allowed; its id is named.
        """
        table = self.table
        if column.default is None:
            try:
                values = list(map(itemgetter(key), self.rows))
            except KeyError:
                table.require([key in row for row in self.rows], f"the field {key} is missing")
        else:
            values = [column.default if (value := row.get(key)) is None else value for row in self.rows]
        return table._add(key, values, column, *column.parse_fields(values))[key]


def of_splits(rows: pa.Table, split: Sequence[str] | NDArray[np.str_], names: Iterable[str]) -> dict[str, pa.Table]:
    """The rows of each split, in their order.

    Args:
        rows: All rows.
        split: The split that each is of (n,); "" for rows that are of none.
        names: The splits.

    >>> {name: part["i"].to_pylist() for name, part in of_splits(pa.table({"i": [0, 1]}), ["b", "a"], "ab").items()}
    {'a': [1], 'b': [0]}
    """
    of = pa.array(split, pa.string())
    return {name: rows.filter(pc.equal(of, name)) for name in names}


def _check_header(file: Path, header: Sequence[str], columns: Iterable[str]) -> None:
    """Checks that the first line of a file names each of the columns, once.

    >>> _check_header(Path("birds.csv"), ["y", "y"], ["y"])
    Traceback (most recent call last):
    oochub.errors.OochubError: birds.csv has twice the column y. It needs y; its first line names y, y. Download it
    again.
    """
    wrong = [name for name in columns if header.count(name) != 1]
    if wrong:
        what = "has twice" if wrong[0] in header else "lacks"
        raise OochubError(
            f"{file} {what} the column {wrong[0]}. It needs {', '.join(columns)}; its first line names "
            f"{', '.join(header)[:200] or 'none'}. {_AGAIN}"
        )


def _count_rows_from(first: int) -> Callable[[int], str]:
    return lambda row: f"row {first + row} (counted from 0)"


def _describe_read_error(file: Path, done: int, reason: str) -> OochubError:
    """What pyarrow found, its row counted as the numbers of the rows are: it counts the first line as 1."""
    if "straddl" in reason:
        return OochubError(f"{file}, row {done} (counted from 0) or later: a quote is not closed. {_AGAIN}")
    row = _ROW.search(reason)
    place = f"{file}, row {int(row[1]) - 2} (counted from 0)" if row else str(file)
    return OochubError(f"{place}: not valid CSV ({(row[2] if row else reason)[:160]!r}). {_AGAIN}")


def _open_table(file: Path, columns: Iterable[str]) -> pa_csv.CSVStreamingReader:
    file = check_regular_file(file)
    layout = pa_csv.ParseOptions(newlines_in_values=True)
    parts = pa_csv.ReadOptions(use_threads=False, block_size=_PART)
    with pa_csv.open_csv(file, parts, layout, _convert_to_text(())) as whole:
        header = whole.schema.names
    _check_header(file, header, columns)
    return pa_csv.open_csv(file, parts, layout, _convert_to_text(columns))


def _convert_to_text(columns: Iterable[str]) -> pa_csv.ConvertOptions:
    return pa_csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pa.string()),
        strings_can_be_null=False,
    )


def _list_folder(folder: Path) -> set[str]:
    """What lies in a folder; nothing where it is none."""
    try:
        return {path.name for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except OSError as error:  # no permission, a loop of links
        if error.errno == errno.ENAMETOOLONG:
            return set()
        raise OochubError(f"Cannot read the folder {folder}: {error.strerror}. Check its permissions.") from error
