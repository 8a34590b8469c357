"""Effects by role against the exact law given the margins, counted table by table, and by simulated worlds."""

import math
from itertools import product

import numpy as np
import pytest
from few_of import few_of
from scipy import stats

import oochub
from oochub.stats.context_effects import effect_by_role
from oochub.stats.stratified_gap import stratified_gap


def rows_of(*classes):
    """Classes of (role, right with, wrong with, right without, wrong without) as right, has, label and role."""
    counts = [each[1:] for each in classes]
    right = np.concatenate([np.repeat([True, False, True, False], each) for each in counts])
    has = np.concatenate([np.repeat([True, True, False, False], each) for each in counts])
    sizes = [sum(each) for each in counts]
    return right, has, np.repeat(np.arange(len(classes)), sizes), np.repeat([each[0] for each in classes], sizes)


def exact_p_value(*classes):
    """Mid-p of the sum of role times right with, given all margins and how many are right with over all classes."""
    laws = []
    for _, a, b, c, d in classes:
        possible = range(max(0, a + b + a + c - (a + b + c + d)), min(a + b, a + c) + 1)
        laws.append({k: stats.hypergeom.pmf(k, a + b + c + d, a + c, a + b) for k in possible})
    whole, weights = sum(each[1] for each in classes), {}
    for counts in product(*laws):
        if sum(counts) == whole:
            score = sum(each[0] * count for each, count in zip(classes, counts, strict=True))
            chance = math.prod(law[count] for law, count in zip(laws, counts, strict=True))
            weights[score] = weights.get(score, 0.0) + chance
    seen = sum(each[0] * each[1] for each in classes)
    total, mean = sum(weights.values()), sum(s * w for s, w in weights.items()) / sum(weights.values())
    far = sum(w for s, w in weights.items() if abs(s - mean) > abs(seen - mean) + 1e-9)
    as_far = sum(w for s, w in weights.items() if abs(abs(s - mean) - abs(seen - mean)) <= 1e-9)
    return (far + as_far / 2) / total


WORLDS = [
    [(1, 30, 5, 12, 10), (-1, 20, 15, 30, 5)],
    [(1, 14, 9, 25, 4), (-1, 20, 15, 30, 5)],
    [(1, 18, 6, 10, 9), (-1, 11, 9, 22, 6), (0, 12, 8, 14, 7)],
    [(1, 20, 3, 9, 9), (0, 14, 6, 15, 6)],
    [(-1, 9, 9, 20, 3), (0, 14, 6, 15, 6), (0, 10, 4, 9, 6)],
]


@pytest.mark.parametrize("classes", WORLDS)
def test_the_p_value_is_that_of_every_table(classes):
    assert effect_by_role(*rows_of(*classes)).p_value == pytest.approx(exact_p_value(*classes), rel=1e-6)


def test_many_rows_go_by_the_normal_law(monkeypatch):
    """The same tables, counted and not; ten times as many rows."""
    for classes in WORLDS:
        several = rows_of(*((each[0], *(10 * count for count in each[1:])) for each in classes))
        counted = effect_by_role(*several).p_value
        with monkeypatch.context() as patch:
            patch.setattr("oochub.stats.context_effects._MOST_TABLES", 0)
            assert effect_by_role(*several).p_value == pytest.approx(counted, rel=0.15, abs=0.002)


def test_two_equal_tables_have_no_trend_and_an_effect_alike():
    found = effect_by_role(*rows_of((1, 20, 20, 36, 4), (-1, 20, 20, 36, 4)))
    assert found.p_value > 0.8 and found.trend == pytest.approx(0, abs=1e-6)
    alone = stratified_gap(*(column[:80] for column in rows_of((1, 20, 20, 36, 4), (-1, 20, 20, 36, 4))[:3]))
    assert found.alike == pytest.approx(alone.p_value) and found.alike < 0.001
    assert found.usual.estimate == found.others.estimate == pytest.approx(-0.4)


def test_the_other_word_for_a_context_is_the_same_test():
    """Dark for one class is as bright for the others; a role turned round turns the trend."""
    right, has, label, role = rows_of(*WORLDS[2])
    found, other, turned = (effect_by_role(right, h, label, r) for h, r in ((has, role), (~has, -role), (has, -role)))
    assert other.p_value == pytest.approx(found.p_value) and other.trend == pytest.approx(found.trend)
    assert turned.p_value == pytest.approx(found.p_value) and turned.trend == pytest.approx(-found.trend)
    assert found.trend > 0  # it helps where it is usual


