"""Py150-wilds: every row against the files as the json and csv modules read them; what is wrong names its row."""

import csv
import json
import re
import shutil

import pytest
from datasets import load_dataset

import oochub
from oochub.metric import TOKEN_KINDS
from oochub.records.build_record import BuildRecord

_FILES = {"train": "train", "id_val": "IDval", "val": "OODval", "id_test": "IDtest", "test": "OODtest"}


@pytest.fixture(scope="module")
def folder(raw):
    return raw("wilds/py150")


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "py150_v1.0")


def test_py150_is_its_files(folder):
    """Next tokens are the inputs moved by one, -100 where the kind is."""
    data = load_dataset("wilds", "py150", data_dir=str(folder))
    assert list(data) == ["train", "val", "test", "id_val", "id_test"]
    with (folder / "metadata" / "repo_file_names" / "repo_ids.csv").open() as file:
        numbers = {row["repo_name"]: int(row["id"]) for row in csv.DictReader(file)}
    first = 0
    for split, name in _FILES.items():
        part = data[split]
        blocks = json.loads((folder / "processed" / f"{name}_input.json").read_text())
        kinds = json.loads((folder / "processed" / f"{name}_input_tok_type.json").read_text())
        paths = (folder / "metadata" / "repo_file_names" / f"{name}.txt").read_text().splitlines()
        for row, block, kind, path in zip(part, blocks, kinds, paths, strict=True):
            repository = "/".join(path.split("/")[:2])
            assert row["example_id"] == str(first)
            assert row["input_ids"] == block[:-1]
            pairs = zip(block[1:], kind[1:], strict=True)
            assert row["tokens"] == [token if of >= 0 else -100 for token, of in pairs]
            assert row["kinds"] == [max(of, -1) for of in kind[1:]]
            assert part.features["environment"].int2str(row["environment"]) == repository
            assert row["group"] == row["environment"] and row["repo"] == numbers[repository]
            assert f"{repository}/{row['path']}" == path
            assert row["from_source_domain"] == (split == "train")
            first += 1
    assert data["train"].features["kinds"].feature.names == list(TOKEN_KINDS)


def _with_json(copy, name, change):
    file = copy / "processed" / name
    rows = json.loads(file.read_text())
    change(rows)
    file.write_text(json.dumps(rows))


def _set(row, place, value):
    def change(rows):
        rows[row][place] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *(
            ("train_input.json", _set(3, 5, value), f"row 3: token 5 must be in 0..50000, the vocabulary of Py150-wilds, got {value}")  # noqa: E501
            for value in (-4, 50_001, None, float("nan"), 2**31, 17.0, True)
        ),
        ("train_input.json", lambda rows: [row.clear() for row in rows], "row 0: rows must be lists of one length"),
        (
            "train_input.json", lambda rows: rows[2].pop(),
            "row 2: rows must be lists of one length, 256, got 255 numbers",
        ),
        ("train_input.json", lambda rows: rows.pop(), "train.txt has 96 rows"),
        ("train_input.json", list.clear, "is not a list of rows, or is empty"),
        ("OODval_input_tok_type.json", _set(1, 9, 7), "row 1: token 9 must be 0 (class), 1"),
        ("OODval_input_tok_type.json", _set(1, 9, -1), "or -100 (masked), got -1"),
        ("IDval_input.json", lambda rows: [row.pop() for row in rows], "a row has 255 tokens, but 256"),
        ("IDval_input_tok_type.json", lambda rows: [row.pop() for row in rows], "has 24 rows of 255 tokens, but"),
        ("IDval_input_tok_type.json", lambda rows: rows.pop(), "tok_type.json has 23 rows"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named(copy, name, change, message):
    _with_json(copy, name, change)
    with pytest.raises(oochub.OochubError, match=re.escape(message)):
        load_dataset("wilds", "py150", data_dir=str(copy))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "OODtest.txt", "nobody/nothing/a.py",
            "OODtest.txt, line 2: a path must begin with a repository of repo_ids.csv",
        ),
        ("OODtest.txt", "setup.py", "repo_ids.csv, owner/name, got 'setup.py'"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(copy, file, text, message):
    place = copy / "metadata" / "repo_file_names" / file
    lines = place.read_text().splitlines()
    lines[1] = text
    place.write_text("\n".join(lines) + "\n")
    with pytest.raises(oochub.OochubError, match=re.escape(message)):
        load_dataset("wilds", "py150", data_dir=str(copy))


def test_a_missing_file_is_named(copy):
    (copy / "processed" / "IDtest_input_tok_type.json").unlink()
    with pytest.raises(oochub.OochubError, match=r"lacks py150_v1.0/processed/IDtest_input_tok_type.json"):
        load_dataset("wilds", "py150", data_dir=str(copy))


def test_a_file_of_two_splits_is_counted(copy):
    """The same path in training and in the test of other repositories, which takes nothing from what is known."""
    place = copy / "metadata" / "repo_file_names"
    path = (place / "train.txt").read_text().splitlines()[0]
    lines = (place / "IDtest.txt").read_text().splitlines()
    (place / "IDtest.txt").write_text("\n".join([path, *lines[1:]]) + "\n")
    notes = BuildRecord.of(load_dataset("wilds", "py150", data_dir=str(copy))["train"].info).notes
    assert f"files listed more than once: 1, such as {path}" in notes
