"""Rows with found contexts: their sides, and the few that a page shows, against loops over rows."""

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from found_rows import CLASSES, NAMES, SIGNS, predictions_of, rows

from oochub.errors import OochubError
from oochub.prediction.context_roles import RowsWithContexts
from oochub.prediction.predictions import Predictions


def looped(made, context):
    """(usual, against): the tested rows of each class, in the order of the digests of "test/<row>"."""
    place, sides = NAMES.index(context), ({name: [] for name in CLASSES}, {name: [] for name in CLASSES})
    order = sorted(range(len(made["label"])), key=lambda row: hashlib.sha256(f"test/{row}".encode()).digest()[:8])
    for row in order:
        name = CLASSES[made["label"][row]]
        if not made["chosen_on"][row] and made["contexts"][row] is not None and SIGNS[context][name]:
            is_usual = (place in made["contexts"][row]) == (SIGNS[context][name] == 1)
            sides[0 if is_usual else 1][name].append(row)
    return sides, order


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("context", NAMES)
def test_rows_shown_are_those_of_a_loop(seed, context):
    made = rows(seed=seed)
    tested = RowsWithContexts.of(predictions_of(made))
    number = NAMES.index(context)
    (usual, against), order = looped(made, context)
    sides = tested.sides(number)
    assert set(tested.rows[sides == 1]) == {row for several in usual.values() for row in several}
    assert set(tested.rows[sides == -1]) == {row for several in against.values() for row in several}
    weight = {
        name: len(usual[name]) * len(against[name]) / max(len(usual[name]) + len(against[name]), 1) for name in CLASSES
    }
    seats = dict.fromkeys(CLASSES, 0)
    for _ in range(5):
        best = max(CLASSES, key=lambda name: weight[name] / (seats[name] + 1))
        seats[best] += 1
    expected = [
        sorted((row for name in CLASSES for row in side[name][: seats[name]]), key=order.index)
        for side in (usual, against)
    ]
    assert [own.tolist() for own in tested.shown(number)] == expected
    assert [len(own) for own in expected] == [5, 5]


def test_rows_that_are_neither_to_choose_nor_to_test_are_not_tested():
    """`chosen_on` is null on the train rows of data chosen on half of the others: they were trained on."""
    made = rows()
    both = predictions_of(made | {"chosen_on": [None if row % 3 == 0 else row % 3 == 1 for row in range(600)]})
    tested = RowsWithContexts.of(both)
    assert tested.rows.tolist() == [row for row in range(600) if row % 3 == 2 and made["contexts"][row] is not None]


def test_answers_change_no_row_that_is_shown():
    made = rows()
    before = RowsWithContexts.of(predictions_of(made)).shown(0)
    turned = made | {"answer": (made["answer"] + 1) % 3}
    assert all(map(np.array_equal, before, RowsWithContexts.of(predictions_of(turned)).shown(0)))


def test_classes_on_one_side_alone_are_shown_all_the_same():
    """No class has rows on both sides: nothing is compared, and the first rows of each side are shown."""
    made = rows(40)
    made["contexts"] = [[0] for _ in range(40)]
    usual, against = RowsWithContexts.of(predictions_of(made)).shown(0)
    assert (len(usual), len(against)) == (5, 5)
    assert set(made["label"][usual]) == {0} and set(made["label"][against]) == {1}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("contexts", [["grass"], ["gras"]]),
        ("contexts", [["grass"], [None]]),
        ("contexts", [[0], [2]]),
        ("contexts", [[0], [-1]]),
        ("contexts", [[0.5], [1.0]]),
        ("contexts", ["grass", "sand"]),
        ("chosen_on", [1, 0]),
    ],
)
def test_columns_that_are_not_those_found_are_refused(column, values):
    """Planted faults seen: numbers that are not looked at; unknown names taken for the first context."""
    made = predictions_of(rows(10))
    table = made.table.slice(0, 2).set_column(made.column_names.index(column), column, pa.array(values))
    broken = Predictions(table, replace(made.metadata, rows={"test": 2}))
    with pytest.raises(OochubError, match=r"contexts.*Find contexts again with `oochub contexts`"):
        RowsWithContexts.of(broken)


def test_rows_without_found_contexts_have_none():
    assert RowsWithContexts.of(Predictions.from_arrays(logits=np.eye(3), label=[0, 1, 2])) is None