def test_an_effect_on_some_classes_alone_is_not_alike():
    found = effect_by_role(*rows_of((1, 20, 20, 36, 4), (-1, 30, 10, 30, 10), (-1, 30, 10, 31, 9)))
    assert found.usual.p_value < 0.001 and not found.alike < 0.05 and found.p_value < 0.01


def test_classes_with_rows_of_one_kind_say_nothing():
    classes = WORLDS[0]
    more = effect_by_role(*rows_of(*classes, (-1, 0, 0, 5, 9), (1, 9, 3, 0, 0)))
    assert repr(more) == repr(effect_by_role(*rows_of(*classes)))  # nan is not nan
    alone = effect_by_role(*rows_of(classes[0], (-1, 0, 0, 5, 9)))
    assert math.isnan(alone.p_value) and "no other class has rows with it and without it" in alone.reason


def test_other_classes_without_errors_tell_nothing():
    assert effect_by_role(*rows_of((1, 40, 0, 20, 20), (-1, 40, 0, 40, 0))).p_value == 1


def test_clusters_of_copies_are_the_rows():
    """Each row five times, as one cluster."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 500)
    has = rng.random(500) < np.array([0.7, 0.3])[label]
    right = rng.random(500) < 0.8 - 0.1 * (has == (label == 1))
    role = np.where(label == 0, 1, -1)
    once, copies = effect_by_role(right, has, label, role), np.repeat(np.arange(500), 5)
    found = effect_by_role(right[copies], has[copies], label[copies], role[copies], cluster=copies)
    alone = effect_by_role(right[copies], has[copies], label[copies], role[copies])
    assert found.p_value == pytest.approx(once.p_value, abs=0.01) and alone.p_value < found.p_value / 10
    assert found.alike == pytest.approx(once.alike, abs=0.05, nan_ok=True)


def test_rows_that_are_their_own_clusters_are_the_normal_law_by_t(monkeypatch):
    """Two classes alike, so that rows weigh alike: n clusters of a row are the normal score times sqrt((n - 1) / n)."""
    columns = rows_of((1, 6, 2, 2, 6), (-1, 5, 3, 3, 5))
    monkeypatch.setattr("oochub.stats.context_effects._MOST_TABLES", 0)
    score, n = stats.norm.isf(effect_by_role(*columns).p_value / 2), len(columns[0])
    found = effect_by_role(*columns, cluster=np.arange(n)).p_value
    assert found == pytest.approx(2 * stats.t(n - 1).sf(score * math.sqrt((n - 1) / n)), rel=1e-6)


def world(rng, rows, classes, *, harder=0.0, reliance=0.0):
    """Rows of classes with a context that nine in ten of the first third have and one in ten of the last third."""
    label = rng.integers(0, classes, rows)
    role = np.sign(np.linspace(1, -1, classes)).astype(int)[label]
    has = rng.random(rows) < np.array([0.1, 0.5, 0.9])[role + 1]
    odds = np.linspace(3, 1, classes)[label] - harder * has
    share = 1 / (1 + np.exp(-odds)) - reliance * ((role != 0) & (has != (role > 0)))
    return rng.random(rows) < share, has, label, role


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harder", "classes"), few_of([(2.5, 2), (1.0, 9), (0.0, 3), (2.5, 9), (1.0, 2), (0.0, 2), (0.0, 9)])
)
def test_harder_pictures_are_no_reliance_at_the_level(classes, harder):
    """400 worlds of 400 rows: 0.05 and three errors; the test of the gap alone fails in hundreds of them."""
    rng = np.random.default_rng(classes)
    p_values = [effect_by_role(*world(rng, 400, classes, harder=harder)).p_value for _ in range(400)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_a_reliance_is_shown_beside_harder_pictures():
    rng = np.random.default_rng(0)
    found = [effect_by_role(*world(rng, 400, 3, harder=1.0, reliance=0.4)) for _ in range(20)]
    assert sum(each.p_value <= 0.05 and each.trend > 0 for each in found) >= 18
    assert sum(each.alike <= 0.05 for each in found) <= 1


def test_what_is_not_allowed():
    with pytest.raises(oochub.OochubError, match="right and has must be bool"):
        effect_by_role([1, 0], [True, False], [0, 0], [1, 1])
    with pytest.raises(oochub.OochubError, match="same number of rows"):
        effect_by_role([True, False], [True, False], [0, 0], [1])
    assert math.isnan(effect_by_role(np.zeros(0, bool), np.zeros(0, bool), [], []).p_value)
