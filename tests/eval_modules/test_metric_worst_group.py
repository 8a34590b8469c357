"""Worst group against a loop over groups."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss

from oochub.errors import OochubError
from oochub.eval_modules.metrics.worst_group.worst_group import _WorstGroupState, worst_group
from oochub.stats.estimation import estimate


def by_loop(label, prediction, group, probability):
    each = {}
    for name in sorted(set(group.tolist())):
        rows = group == name
        accuracy = accuracy_score(label[rows], prediction[rows])
        loss = log_loss(label[rows], probability[rows], labels=[0, 1, 2])
        each[name] = (accuracy, loss, int(rows.sum()))
    worst, costly = min(each, key=lambda name: each[name][0]), max(each, key=lambda name: each[name][1])
    return (each[worst][0], worst, each[worst][2]), (each[costly][1], costly, each[costly][2])


KINDS = ["int", "many int", "small int", "negative int", "negative small int", "large int", "string"]


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_loop(kind: str) -> None:
    """More rows than one chunk."""
    rng = np.random.default_rng(0)
    label, prediction, group = rng.integers(0, 3, (3, 70_000))
    group = np.where(rng.random(70_000) < 0.01, 7, group)
    probability = rng.dirichlet(np.ones(3), 70_000)
    group = {
        "int": group,
        "many int": group + 128,
        "small int": group.astype(np.uint8),
        "negative int": group - 5,
        "negative small int": (group - 5).astype(np.int8),
        "large int": group * 10**12,
        "string": np.array([f"group {number}" for number in group]),
    }[kind]
    worst, costly = by_loop(label, prediction, group, probability)
    worst_values = worst_group(label=label, prediction=prediction, group=group, probability=probability)
    assert (worst_values["accuracy"], worst_values["accuracy_group"], worst_values["accuracy_n"]) == worst
    assert worst_values["error_rate"] == pytest.approx(1 - worst[0], abs=1e-15)
    assert (worst_values["error_rate_group"], worst_values["error_rate_n"]) == worst[1:]
    assert worst_values["nll"] == pytest.approx(costly[0], rel=1e-12)
    assert (worst_values["nll_group"], worst_values["nll_n"]) == costly[1:]
    assert type(worst_values["accuracy_group"]) in (int, str)


def test_accuracy_and_nll_may_be_of_different_groups() -> None:
    """By hand: a is wrong once in two and never sure; b is right once in one, with probability 0.1."""
    worst_values = worst_group(
        label=[1, 1, 1], prediction=[1, 0, 1], group=["a", "a", "b"], probability=[0.6, 0.4, 0.1]
    )
    assert (worst_values["accuracy_group"], worst_values["nll_group"]) == ("a", "b")
    assert worst_values["nll"] == pytest.approx(np.log(10))


@pytest.mark.parametrize(
    "group",
    [
        [("bird", "sea"), ("bird", "land"), ("bird", "land")],
        [(0, 1), (0, 0), (0, 0)],
        ["x", 1, 1],
        [True, False, False],
        np.array([True, False, False]),
        np.array([1, 0, 0], dtype=object),
        torch.tensor([1, 0, 0]),
    ],
)
def test_groups_may_be_any_hashable(group: object) -> None:
    worst_values = worst_group(label=[0, 0, 0], prediction=[1, 0, 1], group=group)
    expected = group[0].item() if isinstance(group, torch.Tensor | np.ndarray) and group.dtype != object else group[0]
    assert (worst_values["accuracy"], worst_values["accuracy_group"], worst_values["accuracy_n"]) == (0.0, expected, 1)


def test_a_gap_in_the_numbers_is_no_group() -> None:
    """Group 1 of 0..2 has no rows. Planted fault: its accuracy read as 0."""
    worst_values = worst_group(label=[0, 0], prediction=[0, 0], group=[0, 2])
    assert (worst_values["accuracy"], worst_values["accuracy_n"]) == (1.0, 1)


def test_ties_name_the_larger_group_then_the_first() -> None:
    rows = {"label": [0, 0, 0, 0], "prediction": [0, 1, 0, 1]}
    assert worst_group(**rows, group=["b", "b", "a", "a"])["accuracy_group"] == "a"
    assert worst_group(**rows, group=[10, 10, 9, 9])["accuracy_group"] == 9
    worst_values = worst_group(label=[0] * 5, prediction=[1] * 5, group=["a", "a", "b", "b", "b"])
    assert worst_values["accuracy_group"] == "b"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"group": [0.0, np.nan]}, "group contains NaN"),
        ({"group": np.array([0.0, np.nan])}, "group contains NaN in 1 of 2 rows"),
        ({"group": [[0], [1]]}, "group must hold hashable names"),
        ({"group": np.zeros((2, 2), int)}, r"group must have shape \(n,\)"),
        ({"label": [0, -1]}, "label must be 0 or larger, got -1 at row 1"),
        ({"prediction": [0, -2]}, "prediction must be a class number, or -1 for none of the classes, got -2 at row 1"),
    ],
)
def test_messages(changed: dict[str, object], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        worst_group(**({"label": [0, 1], "prediction": [0, 1], "group": [0, 1]} | changed))


def test_a_bad_label_far_down_is_named_by_its_row() -> None:
    """Planted fault: the row within its chunk."""
    rows = np.arange(70_000)
    for name, bad in (("label", -1), ("prediction", -2)):
        columns = {"label": rows % 2, "prediction": rows % 2} | {name: np.where(rows == 69_000, bad, rows % 2)}
        with pytest.raises(OochubError, match=rf"{name} must be .*, got {bad} at row 69000 \(1 such rows\)"):
            worst_group(**columns, group=rows % 3)


def test_probability_for_some_batches_only_is_an_error() -> None:
    state = _WorstGroupState()
    state.update(label=[0], prediction=[0], group=[0], probability=[0.2])
    with pytest.raises(OochubError, match="for all batches or for none"):
        state.update(label=[0], prediction=[0], group=[0])
    assert state.compute()["accuracy_n"] == 1


def of_wilds(label, prediction, group, groups):
    """As WILDS' code has it for CivilComments: the mean of no row is 0, and no group is left out of the minimum."""
    hits = {name: [t == p for t, p, g in zip(label, prediction, group, strict=True) if g == name] for name in groups}
    return min(sum(hits[name]) / max(len(hits[name]), 1) for name in groups)


