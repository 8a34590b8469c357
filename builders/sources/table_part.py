"""Some rows of a CSV file that is too long to be held whole: what is wrong with a row names its number."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from oochub.builders.sources._check_header import check_header
from oochub.errors import OochubError, did_you_mean
from oochub.storage.reading import check_regular_file, parse_plain_number

_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_PART = 1 << 24  # bytes of the file read at a time; no row is longer


@dataclass(frozen=True, kw_only=True)
class TablePart:
    """The columns that are asked for, as text; others of the file are passed over.

    Text stays what it is: "NA" and "nan" are words, and a field without characters is an empty text.

    Attributes:
        file: The file that it was read from.
        number: The number of each row in the file, from 0 (n,).
        rows: A column of text for each that was asked for.
    """

    file: Path
    number: NDArray[np.int64]
    rows: pa.Table

    @classmethod
    def of_csv(cls, file: Path, columns: Sequence[str]) -> Iterator["TablePart"]:
        """Reads a CSV file part by part; its first line names its columns, quoted texts may have line breaks.

        Raises:
            OochubError: It cannot be read, is no UTF-8 or no CSV, lacks a column or has it twice, or has no row; a row
                with more or fewer fields than columns.
        """
        done = 0
        try:
            for rows in _open_table(file, columns):
                if len(rows):
                    number = np.arange(done, done + len(rows))
                    done += len(rows)
                    yield cls(file=file, number=number, rows=pa.Table.from_batches([rows]))
        except (pa.ArrowException, OSError) as error:
            raise _describe_read_error(file, done, str(error)) from error
        if not done:
            raise OochubError(f"{file} has no rows below its header. Fetch it again.")

    def where(self, kept: NDArray[np.bool_]) -> "TablePart":
        """The rows where `kept` (n,) is True."""
        return replace(self, number=self.number[kept], rows=self.rows.filter(pa.array(kept)))

    def text(self, name: str) -> pa.ChunkedArray:
        """A column as it is (n,)."""
        return self.rows.column(name)

    def coded(self, name: str, allowed: Sequence[str]) -> pa.ChunkedArray:
        """A column whose values are among the allowed ones (n,).

        Raises:
            OochubError: Another value; its row is named.

        >>> rows = pa.table({"split": ["train", "Test"]})
        >>> TablePart(file=Path("all.csv"), number=np.arange(2), rows=rows).coded("split", ["train", "test"])
        Traceback (most recent call last):
        oochub.errors.OochubError: all.csv, row 1 (counted from 0): split must be train or test, got 'Test'. Did \
you mean 'test'? Fetch it again.
        """
        right = pc.is_in(self.text(name), pa.array(allowed, pa.string()))
        self._check(name, right.to_numpy(), " or ".join(allowed), allowed)
        return self.text(name)

    def names(self, name: str) -> pa.ChunkedArray:
        """A column of names of which no list is known: none is empty, none has spaces around it (n,).

        Raises:
            OochubError: One that is or has; its row is named.

        >>> rows = pa.table({"category": ["books", " books"]})
        >>> TablePart(file=Path("reviews.csv"), number=np.arange(2), rows=rows).names("category")
        Traceback (most recent call last):
        oochub.errors.OochubError: reviews.csv, row 1 (counted from 0): category must be a name without spaces \
around it, got ' books'. Fetch it again.
        """
        text = self.text(name)
        right = pc.and_(pc.equal(pc.utf8_trim_whitespace(text), text), pc.not_equal(text, ""))
        self._check(name, right.to_numpy(), "a name without spaces around it")
        return text

    def numbers(self, name: str, lowest: float, highest: float, *, are_whole: bool = False) -> NDArray[np.float64]:
        """A column of numbers (n,).

        Args:
            name: The column.
            lowest: The smallest number allowed.
            highest: The largest.
            are_whole: Whether 1 and 1.0 are allowed, and 1.5 is not.

        Raises:
            OochubError: A value that is none of these, an empty one or nan among them; its row is named.

        >>> rows = pa.table({"toxicity": ["0.5", "nan"]})
        >>> TablePart(file=Path("all.csv"), number=np.arange(2), rows=rows).numbers("toxicity", 0, 1)
        Traceback (most recent call last):
        oochub.errors.OochubError: all.csv, row 1 (counted from 0): toxicity must be a number in 0..1, got 'nan'. \
Fetch it again.
        """
        try:
            values: NDArray[np.float64] = pc.cast(self.text(name), pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            values = np.array([parse_plain_number(text) for text in self.text(name).to_pylist()])
        right = (values >= lowest) & (values <= highest)
        if are_whole:
            right &= values == np.round(values)
        self._check(name, right, f"a {'whole ' if are_whole else ''}number in {lowest:g}..{highest:g}")
        return values

    def _check(self, name: str, right: NDArray[np.bool_], what: str, allowed: Sequence[str] = ()) -> None:
        if not right.all():
            row = int(np.argmin(right))
            text = self.text(name)[row].as_py()[:80]
            raise OochubError(
                f"{self.file}, row {self.number[row]} (counted from 0): {name} must be {what}, got "
                f"{text!r}.{did_you_mean(text, allowed)} Fetch it again."
            )


def _describe_read_error(file: Path, done: int, reason: str) -> OochubError:
    """What pyarrow found, its row counted as the numbers of the rows are: it counts the first line as 1."""
    if "straddl" in reason:
        return OochubError(f"{file}, row {done} (counted from 0) or later: a quote is not closed. Fetch it again.")
    row = _ROW.search(reason)
    place = f"{file}, row {int(row[1]) - 2} (counted from 0)" if row else str(file)
    return OochubError(f"{place}: not valid CSV ({(row[2] if row else reason)[:160]!r}). Fetch it again.")


def _open_table(file: Path, columns: Sequence[str]) -> pa_csv.CSVStreamingReader:
    file = check_regular_file(file)
    layout = pa_csv.ParseOptions(newlines_in_values=True)
    with pa_csv.open_csv(
        file, pa_csv.ReadOptions(use_threads=False, block_size=_PART), layout, _convert_to_text(())
    ) as whole:
        header = whole.schema.names
    check_header(file, header, columns)
    return pa_csv.open_csv(
        file, pa_csv.ReadOptions(use_threads=False, block_size=_PART), layout, _convert_to_text(columns)
    )


def _convert_to_text(columns: Sequence[str]) -> pa_csv.ConvertOptions:
    return pa_csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pa.string()),
        strings_can_be_null=False,
    )
