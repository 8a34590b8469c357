"""The three parts of the rows: no row in two, prove is test, clusters stay whole, trained rows never prove."""

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from repair_rows_by_hand import predictions_by_hand, rows_by_hand

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import PredictedBy, Training
from oochub.repairs.repair_data import (
    RepairRows,
    check_sides,
    count_parts,
    describe_left_out,
    divide_rows,
    find_trained_splits,
)


def everything(parts):
    return np.concatenate([parts.fit, parts.choose, parts.prove])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "sizes",
    [
        {"train": (90, 10), "validation": (20, 4), "test": (30, 30)},
        {"train": (90, 10), "test": (30, 30)},
        {"train": (90, 10), "validation": (60, 60)},
        {"all": (90, 30)},
        {"test": (90, 30)},
    ],
    ids=lambda sizes: "+".join(sizes),
)
def test_no_row_is_in_two_parts(sizes, seed):
    """Planted fault seen: rows that choose were left in the part that proves."""
    rows = rows_by_hand(sizes)
    parts = divide_rows(rows, trained=["train"] if len(sizes) > 1 else [], seed=seed)
    assert sorted(everything(parts)) == list(range(len(rows.label)))
    assert not parts.seen[parts.prove].any()
    if "test" in sizes and len(sizes) > 1:
        assert set(rows.split[parts.prove]) == {"test"} and "test" not in rows.split[parts.fit]
    for numbers in (parts.fit, parts.choose, parts.prove):  # its share of every class on every side
        assert len(np.unique(rows.groups["side"][numbers])) == 4


def test_halves_of_each_class_on_each_side():
    """By hand: 90 + 20 usual and 10 + 4 unusual rows of a class fit or choose, one half each."""
    rows = rows_by_hand({"train": (90, 10), "validation": (20, 4), "test": (5, 5)})
    parts = divide_rows(rows, trained=["train"])
    for cell in range(4):
        counts = [int((rows.groups["side"][numbers] == cell).sum()) for numbers in (parts.fit, parts.choose)]
        assert counts == ([55, 55] if cell % 2 == 0 else [7, 7])


def test_many_unseen_rows_choose_alone():
    """With 40 rows of each cell in validation, half of these choose, and every row of train fits."""
    rows = rows_by_hand({"train": (90, 10), "validation": (50, 40), "test": (5, 5)})
    parts = divide_rows(rows, trained=["train"])
    assert set(rows.split[parts.choose]) == {"validation"} and len(parts.choose) == 90
    few = rows_by_hand({"train": (90, 10), "validation": (50, 39), "test": (5, 5)})
    assert set(few.split[divide_rows(few, trained=["train"]).choose]) == {"train", "validation"}


