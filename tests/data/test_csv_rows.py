"""Names in CSV files stay what was written; numbers stay numbers; a file that is separated otherwise is named so."""

import csv
import io

import pandas as pd
import pytest

import oochub
from oochub.data.table_rows import CsvFile, read_csv_schema, read_csv_tables
from oochub.errors import OochubError


def _write(path, **columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.mark.parametrize(
    "names",
    [
        ["01", "1"], ["1e0", "1"], ["None", "cat"], ["NA", "FR"], ["True", "false"], ["True", "False"], ["1_0", "10"],
        ["inf", "1"],
    ],
    ids="/".join,
)  # fmt: skip
@pytest.mark.parametrize("role", ["label", "context", pytest.param("group", marks=pytest.mark.slow)])
def test_names_stay_what_was_written(role, names, tmp_path):
    """By Python's own csv: two names, four rows each. Before, they were one class, or missing values."""
    given = [names[k % 2] for k in range(8)]
    columns = {"label": list("abababab"), "context": list("xxyyxxyy"), role: given}
    data = oochub.load(_write(tmp_path / "rows.csv", **columns))["train"]
    feature = data.features[role]
    assert [feature.int2str(number) for number in data[role]] == given
    other = {"species": list("abababab"), "place": list("xxyyxxyy"), "id": given, **{"label": "l", "context": "c"}}
    named = {"label": "species", "context": "place", role: "id"}
    other = {name: values for name, values in other.items() if name in {"id", *named.values()}}
    data = oochub.load(_write(tmp_path / "named.csv", **other), **named)["train"]
    assert [data.features[role].int2str(number) for number in data[role]] == given


def test_whole_numbers_and_numbers_stay_numbers(tmp_path):
    """Labels 0 and 1 are numbers, as before; so is a label of fractions, however it is written."""
    assert oochub.load(_write(tmp_path / "a.csv", label=["0", "1", "12"]))["train"]["label"][:] == [0, 1, 12]
    assert oochub.load(_write(tmp_path / "b.csv", label=["0.50", "1", "2.25"]))["train"]["label"][:] == [0.5, 1, 2.25]
    given = _write(tmp_path / "c.csv", rating=["0.50", "1.5e1", "-.25"])
    assert oochub.load(given, label="rating")["train"]["label"][:] == [0.5, 15, -0.25]
    ids = oochub.load(_write(tmp_path / "d.csv", example_id=["007", "7", "08"], label=["a", "b", "a"]))["train"]
    assert ids["example_id"][:] == ["007", "7", "08"]


def test_other_columns_are_read_as_pandas_does(tmp_path):
    """But codes with leading zeros, and "NA" among words, stay text."""
    columns = {
        "n": ["1", "-2", "3", "4"], "gaps": ["1", "", "NA", "4"], "x": ["1", "2.5", "1e-3", ".5"], "empty": [""] * 4,
        "flag": ["True", "False", "True", "True"], "word": ["a", "b,c", 'd"e', "f\ng"], "missing": ["a", "", "c", "d"],
    }  # fmt: skip
    file = _write(tmp_path / "rows.csv", **columns)
    read = CsvFile("rows.csv", lambda: str(file))
    schema = read_csv_schema([read])
    (table,) = read_csv_tables(read, schema)
    reference = pd.read_csv(file)
    for name in columns:
        ours, theirs = table.column(name).to_pylist(), reference[name].tolist()
        assert ours == [None if pd.isna(value) else value for value in theirs], name
    more = CsvFile("b.csv", lambda: io.BytesIO(b"zip,land\n00123,NA\n0456,DE\n"))
    (table,) = read_csv_tables(more, read_csv_schema([more]))
    assert table.to_pydict() == {"zip": ["00123", "0456"], "land": ["NA", "DE"]}


def test_types_are_those_of_all_files(tmp_path):
    """`1` in the first file and `01` in the second: one column of text; before, the second failed or was changed."""
    folder = tmp_path / "data"
    folder.mkdir()
    _write(folder / "train.csv", label=["1", "2"], n=["1", "2"])
    _write(folder / "test.csv", label=["01", "2"], n=["", "x"])
    data = oochub.load(folder)
    names = data["train"].features["label"].names
    assert names == ["01", "1", "2"]
    assert [names[k] for k in data["test"]["label"]] == ["01", "2"] and data["test"]["n"][:] == [None, "x"]
    _write(folder / "test.csv", label=["01", "2"], m=["", "x"])
    with pytest.raises(OochubError, match=r"test\.csv has the columns label, m, but .*train\.csv label, n"):
        oochub.load(folder)


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_another_separator_is_named(separator, word, tmp_path):
    """Before: no column file_name, or one column that is called `label;place`."""
    text = separator.join(["file_name", "label"]) + "\n" + separator.join(["1.png", "a"]) + "\n"
    (tmp_path / "pets").mkdir()
    (tmp_path / "pets" / "1.png").write_bytes(b"x")
    (tmp_path / "pets" / "metadata.csv").write_text(text)
    with pytest.raises(
        OochubError, match=rf"metadata\.csv is separated by {word}, not by commas: .*Save it with commas"
    ):
        oochub.load(tmp_path / "pets")
    (tmp_path / "rows.csv").write_text(text.replace("file_name", "place"))
    with pytest.raises(OochubError, match=rf"rows\.csv is separated by {word}, .*Pass options="):
        oochub.load(tmp_path / "rows.csv")
    data = oochub.load(tmp_path / "rows.csv", options={"sep": separator})["train"]
    assert data.num_rows == 1 and data.features["label"].names == ["a"]
    (tmp_path / "rows.tsv").write_text("label\tplace\n01\tsea\n")
    assert oochub.load(tmp_path / "rows.tsv")["train"].features["label"].names == ["01"]


def test_a_line_with_more_cells_than_names_is_refused(tmp_path):
    """By pandas, the first column would be row numbers, so that each value moves to the column before its own."""
    (tmp_path / "rows.csv").write_text("label,place\ncat,sea,1\ndog,land,2\n")
    with pytest.raises(OochubError, match="lines with more cells than its header has names"):
        oochub.load(tmp_path / "rows.csv")
