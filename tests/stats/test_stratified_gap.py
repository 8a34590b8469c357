"""The stratified gap against permutations one by one, a table worked by hand, least squares and a jackknife."""

import math

import numpy as np
import pytest
from scipy import stats

import oochub
from oochub.stats.stratified_gap import stratified_gap


def _rows(*strata):
    """Strata of (right with, wrong with, right against, wrong against) as value, is_with and stratum."""
    value = np.concatenate([np.repeat([1.0, 0, 1, 0], counts) for counts in strata])
    is_with = np.concatenate([np.repeat([True, True, False, False], counts) for counts in strata])
    return value, is_with, np.repeat(np.arange(len(strata)), [sum(counts) for counts in strata])


def _random(seed, n=120, classes=3):
    random = np.random.default_rng(seed)
    stratum = random.integers(0, classes, n)
    is_with = random.random(n) < np.linspace(0.3, 0.6, classes)[stratum]
    return random, stratum, is_with


def test_two_tables_by_hand():
    """Classes of 10 and 20 rows. The means at these weights: with (2.4*5/6 + 3.75*4/5)/6.15 = 5/6.15."""
    found = stratified_gap(*_rows((5, 1, 1, 3), (4, 1, 9, 6)))
    assert found.estimate == pytest.approx(2.15 / 6.15) and found.estimate.n == 30
    assert found.mean_with == pytest.approx(5 / 6.15) and found.mean_against == pytest.approx(2.85 / 6.15)
    assert (found.n_with, found.n_against, found.strata) == (11, 19, 2)
    # few rows, and the test is exact: counts of two hypergeometric laws of scipy, one by one
    laws = stats.hypergeom(10, 6, 6).pmf(np.arange(7)), stats.hypergeom(20, 13, 5).pmf(np.arange(6))
    of_sum = [sum(laws[0][k] * laws[1][s - k] for k in range(7) if 0 <= s - k <= 5) for s in range(12)]
    seen = abs(9 - 6.85)  # of 6*6/10 + 5*13/20 expected
    expected = sum(chance * (1 if abs(s - 6.85) > seen + 1e-9 else 0.5 * (abs(s - 6.85) > seen - 1e-9))
                   for s, chance in enumerate(of_sum))  # fmt: skip
    assert found.p_value == pytest.approx(expected) and found.reason is None


@pytest.mark.parametrize("values", [(1, 0, 1, 0), (1, 0.5, 0.5, 0.25)])
def test_clusters_that_are_all_alike_have_no_interval(values):
    """Each adds the same, so nothing says how far another draw of clusters would lie. It was a division by zero."""
    value, is_with = np.tile(np.array(values, float), 40), np.tile([True, True, False, False], 40)
    found = stratified_gap(value, is_with, np.zeros(160, int), cluster=np.repeat(np.arange(40), 4))
    assert found.estimate == pytest.approx((sum(values[:2]) - sum(values[2:])) / 2)
    assert math.isnan(found.p_value) and math.isnan(found.estimate.low)
    assert found.reason == "every cluster adds the same to the gap, so its spread cannot be estimated"


def test_means_of_shares_lie_between_0_and_1_to_the_last_digit():
    """Rounding took a mean of ones above 1, and then neither bounds nor a worst case were made of the gap."""
    for seed in range(200):
        random, stratum, is_with = _random(seed, n=400, classes=5)
        side = random.random() < 0.5
        value = np.where(is_with == side, 1.0, random.random(400) < 0.3)
        found = stratified_gap(value, is_with, stratum)
        assert (found.mean_with if side else found.mean_against) == 1
        zeros = stratified_gap(1 - value, is_with, stratum)
        assert (zeros.mean_with if side else zeros.mean_against) == 0


def test_fishers_exact_case():
    """One table, the lady tasting tea with ten cups of each: mid-p from the hypergeometric law of scipy, term by term.

    Planted fault: the whole chance of a gap as far, in place of half.
    """
    law = stats.hypergeom(20, 10, 10).pmf(np.arange(11))
    found = stratified_gap(*_rows((8, 2, 2, 8)))
    assert found.p_value == pytest.approx(2 * (law[9] + law[10]) + law[8])


