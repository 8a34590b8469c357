"""The lines of Figs. 3 and 10 against scipy and numpy, nearest images against a loop, sets taken apart."""

import itertools
import re

import numpy as np
import pytest
from scipy import stats
from scored import SETS, parts, predictions, scored_sets
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_distances

from oochub import OochubError
from oochub.detection.image_sets import (
    choose_detector,
    choose_inside_part,
    choose_outside_part,
    find_nearest_inside,
    split_scored_sets,
)
from oochub.figures.distance_regression import _fit_distances as fit_distances
from oochub.figures.distance_regression import _tabulate_fits as tabulate_fits
from oochub.stats.linear_fit import linear_fit


@pytest.mark.parametrize("seed", range(5))
def test_a_line_is_that_of_scipy(seed):
    """Planted faults seen: n - 1 degrees of freedom; the intercept's error without 1 / n."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 120))
    x = rng.normal(rng.normal(0, 50), 2, n)
    y = 3 * x + rng.normal(0, 5, n)
    fit, reference = linear_fit(x, y), stats.linregress(x, y)
    assert fit.slope.value == pytest.approx(reference.slope, rel=1e-9)
    assert fit.intercept.value == pytest.approx(reference.intercept, rel=1e-9)
    assert fit.slope_error == pytest.approx(reference.stderr, rel=1e-9)
    assert fit.intercept_error == pytest.approx(reference.intercept_stderr, rel=1e-9)
    t = stats.t.ppf(0.975, n - 2)
    for number, error in ((fit.slope, reference.stderr), (fit.intercept, reference.intercept_stderr)):
        assert number.low == pytest.approx(number.value - t * error) and number.n == n
        assert number.high == pytest.approx(number.value + t * error)
    # The band, by the matrix formula: h' (X'X)^-1 h s^2.
    at = np.array([x.min(), x.mean(), x.max() + 3])
    design = np.stack([np.ones(n), x], axis=1)
    s2 = float(((y - design @ [reference.intercept, reference.slope]) ** 2).sum()) / (n - 2)
    row = np.stack([np.ones(3), at], axis=1)
    error = np.sqrt(np.einsum("ij,jk,ik->i", row, np.linalg.inv(design.T @ design), row) * s2)
    middle, low, high = fit.at(at)
    np.testing.assert_allclose(middle, reference.intercept + reference.slope * at, rtol=1e-9)
    np.testing.assert_allclose(high - middle, t * error, rtol=1e-5)
    np.testing.assert_allclose(middle - low, high - middle, rtol=1e-9)


def test_intervals_of_a_line_cover():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.4, 1, 30)
    hits = np.zeros(2)
    for _ in range(2000):
        fit = linear_fit(x, 0.8 + 0.1 * x + rng.normal(0, 0.02, 30))
        hits += [estimate.low <= true <= estimate.high for estimate, true in ((fit.slope, 0.1), (fit.intercept, 0.8))]
    assert all(0.935 < share < 0.965 for share in hits / 2000), hits / 2000


def test_a_line_that_is_not_there_says_why():
    fit = linear_fit([1, 1, 1], [0, 1, 2])
    assert np.isnan(fit.slope) and "same x" in fit.slope.reason and np.isnan(fit.intercept_error)
    assert "1 point" in linear_fit([1], [2]).slope.reason
    two = linear_fit([0, 1], [1, 3])
    assert (two.slope.value, two.intercept.value) == (2, 1) and np.isnan(two.slope.low) and two.slope.reason
    for x, y in (([], []), ([1, np.nan], [1, 2]), ([1, 2], [1, np.inf])):
        with pytest.raises(OochubError, match="finite numbers"):
            linear_fit(x, y)
    with pytest.raises(OochubError, match="same number of rows"):
        linear_fit([1, 2], [1])


def test_nearest_is_that_of_a_full_matrix():
    sets = scored_sets(["msp"])
    nearest = find_nearest_inside(sets)
    bank = sets[0].predictions.features.astype(float)
    for scored in sets[1:]:
        distance = cosine_distances(scored.predictions.features.astype(float), bank)
        np.testing.assert_array_equal(nearest[scored.name].row, distance.argmin(axis=1))
        np.testing.assert_allclose(nearest[scored.name].distance, distance.min(axis=1), atol=1e-7)
    assert (nearest["known"].row == -1).all() and np.isnan(nearest["known"].distance).all()


def test_nearest_within_one_file_and_by_another_embedding():
    """Planted fault seen: rows of the bank numbered among the rows in distribution alone."""
    both = predictions("both", shift="none", n=40, seed=3)
    is_ood = np.arange(40) % 4 == 1
    table = both.table.set_column(both.table.column_names.index("is_ood"), "is_ood", [is_ood.tolist()])
    mixed = scored_sets(["msp"], [type(both)(table, both.metadata)])[0]
    nearest = find_nearest_inside([mixed])["both"]
    features = both.features.astype(float)
    for row in range(40):
        if not is_ood[row]:
            assert nearest.row[row] == -1 and np.isnan(nearest.distance[row])
            continue
        distances = [cosine_distances(features[[row]], features[[k]])[0, 0] for k in range(40)]
        best = min((k for k in range(40) if not is_ood[k]), key=distances.__getitem__)
        assert nearest.row[row] == best and nearest.distance[row] == pytest.approx(distances[best], abs=1e-7)
    # Another embedding, in another order of rows.
    sets = scored_sets(["msp"])
    other = [predictions(name, shift=shift, n=n, seed=50 + k) for k, (name, (shift, n)) in enumerate(SETS.items())]
    turned = [type(part)(part.table.take(np.arange(len(part))[::-1]), part.metadata) for part in other]
    nearest = find_nearest_inside(sets, embedding=turned[::-1])
    distance = cosine_distances(other[2].features.astype(float), other[0].features.astype(float))
    np.testing.assert_array_equal(nearest["new"].row, distance.argmin(axis=1))


def test_what_lacks_for_nearest_is_said():
    sets = scored_sets(["msp"], parts(features=False))
    with pytest.raises(OochubError, match="known lack features"):
        find_nearest_inside(sets)
    whole = parts()
    with pytest.raises(OochubError, match="The embedding of new occurs 0 times; given: known, redrawn"):
        find_nearest_inside(sets, embedding=whole[:2])
    with pytest.raises(OochubError, match="The embedding of known has no features"):
        find_nearest_inside(sets, embedding=parts(features=False))
    fewer = [*whole[:2], whole[2].select(np.arange(60) != 7)]
    with pytest.raises(OochubError, match="1 of 60 examples of new are not in the embedding, first new7"):
        find_nearest_inside(sets, embedding=fewer)


@pytest.mark.parametrize("value", ["auroc", "score"])
def test_points_and_lines_are_those_of_a_loop(value):
    """Planted fault seen: the AUROC turned round."""
    sets = scored_sets()
    fits = fit_distances(sets, detector="energy", subsets=7, value=value)
    assert [(fit.name, fit.shift, fit.rows) for fit in fits] == [("redrawn", "covariate", 70), ("new", "semantic", 60)]
    inside = sets[0].scores["energy"]
    for fit, scored in zip(fits, sets[1:], strict=True):
        near = cosine_distances(scored.predictions.features.astype(float), sets[0].predictions.features.astype(float))
        distance = near.min(axis=1)
        order = np.argsort(distance, kind="stable")
        sizes = [len(order) // 7 + (k < len(order) % 7) for k in range(7)]
        ends = np.cumsum([0, *sizes])
        x, y = [], []
        for start, end in itertools.pairwise(ends):
            rows = order[start:end]
            x.append(distance[rows].mean())
            score = scored.scores["energy"][rows]
            truth = np.repeat([1, 0], [len(inside), len(rows)])
            y.append(score.mean() if value == "score" else roc_auc_score(truth, np.concatenate([inside, score])))
        np.testing.assert_allclose(fit.distance, x, atol=1e-7)
        np.testing.assert_allclose(fit.value, y, atol=1e-12)
        assert fit.fit.slope.value == pytest.approx(stats.linregress(x, y).slope, abs=1e-5)
    table = tabulate_fits(fits)
    assert table.columns.tolist() == ["detector", "set", "rows", "coefficient", "value", "se", "low", "high", "n"]
    assert table["coefficient"].tolist() == ["β", "α"] * 2 and table["n"].tolist() == [7] * 4
    assert table["value"].tolist() == [number for fit in fits for number in (fit.fit.slope, fit.fit.intercept)]


def test_wrong_lines_are_said():
    sets = scored_sets()
    for options, message in (
        ({"subsets": 61}, "subsets must be 2 to 60, the rows of new, got 61"),
        ({"subsets": 1}, "subsets must be 2 to 60"),
        ({"value": "scores"}, "Did you mean 'score'"),
        ({"detector": "enrgy"}, "Did you mean 'energy'"),
    ):
        with pytest.raises(OochubError, match=message):
            fit_distances(sets, **{"subsets": 5} | options)
    with pytest.raises(OochubError, match="known is the only set"):
        fit_distances(sets[:1])
    with pytest.raises(OochubError, match="no in-distribution rows in new"):
        fit_distances(sets[2:])


def test_sets_are_taken_apart():
    """Planted fault seen: the covariate set taken for the one in distribution."""
    sets = scored_sets()
    named = [(part.name, part.shift, int(part.rows.sum())) for part in split_scored_sets(sets)]
    assert named == [("known", "none", 90), ("redrawn", "covariate", 70), ("new", "semantic", 60)]
    by_answer = split_scored_sets(sets, by_answer=True)
    right = [int((scored.predictions.logits.argmax(axis=1) == scored.predictions.label).sum()) for scored in sets[:2]]
    assert [int(part.rows.sum()) for part in by_answer] == [right[0], 90 - right[0], right[1], 70 - right[1], 60]
    assert [part.correct for part in by_answer] == [True, False, True, False, None]
    turned = sets[::-1]
    assert choose_inside_part(turned).name == "known" and choose_inside_part(turned, "redrawn").name == "redrawn"
    assert choose_inside_part(turned[:2]).name == "redrawn" and choose_outside_part(sets).name == "new"
    for call, message in (
        (lambda: choose_inside_part(sets, "new"), "no in-distribution rows in new"),
        (lambda: choose_inside_part(sets, "knwon"), "Did you mean 'known'"),
        (lambda: choose_outside_part(sets, "known"), "no out-of-distribution rows .* in known"),
        (lambda: choose_outside_part(sets[:1]), "no out-of-distribution rows .* in known"),
        (lambda: choose_detector([]), "There are no scored sets"),
        (lambda: choose_detector([sets[0], sets[0]]), re.escape("known is given twice")),
        (lambda: choose_detector(sets, "vim"), "No detector in these scores named 'vim'"),
    ):
        with pytest.raises(OochubError, match=message):
            call()


def test_detectors_go_by_their_name():
    sets = scored_sets(["msp", "msp:temperature=2", "energy:temperature=3"])
    assert choose_detector(sets) == "msp" and choose_detector(sets, but="msp") == "msp:temperature=2.0"
    assert choose_detector(sets, "msp:temperature=2") == "msp:temperature=2.0"
    assert choose_detector(sets, "energy") == "energy:temperature=3.0" and choose_detector(sets, "msp") == "msp"
    sets = scored_sets(["msp:temperature=3", "msp:temperature=2"])
    with pytest.raises(OochubError, match=r"msp occurs 2 times: msp:temperature=3\.0, msp:temperature=2\.0"):
        choose_detector(sets, "msp")
