"""The gap under wrong labels: known truths, every way to move rows, and a case worked by hand."""

import itertools
import math

import numpy as np
import pytest
from few_of import few_of
from scipy import stats

import oochub
from oochub.stats.context_effects import _find_largest, gap_under_wrong_contexts
from oochub.stats.estimate import Estimate
from oochub.stats.stratified_gap import StratifiedGap, stratified_gap


def _gap(mean_with, mean_against, n_with, n_against, half=0.0):
    value = mean_with - mean_against
    estimate = Estimate(value, low=value - half, high=value + half, n=n_with + n_against, method="by hand")
    return StratifiedGap(
        estimate=estimate, p_value=0.5, mean_with=mean_with, mean_against=mean_against, n_with=n_with,
        n_against=n_against, strata=1,
    )  # fmt: skip


def test_by_hand():
    """A true gap of 0.4, one label in ten wrong on one side, one in five on the other: 0.7 x 0.4 = 0.28 is seen."""
    many = 10**8  # judged: rates are known
    found = gap_under_wrong_contexts(
        _gap(0.9 - 0.04, 0.5 + 0.08, 500, 500, half=0.0),
        wrong_having=(many // 10, many),
        wrong_lacking=(many // 5, many),
    )
    assert found.shrinkage == pytest.approx(0.7) and found.corrected == pytest.approx(0.4)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((0.4, 0.4), abs=1e-3)
    assert "70% of its size: 0.280 is seen, the true gap is about 0.400" in found.words


@pytest.mark.parametrize("right", [(5, 2), (6, 1), (1, 4), (3, 3)])
@pytest.mark.parametrize("moved", [(1, 2), (3, 1), (0, 3)])
def test_the_worst_case_is_that_of_all_ways_to_move_rows(right, moved):
    """6 rows with, 5 against; every choice of those that are on the wrong side, one by one."""
    sides = [np.arange(n) < ones for n, ones in zip((6, 5), right, strict=True)]
    gaps = []
    for leave in itertools.combinations(range(6), moved[0]):
        for join in itertools.combinations(range(5), moved[1]):
            truly_with = np.append(np.delete(sides[0], leave), sides[1][list(join)])
            truly_against = np.append(np.delete(sides[1], join), sides[0][list(leave)])
            gaps.append(truly_with.mean() - truly_against.mean())
    many = 10**9
    checks = [(moved[i] * many, (6, 5)[i] * many) for i in range(2)]
    worst = gap_under_wrong_contexts(
        _gap(right[0] / 6, right[1] / 5, 6, 5), wrong_having=checks[0], wrong_lacking=checks[1]
    ).worst_case
    assert (worst.low, worst.high) == pytest.approx((min(gaps), max(gaps)), abs=1e-3)


@pytest.mark.parametrize("means", [(0.95, 0.7), (0.3, 0.9), (0.5, 0.5)])
def test_the_worst_case_is_the_worst_of_all_rates_that_may_be(means):
    """Over a grid of both rates, and at each the most and the fewest ones that may move. Planted fault: ones leave."""
    checks = (3, 20), (2, 12)
    ranges = [stats.binomtest(*check).proportion_ci(1 - 0.05 / 3, method="exact") for check in checks]
    share, gaps = 0.4, []
    for leave, join in itertools.product(*(np.linspace(ends.low, ends.high, 60) for ends in ranges)):
        some = [(max(0, rate - (1 - mean)), min(rate, mean)) for rate, mean in zip((leave, join), means, strict=True)]
        for ones_leave, ones_join in itertools.product(*some):
            ones = (
                share * (means[0] - ones_leave) + (1 - share) * ones_join,
                share * ones_leave + (1 - share) * (means[1] - ones_join),
            )
            truly_with = share * (1 - leave) + (1 - share) * join
            gaps.append(ones[0] / truly_with - ones[1] / (1 - truly_with))
    worst = gap_under_wrong_contexts(_gap(*means, 40, 60), wrong_having=checks[0], wrong_lacking=checks[1]).worst_case
    assert (worst.low, worst.high) == pytest.approx((min(gaps), max(gaps)), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depends", "judged"), few_of([("with", 40), (None, 2000), ("against", 40), ("with", 2000), ("against", 2000)])
)
def test_the_bounds_hold_the_truth(depends, judged):
    """2,000 draws at a true gap of 0.25; labels wrong by chance, or only those that make the gap larger, or smaller."""
    random, held, known = np.random.default_rng(3), 0, 0
    for _ in range(2000):
        truly = random.random(400) < 0.4
        right = random.random(400) < np.where(truly, 0.85, 0.6)
        wrong = random.random(400) < np.where(truly, 0.1, 0.06)
        if depends is not None:
            kind = right == (truly == (depends == "with"))
            wrong = kind & (random.random(400) < 0.12)
        said = truly ^ wrong
        found_wrong = [int(wrong[random.choice(np.flatnonzero(side), judged)].sum()) for side in (said, ~said)]
        found = gap_under_wrong_contexts(
            stratified_gap(right, said, np.zeros(400, int)),
            wrong_having=(found_wrong[0], judged),
            wrong_lacking=(found_wrong[1], judged),
        )
        bounds = found.corrected if depends is None else found.worst_case
        held, known = held + (bounds.low <= 0.25 <= bounds.high), known + (bounds.low == bounds.low)
    assert known >= 1990 and held / known >= 0.95


@pytest.mark.slow  # 24,000 draws
@pytest.mark.parametrize(
    ("given", "turned", "judged"),
    few_of(
        (given, turned, judged)
        for judged in (5, 20)
        for given in ("what is said", "the truth")
        for turned in (True, False)
    ),
)
def test_the_bounds_hold_the_truth_with_few_labels_checked(given, turned, judged):
    """2,000 draws: three classes of differing prevalence, rows to check drawn from the rows themselves, a gap of 0.25.

    Labels are wrong at random, at other rates for having than for lacking, given what is said or given the truth, so
    that of labels said the rates differ by class. Turned, the context is unusual for the third class. Draws without
    bounds are counted apart: all of 5 a side (0 wrong of 5 leave 62% of either possible), at least one in four and at
    most 70% of 10, at most 3% of 20. The worst case always has ends.
    """
    random, n, held, known, worst = np.random.default_rng(3), 400, 0, 0, 0
    for _ in range(2000):
        label = random.choice(3, n, p=(0.5, 0.3, 0.2))
        usual = (label < 2) | (not turned)
        first = random.random(n) < np.array((0.7, 0.5, 0.2))[label]
        second = first ^ (random.random(n) < np.where(first, 0.15, 0.04))
        said, having = (first, second) if given == "what is said" else (second, first)
        right, is_with = random.random(n) < np.where(having == usual, 0.85, 0.6), said == usual
        wrong = [int((said != having)[random.choice(np.flatnonzero(side), judged, replace=False)].sum())
                 for side in (said, ~said)]  # fmt: skip
        found = gap_under_wrong_contexts(
            stratified_gap(right, is_with, label),
            wrong_having=(wrong[0], judged),
            wrong_lacking=(wrong[1], judged),
            having_of_with=said[is_with].mean(),
            having_of_against=said[~is_with].mean(),
        )
        known += not math.isnan(found.corrected.low)
        held += found.corrected.low <= 0.25 <= found.corrected.high
        worst += found.worst_case.low <= 0.25 <= found.worst_case.high
    fewest, most = {5: (0, 0), 10: (600, 1500), 20: (1940, 2000)}[judged]
    assert fewest <= known <= most
    assert held >= stats.binom.ppf(1e-6, known, 0.95) if known else held == 0
    assert worst >= stats.binom.ppf(1e-6, 2000, 0.95)


def test_a_side_that_is_with_for_having_and_for_lacking():
    """Half of the rows with have the context and half lack it: rates are mixed. Planted fault: the share not used."""
    many, gap = 10**8, _gap(0.8, 0.6, 300, 300)
    rates = {"wrong_having": (many // 10, many), "wrong_lacking": (many // 5 * 2, many)}
    found = gap_under_wrong_contexts(gap, **rates, having_of_with=0.5, having_of_against=0.5)
    assert found.shrinkage == pytest.approx(1 - 0.25 - 0.25)
    alone = gap_under_wrong_contexts(gap, **rates, having_of_with=1, having_of_against=1)
    assert alone.shrinkage == pytest.approx(0.8)


def test_a_gap_of_shares_is_no_larger_than_one():
    """Planted fault seen: ends beyond what shares can differ by; a cut of values that are no shares."""
    rates = {"wrong_having": (8, 40), "wrong_lacking": (8, 40)}
    found = gap_under_wrong_contexts(_gap(0.95, 0.25, 300, 300, half=0.1), **rates).corrected
    assert (found, found.high) == (1.0, 1.0) and 0.6 < found.low < 1
    scores = gap_under_wrong_contexts(_gap(3.0, 2.0, 300, 300, half=0.1), **rates).corrected
    assert scores == pytest.approx(1 / 0.6) and scores.high > 2


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_where_all_rows_may_be_on_one_side_nothing_is_known(mean):
    """Planted fault: a division by the rows of the side that has none."""
    any_rate = Estimate(0.5, low=0.0, high=1.0, n=2, method="by hand")
    assert _find_largest(mean, mean, 0.5, any_rate, any_rate) == 1


def test_what_is_not_known_says_so():
    """Planted faults: a rate of 0 where nothing was checked; bounds where the factor may be 0."""
    gap = _gap(0.8, 0.6, 300, 300, half=0.1)
    nothing = gap_under_wrong_contexts(gap, wrong_having=(0, 0), wrong_lacking=(1, 50))
    assert math.isnan(nothing.corrected.low) and "no label of one kind was checked" in nothing.words
    assert nothing.worst_case.low < 0 and 0.5 < nothing.worst_case.high <= 1
    half = gap_under_wrong_contexts(gap, wrong_having=(4, 10), wrong_lacking=(4, 10))
    assert half.corrected == pytest.approx(1.0) and math.isnan(half.corrected.high)
    assert "too few labels were checked, or too many are wrong" in half.corrected.reason
    too_few = stratified_gap([0.1, 0.4], [True, False], [0, 0])
    without = gap_under_wrong_contexts(too_few, wrong_having=(0, 50), wrong_lacking=(0, 50))
    assert "too few rows" in without.corrected.reason and "too few rows" in without.worst_case.reason
    scores = gap_under_wrong_contexts(_gap(3.0, 2.0, 9, 9, half=0.5), wrong_having=(0, 50), wrong_lacking=(0, 50))
    assert scores.corrected.low < 1 < scores.corrected.high and "values in [0, 1]" in scores.worst_case.reason
    with pytest.raises(oochub.OochubError, match="having_of_with must lie"):
        gap_under_wrong_contexts(gap, wrong_having=(0, 5), wrong_lacking=(0, 5), having_of_with=2)
    with pytest.raises(oochub.OochubError, match="successes must lie"):
        gap_under_wrong_contexts(gap, wrong_having=(9, 5), wrong_lacking=(0, 5))
