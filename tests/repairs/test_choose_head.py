"""The choice of a head: by the worse side, under the floor, on the rows that choose alone."""

from dataclasses import replace

import numpy as np
import pytest
from repair_rows_by_hand import OWN, rows_by_hand

from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.choose_head import _is_within, _pick, _Score, choose_head
from oochub.repairs.repair_data import divide_rows

SIZES = {"train": (100, 20), "validation": (100, 45), "test": (100, 100)}


@pytest.fixture(scope="module")
def rows():
    return rows_by_hand(SIZES)


@pytest.fixture(scope="module")
def made(rows):
    return choose_head(rows, divide_rows(rows, trained=["train"]), at_most_lost=0.05, seed=0)


def test_the_worse_side_decides(made):
    """The record says of each head what it scores; the chosen one is the best of those that are allowed."""
    before, allowed = made.tried[0], [each for each in made.tried if each.is_allowed]
    assert before.method == "none" and before.outside < 0.2 and before.inside == 1
    assert all(each.is_allowed == (each.inside >= before.inside - 0.05) for each in made.tried)
    assert min(made.chosen.inside, made.chosen.outside) == max(min(each.inside, each.outside) for each in allowed)
    assert made.chosen.outside > 0.9 and sum(each.is_chosen for each in made.tried) == 1


def test_rows_that_prove_are_not_looked_at(rows, made):
    """Other features and labels of the rows that prove: the same head, bit for bit."""
    parts = divide_rows(rows, trained=["train"])
    features, label = rows.features.copy(), rows.label.copy()
    features[parts.prove], label[parts.prove] = 7.0, 1 - label[parts.prove]
    again = choose_head(replace(rows, features=features, label=label), parts, at_most_lost=0.05, seed=0)
    assert np.array_equal(again.head.weight, made.head.weight) and again.tried == made.tried


def test_a_floor_that_nothing_keeps():
    """Classes overlap, so every new head loses in usual contexts; without a loss allowed the model's own is kept."""
    wide = StoredHead(weight=OWN.weight * np.array([0.0, 1.0]), bias=OWN.bias)
    rows = rows_by_hand(SIZES, head=wide)
    noisy = rows.features.copy()
    noisy[:, 0] += np.random.default_rng(1).normal(scale=1.5, size=len(noisy)).astype(np.float32)
    rows, parts = replace(rows, features=noisy), divide_rows(rows, trained=["train"])
    strict = choose_head(rows, parts, at_most_lost=0.0, seed=0)
    free = choose_head(rows, parts, at_most_lost=1.0, seed=0)
    assert free.chosen.method != "none" and free.chosen.outside > free.tried[0].outside + 0.3
    assert free.chosen.inside < free.tried[0].inside
    assert strict.chosen.inside >= strict.tried[0].inside and strict.chosen.outside < free.chosen.outside


def test_it_is_fitted_again_on_both_parts(rows, made):
    """The head is the chosen method's on the rows of both parts, over the temperature."""
    from oochub import catalog
    from oochub.repairs.head_method import HeadRows

    parts = divide_rows(rows, trained=["train"])
    both = np.sort(np.concatenate([parts.fit, parts.choose]))
    both = both[~parts.seen[both]] if made.chosen.rows == "unseen" else both
    own = HeadRows(
        rows.features[both], rows.label[both], rows.groups[made.chosen.groups or "side"][both], 2, rows.predictions.head
    )
    expected = catalog.get("repair", made.chosen.method)(**made.chosen.settings).fit(own, seed=0)
    np.testing.assert_allclose(made.head.weight * made.temperature, expected.weight, rtol=1e-6)
    np.testing.assert_allclose(made.head.bias * made.temperature, expected.bias, rtol=1e-6)
    assert np.abs(expected.bias).min() > 1e-3 and abs(np.log(made.temperature)) > 0.1


def test_unseen_rows_are_tried_alone():
    """If the rows that the model was not trained on suffice to fit on, each method is tried on them too."""
    rows = rows_by_hand({"train": (60, 10), "validation": (50, 45), "test": (20, 20)})
    made = choose_head(rows, divide_rows(rows, trained=["train"]), at_most_lost=0.05, seed=0)
    assert {each.rows for each in made.tried} == {"", "all", "unseen"}


def test_the_temperature_fits_the_rows_that_choose():
    """Of logits ten times too large it is ten; the reference is a search over a grid."""
    from scipy.special import log_softmax

    from oochub.repairs.choose_head import _fit_temperature

    rng = np.random.default_rng(0)
    true = rng.normal(size=(4000, 3)) * 2
    label = np.array([rng.choice(3, p=np.exp(row) / np.exp(row).sum()) for row in log_softmax(true, axis=1)])
    found = _fit_temperature((10 * true).astype(np.float32), label)
    grid = np.geomspace(5, 20, 400)
    loss = [-log_softmax(10 * true / t, axis=1)[np.arange(4000), label].mean() for t in grid]
    assert found == pytest.approx(grid[int(np.argmin(loss))], rel=0.01) and found == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize(
    ("lost", "won", "is_within"),
    [
        (2, 0, True),  # 2 points, and 1.4 of a standard error
        (4, 0, False),  # 4 points, and 2.0
        (3, 0, True),  # 3 points, and 1.7
        (9, 5, False),  # 4 points, and 3.7
        (0, 3, True),
        (0, 0, True),
    ],
)
def test_a_standard_error_is_part_of_what_is_lost(lost, won, is_within):
    """100 rows in context by hand; 5 points are allowed. Planted fault seen: the estimate alone."""
    rows = rows_by_hand({"train": (10, 5), "test": (50, 5)})
    numbers = np.flatnonzero(rows.split == "test")
    inside = np.flatnonzero(~rows.is_out[numbers])
    assert len(inside) == 100
    own, new = np.ones(len(numbers), bool), np.ones(len(numbers), bool)
    new[inside[:lost]] = False
    own[inside[50 : 50 + won]] = False
    assert _is_within(new, own, rows, numbers, at_most_lost=0.05) is is_within


@pytest.mark.parametrize(
    ("gains", "best", "allowed"),
    [
        ((8, 14), 1, [True, True, False]),  # a spare of one error costs less than half of the gain
        ((8, 20), 2, [True, True, True]),  # and here more
        ((0, 6), 2, [True, True, True]),
    ],
)
def test_a_standard_error_to_spare_may_cost_half_of_the_gain(gains, best, allowed):
    """100 rows in context: one head loses 1 of them, another 4. Planted faults seen: always to spare; never."""
    rows = rows_by_hand({"train": (10, 5), "test": (50, 50)})
    numbers = np.flatnonzero(rows.split == "test")
    inside, outside = (np.flatnonzero(rows.is_out[numbers] == out) for out in (False, True))
    scores = []
    for lost, gain in zip((0, 1, 4), (0, *gains), strict=True):
        right = np.ones(len(numbers), bool)
        right[outside[: 50 - gain]] = False
        right[inside[:lost]] = False
        to_spare = _is_within(right, scores[0].right if scores else right, rows, numbers, at_most_lost=0.05)
        scores.append(_Score(1 - lost / 100, 0.5 + gain / 100, 1.0, right, (to_spare, lost <= 5)))
    assert _pick(scores) == (best, allowed)