@pytest.mark.parametrize("seed", range(20))
def test_the_form_of_wilds_is_that_of_its_code(seed) -> None:
    """Few rows in eight groups, some empty, some of one class. Planted fault: empty groups left out."""
    rng = np.random.default_rng(seed)
    label, prediction = rng.integers(0, 2, (2, 12))
    group, groups = rng.integers(0, int(rng.integers(2, 8)), 12), list(range(7))
    value = worst_group(label, prediction, group, groups=groups, form="wilds")
    assert value["accuracy"] == pytest.approx(of_wilds(label, prediction, group, groups), abs=1e-15)
    assert value["error_rate"] == 1 - value["accuracy"]
    ours = worst_group(label, prediction, group, groups=groups)
    present = sorted(set(group.tolist()))
    assert ours["accuracy"] == pytest.approx(of_wilds(label, prediction, group, present), abs=1e-15)


def test_an_empty_group_of_wilds_has_a_reason_and_no_interval() -> None:
    """Planted fault: empty groups left out."""
    columns = {"label": [1, 0], "prediction": [1, 0], "group": ["a", "a"]}
    columns = {name: np.array(values) for name, values in columns.items()}
    number = estimate(worst_group, columns, options={"groups": ["a", "b"], "form": "wilds"})["accuracy"]
    assert number.value == 0 and np.isnan(number.low) and number.reason == "no row of b, which counts as wrong"
    with pytest.raises(OochubError, match='form must be None or "wilds"'):
        worst_group(**columns, form="Wilds")
