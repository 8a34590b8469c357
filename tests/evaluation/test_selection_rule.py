"""Rules as text: read and written alike, and the rows they hold for against masks in numpy."""

import found_rows
import numpy as np
import pytest
from chosen_reports import NAMES, PLACES, snowy_predictions

import oochub
from oochub.data.declaration import find_declaration
from oochub.evaluation.evaluation_rows import make_evaluation_rows
from oochub.evaluation.selection_rule import RowRule

NASTY = ["a=b&c", "50%", "two  words", "..", "ä/ö\u2028", "#", "", "</script>", "+1"]


@pytest.fixture(scope="module")
def rows():
    words = [NASTY[number % len(NASTY)] for number in range(300)]
    return snowy_predictions(300, odd=words, tags=[[word, "all"] for word in words], flag=np.arange(300) % 2 == 0)


@pytest.fixture(scope="module")
def evaluated(rows):
    return make_evaluation_rows(rows, find_declaration(rows))[0]


@pytest.mark.parametrize(
    ("rule", "mask"),
    [
        ("label=dog", lambda p: p.label == 1),
        ("label=dog&label=red+fox", lambda p: p.label >= 1),
        ("answered=cat&outcome=wrong", lambda p: (p.prediction == 0) & (p.label != 0)),
        ("outcome=right", lambda p: p.prediction == p.label),
        ("confidence=0.8..", lambda p: p.probability.max(axis=1) >= 0.8),
        ("confidence=..0.5&confidence=0.9..", lambda p: (p.probability.max(1) <= 0.5) | (p.probability.max(1) >= 0.9)),
        ("age=7..9", lambda p: np.isin(p.column("age"), (7, 8, 9))),
        ("age=7", lambda p: p.column("age") == 7),
        ("context=sea%20ice&age=..20", lambda p: (p.column("context") == PLACES[1]) & (p.column("age") <= 20)),
        ("ids=0-1", lambda p: np.array(["0-1" in each for each in p.column("example_id")])),
        ("flag=yes", lambda p: p.column("flag")),
        ("split=test", lambda p: p.split == "test"),
        ("group=dog/sea%20ice", lambda p: p.column("group") == f"{NAMES[1]}/{PLACES[1]}"),
        ("tags=all", lambda p: np.ones(len(p), bool)),
    ],
)
def test_a_rule_holds_for_the_rows_that_numpy_finds(rows, evaluated, rule, mask):
    found = RowRule.parse(rule).find_rows(evaluated)
    assert np.array_equal(found, mask(rows)) and found.any()


@pytest.mark.parametrize("word", NASTY)
def test_any_name_can_stand_in_a_rule(rows, evaluated, word):
    for column in ("odd", "tags"):
        rule = RowRule({column: (word,), "label": ("cat", "dog")})
        assert RowRule.parse(str(rule)) == rule and "\n" not in str(rule)
        words = np.array([NASTY[number % len(NASTY)] for number in range(300)])
        assert np.array_equal(rule.find_rows(evaluated), (words == word) & (rows.label <= 1))


def test_sides_are_those_of_the_report():
    rows = snowy_predictions(120, challenge=["easy", "hard"] * 60)
    evaluated = make_evaluation_rows(rows, find_declaration(rows))[0]
    assert np.array_equal(RowRule.parse("side=out").find_rows(evaluated), rows.column("challenge") == "hard")
    assert np.array_equal(
        RowRule.parse("side=on%20easy%20rows").find_rows(evaluated), rows.column("challenge") == "easy"
    )
    with pytest.raises(oochub.OochubError, match="No value of side named 'outside'"):
        RowRule.parse("side=outside").find_rows(evaluated)


def test_contexts_that_were_found_are_columns_of_a_rule():
    """With and without one, against the lists themselves; a name that was not found is refused."""
    made = found_rows.predictions_of(found_rows.rows(seed=0))
    evaluated = make_evaluation_rows(made, find_declaration(made))[0]
    name, lists = found_rows.NAMES[1], made.rows.column("contexts").to_pylist()
    has = np.array([name in (each or ()) or 1 in (each or ()) for each in lists])
    known = np.array([each is not None for each in lists]) & (made.label >= 0)
    quoted = RowRule({f"has {name}": ("with",)})
    assert np.array_equal(RowRule.parse(str(quoted)).find_rows(evaluated)[known], has[known]) and has[known].any()
    without = RowRule({f"has {name}": ("without",)}).find_rows(evaluated)
    assert np.array_equal(without[known], ~has[known])
    with pytest.raises(oochub.OochubError, match="No context that was found named 'nowhere'"):
        RowRule.parse("has%20nowhere=with").find_rows(evaluated)


def test_the_worst_group_is_no_side_of_a_rule(evaluated):
    """The answers choose it, so a test on other rows would choose it again, by what it measures."""
    with pytest.raises(oochub.OochubError, match="Name the group, such as group=NAME"):
        RowRule.parse("side=out").find_rows(evaluated)
