"""No example twice in a split, in little memory: a number a row, and the names where two numbers agree."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from oochub.errors import OochubError
from oochub.prediction import check_rows
from oochub.prediction.predictions import Predictions


def _made(ids: list[str], splits: list[str]) -> Predictions:
    return Predictions.from_arrays(logits=np.zeros((len(ids), 2)), label=[0] * len(ids), example_id=ids, split=splits)


@pytest.mark.parametrize("together", [3, 1 << 13])
def test_an_example_that_occurs_twice_is_found_in_whatever_block(together, monkeypatch):
    """The same id in two splits is two examples. Fault planted: blocks looked at alone."""
    monkeypatch.setattr(check_rows, "_TOGETHER", together)
    ids = [str(row) for row in range(10)]
    assert len(_made(ids * 2, ["test"] * 10 + ["validation"] * 10)) == 20
    with pytest.raises(OochubError, match=r"^1 examples occur twice, first 2 in split test"):
        _made([*ids, "2"], ["test"] * 11)
    with pytest.raises(OochubError, match=r"^2 examples occur twice, first 9 in split test"):
        _made([*ids, "9", "0"], ["test"] * 12)


def test_equal_numbers_of_unlike_names_are_no_examples_twice(monkeypatch):
    """Fault planted: an error for every two equal numbers."""
    alike = SimpleNamespace(hash_pandas_object=lambda block, index: pd.Series(np.zeros(len(block), np.uint64)))
    monkeypatch.setattr(check_rows.pd, "util", alike)
    assert len(_made(["a", "b", "c"], ["test"] * 3)) == 3
    with pytest.raises(OochubError, match=r"^1 examples occur twice, first a"):
        _made(["a", "b", "a"], ["test"] * 3)
