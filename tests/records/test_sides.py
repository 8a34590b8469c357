"""The three forms of a side, against loops over the rows and cases worked by hand."""

import numpy as np
import pandas as pd
import pytest

from oochub.records.sides import PercentileOfGroups, Rows, WorstOfGroups


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "split": rng.choice(["id_test", "test"], 400),
            "group": rng.choice(["user 3", "user 20", "user 100"], 400),
            "correct": rng.random(400) < 0.7,
        }
    )
    return {name: frame[name].to_numpy() for name in frame}


def test_rows_of_groups_partition_the_rows_of_the_side(columns):
    """Against pandas; planted fault seen: `rows` not put into the order of the sorted names."""
    side = WorstOfGroups(split="test")
    frame = pd.DataFrame(columns)
    expected = {name: part.index.tolist() for name, part in frame[frame["split"] == "test"].groupby("group")}
    assert {name: sorted(rows.tolist()) for name, rows in side.rows_of_groups(columns).items()} == expected
    assert sorted(expected) == list(side.rows_of_groups(columns))


def test_where_leaves_groups_out(columns):
    side = WorstOfGroups(split="test", where={"group": ("user 3", "user 20")})
    assert set(side.rows_of_groups(columns)) == {"user 3", "user 20"}
    assert WorstOfGroups(split="val").rows_of_groups(columns) == {}


def test_overlapping_groups_count_a_row_in_each():
    """A comment may mention several identities, or none; by hand."""
    mentioned = np.array([["male", "black"], [], ["black"], None, ["male"]], dtype=object)
    columns = {"split": np.array(["test"] * 4 + ["train"]), "groups": mentioned}
    rows = WorstOfGroups(split="test", column="groups").rows_of_groups(columns)
    assert {name: each.tolist() for name, each in rows.items()} == {"black": [0, 2], "male": [0]}


def test_groups_may_be_numbers():
    columns = {"split": np.array(["test"] * 3), "group": np.array([7, 100_000, 7])}
    rows = PercentileOfGroups(split="test").rows_of_groups(columns)
    assert {name: each.tolist() for name, each in rows.items()} == {"7": [0, 2], "100000": [1]}


def test_the_worst_of_the_groups(columns):
    side = WorstOfGroups(split="test")
    frame = pd.DataFrame(columns)
    accuracy = [columns["correct"][rows].mean() for rows in side.rows_of_groups(columns).values()]
    of_group = frame[frame["split"] == "test"].groupby("group")["correct"].mean()
    assert side.statistic(accuracy) == pytest.approx(of_group.min())
    assert side.statistic(accuracy, higher_is_better=False) == pytest.approx(of_group.max())


def test_the_tenth_percentile_of_users_is_that_of_wilds():
    """WILDS takes numpy's percentile over users that have rows (amazon_dataset.py); eleven users, by hand."""
    side = PercentileOfGroups(split="test")
    accuracy = [k / 10 for k in range(11)]
    assert side.statistic([*accuracy, float("nan")]) == pytest.approx(0.1)
    assert side.statistic(accuracy, higher_is_better=False) == pytest.approx(0.9)


@pytest.mark.parametrize("kind", [WorstOfGroups, PercentileOfGroups])
def test_without_groups_the_side_is_undefined(kind):
    assert np.isnan(kind(split="test").statistic([])) and np.isnan(kind(split="test").statistic([float("nan")]))


def test_the_forms_say_what_they_are():
    sides = [Rows(name="new", split="test"), WorstOfGroups(split="test"), PercentileOfGroups(split="test")]
    assert [side.form for side in sides] == ["rows", "worst_group", "group_percentile"]
    assert len({side.description for side in sides}) == 3
