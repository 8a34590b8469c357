"""A row of tokens as a line for a reader, by hand."""

import numpy as np
import pytest

import oochub
from oochub import Predictions
from oochub.output import get_output

_WORDS = ("", "name", " = ", "Foo", "(", ")", "\n", "Bar")


def _line(label, prediction, vocabulary=_WORDS):
    arrays = {"label": np.array([label]), "prediction": np.array([prediction])}
    return get_output("tokens").line(arrays, 0, vocabulary)


@pytest.mark.parametrize(
    ("label", "prediction", "line"),
    [
        ([1, 2, 3, 4, 5, 6], [1, 2, 7, 4, 5, 6], "name = ⟦Foo, said Bar⟧ () ⏎"),
        ([3, -100, 4, 5, -100], [3, 7, 5, 5, -1], "Foo ⟦(, said )⟧ )"),  # nobody asks for the second
        ([3, 99], [3, 98], "Foo ⟦99, said 98⟧"),  # numbers that the vocabulary has not
        ([1, 1, 4, 4, 5, 5, 1, 2, 3], [1, 1, 4, 4, 5, 5, 1, 2, 7], "… (())name = ⟦Foo, said Bar⟧"),
    ],
)
def test_wrong_tokens_stand_in_brackets(label, prediction, line):
    """Planted and seen: tokens that nobody asks for; truth and answer exchanged; the line from its beginning."""
    assert _line(label, prediction) == line


def test_a_long_line_ends_soon():
    """Planted and seen: all tokens of the row."""
    line = _line([3] * 1000, [7] * 1000)
    assert 280 < len(line) < 345 and line.endswith("⟦Foo, said Bar⟧ …")


def test_a_page_marks_the_wrong_tokens_of_its_worst_rows():
    """Answers of somebody else, whose tokens have no names. Planted and seen: truth and answer exchanged."""
    rows = {"predicted_tokens": [[5, 6, 7]] * 3, "tokens": [[5, 8, 7], [5, 6, 7], [5, 6, 9]], "kinds": [[0, 1, 2]] * 3}
    report = oochub.evaluate(Predictions.from_arrays(**rows), resamples=100)
    assert {mistake.text for mistake in report.mistakes} == {"5 ⟦8, said 6⟧ 7", "5 6 ⟦9, said 7⟧"}
    page = report.to_html()
    assert "<mark>8, said 6</mark>" in page and "<mark>9, said 7</mark>" in page and "⟦" not in page
    code = Predictions.from_arrays(**rows, text=["⟦<b>⟧ & <i>"] * 3)
    assert "<mark>&lt;b&gt;</mark> &amp; &lt;i&gt;" in oochub.evaluate(code, resamples=100).to_html()