@pytest.mark.parametrize("kind", ["right", "score"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_p_value_is_that_of_permutations_within_strata(kind, seed):
    """20,000 draws. Planted faults: a one-sided test; the whole chance of a gap as far."""
    random, stratum, is_with = _random(seed)
    value = (random.random(120) < 0.6 + 0.2 * is_with) * 1.0 if kind == "right" else random.exponential(size=120)
    value += 3 * (kind == "score") * stratum  # classes differ: only within them are rows alike
    found = stratified_gap(value, is_with, stratum)
    off = value - np.array([value[stratum == s].mean() for s in range(3)])[stratum]
    seen, drawn = off[is_with].sum(), np.empty(20_000)
    place = np.lexsort((np.arange(120), stratum))
    for start in range(0, 20_000, 1000):
        order = np.argsort(random.random((1000, 120)) + stratum, axis=1)  # shuffled within each stratum
        drawn[start : start + 1000] = off[order] @ is_with[place]
    far = np.abs(drawn) > abs(seen) + 1e-9
    share = far.mean() + (np.isclose(np.abs(drawn), abs(seen), rtol=0, atol=1e-9)).mean() / 2
    assert found.p_value == pytest.approx(
        share, abs=4 * math.sqrt(share * (1 - share) / 20_000) + 0.006 * (kind == "score")
    )


def test_the_test_of_scores_is_cochran_mantel_haenszel():
    """Of scores 0 and 2, so that none is 1: the formula for 2 x 2 x K tables (Mantel and Haenszel 1959), term by term.

    Planted fault: the variance with n^2 (n - 1) read as n^3.
    """
    tables = [(25, 5, 20, 12), (30, 8, 9, 9), (10, 1, 40, 8)]
    value, is_with, stratum = _rows(*tables)
    off = variance = 0.0
    for a, b, c, d in tables:
        n = a + b + c + d
        off += a - (a + b) * (a + c) / n
        variance += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1))
    reference = stats.chi2.sf(off**2 / variance, 1)
    assert stratified_gap(2 * value, is_with, stratum).p_value == pytest.approx(reference, rel=1e-12)


def test_the_gap_is_the_coefficient_of_least_squares():
    """With an intercept a class (Frisch and Waugh), of any score. Planted fault: weights n_with n_against."""
    random, stratum, is_with = _random(3)
    value = random.normal(size=120) + stratum
    columns = np.column_stack([is_with, np.eye(3)[stratum]])
    assert stratified_gap(value, is_with, stratum).estimate == pytest.approx(np.linalg.lstsq(columns, value)[0][0])


def test_the_interval_of_scores_is_near_that_of_heteroskedastic_least_squares():
    """HC2 of the same least squares, by matrices. Planted fault: the quantile taken once too often."""
    random, stratum, is_with = _random(4, n=3000)
    value = random.normal(size=3000) * (1 + 2 * is_with)
    columns = np.column_stack([is_with, np.eye(3)[stratum]]).astype(float)
    inverse = np.linalg.inv(columns.T @ columns)
    residual = value - columns @ (inverse @ columns.T @ value)
    leverage = np.einsum("ij,jk,ik->i", columns, inverse, columns)
    error = np.sqrt((inverse @ (columns.T * residual**2 / (1 - leverage)) @ columns @ inverse)[0, 0])
    found = stratified_gap(value, is_with, stratum).estimate
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.02)
    wider = stratified_gap(value, is_with, stratum, confidence=0.99).estimate
    assert (wider.high - wider.low) / (found.high - found.low) == pytest.approx(2.5758 / 1.96, rel=0.01)


def test_clusters_of_copies_are_the_rows():
    """Each row five times, as one cluster: the gap stays, the interval is as wide as that of the rows once."""
    random, stratum, is_with = _random(5, n=400)
    value = (random.random(400) < 0.8) * 1.0
    once = stratified_gap(value, is_with, stratum)
    copies = np.repeat(np.arange(400), 5)
    found = stratified_gap(value[copies], is_with[copies], stratum[copies], cluster=copies)
    assert found.estimate == pytest.approx(once.estimate.value)
    assert found.estimate.high - found.estimate.low == pytest.approx(once.estimate.high - once.estimate.low, rel=0.03)
    assert found.p_value == pytest.approx(once.p_value, abs=0.02)
    assert "400 clusters" in found.estimate.method


def test_the_cluster_test_is_students_where_clusters_are_alike():
    """Clusters each with one row of both kinds: their differences in a t test of scipy."""
    random = np.random.default_rng(6)
    first, second = random.normal(0.3, 1, 30), random.normal(0, 1, 30)
    cluster, is_with = np.tile(np.arange(30), 2), np.repeat([True, False], 30)
    found = stratified_gap(np.concatenate([first, second]), is_with, np.zeros(60, int), cluster=cluster)
    reference = stats.ttest_rel(first, second)
    interval = reference.confidence_interval()
    assert found.p_value == pytest.approx(reference.pvalue)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "gap", "share"), [(200, 0.1, 0.5), (400, 0.3, 0.1), (400, 0.0, 0.3)])
def test_the_interval_of_shares_covers(n, gap, share):
    """400 draws; 0.917 to 0.983 is within three errors of 0.95. Planted fault: as many rows as in both sides."""
    random, covered = np.random.default_rng(5), 0
    for _ in range(400):
        stratum, is_with = random.integers(0, 2, n), random.random(n) < share
        value = random.random(n) < 0.92 - np.where(is_with, 0, gap) - 0.1 * stratum
        found = stratified_gap(value, is_with, stratum).estimate
        covered += found.low <= gap <= found.high
    assert 0.917 <= covered / 400 <= 0.983


