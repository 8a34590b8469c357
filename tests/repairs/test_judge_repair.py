"""The outcome of a repair: each case by hand, and the rows that would be needed by simulation."""

import math

import numpy as np
import pytest
from repair_rows_by_hand import OWN, rows_by_hand

from oochub.prediction.predictions_file import StoredHead
from oochub.records.output_columns import make_vectors
from oochub.records.report_records import ComparedNumber
from oochub.repairs.prove_repair import judge_proof, judge_without_gap, measure_gap, measure_gap_on_unseen
from oochub.repairs.repair_data import divide_rows
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import paired_shares


def number(value, low, high, n=100):
    change = Estimate(value, low=low, high=high, n=n, method="")
    return ComparedNumber(first=change, second=change, difference=change, p_value=1.0, test="")


@pytest.mark.parametrize(
    ("inside", "outside", "outcome"),
    [
        ((0.0, -0.02, 0.02), (0.1, 0.01, 0.2), "better"),
        ((-0.05, -0.09, -0.01), (0.1, 0.01, 0.2), "better"),  # the floor is of the estimate
        ((-0.051, -0.09, -0.01), (0.3, 0.2, 0.4), "not_shown"),
        ((0.0, -0.02, 0.02), (0.1, 0.0, 0.2), "no_worse"),  # an interval that ends at 0 shows nothing
        ((0.0, -0.02, 0.02), (0.01, -0.04, 0.06), "no_worse"),
        ((0.0, -0.06, 0.06), (0.01, -0.04, 0.06), "not_shown"),
        ((0.0, -0.02, 0.02), (0.01, -0.06, 0.08), "not_shown"),
        ((0.0, -0.02, 0.02), (-0.1, -0.2, -0.05), "not_shown"),
        ((0.0, -0.02, 0.02), (0.1, math.nan, math.nan), "not_shown"),
    ],
)
def test_each_case_by_hand(inside, outside, outcome):
    """Planted faults seen: the floor left out; "better" at an interval that ends at 0."""
    assert judge_proof(number(*inside), number(*outside), at_most_lost=0.05).outcome == outcome


@pytest.mark.parametrize(
    ("gap", "outcome", "says"),
    [
        ((-0.02, -0.04, 0.01), "nothing_to_repair", "smaller than 5 points"),
        ((-0.03, -0.04, -0.02), "nothing_to_repair", "smaller than 5 points"),
        ((-0.02, -0.06, 0.01), "not_shown", "is not shown that the model does worse"),
        ((-0.2, -0.3, -0.1), "not_shown", "too few fitting and selection rows to show it there"),
        ((0.1, 0.05, 0.2), "nothing_to_repair", "smaller"),
        ((math.nan, math.nan, math.nan), "not_shown", "is not shown"),
    ],
)
def test_why_a_model_is_left_as_it_is(gap, outcome, says):
    gap = Estimate(gap[0], low=gap[1], high=gap[2], n=9, method="")
    made = judge_without_gap(gap, out=50, at_most_lost=0.05)
    assert made.outcome == outcome and says in made.reason


def test_so_many_rows_show_it_in_four_of_five_samples():
    """Of a true difference of 10 points, 30 of 100 rows against 20: the interval of that many rows excludes 0."""
    rng, shares = np.random.default_rng(0), (0.3, 0.2)
    n = 60
    draw = lambda rows: rng.choice([1, -1, 0], rows, p=[*shares, 1 - sum(shares)])  # noqa: E731
    change = np.array([1] * 18 + [-1] * 12 + [0] * 30)
    seen = paired_shares(change == 1, change == -1).difference
    assert seen == pytest.approx(0.1) and seen.low < 0
    compared = ComparedNumber(first=seen, second=seen, difference=seen, p_value=1.0, test="")
    needed = judge_proof(number(0.0, -0.01, 0.01), compared, at_most_lost=0.01).needed
    assert needed is not None and needed > 3 * n
    clear = [paired_shares(drawn == 1, drawn == -1).difference.low > 0 for drawn in (draw(needed) for _ in range(400))]
    assert np.mean(clear) == pytest.approx(0.8, abs=0.08)


def test_the_gap_is_of_rows_that_do_not_prove():
    """At equal shares of the classes; by heart is no gap: rows that the model has not seen are asked first."""
    rows = rows_by_hand({"train": (100, 30), "validation": (100, 30), "test": (50, 50)})
    parts = divide_rows(rows, trained=["train"])
    unseen = np.flatnonzero(rows.split == "validation")
    right = rows.is_right(OWN, unseen)
    by_class = [
        right[(rows.label[unseen] == y) & rows.is_out[unseen]].mean()
        - right[(rows.label[unseen] == y) & ~rows.is_out[unseen]].mean()
        for y in (0, 1)
    ]
    gap = measure_gap(rows, parts)
    assert gap == pytest.approx(np.mean(by_class)) and gap.high < 0 and gap.n == len(unseen)
    fair = rows_by_hand(
        {"train": (100, 30), "validation": (100, 30), "test": (50, 50)},
        head=StoredHead(weight=OWN.weight * [1, 0], bias=OWN.bias),
    )
    assert measure_gap(fair, divide_rows(fair, trained=["train"])).high > 0


def test_a_gap_that_is_known_by_heart_is_found_by_a_plain_refit():
    """A model that has every row of train right looks at the context; no other rows fit or choose.

    By hand: the plain refit on one half sees nine usual rows for each unusual one, so that it goes by the context too.
    """
    rows = rows_by_hand({"train": (180, 20), "test": (60, 60)})
    logits = rows.predictions.logits.copy()
    known = rows.split == "train"
    logits[known] = np.where(np.arange(2) == rows.label[known][:, None], 5.0, -5.0)
    heart = type(rows).of(rows.predictions.with_table(with_logits(rows.predictions.table, logits)))
    parts = divide_rows(heart, trained=["train"])
    assert (heart.predictions.prediction == heart.label)[known].all()
    gap = measure_gap(heart, parts)
    assert gap.high < 0 and gap < -0.05
    unseen = measure_gap_on_unseen(heart, parts)
    test = np.flatnonzero(~known)
    right = rows.is_right(OWN, test)
    by_class = [
        right[(rows.label[test] == y) & rows.is_out[test]].mean()
        - right[(rows.label[test] == y) & ~rows.is_out[test]].mean()
        for y in (0, 1)
    ]
    assert unseen == pytest.approx(np.mean(by_class)) and unseen.n == len(test)


def with_logits(table, logits):
    return table.set_column(table.column_names.index("logits"), "logits", make_vectors(logits))
