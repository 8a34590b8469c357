"""The reader of raw tables: what each declaration allows and refuses, texts against the csv module, broken files."""

import csv
import json
import re

import numpy as np
import pytest

from oochub import OochubError
from oochub.builders.sources import raw_table
from oochub.builders.sources.raw_table import RawColumn, RawRecords, RawTable

_TEXTS = ["NA", "nan", "", " ", 'a "b", c', "two\nlines", "two\r\nlines", "null", "Café 🙂", "#N/A", "x" * 90]
_STARS = RawColumn(kind="number", lowest=1, highest=5, is_round=True)
_BIRD = RawColumn(codes={"0": "landbird", "1": "waterbird", "": "none"})


def _written(file, rows, names=("", "text", "value")):
    with file.open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([names, *rows])
    return file


@pytest.mark.parametrize("size", [1 << 24, 400])
def test_texts_stay_texts(size, tmp_path, monkeypatch):
    """In one part and in many, against the csv module."""
    monkeypatch.setattr(raw_table, "_PART", size)
    rows = [[str(row), _TEXTS[row % len(_TEXTS)], f"{row / 7}"] for row in range(60)]
    file = _written(tmp_path / "all.csv", rows)
    parts = list(RawTable.of_csv_parts(file, {"value": RawColumn(kind="number"), "text": RawColumn()}))
    assert (len(parts) > 1) == (size == 400)
    assert [text for part in parts for text in part["text"]] == [row[1] for row in rows]
    assert [number for part in parts for number in part["row"]] == list(range(60))
    assert [value for part in parts for value in part["value"]] == [row / 7 for row in range(60)]
    kept = parts[-1].where(parts[-1]["row"] % 2 == 1)
    assert kept["text"] == [rows[number][1] for number in kept["row"]]
    with pytest.raises(OochubError, match=r"row 50 \(counted from 0\): value must be a number in 0\.\.7, got '7\.14"):
        list(RawTable.of_csv_parts(file, {"value": RawColumn(kind="number", lowest=0, highest=7)}))
    with pytest.raises(OochubError, match=rf"row {kept['row'][0]} \(counted from 0\): wrong\. Download"):
        kept.require(np.zeros(len(kept)), "wrong")


_NONE = [
    (b"", "Empty CSV file", "lacks the column text. It needs text, value; its first line names none."),
    (b"text,value\n", "has no rows", "has no rows"),
    (b"text,text,value\na,b,1\n", *["has twice the column text. It needs text, value"] * 2),
    (b"text\na\n", *["lacks the column value. It needs text, value; its first line names text."] * 2),
    (b"text,value\na,1\nb\n", "row 1 (counted from 0): not valid CSV ('Expected 2 columns", "line 3: 1 fields, but 2"),
    (b"text,value\na,1\n\xff,2\n", "row 1 (counted from 0): not valid CSV ('CSV conv", "not UTF-8 text (line 3)"),
    (b'text,value\na,1\n"b,2\nc,3\n', "row 1 (counted from 0): not valid CSV ('Expected", "not valid CSV"),
    (b'text,value\na,1\n"' + b"b,2\n" * 200, "row 1 (counted from 0) or later: a quote is not closed", "not valid CSV"),
    (None, "there is no such file", "there is no such file"),
]


