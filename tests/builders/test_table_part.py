"""Long CSV files, read part by part: what a row holds against the csv module, what is wrong with one by its number."""

import csv
import re

import pytest

from oochub import OochubError
from oochub.builders.sources import table_part
from oochub.builders.sources.table_part import TablePart

_TEXTS = [
    "NA",
    "nan",
    "",
    " ",
    'a "b", c',
    "two\nlines",
    "two\r\nlines",
    "null",
    "Caf\u00e9 \U0001f642",
    "#N/A",
    "x" * 90,
]


def _written(file, rows):
    with file.open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([["", "text", "value"], *rows])
    return file


@pytest.mark.parametrize("size", [1 << 24, 400])
def test_texts_stay_texts(size, tmp_path, monkeypatch):
    """In one part and in many, against the csv module."""
    monkeypatch.setattr(table_part, "_PART", size)
    rows = [[str(row), _TEXTS[row % len(_TEXTS)], f"{row / 7}"] for row in range(60)]
    parts = list(TablePart.of_csv(_written(tmp_path / "all.csv", rows), ("value", "text")))
    assert (len(parts) > 1) == (size == 400)
    assert [text for part in parts for text in part.text("text").to_pylist()] == [row[1] for row in rows]
    assert [number for part in parts for number in part.number] == list(range(60))
    assert [value for part in parts for value in part.numbers("value", 0, 10)] == [row / 7 for row in range(60)]
    kept = parts[-1].where(parts[-1].number % 2 == 1)
    assert kept.text("text").to_pylist() == [rows[number][1] for number in kept.number]
    with pytest.raises(OochubError, match=r"row 50 \(counted from 0\): value must be a number in 0\.\.7, got '7\.14"):
        [part.numbers("value", 0, 7) for part in parts]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Empty CSV file"),
        (b"text,value\n", "has no rows below"),
        (b"text,text,value\na,b,1\n", "has twice the column text. It needs text, value"),
        (b"text\na\n", "lacks the column value. It needs text, value; its first line names text."),
        (b"text,value\na,1\nb\n", "row 1 (counted from 0): not valid CSV ('Expected 2 columns, got 1: b')"),
        (
            b"text,value\na,1\n\xff,2\n",
            "row 1 (counted from 0): not valid CSV ('CSV conversion error to string: invalid",
        ),
        (b'text,value\na,1\n"b,2\nc,3\n', "row 1 (counted from 0): not valid CSV ('Expected 2 columns, got 1"),
        (b'text,value\na,1\n"' + b"b,2\n" * 200, "row 1 (counted from 0) or later: a quote is not closed"),
        (None, "there is no such file"),
    ],
)
def test_a_file_that_is_none_is_refused(content, message, tmp_path, monkeypatch):
    monkeypatch.setattr(table_part, "_PART", 400)
    file = tmp_path / "all.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(OochubError, match=re.escape(message)) as error:
        list(TablePart.of_csv(file, ("text", "value")))
    assert str(file) in str(error.value)


@pytest.mark.parametrize("value", ["", "nan", "NA", "x", "1.5", "3", "-1", "inf", "None"])
def test_a_number_is_one_of_those_allowed(value, tmp_path):
    (part,) = TablePart.of_csv(_written(tmp_path / "all.csv", [["0", "a", "2.0"], ["1", "b", value]]), ("value",))
    with pytest.raises(
        OochubError, match=rf"row 1 .*: value must be a whole number in 0\.\.2, got {re.escape(repr(value))}"
    ):
        part.numbers("value", 0, 2, are_whole=True)
