"""The gist similarity against a loop over images and classes with SciPy's cosine."""

import numpy as np
import pytest
from scipy.spatial.distance import cosine

from oochub import OochubError
from oochub.builders.sources import gist_similarity as module
from oochub.builders.sources.gist_similarity import gist_similarity


def _case(n=60, d=7, k=4, seed=0):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(loc=0.3, size=(n, d)).astype(np.float32)
    return vectors, rng.random((n, k)) < 0.3, rng.random(n) < 0.6


@pytest.mark.parametrize("block", [7, 8192])
def test_like_a_loop_with_scipy(block, monkeypatch):
    """Planted fault seen: the mean over all positives, training or not."""
    monkeypatch.setattr(module, "_BLOCK", block)
    vectors, present, train = _case()
    similarity = gist_similarity(vectors, present, train)
    assert similarity.dtype == np.float64 and similarity.shape == present.shape
    for column in range(present.shape[1]):
        usual = np.mean([vectors[i].astype(float) for i in range(60) if present[i, column] and train[i]], axis=0)
        expected = [1 - cosine(vectors[i].astype(float), usual) for i in range(60)]
        np.testing.assert_allclose(similarity[:, column], expected, atol=1e-12)
        np.testing.assert_allclose(gist_similarity(vectors, present[:, column], train), expected, atol=1e-12)


def test_the_mean_is_of_the_vectors_as_they_are():
    """Worked by hand: positives (3, 0) and (0, 1) have the mean (1.5, .5), not the direction (1, 1)."""
    similarity = gist_similarity([[3, 0], [0, 1], [1, 1]], [1, 1, 0], [1, 1, 1])
    np.testing.assert_allclose(similarity, np.array([3, 1, 4 / np.sqrt(2)]) / np.sqrt(10))


def test_a_class_without_training_positives_is_nan():
    vectors, present, train = _case()
    present[train, 1] = False
    similarity = gist_similarity(vectors, present, train)
    assert np.isnan(similarity[:, 1]).all() and np.isfinite(similarity[:, [0, 2, 3]]).all()
    assert np.isnan(gist_similarity([[1, 0], [-1, 0]], [True, True], [True, True])).all()  # their mean is zero


def test_range_and_nothing_changed():
    """Each of 200 images is a class of its own: its cosine with itself is 1, not 1 + 2e-16."""
    vectors, _, _ = _case(n=200)
    before = vectors.copy()
    similarity = gist_similarity(vectors, np.eye(200, dtype=bool), np.ones(200, bool))
    np.testing.assert_allclose(similarity.diagonal(), 1)
    assert similarity.max() == 1
    np.testing.assert_array_equal(vectors, before)
    assert gist_similarity(np.zeros((0, 3)), np.zeros((0, 2), bool), np.zeros(0, bool)).shape == (0, 2)


@pytest.mark.parametrize("value", [0, np.nan, np.inf])
def test_images_without_a_direction_are_counted(value):
    vectors, present, train = _case()
    vectors[[4, 9]] = value
    with pytest.raises(OochubError, match=r"2 of 60 images .* first row 4"):
        gist_similarity(vectors, present, train)


@pytest.mark.parametrize(
    ("vectors", "present", "train"),
    [((5,), (5,), (5,)), ((5, 2), (4,), (5,)), ((5, 2), (5, 1, 1), (5,)), ((5, 2), (5,), (5, 1)), ((5, 2), (), (5,))],
)
def test_shapes_that_do_not_go_together(vectors, present, train):
    with pytest.raises(OochubError, match=r"takes embedding \(n, d\)"):
        gist_similarity(np.ones(vectors), np.ones(present, bool), np.ones(train, bool))
