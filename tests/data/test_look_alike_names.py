"""Names that look alike are kept apart and said, or merged on request; labels of -1 stand for no class."""

from collections import Counter

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oochub
from oochub.data.user_columns import find_look_alikes
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord

PLACES = ["snow"] * 4 + ["snow "] * 2 + ["Snow"] + ["caf\u00e9"] * 2 + ["cafe\u0301"] + ["sand"] * 2


def _notes(data):
    return BuildRecord.of(next(iter(data.values())).info).notes


def _table(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_names_that_look_alike_are_said_and_merged_on_request(tmp_path):
    """Counts by hand: snow 4, "snow " 2, Snow 1; two forms of one letter, 2 and 1. Before, six contexts and no word."""
    file = _table(tmp_path / "rows.parquet", label=list("ababababbaba"), place=PLACES)
    apart = oochub.load(file, context="place")
    assert len(apart["train"].features["context"].names) == 6
    (note,) = [each for each in _notes(apart) if "look alike" in each]
    assert "'snow' and 'snow '" in note and "'caf\\xe9'" in note and "merge_names=True" in note
    merged = oochub.load(file, context="place", merge_names=True)
    names = merged["train"].features["context"].names
    assert Counter(names[k] for k in merged["train"]["context"]) == {"snow": 7, "caf\u00e9": 3, "sand": 2}
    assert any("look alike are one" in each and "as 'snow'" in each for each in _notes(merged))
    assert set(merged["train"].features["group"].names) == {f"{a}/{b}" for a in "ab" for b in names}


def test_labels_groups_and_classes_are_merged_too(tmp_path):
    file = _table(tmp_path / "rows.parquet", label=["cat", "Cat", "dog", "cat"], group=["x", "x ", "y", "x"])
    data = oochub.load(file, merge_names=True)["train"]
    assert (data.features["label"].names, data["label"][:]) == (["cat", "dog"], [0, 0, 1, 0])
    assert (data.features["group"].names, data["group"][:]) == (["x", "y"], [0, 0, 1, 0])
    assert find_look_alikes(["stra\u00dfe", "strasse", "STRASSE"]) == [["stra\u00dfe", "strasse", "STRASSE"]]
    assert find_look_alikes(["0", "1", "10"]) == []


@pytest.mark.parametrize("form", ["classes", "numbers", "text"])
def test_hidden_labels_of_minus_one_are_no_class(form, tmp_path):
    """Before: "names of classes or contexts contain slashes", also for `split="train"`.

    By hand: in train a is usual on x, b on y; the test rows have no group and no challenge.
    """
    label = {"classes": [0, 0, 1, 1, 0], "numbers": [3, 3, 5, 5, 3], "text": ["a", "a", "b", "b", "a"]}[form] * 10
    place = ["x", "x", "y", "y", "y"] * 10
    kind = datasets.ClassLabel(names=["a", "b"]) if form == "classes" else None
    features = datasets.Features({"label": kind, "context": datasets.Value("string")}) if kind else None
    none = "-1" if form == "text" else -1
    train = datasets.Dataset.from_dict({"label": label, "context": place}, features)
    test = datasets.Dataset.from_dict({"label": [none] * 3, "context": ["x", "y", "x"]}, features)
    datasets.DatasetDict(train=train, test=test).save_to_disk(tmp_path / "rows")
    data = oochub.load(tmp_path / "rows")
    assert data["test"]["label"][:] == data["test"]["group"][:] == data["test"]["challenge"][:] == [-1] * 3
    names = data["train"].features["challenge"].names
    assert [names[k] == "easy" for k in data["train"]["challenge"]] == ([True] * 4 + [False]) * 10
    assert "the label is -1, no class, in 3 of test: these rows have no group and no challenge" in _notes(data)
    assert oochub.load(tmp_path / "rows", split="train")["train"].num_rows == 50
    assert len(data["train"].features["group"].names) == 3


def test_contexts_of_numbers_and_dates(tmp_path):
    """A few values that come back are names; one that differs in most rows is refused as before."""
    days = pa.array([1, 1, 2, 2, 1, 2], pa.date32())
    times = days.cast(pa.timestamp("us"))
    for name, values, expected in (
        ("rows", pa.array([0.5, 0.5, 1.25, 1.25, 0.5, 1.25]), ["0.5", "1.25"]),
        ("days", days, ["1970-01-02", "1970-01-03"]),
        ("times", times, ["1970-01-02", "1970-01-03"]),
        ("decimals", pa.array([1, 1, 2, 2, 1, 2], pa.decimal128(4, 1)), ["1.0", "2.0"]),
        ("views", pa.array(list("uuvvuv"), pa.string_view()), ["u", "v"]),
        ("words", pa.array(list("uuvvuv")).dictionary_encode(), ["u", "v"]),
    ):
        file = _table(tmp_path / f"{name}.parquet", label=pa.array(list("ababab"), pa.string_view()), place=values)
        data = oochub.load(file, context="place")["train"]
        assert data.features["context"].names == expected and data.features["label"].names == ["a", "b"]
    file = _table(tmp_path / "many.parquet", label=list("ababab"), place=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    with pytest.raises(OochubError, match="continuous numbers"):
        oochub.load(file, context="place")
