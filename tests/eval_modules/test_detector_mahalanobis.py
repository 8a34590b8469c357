"""Mahalanobis against scikit-learn's covariance and a loop over classes."""

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance

from oochub.errors import OochubError
from oochub.eval_modules.detectors import _nearest
from oochub.eval_modules.detectors.mahalanobis import Mahalanobis


def made(n: int, d: int = 12, classes: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    spread = np.random.default_rng(99).normal(size=(d, d))
    return 3 * np.random.default_rng(98).normal(size=(classes, d))[label] + rng.normal(size=(n, d)) @ spread, label


def by_class(train: np.ndarray, label: np.ndarray, test: np.ndarray) -> np.ndarray:
    """scikit-learn's squared distance to each class, with the covariance of centered rows (its / N, its pinvh)."""
    means = {c: train[label == c].mean(axis=0) for c in np.unique(label)}
    centered = train - np.stack([means[c] for c in label])
    tied = EmpiricalCovariance(assume_centered=True).fit(centered)
    return -np.min([tied.mahalanobis(test - mean) for mean in means.values()], axis=0)


@pytest.mark.parametrize("scale", [1, 1e-6, 1e6])
def test_equals_scikit_learn(scale: float) -> None:
    """Planted faults: covariance of all rows, not within classes; n - 1; the largest distance."""
    (train, label), (test, _) = made(800), made(300, seed=1)
    found = Mahalanobis().fit(features=scale * train, label=label).score(features=scale * test)
    np.testing.assert_allclose(found, by_class(scale * train, label, scale * test), rtol=1e-9)


def test_classes_without_rows_are_no_candidates() -> None:
    """Labels 0, 2, 4, ... Planted fault: empty classes at the origin."""
    (train, label), (test, _) = made(400), made(100, seed=1)
    found = Mahalanobis().fit(features=train + 50, label=2 * label).score(features=np.vstack([test + 50, 0 * test]))
    np.testing.assert_allclose(found, by_class(train + 50, label, np.vstack([test + 50, 0 * test])), rtol=1e-9)


def test_dead_units_are_left_out() -> None:
    """Columns that are 0, or the sum of two others: the pseudo-inverse, and the rank is told."""
    (train, label), (test, _) = made(400), made(100, seed=1)
    train, test = (np.hstack([one, 0 * one[:, :2], one[:, :1] + one[:, 1:2]]) for one in (train, test))
    detector = Mahalanobis().fit(features=train, label=label)
    assert detector.rank == 12
    np.testing.assert_allclose(detector.score(features=test), by_class(train, label, test), rtol=1e-8)


def test_a_large_mean_costs_no_digits() -> None:
    """One pass over rows of mean 1e6: what deviations give, not squares. Planted fault: sums of squares about 0."""
    (train, label), (test, _) = made(900), made(100, seed=1)
    moved = Mahalanobis()
    for rows in np.array_split(np.arange(900), 9):
        moved.partial_fit(features=train[rows] + 1e6, label=label[rows])
    expected = Mahalanobis().fit(features=train, label=label).score(features=test)
    np.testing.assert_allclose(moved.finalize().score(features=test + 1e6), expected, rtol=1e-7)


@pytest.mark.parametrize("smallest", [1e-2, 1e-4, 3e-6, 1e-9])
def test_the_whitener_is_a_root_of_the_pseudo_inverse(smallest: float) -> None:
    """Eigenvalues in numpy give the same: by Cholesky's factor and, of small directions, without it."""
    (train, label), basis = made(800), np.linalg.qr(np.random.default_rng(5).normal(size=(12, 12)))[0]
    train = train @ basis * np.where(np.arange(12) == 3, smallest, 1) @ basis.T
    detector = Mahalanobis().fit(features=train, label=label)
    centered = train - np.stack([train[label == c].mean(axis=0) for c in range(7)])[label]
    within, cut = centered.T @ centered / 800, 12 * np.finfo(float).eps * train.var(axis=0).sum()
    values, vectors = np.linalg.eigh(within)
    expected = (vectors[:, values > cut] / values[values > cut]) @ vectors[:, values > cut].T
    assert detector.rank == (values > cut).sum() == (11 if smallest < 1e-5 else 12)
    np.testing.assert_allclose(
        detector.whitener @ detector.whitener.T, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max()
    )


def test_an_ill_conditioned_covariance_in_float32_features() -> None:
    """Condition 1e8: whitening in float32 would be noise. Planted fault: `whitened` cast to float32."""
    (train, label), (test, _) = made(900), made(200, seed=1)
    stretch = np.logspace(0, -4, 12)
    train, test = (train * stretch).astype(np.float32), (test * stretch).astype(np.float32)
    wide = by_class(train.astype(np.float64), label, test.astype(np.float64))
    np.testing.assert_allclose(Mahalanobis().fit(features=train, label=label).score(features=test), wide, rtol=1e-6)


def test_many_classes_of_nearly_one_mean() -> None:
    """And one far away: float32 cannot rank the 400 others, so float64 decides. Planted faults: no second look."""
    rng = np.random.default_rng(0)
    label = np.arange(4010) % 401
    train = rng.normal(size=(4010, 5))
    for c in range(401):
        train[label == c] -= train[label == c].mean(axis=0)
    train += np.vstack([1e-3 * rng.normal(size=(400, 5)), np.full((1, 5), 1e4)])[label]
    test = 40 * rng.normal(size=(50, 5))
    found = Mahalanobis().fit(features=train, label=label).score(features=test)
    np.testing.assert_allclose(found, by_class(train, label, test), rtol=1e-9)


def test_rows_far_beyond_float32() -> None:
    (train, label), (test, _) = made(400), made(20, seed=1)
    found = Mahalanobis().fit(features=train, label=label).score(features=1e30 * test)
    np.testing.assert_allclose(found, by_class(train, label, 1e30 * test), rtol=1e-9)


def test_no_spread_within_classes_is_refused() -> None:
    with pytest.raises(OochubError, match="equal the mean of their class"):
        Mahalanobis().fit(features=[[1.0, 2.0], [3.0, 4.0]], label=[0, 1])


def test_a_label_of_no_class_is_refused() -> None:
    with pytest.raises(OochubError, match="remove those rows"):
        Mahalanobis().fit(features=np.eye(3), label=[0, -1, 1])


def test_memory_of_scoring_is_that_of_a_block() -> None:
    """No (rows, rows) or (classes, d, d) temporaries."""
    import tracemalloc

    (train, label), (test, _) = made(3000, 32, 50), made(4000, 32, 50, seed=1)
    detector = Mahalanobis().fit(features=train, label=label)
    tracemalloc.start()
    detector.score(features=test)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 4000 * (32 + 50) + 4 * 2**20 and _nearest._WIDTH >= 1000, peak


def test_a_turned_whitener_gives_the_same_scores():
    """Only Cholesky's is a triangle. Planted fault seen: every square one taken for a triangle."""
    rng = np.random.default_rng(0)
    features, turn = rng.normal(size=(60, 5)), np.linalg.qr(rng.normal(size=(5, 5)))[0]
    detector = Mahalanobis().fit(features=features, label=np.arange(60) % 3)
    scores = detector.score(features=features)
    detector.whitener, detector.whitened_means = detector.whitener @ turn, detector.whitened_means @ turn
    np.testing.assert_allclose(detector.score(features=features), scores, rtol=1e-12)
