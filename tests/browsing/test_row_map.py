"""The map of rows and the clusters of mistakes, against numpy, scipy and worlds in which both are known."""

import numpy as np
import pytest
from mapped import bad_places, mapped_predictions
from scipy import stats
from sklearn.manifold import trustworthiness

import oochub
from oochub.browsing.filter_columns import make_row_columns
from oochub.browsing.mistake_clusters import find_mistake_clusters
from oochub.browsing.page_map import MOST_IN_TSNE, make_row_map
from oochub.data.declaration import find_declaration
from oochub.evaluation.evaluation_rows import make_evaluation_rows
from oochub.evaluation.selection_rule import RowRule
from oochub.prediction.predictions import Predictions
from oochub.stats.lift import lift_of_counts


def _plain(n=200, d=12, *, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d)) * np.linspace(4, 0.5, d)
    return Predictions.from_arrays(logits=np.tile([1.0, 0.0], (n, 1)), label=np.zeros(n, int), features=features)


def _clusters(predictions, features=None, **more):
    """The clusters of the mistakes, with what they were found in, in the order of the page."""
    evaluated = make_evaluation_rows(predictions, find_declaration(predictions))[0]
    columns = make_row_columns(evaluated)
    parts = make_row_map(predictions, "pca").parts if features is None else features
    wrong = predictions.output.wrong(evaluated.columns)
    order = columns.order
    found = find_mistake_clusters(parts[order], wrong[order], evaluated.known[order], columns.fields, **more)
    return evaluated, found, order


def test_pca_is_the_projection_of_numpy_at_one_scale():
    rows = _plain()
    made = make_row_map(rows, "pca")
    centered = rows.features - rows.features.mean(axis=0)
    left, size, _ = np.linalg.svd(centered.astype(np.float64), full_matrices=False)
    expected = left[:, :2] * size[:2]
    distances = [np.linalg.norm(each[:, None] - each[None], axis=-1) for each in (made.places, expected)]
    ratio = distances[0].max() / distances[1].max()
    assert np.allclose(distances[0], ratio * distances[1], atol=1e-4)
    assert made.places.min() >= 0 and made.places.max() <= 1 and np.ptp(made.places, axis=0).max() > 0.999
    share = (size[:2] ** 2).sum() / (size**2).sum()
    assert made.notes[0] == f"The two axes hold {100 * share:.0f}% of the variance of the features (PCA)."


def test_t_sne_keeps_neighbors_is_seeded_and_says_how_it_is_read():
    rows = mapped_predictions(120)
    first, again = (make_row_map(rows, "tsne", seed=3) for _ in range(2))
    assert np.array_equal(first.places, again.places)
    assert trustworthiness(rows.features, first.places, n_neighbors=10) > 0.85
    assert "distances, sizes and densities of groups mean nothing" in first.notes[0] and len(first.notes) == 1


@pytest.mark.slow
def test_t_sne_takes_some_rows_and_says_why(monkeypatch):
    monkeypatch.setattr("oochub.browsing.page_map.MOST_IN_TSNE", 60)
    made = make_row_map(_plain(100), "tsne")
    assert (~np.isnan(made.places).any(axis=1)).sum() == 60 and MOST_IN_TSNE == 5_000
    assert made.notes[1].startswith("The map has 60 of 100 rows, drawn at random, because t-SNE of more takes minutes")


@pytest.mark.parametrize(
    ("rows", "way", "said"),
    [
        (_plain(), "umap", "No map named 'umap'. Allowed: pca, tsne"),
        (_plain(9), "pca", "A map needs 10 rows or more, got 9"),
        (Predictions.from_arrays(logits=[[1.0, 0.0]] * 20, label=[0] * 20), "pca", "Store them: oochub.predict"),
    ],
)
def test_rows_without_a_map_are_refused(rows, way, said):
    with pytest.raises(oochub.OochubError, match=said):
        make_row_map(rows, way)


def _of_points(n, points, *, far=0):
    """Rows at so many different points, of which `far` rows alone have another one than the first."""
    rows, rng = _plain(n), np.random.default_rng(0)
    at = np.where(np.arange(n) < n - far, 0, rng.integers(1, max(points, 2), n)) if far else np.arange(n) % points
    features = rows.table.column("features").combine_chunks().take(at.tolist())
    return rows.with_table(rows.table.drop(["features"]).append_column("features", features))


