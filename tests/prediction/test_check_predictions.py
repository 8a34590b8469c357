"""No example twice in a split, in little memory: a number a row, and the names where two numbers agree."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hang_watch import no_hang

from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import EvaluationColumns
from oochub.prediction import check_predictions
from oochub.prediction.predictions import Predictions


def _made(ids: list[str], splits: list[str]) -> Predictions:
    return Predictions.from_arrays(logits=np.zeros((len(ids), 2)), label=[0] * len(ids), example_id=ids, split=splits)


@pytest.mark.parametrize("together", [3, 1 << 13])
def test_an_example_that_occurs_twice_is_found_in_whatever_block(together, monkeypatch):
    """The same id in two splits is two examples. Fault planted: blocks looked at alone."""
    monkeypatch.setattr(check_predictions, "_TOGETHER", together)
    ids = [str(row) for row in range(10)]
    assert len(_made(ids * 2, ["test"] * 10 + ["validation"] * 10)) == 20
    with pytest.raises(OochubError, match=r"^1 examples occur twice, first 2 in split test"):
        _made([*ids, "2"], ["test"] * 11)
    with pytest.raises(OochubError, match=r"^2 examples occur twice, first 9 in split test"):
        _made([*ids, "9", "0"], ["test"] * 12)


def test_equal_numbers_of_unlike_names_are_no_examples_twice(monkeypatch):
    """Fault planted: an error for every two equal numbers."""
    alike = SimpleNamespace(hash_pandas_object=lambda block, index: pd.Series(np.zeros(len(block), np.uint64)))
    monkeypatch.setattr(check_predictions.pd, "util", alike)
    assert len(_made(["a", "b", "c"], ["test"] * 3)) == 3
    with pytest.raises(OochubError, match=r"^1 examples occur twice, first a"):
        _made(["a", "b", "a"], ["test"] * 3)


SWAPPED = {
    "one split": [("test", str(row)) for row in range(40)],
    "two splits, ids numbered through": [("test" if row < 20 else "val", f"img {row}") for row in range(40)],
    "a large split and a small one, ids numbered in each": [
        (fold, str(row)) for fold, n in (("first", 30), ("second", 9)) for row in range(n)
    ],
    "five splits of a benchmark, ids numbered in each": [
        (split, str(row)) for split in ("train", "val", "id_val", "test", "id_test") for row in range(12)
    ],
    "three rows": [("test", "a"), ("test", "b"), ("validation", "a")],
}
"""Of each row what stands in the column of ids and what in that of splits."""


def _frame(rows: list[tuple[str, str]]) -> pd.DataFrame:
    ids, splits = map(list, zip(*rows, strict=True))
    return pd.DataFrame({"example_id": ids, "split": splits, "logits": [[1.0, 0.0]] * len(ids), "label": 0})


@pytest.mark.parametrize("rows", SWAPPED.values(), ids=SWAPPED)
def test_swapped_columns_of_ids_and_splits_are_refused(rows, tmp_path):
    """Seen: scored as 40 splits of one row, the last of which was reported."""
    splits, ids = len({split for _, split in rows}), len({each for each, _ in rows})
    words = rf"split has {splits} values in {len(rows)} rows, and example_id {ids}: were the two columns swapped\?"
    with pytest.raises(OochubError, match=words):
        Predictions.from_pandas(_frame(rows))
    honest = _frame(rows).rename(columns={"example_id": "split", "split": "example_id"})
    file = Predictions.from_pandas(honest).save(tmp_path / "honest.parquet")
    table = pq.read_table(file)
    names = [{"example_id": "split", "split": "example_id"}.get(name, name) for name in table.column_names]
    known = json.loads(table.schema.metadata[b"oochub"]) | {"rows": {split: 0 for _, split in rows}}
    said = {b"oochub": json.dumps(known).encode()}
    pq.write_table(table.rename_columns(names).replace_schema_metadata(said), tmp_path / "swapped.parquet")
    with pytest.raises(OochubError, match=rf"swapped\.parquet: {words}"):
        Predictions.load(tmp_path / "swapped.parquet")


HONEST = {
    "a row in each of two splits": [("0", "test"), ("1", "val")],
    "one example in ten splits": [("cat.jpg", f"noise {level}") for level in range(10)],
    "five images under twenty corruptions": [(f"{k}.jpg", f"blur {level}") for k in range(5) for level in range(20)],
    "a split for each row, as of leaving one out": [(str(row), f"fold {row}") for row in range(40)],
    "a name a row, and one split": [(str(row), "test") for row in range(40)],
    "WILDS' splits, ids numbered in each": [
        (str(row), split) for split in ("train", "val", "id_val", "test", "id_test") for row in range(5)
    ],
    "an example with the name of a split": [("test", "new"), ("img 1", "new"), ("img 2", "new")],
    "examples with the names of splits": [("test", "test"), ("train", "test"), ("dev", "test")],
    "splits of few rows": [(str(row), split) for split in ("train", "val", "id_val", "test") for row in range(3)],
}


@pytest.mark.parametrize("rows", HONEST.values(), ids=HONEST)
def test_honest_ids_and_splits_are_taken(rows):
    """Fault planted: an error wherever there are more splits than ids."""
    assert len(Predictions.from_pandas(_frame(rows))) == len(rows)


@pytest.mark.parametrize(
    "place", ["example_id", "split", "group", "class_names", "model", "config", "benchmark", "own"]
)
def test_names_as_long_as_books_are_refused(place):
    """A cell of 20 MB that became a name is said in a moment, in few words. Seen: minutes at work on a page of it."""
    book = "lorem ipsum, " * 1_600_000
    given = {"logits": np.zeros((3, 2)), "label": [0, 1, 0], "model": "m", "config": "c", "benchmark": "custom"}
    if place in ("model", "config", "benchmark"):
        given[place] = book
    elif place == "own":
        given[book] = [1, 2, 3]
    else:
        given[place] = [book, "b"] if place == "class_names" else [book, "b", "c"]
    with (
        no_hang(place),
        pytest.raises(OochubError, match="may have at most 2,000 characters, got one of 20,8") as error,
    ):
        Predictions.from_arrays(**given)
    assert len(str(error.value)) < 300


def test_a_long_text_of_an_auxiliary_column_is_read_as_it_is():
    """Beside short ones, each in its own length. Seen: an array in which every row has the longest."""
    texts = ["x" * 2_000_000, *map(str, range(2000))]
    made = Predictions.from_arrays(logits=np.zeros((2001, 2)), label=[0] * 2001, caption=texts)
    column = EvaluationColumns(made, {})["caption"]
    assert column.tolist() == texts and list(column.categories) == sorted(texts)