@pytest.mark.slow
def test_the_level_is_kept():
    """Over all tables of given margins, by their chance; on average over margins, for each alone has few tables."""
    levels, sizes = np.array([0.05, 0.0025]), []
    for with_ in range(20, 60, 3):
        for ones in range(84, 100, 4):
            law, rejected = stats.hypergeom(120, ones, with_), np.zeros(2)
            for right in range(max(0, with_ + ones - 120), with_ + 1):
                if (chance := law.pmf(right)) > 1e-8:
                    found = stratified_gap(*_rows((right, with_ - right, ones - right, 120 - ones - with_ + right)))
                    rejected += chance * (found.p_value <= levels)
            sizes.append(rejected / levels)
    assert np.mean(sizes, axis=0) == pytest.approx([1, 1], abs=0.1)


def strongly_correlated(rng, rows, classes, reliance):
    """Nine in ten rows as usual, 95% right there."""
    label, is_against = rng.integers(0, classes, rows), rng.random(rows) < 0.1
    return rng.random(rows) < 0.95 - reliance * is_against, is_against, label


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("rows", [200, 400])
def test_worlds_with_few_rows_against_are_tested_at_the_level(rows, classes):
    """1,000 worlds each way: nearly all can be tested, the level is at most 0.05 and three errors, the power over 0.95.

    Planted fault: the criterion of Mantel and Fleiss, which is for the normal law, left nearly all of them untested.
    """
    rng = np.random.default_rng(rows + classes)
    p_values = {
        reliance: [stratified_gap(*strongly_correlated(rng, rows, classes, reliance)).p_value for _ in range(1000)]
        for reliance in (0.0, 0.4)
    }
    assert np.isnan(p_values[0.0] + p_values[0.4]).sum() <= 5
    assert np.mean(np.array(p_values[0.0]) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert np.mean(np.array(p_values[0.4]) <= 0.05) >= 0.95


def test_what_could_never_be_shown_is_not_tested():
    """By every table of the margins (Tarone): the least mid-p of each lies above 0.05 where there is no test."""
    seen = set()
    for with_, ones, size in [(3, 5, 6), (2, 39, 40), (2, 20, 40), (4, 30, 40), (1, 10, 40), (5, 38, 40)]:
        p_values = []
        for right in range(max(0, with_ + ones - size), min(with_, ones) + 1):
            found = stratified_gap(*_rows((right, with_ - right, ones - right, size - ones - with_ + right)))
            law = stats.hypergeom(size, ones, with_)
            counts, mean = np.arange(with_ + 1), with_ * ones / size
            far, seen_far = np.abs(counts - mean), abs(right - mean)
            weight = np.where(far > seen_far + 1e-9, 1, 0.5 * (far > seen_far - 1e-9))
            p_values.append((found.p_value, float(law.pmf(counts) @ weight)))
        is_tested = min(expected for _, expected in p_values) <= 0.05
        seen.add(is_tested)
        for own, expected in p_values:
            assert own == pytest.approx(expected) if is_tested else math.isnan(own)
    assert seen == {False, True}


def test_strata_of_one_kind_say_nothing():
    """Planted fault: rows of a class that all have the context counted as with."""
    value, is_with, stratum = _rows((40, 10, 30, 20))
    more = stratified_gap(
        np.append(value, [0, 0, 1]), np.append(is_with, [True, True, False]), np.append(stratum, [5, 5, 7])
    )
    assert more == stratified_gap(value, is_with, stratum) and more.strata == 1


@pytest.mark.parametrize(
    ("value", "is_with", "cluster", "reason"),
    [
        ([], [], None, "no rows"),
        ([1, 0, 1], [True] * 3, None, "no class has rows both with and against"),
        ([1] * 80, [True, False] * 40, None, "no values differ"),
        ([0.5] * 80, [True, False] * 40, None, "no values differ"),
        (
            [1, 1, 1, 0] * 3,
            [True, True, False, False] * 3,
            None,
            "even the largest gap that they could show has p = 0.09",
        ),
        (np.arange(90.0), [True] * 3 + [False] * 87, None, "too few rows: they are equivalent to 3"),
        (np.arange(90.0), [True, False] * 45, np.arange(90) // 15, "too few clusters: they are equivalent to 6.0"),
    ],
)
def test_too_few_says_why(value, is_with, cluster, reason):
    """Planted faults: no look at values that differ; clusters that are not looked at."""
    found = stratified_gap(value, is_with, np.zeros(len(value), int), cluster=cluster)
    assert math.isnan(found.p_value) and reason in found.reason and reason in found.estimate.reason
    if cluster is not None:
        assert math.isnan(found.estimate.low)


def test_what_is_not_allowed():
    good = [1, 0], [True, False], [0, 0]
    with pytest.raises(oochub.OochubError, match="is_with must be bool"):
        stratified_gap(good[0], [1, 0], good[2])
    with pytest.raises(oochub.OochubError, match="value contains NaN"):
        stratified_gap([math.nan, 1], *good[1:])
    with pytest.raises(oochub.OochubError, match="same number of rows"):
        stratified_gap(*good[:2], [0])
    with pytest.raises(oochub.OochubError, match="same number of rows"):
        stratified_gap(*good, cluster=[1])