@pytest.mark.parametrize(("n", "points", "far"), [(40, 1, 0), (40, 2, 0), (200, 9, 0), (200, 60, 1), (200, 60, 8)])
def test_rows_of_few_points_have_a_map(n, points, far):
    """t-SNE would end the process where all are one point: skipped, said, and the map is that of PCA."""
    rows = _of_points(n, points, far=far)
    made, plain = (make_row_map(rows, way) for way in ("tsne", "pca"))
    different = len(np.unique(rows.features, axis=0))
    assert made.way == "pca" and np.isfinite(made.places).all() and np.array_equal(made.places, plain.places)
    assert made.notes[0] == f"t-SNE was skipped: it needs 10 rows with different features, and there are {different}."
    assert made.notes[1:] == plain.notes


def test_rounding_does_not_tell_rows_apart():
    """Planted fault seen: points that are equal to the last digit alone."""
    rng = np.random.default_rng(0)
    features = (_plain(1).features + 5 * (1 + 1e-8 * rng.normal(size=(40, 12)))).astype(np.float32)
    assert len(np.unique(features, axis=0)) > 10
    rows = Predictions.from_arrays(logits=np.tile([1.0, 0.0], (40, 1)), label=np.zeros(40, int), features=features)
    assert make_row_map(rows, "tsne").notes[0].endswith("and there are 1.")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "points", "far"), [(40, 10, 0), (200, 10, 0), (200, 60, 30), (100, 31, 0)])
def test_t_sne_of_rows_of_which_many_are_alike(n, points, far):
    made = make_row_map(_of_points(n, points, far=far), "tsne")
    assert made.way == "tsne" and np.isfinite(made.places).all() and np.ptp(made.places, axis=0).max() > 0.99


def test_the_planted_places_are_found_and_named():
    """Two of nine places are bad: the two largest clusters are they, by their names, rows and rates."""
    rows = mapped_predictions(1500)
    evaluated, found, order = _clusters(rows)
    planted = bad_places(rows)
    assert {each.name for each in found.clusters[:2]} == set(planted)
    wrong, taken = rows.prediction != rows.label, found.place
    for number, each in enumerate(found.clusters[:2]):
        inside, is_planted = taken == number, planted[each.name][order]
        assert is_planted[inside].mean() > 0.98 and inside[is_planted & wrong[order]].mean() > 0.9
        assert each.rows == inside.sum()
        holds = RowRule.parse(each.rule).find_rows(evaluated)
        assert np.array_equal(holds, planted[each.name]) and each.n_rule == holds.sum()
        right = stats.binomtest(int((holds & wrong).sum()), int(holds.sum())).proportion_ci(0.95, "wilson")
        assert each.error_rate.value == wrong[holds].mean()
        assert (each.error_rate.low, each.error_rate.high) == pytest.approx((right.low, right.high))
        label = next(every for every in each.shared if every.title == "True class")
        own, other = inside, wrong[order] & ~inside
        has = rows.label[order] == rows.class_names.index(label.value)
        assert label.share == has[own].mean()
        assert label.lift.value == pytest.approx(has[own].mean() / has[other].mean())
        assert label.lift.low > 1
        names = len(rows.class_names) + len({*rows.column("context")})
        counts = has[own].sum(), own.sum(), has[other].sum(), other.sum()
        expected = lift_of_counts(*map(int, counts), confidence=1 - 0.05 / (len(found.clusters) * names))
        assert (label.lift.low, label.lift.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.slow
def test_mistakes_that_share_nothing_get_no_name():
    """Clusters of features that go with no class or context, in 40 worlds: a name by chance in at most two."""
    named = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = mapped_predictions(400, seed=seed, bad=0.5, good=0.5)
        centers = 6 * rng.normal(size=(3, 8))
        parts = (centers[rng.integers(0, 3, 400)] + rng.normal(size=(400, 8))).astype(np.float32)
        found = _clusters(rows, parts)[1]
        assert found.clusters
        named += any(each.shared for each in found.clusters)
    assert named <= 2, named


def test_few_or_many_mistakes_are_said(monkeypatch):
    rows = mapped_predictions(300)
    monkeypatch.setattr("oochub.browsing.mistake_clusters._MOST_ROWS", 40)
    found = _clusters(rows)[1]
    assert found.notes[0].startswith("Clusters are looked for in 40 of") and (found.place >= 0).sum() <= 40
    few = rows.select((rows.prediction == rows.label) | (np.arange(300) < 20))
    assert _clusters(few)[1].clusters == ()