@pytest.mark.parametrize(("content", "in_parts", "whole"), _NONE)
def test_a_file_that_is_none_is_refused(content, in_parts, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(raw_table, "_PART", 400)
    file = tmp_path / "all.csv"
    if content is not None:
        file.write_bytes(content)
    columns = {"text": RawColumn(), "value": RawColumn()}
    for words, read in ((in_parts, lambda: list(RawTable.of_csv_parts(file, columns))), (whole, None)):
        with pytest.raises(OochubError, match=re.escape(words)) as error:
            read() if read else RawTable.of_csv(file, columns)
        assert str(file) in str(error.value)


_ALLOWED = [
    (RawColumn(kind="count"), ["0", "12", "007"], [0, 12, 7]),
    (RawColumn(kind="count", highest=4), ["0", "4"], [0, 4]),
    (RawColumn(kind="number"), ["1e-3", "-2", " 4"], [0.001, -2, 4]),
    (_STARS, ["1.0", "5", "5e0"], [1, 5, 5]),
    (_BIRD, ["1", "0", ""], ["waterbird", "landbird", "none"]),
    (RawColumn(codes=("train", "test")), ["test"], ["test"]),
    (RawColumn(pattern="[ab]+", form="a and b"), ["ab"], ["ab"]),
]
_WRONG = [
    *(
        (RawColumn(kind="count"), text, "must be a whole number, 0 or more")
        for text in ("-1", "1.0", "", "nan", "١", "1_0")
    ),
    (RawColumn(kind="count"), "9" * 19, "must be a whole number, 0 or more"),
    (RawColumn(kind="count", highest=4, form="the hospitals"), "5", "must be a whole number in 0..4, the hospitals"),
    *(
        (RawColumn(kind="number"), text, "must be a finite number")
        for text in ("nan", "inf", "", "x", "1_0", "١", "0,5")
    ),
    *((_STARS, text, "must be a whole number in 1..5") for text in ("0", "6", "1.5", "nan", "", "x", "inf", "None")),
    *((_BIRD, text, "0 (landbird) or 1 (waterbird) or nothing (none)") for text in ("2", "1.0", " 1", "landbird")),
    (RawColumn(codes=("train", "test")), "Test", "train or test, got 'Test'. Did you mean 'test'?"),
    (
        RawColumn(codes=[f"c{k}" for k in range(20)]),
        "d",
        "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, ... (20 in all)",
    ),
    (RawColumn(pattern="[ab]+", form="a and b"), "abc", "must be a and b, got 'abc'"),
]


@pytest.mark.parametrize(("column", "texts", "values"), _ALLOWED)
def test_what_is_allowed_is_read(column, texts, values, tmp_path):
    file = _written(tmp_path / "all.csv", [[text] for text in texts], ["y"])
    assert list(RawTable.of_csv(file, {"y": column})["y"]) == values
    (part,) = RawTable.of_csv_parts(file, {"y": column}) if "" not in texts else [RawTable.of_csv(file, {"y": column})]
    assert list(part["y"]) == values


@pytest.mark.parametrize(("column", "text", "words"), _WRONG)
def test_what_is_not_allowed_is_refused_by_its_line(column, text, words, tmp_path):
    """Planted faults seen: the codes, a bound, and the whole match of the pattern left out."""
    rows = [(7, [text]), (8, [text])]
    with pytest.raises(OochubError, match=re.escape(words)) as error:
        RawTable.of_rows(tmp_path / "all.csv", ["y"], rows, {"y": column})
    assert "all.csv, line 7: y must be" in str(error.value) and f"got {text[:80]!r}" in str(error.value)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("b/2.jpg", "1 of the 2 files that"),
        ("c/1.jpg", "line 3, c/1.jpg. Unpack the archive again"),
        ("../raw/a/1.jpg", "line 3: file must be a path below"),
        ("a/../a/1.jpg", "line 3: file must be a path below"),
        ("/etc/passwd", "line 3: file must be a path below"),
        ("a\\1.jpg", "line 3: file must be a path below"),
        ("", "line 3: file must be a path below"),
        ("a/1.jpg", "line 3: file must be unique, got 'a/1.jpg', as in line 2. Remove one."),
    ],
)
def test_a_file_must_be_there_and_be_named_once(path, words, tmp_path):
    (tmp_path / "raw" / "a").mkdir(parents=True)
    (tmp_path / "raw" / "a" / "1.jpg").touch()
    column = RawColumn(is_unique=True, folder=tmp_path / "raw")
    with pytest.raises(OochubError, match=re.escape(words)):
        RawTable.of_rows(tmp_path / "t.csv", ["file"], [(2, ["a/1.jpg"]), (3, [path])], {"file": column})