def test_the_division_is_by_a_hash_of_the_ids():
    """The rank of a row is SHA-256 of seed and id: other rows, or another order of them, move it little or not."""
    rows = rows_by_hand({"train": (40, 10), "test": (5, 5)})
    parts = divide_rows(rows, trained=["train"], seed=3)
    expected = [int.from_bytes(hashlib.sha256(f"repair/3/{unit}".encode()).digest()[:6], "big") for unit in rows.units]
    for cell in range(4):
        mine = [number for number in np.flatnonzero(rows.groups["side"] == cell) if rows.split[number] == "train"]
        chosen = [number for number in mine if number in parts.choose]
        assert chosen == sorted(sorted(mine, key=lambda number: expected[number])[: len(mine) // 2])
    turned = np.arange(len(rows.label))[::-1]
    backwards = type(rows).of(rows.predictions.take(turned))
    again = divide_rows(backwards, trained=["train"], seed=3)
    assert sorted(backwards.units[number] for number in again.choose) == sorted(
        rows.units[number] for number in parts.choose
    )


def test_a_cluster_is_never_divided():
    """Planted fault seen: the hash of the ids in place of the clusters'."""
    rows = rows_by_hand({"all": (120, 40)})
    cluster = np.array([f"c{number // 4}" for number in range(len(rows.label))])
    rows = replace(rows, cluster=cluster, units=cluster.tolist())
    parts = divide_rows(rows, trained=[])
    members = [set(cluster[numbers]) for numbers in (parts.fit, parts.choose, parts.prove)]
    assert all(members) and not (members[0] & members[1] or members[0] & members[2] or members[1] & members[2])


def test_rows_that_the_model_was_trained_on_never_prove():
    """Of train and validation only the second may prove; of train alone nothing is left."""
    rows = rows_by_hand({"train": (90, 10), "validation": (30, 30)})
    parts = divide_rows(rows, trained=["train"])
    assert set(rows.split[parts.prove]) == {"validation"} and len(parts.prove) == 48
    with pytest.raises(OochubError, match="no other rows are there to prove"):
        divide_rows(rows_by_hand({"train": (90, 10)}), trained=["train"])


@pytest.mark.parametrize(
    ("splits", "training", "card", "trained"),
    [
        (("train", "test"), None, (), ("train",)),
        (("train",), None, (), ()),
        (("train",), {"benchmark": "custom", "config": "birds"}, (), ("train",)),
        (("train",), {"benchmark": "custom", "config": "fish"}, (), ()),
        (("train",), None, ("birds",), ("train",)),
        (("validation", "test"), {"benchmark": "custom", "config": "birds"}, (), ()),
    ],
)
def test_what_the_model_was_trained_on(splits, training, card, trained):
    """By its recipe, its card, or the name of the split. Planted fault seen: the card not read."""
    known = replace(
        predictions_by_hand({split: (2, 2) for split in splits}).metadata,
        benchmark="custom",
        config="birds",
        training=None if training is None else Training(data=training),
        model=PredictedBy(id="m", trained_on=card or None),
    )
    assert find_trained_splits(known) == trained


def test_where_the_rows_went_is_counted():
    rows = rows_by_hand({"train": (8, 2), "test": (3, 3)})
    counted = count_parts(rows, divide_rows(rows, trained=["train"]))
    assert [(each.part, each.split, each.rows, each.out, each.is_seen) for each in counted] == [
        ("fit", "train", 10, 2, True),
        ("choose", "train", 10, 2, True),
        ("prove", "test", 12, 6, False),
    ]


def test_a_part_without_a_side_is_refused():
    rows = rows_by_hand({"train": (20, 1), "test": (3, 3)})
    parts = divide_rows(rows, trained=["train"])
    with pytest.raises(OochubError, match="has a context that is unusual for its class"):
        check_sides(rows, parts)


def _images(rows, equal):
    """A digest for the image of each row; rows of a pair (i, j) have the same."""
    digests = [f"{k:032x}" for k in range(len(rows.label))]
    for i, j in equal:
        digests[j] = digests[i]
    return digests


@pytest.mark.parametrize("seed", range(3))
def test_no_image_is_in_two_parts(seed):
    """Every tenth row of validation has the image of one of test, some of train that of validation or test.

    Rows that prove stay, but for those whose image the model was trained on.
    """
    sizes = {"train": (40, 10), "validation": (40, 40), "test": (30, 30)}
    plain = rows_by_hand(sizes)
    of = {name: np.flatnonzero(plain.split == name).tolist() for name in sizes}
    equal = list(zip(of["test"][::10], of["validation"][::10], strict=False))  # 12 of them
    equal += list(zip(of["train"][:4], of["test"][1:5], strict=True))
    equal += list(zip(of["train"][5:8], of["validation"][1:4], strict=True))
    equal += [(of["validation"][k], of["validation"][k + 1]) for k in range(20, 60, 3)]
    digests = _images(plain, equal)
    rows = rows_by_hand(sizes, image_digest=digests)
    parts = divide_rows(rows, trained=["train"], seed=seed)
    images = {name: {digests[k] for k in numbers} for name, numbers in parts.named}
    assert not images["fit"] & images["choose"] and not images["choose"] & images["prove"]
    assert not images["fit"] & images["prove"]
    trained = {digests[k] for k in of["train"]}
    assert not trained & images["prove"]
    assert not trained & {digests[k] for k in parts.choose if not parts.seen[k]}
    assert set(parts.prove) == {k for k in of["test"] if digests[k] not in trained}
    assert len(everything(parts)) + parts.copies == len(rows.label)
    assert f"{parts.copies} rows were left out: the same image" in describe_left_out(parts)[0]


def test_a_set_that_is_proven_on_its_own_images_is_refused():
    """Validation and test of the same images: nothing is left to fit and to choose on."""
    sizes = {"validation": (20, 20), "test": (20, 20)}
    digests = [f"{k % 80:032x}" for k in range(160)]
    with pytest.raises(OochubError, match="160 rows without 80 whose images also stand among the others are too few"):
        divide_rows(rows_by_hand(sizes, image_digest=digests), trained=[])


def test_rows_without_digests_are_divided_as_before():
    rows = rows_by_hand({"train": (90, 10), "test": (30, 30)})
    some = replace(rows, image=np.full(len(rows.label), -1))
    one, other = (divide_rows(each, trained=["train"]) for each in (rows, some))
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(one.named, other.named, strict=True))
    assert one.copies == other.copies == 0 and describe_left_out(one) == ()


def test_rows_of_no_side_are_left_out_and_one_side_is_needed():
    """Of 40 rows those without a challenge; if that is all, it is said how usual contexts are named."""
    given = predictions_by_hand({"test": (10, 10)})
    place = given.table.column_names.index("challenge")
    known = given.column("challenge").tolist()
    for values, kept in (([None] * 15 + known[15:], 25), ([None] * 40, 0)):
        table = given.table.set_column(place, "challenge", pa.array(values, pa.string()))
        rows = Predictions(table, given.metadata)
        if kept:
            assert len(RepairRows.of(rows).label) == kept
        else:
            with pytest.raises(OochubError, match=r"no context is clearly more frequent .* usual="):
                RepairRows.of(rows)
