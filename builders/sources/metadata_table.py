"""A table with one row per image, such as Waterbirds' metadata.csv: what is wrong with a row names its line."""

import csv
import errno
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oochub.builders.sources._check_header import check_header
from oochub.errors import OochubError, did_you_mean
from oochub.storage.reading import parse_plain_number, read_text

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 12
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # io.StringIO would hold 4 bytes a character
_WHOLE = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class MetadataTable:
    """The columns that are asked for, as text; others of the file are passed over.

    Attributes:
        file: The file that it was read from.
        columns: The n texts of each column.
        lines: The line of the file that each row stands in (n,).
    """

    file: Path
    columns: Mapping[str, Sequence[str]]
    lines: Sequence[int]

    @classmethod
    def of_csv(cls, file: Path, columns: Sequence[str], *, separator: str = ",") -> "MetadataTable":
        """Reads a CSV file, or one of another separator, whose first line names its columns.

        Raises:
            OochubError: It cannot be read, is no UTF-8 or no CSV, lacks a column, has it twice, or has no row; a row
                with more or fewer fields than columns.
        """
        text = read_text(file)
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise OochubError(f"{file}, line {line}: not a text file, it holds a zero byte. Fetch it again.")
        reader = csv.reader((line[0] for line in _LINE.finditer(text)), strict=True, delimiter=separator)
        try:
            header = next(reader, [])
            rows = ((reader.line_num, row) for row in reader)
            return cls.of_rows(file, header, rows, columns)
        except csv.Error as error:
            raise OochubError(f"{file}, line {reader.line_num}: not valid CSV ({error}). Fetch it again.") from None

    @classmethod
    def of_rows(
        cls, file: Path, header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]], columns: Sequence[str]
    ) -> "MetadataTable":
        """Takes the columns out of rows that are given with their lines; an empty row is passed over.

        Raises:
            OochubError: As for `of_csv`.
        """
        check_header(file, header, columns)
        places = [header.index(name) for name in columns]
        lines: list[int] = []
        kept: list[list[str]] = [[] for _ in columns]
        known: dict[str, str] = {}  # a text once, however many rows have it
        for line, row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise OochubError(
                    f"{file}, line {line}: {len(row)} fields, but {len(header)} columns are named. Fetch it again."
                )
            for values, place in zip(kept, places, strict=True):
                values.append(known.setdefault(row[place], row[place]))
            lines.append(line)
        if not lines:
            raise OochubError(f"{file} has no rows below its header. Fetch it again.")
        return cls(file=file, columns=dict(zip(columns, kept, strict=True)), lines=lines)

    def coded(self, name: str, codes: Mapping[str, str] | Sequence[str]) -> list[str]:
        """A column of codes as the names that these stand for (n,).

        Args:
            name: The column.
            codes: Each with its name; a sequence where they are names already.

        Raises:
            OochubError: A value that is no code; its line is named.

        >>> table = MetadataTable(file=Path("metadata.csv"), columns={"y": ["0", "2"]}, lines=[2, 3])
        >>> table.coded("y", {"0": "landbird", "1": "waterbird"})
        Traceback (most recent call last):
        oochub.errors.OochubError: metadata.csv, line 3: y must be 0 (landbird) or 1 (waterbird), got '2'. Fetch \
it again.
        """
        names = codes if isinstance(codes, Mapping) else dict(zip(codes, codes, strict=True))
        for line, value in zip(self.lines, self.columns[name], strict=True):
            if value not in names:
                raise OochubError(
                    f"{self.file}, line {line}: {name} must be {_list_allowed_codes(names)}, got "
                    f"{value[:80]!r}.{did_you_mean(value[:80], filter(str.isidentifier, names))} Fetch it again."
                )
        return [names[value] for value in self.columns[name]]

    def whole(self, name: str) -> list[int]:
        """A column of whole numbers, 0 or more (n,).

        Raises:
            OochubError: A value that is none; its line is named.

        >>> MetadataTable(file=Path("metadata.csv"), columns={"y": ["12", "-1"]}, lines=[2, 3]).whole("y")
        Traceback (most recent call last):
        oochub.errors.OochubError: metadata.csv, line 3: y must be a whole number, 0 or more, got '-1'. Fetch it again.
        """
        for line, value in zip(self.lines, self.columns[name], strict=True):
            if not _WHOLE.fullmatch(value):
                raise OochubError(
                    f"{self.file}, line {line}: {name} must be a whole number, 0 or more, got {value[:80]!r}. Fetch "
                    "it again."
                )
        return [int(value) for value in self.columns[name]]

    def numbers(self, name: str) -> list[float]:
        """A column of finite numbers (n,).

        Raises:
            OochubError: A value that is none; its line is named.

        >>> MetadataTable(file=Path("dhs.csv"), columns={"wealth": ["0.5", "nan"]}, lines=[2, 3]).numbers("wealth")
        Traceback (most recent call last):
        oochub.errors.OochubError: dhs.csv, line 3: wealth must be a finite number, got 'nan'. Fetch it again.
        """
        numbers = []
        for line, value in zip(self.lines, self.columns[name], strict=True):
            numbers.append(parse_plain_number(value))
            if not math.isfinite(numbers[-1]):
                raise OochubError(
                    f"{self.file}, line {line}: {name} must be a finite number, got {value[:80]!r}. Fetch it again."
                )
        return numbers

    def counted(self, name: str, what: str) -> tuple[list[str], list[str]]:
        """A column of things that are counted from 0, by names made of their numbers: (of each row (n,), all of them).

        Args:
            name: The column.
            what: What is counted, in one word.

        Raises:
            OochubError: A value that is no whole number, or is as large as there are rows; its line is named.

        >>> table = MetadataTable(file=Path("metadata.csv"), columns={"slide": ["0", "1", "0"]}, lines=[2, 3, 4])
        >>> table.counted("slide", "slide")
        (['slide_0', 'slide_1', 'slide_0'], ['slide_0', 'slide_1'])
        """
        numbers = self.whole(name)
        self.check_below(name, len(numbers), "which counts from 0, and no more than there are rows")
        names = [f"{what}_{number}" for number in range(1 + max(numbers))]
        return [names[number] for number in numbers], names

    def rows(self, numbers: Iterable[int]) -> "MetadataTable":
        """The table of some rows, by their numbers from 0.

        >>> table = MetadataTable(file=Path("metadata.csv"), columns={"x": ["1", "2"]}, lines=[2, 3])
        >>> table.rows([1]).lines
        [3]
        """
        kept = list(numbers)
        columns = {name: [values[row] for row in kept] for name, values in self.columns.items()}
        return replace(self, columns=columns, lines=[self.lines[row] for row in kept])

    def with_column(self, name: str, value: Callable[..., str], *, of: Sequence[str]) -> "MetadataTable":
        """The table with one more column, made of others.

        Args:
            name: Name of the new column.
            value: Makes its text of those of the others.
            of: The others, in the order of the arguments of `value`.

        >>> table = MetadataTable(file=Path("metadata.csv"), columns={"x": ["1", "2"]}, lines=[2, 3])
        >>> table.with_column("file", "patch_{}.png".format, of=["x"]).columns["file"]
        ['patch_1.png', 'patch_2.png']
        """
        return replace(self, columns={**self.columns, name: list(map(value, *(self.columns[each] for each in of)))})

    def check_below(self, name: str, count: int, what: str) -> None:
        """Checks that a column of whole numbers counts `count` things from 0.

        Args:
            name: The column.
            count: Number of things.
            what: What the things are, in words.

        Raises:
            OochubError: A larger number; its line is named.
        """
        for line, number in zip(self.lines, self.whole(name), strict=True):
            if number >= count:
                raise OochubError(
                    f"{self.file}, line {line}: {name} must be in 0..{count - 1}, {what}, got {number}. Fetch it again."
                )

    def times(self, name: str, form: str) -> "pd.DatetimeIndex":
        """A column of times (n,).

        Args:
            name: The column.
            form: Format as `datetime.strptime` takes it, or "ISO8601" for that of any precision, in UTC.

        Raises:
            OochubError: A value of another form; its line is named.

        >>> table = MetadataTable(file=Path("t.csv"), columns={"t": ["2017-02-03T04:05:06.7Z"]}, lines=[2])
        >>> list(table.times("t", "ISO8601").year)
        [2017]
        """
        import pandas as pd  # commands that only list their options import this module

        times = pd.to_datetime(pd.Index(self.columns[name]), format=form, errors="coerce", utc=form == "ISO8601")
        for row in np.flatnonzero(times.isna())[:1]:
            raise OochubError(
                f"{self.file}, line {self.lines[row]}: {name} must be a time of the form {form}, got "
                f"{self.columns[name][row][:80]!r}. Fetch it again."
            )
        return times

    def check_unique(self, name: str) -> None:
        """Checks that no two rows have the same value.

        Raises:
            OochubError: Two rows have; their lines are named.
        """
        first: dict[str, int] = {}
        for line, value in zip(self.lines, self.columns[name], strict=True):
            if value in first:
                raise OochubError(
                    f"{self.file}, lines {first[value]} and {line} have the same {name}, {value[:80]!r}. Remove one."
                )
            first[value] = line

    def check_files(self, name: str, root: Path, *, files: Sequence[str] | None = None) -> None:
        """Checks that a column names files below `root` that are there; their content is not read.

        Args:
            name: The column, or what the files are, in words.
            root: The folder.
            files: The paths (n,) where they are made of several columns; None takes the column itself.

        Raises:
            OochubError: A path that leaves the folder, or a file that is not there; its line is named.
        """
        named = zip(self.lines, self.columns[name] if files is None else files, strict=True)
        _check_named_files(named, name, root, by=self.file)