def test_lines_are_those_of_the_file(tmp_path):
    """Quoted line breaks, empty lines, ends of lines of Windows; rows that are left out keep the lines of others."""
    file = tmp_path / "t.csv"
    file.write_bytes(b'\xef\xbb\xbfx;y\r\n"a\r\nb";1\r\n\r\nc;2\r\nd;3\r\n')
    table = RawTable.of_csv(file, {"x": RawColumn(), "y": RawColumn(kind="count")}, separator=";")
    assert table["x"] == ["a\r\nb", "c", "d"] and table["y"].tolist() == [1, 2, 3]
    kept = table.where(table["y"] > 1)
    assert (len(kept), kept["x"], [kept.place(row) for row in range(2)]) == (2, ["c", "d"], ["line 5", "line 6"])
    with pytest.raises(OochubError, match=r"t\.csv, line 6: y must be 2, got '3'"):
        kept.add("y", ["2", "3"], RawColumn(codes=["2"]))
    for fault, words in (("a,b,c\n1,2\n", "line 2: 2 fields, but 3"), ('a,b,c\n1,"2,3\n', "line 2: not valid CSV")):
        file.write_text(fault)
        with pytest.raises(OochubError, match=words):
            RawTable.of_csv(file, {"a": RawColumn()})


def test_lines_of_json(tmp_path):
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"a": "one", "b": 2}\n{"a": "two"}\n')
    assert RawTable.of_json_lines(file, {"a": RawColumn()})["a"] == ["one", "two"]
    for content, words in (
        (b'{"a": "x"}\n{"b": "x"}\n', "line 2: the field a is missing"),
        (b'{"a": "x"}\n{"a": 7}\n', "is not UTF-8 JSON with an object in each line"),
        (b'{"a": "\xff"}\n', "is not UTF-8 JSON"),
        (b"", "Empty JSON file"),
    ):
        file.write_bytes(content)
        with pytest.raises(OochubError, match=words):
            RawTable.of_json_lines(file, {"a": RawColumn()})


_WHOLE, _NUMBER = RawColumn(kind="whole"), RawColumn(kind="number")
_FIELDS = [
    *((_WHOLE, value, "must be a whole number, got") for value in (7.0, 7.5, True, "7", None, [7], float("nan"))),
    (_WHOLE, 2**63, "must be a whole number, got 9223372036854775808"),
    (RawColumn(kind="whole", lowest=1, form="in pixels"), 0, "must be a whole number, 1 or more, in pixels, got 0"),
    (RawColumn(kind="whole", codes={3: 3, 6: 6}), 4, "must be 3 or 6, got 4"),
    (RawColumn(kind="whole", is_unique=True), 5, "must be unique, got 5, as in image 1. Remove one."),
    (RawColumn(kind="whole", default=-1), "x", "must be a whole number, got 'x'"),
    *((_NUMBER, value, "must be a finite number, got") for value in ("1", True, None, float("nan"), float("inf"))),
    (_NUMBER, 10**400, "must be a finite number, got 1000"),
    *((RawColumn(), value, "must be text, got") for value in (5, None, ["a"])),
    (RawColumn(pattern="[a-z]+", form="a word"), "A", "must be a word, got 'A'"),
]


@pytest.mark.parametrize(("column", "wrong", "words"), _FIELDS)
def test_a_field_that_is_not_allowed_names_its_object(column, wrong, words, tmp_path):
    right = {"text": "a", "number": 0.5}.get(column.kind, 6 if column.codes else 5)
    content = {"images": [{"id": 1, "x": right}, {"id": 2, "image_id": 9, "x": wrong}]}
    with pytest.raises(OochubError, match=re.escape(words)) as error:
        RawRecords.of(tmp_path / "a.json", content, "images").read("x", column)
    assert f"a.json, image 2 of image 9: x {words[:7]}" in str(error.value)


def test_fields_as_they_are():
    """A field that is left out, or null, is the default, which may stand there more than once; else it is missing."""
    content = json.loads('{"images": [{"x": -3}, {"id": 8}, {"x": null}]}')
    images = RawRecords.of("a.json", content, "images")
    unique = RawColumn(kind="whole", is_unique=True, lowest=-5, default=-9)
    assert images.read("x", unique).tolist() == [-3, -9, -9] and images.read("x", unique).dtype == np.int64
    with pytest.raises(OochubError, match=r"a\.json, image 8: the field x is missing"):
        images.read("x", _WHOLE)
    for wrong in ({}, [], {"images": {}}, {"images": [7]}):
        with pytest.raises(OochubError, match="must have a list 'images' of objects"):
            RawRecords.of("a.json", wrong, "images")
    assert len(RawRecords.of("a.json", {}, "licenses", required=False)) == 0
