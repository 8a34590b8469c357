"""CSV for spreadsheets: no text of somebody else's is a formula there, and every number is a number still."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from oochub.storage.artifacts import format_csv

FORMULAS = ("=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\uff1d1")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text(text):
    """As a cell, as the name of a column, in a column of categories, beside a number."""
    columns = {"model": [text, "a=b"], text: [1, 2], "group": pd.Categorical([text, "sea"]), "any": [text, -1]}
    head, *rows = csv.reader(io.StringIO(format_csv(pd.DataFrame(columns)), newline=""))
    assert head == ["model", f"'{text}", "group", "any"]
    assert rows == [[f"'{text}", "1", f"'{text}", f"'{text}"], ["a=b", "2", "sea", "-1"]]


def test_no_line_of_a_text_begins_a_row():
    """A carriage return in a text is written by Python as it is, and begins a row in a spreadsheet."""
    text = format_csv(pd.DataFrame({"model": ["\r=1", "a\r=1", "a\r\n=1"], "n": [1, 2, 3]}))
    assert text == 'model,n\n"\'\n=1",1\n"a\n=1",2\n"a\n=1",3\n'


def test_all_else_is_as_pandas_writes_it():
    numbers = pd.DataFrame(
        {"gap": [-0.1, np.nan], "n": [-3, 4], "is": [True, False], "words": ["a,b", None], "object": [None, -1]}
    )
    assert format_csv(numbers) == numbers.to_csv(index=False)
    assert format_csv(numbers.astype(object)) == numbers.astype(object).to_csv(index=False)