def _list_allowed_codes(codes: Mapping[str, str]) -> str:
    """The codes in words, each with its meaning where that is another word; of many the first."""
    shown = [code if code == meaning else f"{code or 'nothing'} ({meaning})" for code, meaning in codes.items()]
    more = f", ... ({len(shown)} in all)" if len(shown) > _SHOWN else ""
    return (", " if more else " or ").join(shown[:_SHOWN]) + more


_NAMED = 5  # of those that are missing


def _check_named_files(named: Iterable[tuple[int, str]], name: str, root: Path, *, by: Path) -> None:
    """Checks that the files which a table names lie below a folder; their content is not read.

    Args:
        named: For each file, its line in the table and its path.
        name: The column, or what the files are, in words.
        root: The folder.
        by: The table.

    Raises:
        OochubError: A path that leaves the folder, or a file that is not there; its line is named.

    >>> _check_named_files([(2, "../1.jpg")], "img_filename", Path("raw"), by=Path("metadata.csv"))
    Traceback (most recent call last):
    oochub.errors.OochubError: metadata.csv, line 2: img_filename points outside raw, so it is not read; got '../1.jpg'.
    """
    folders: dict[str, set[str]] = {}
    missing = []
    count = 0
    for line, path in named:
        parts = path.split("/")  # no Path: there may be 200,000
        if ".." in parts:
            raise OochubError(f"{by}, line {line}: {name} points outside {root}, so it is not read; got {path[:80]!r}.")
        if "" in parts or "." in parts or "\\" in path or "\0" in path:
            raise OochubError(f"{by}, line {line}: {name} must be a path below {root}, got {path[:80]!r}.")
        folder, _, file = path.rpartition("/")
        if folder not in folders:
            folders[folder] = _list_folder(root / folder)
        if file not in folders[folder]:
            missing.append(f"line {line}, {path[:120]}")
        count += 1
    if missing:
        more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
        raise OochubError(
            f"{len(missing):,} of the {count:,} files that {by} names are not in {root}: "
            f"{'; '.join(missing[:_NAMED])}{more}. Unpack the archive again."
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
