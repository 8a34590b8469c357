"""Sides by contexts that nobody labelled: decided on rows that do not prove, the same as those of a named column."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from repair_rows_by_hand import predictions_by_hand

from oochub.records.build_record import FoundContexts
from oochub.records.output_columns import make_vectors
from oochub.repairs.repair_data import add_found_sides

SIZES = {"train": (90, 30), "validation": (60, 30), "test": (60, 60)}


@pytest.fixture(scope="module")
def found():
    """The contexts sea and land of `predictions_by_hand` as found ones, and a third that goes with nothing."""
    made = predictions_by_hand(SIZES)
    rng = np.random.default_rng(5)
    lists = [
        [("sea", "land").index(name), *([2] if rng.random() < 0.5 else [])] for name in made.column("context").tolist()
    ]
    train = made.split == "train"
    rows = made.rows.without(["context", "group", "challenge"])
    rows = rows.with_column("contexts", pa.array(lists, pa.list_(pa.int64())))
    rows = rows.with_column("chosen_on", pa.array(train))
    names, classes = ("sea", "land", "dark"), ("cat", "dog")
    train_of = [train & (made.label == c) for c in (0, 1)]
    counts = {
        name: {label: sum(k in lists[row] for row in np.flatnonzero(train_of[c])) for c, label in enumerate(classes)}
        for k, name in enumerate(names)
    }
    facts = FoundContexts(
        way="properties",
        names=names,
        words=names,
        chosen_rows=int(train.sum()),
        class_rows={label: int(train_of[c].sum()) for c, label in enumerate(classes)},
        class_counts=counts,
        settings={},
        model=None,
    )
    known = replace(made.metadata, facts=replace(made.metadata.facts, found_contexts=facts))
    return made, replace(made, rows=rows, metadata=known)


def test_found_contexts_give_the_sides_of_the_named_ones(found):
    """Sea and land matter, dark does not; each row is on the side that the column of contexts says."""
    named, made = found
    sides = add_found_sides(made, made.split == "test", seen=made.split == "train")
    assert set(sides.contexts) == {"sea", "land"} and sides.tested >= 2
    assert (sides.predictions.column("challenge") == named.column("challenge")).all()
    assert sides.predictions.metadata.facts.usual_contexts == {"cat": ("sea",), "dog": ("land",)}
    assert sides.predictions.column("group")[0].startswith("cat/sea")


def test_answers_of_rows_that_prove_are_not_looked_at(found):
    """All their answers turned: the same contexts and sides. Planted fault seen: every row asked."""
    _, made = found
    proves = made.split == "test"
    logits = made.logits.copy()
    logits[proves] = -logits[proves] * np.where(made.column("label")[proves][:, None] == 1, 9, 1)
    table = made.table
    turned = made.with_table(table.set_column(table.column_names.index("logits"), "logits", make_vectors(logits)))
    before, after = (add_found_sides(each, proves, seen=made.split == "train") for each in (made, turned))
    assert before.contexts == after.contexts
    assert (before.predictions.column("challenge") == after.predictions.column("challenge")).all()


def test_a_model_that_no_context_matters_to(found):
    """The predictions stay as they are."""
    _, made = found
    table = made.table
    right = make_vectors(np.eye(2, dtype=np.float32)[made.label] * 4)
    fair = made.with_table(table.set_column(table.column_names.index("logits"), "logits", right))
    sides = add_found_sides(fair, fair.split == "test", seen=fair.split == "train")
    assert sides.contexts == () and sides.predictions is fair
