"""The search on features whose difficulty is known, against scikit-learn, and on the toy Spawrious with its control."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from oochub.builders.sources.spawrious_compositions import (
    BACKGROUNDS,
    BREEDS,
    TABLE_2,
    SpawriousComposition,
    SpawriousEnvironment,
)
from oochub.errors import OochubError
from oochub.studies.spawrious.composition.composition_counts import composition_counts
from oochub.studies.spawrious.composition.composition_search import composition_search
from oochub.studies.spawrious.composition.random_compositions import random_compositions

_FOLDERS = list(product((0, 1), BACKGROUNDS, BREEDS))


def _features(n: int, *, breed: float, background: float, noise: float = 1.0) -> dict:
    """Gaussians around a point of the breed and one of the background."""
    rng = np.random.default_rng(0)
    features = {}
    for folder in _FOLDERS:
        center = np.zeros(10, np.float32)
        center[BREEDS.index(folder[2])], center[4 + BACKGROUNDS.index(folder[1])] = breed, background
        features[folder] = (center + noise * rng.normal(size=(n, 10))).astype(np.float32)
    return features


@pytest.fixture
def few_steps(monkeypatch):
    """Short training, where nothing hangs on how good heads are."""
    monkeypatch.setattr("oochub.studies.spawrious.composition.composition_search._LEAST_STEPS", 120)


@pytest.mark.slow
def test_a_head_is_as_good_as_scikit_learns():
    """The numbers of rows are those of the composition, and the accuracies those of a logistic regression on them."""
    features = _features(80, breed=2.0, background=2.0)
    found = composition_search([TABLE_2["o2o_hard"]], features).ranked[0]
    counts = composition_counts(TABLE_2["o2o_hard"], 40).groupby("split")["n"].sum()
    assert (found.in_context.n, found.accuracy.n) == (counts["validation"], counts["test"])
    for half, accuracy in enumerate((found.accuracy, found.confirmed)):
        rows = {"train": ([], []), "test": ([], [])}
        for part in TABLE_2["o2o_hard"].slices(40):
            own = features[part.repeat, part.background, part.breed][half::2][part.first : part.last]
            own = own[: len(own) - len(own) // 5] if part.split == "train" else own
            rows[part.split][0].append(own)
            rows[part.split][1].extend([part.breed] * len(own))
        scaler = StandardScaler().fit(np.concatenate(list(features.values())))
        train, test = (scaler.transform(np.concatenate(rows[split][0])) for split in ("train", "test"))
        probe = LogisticRegression().fit(train, rows["train"][1])
        assert accuracy == pytest.approx(probe.score(test, rows["test"][1]), abs=0.05)
    assert found.accuracy < 0.5 < found.in_context  # the background misleads


@pytest.mark.slow
def test_what_ranks_shares_no_picture_with_what_confirms(few_steps):
    """Every second image is noise alone. Fault planted: both halves of one and the same."""
    features = _features(40, breed=9.0, background=0.0)
    for rows in features.values():
        rows[::2] = np.random.default_rng(1).normal(size=rows[::2].shape)
    found = composition_search([TABLE_2["m2m_easy"]], features).ranked[0]
    assert found.accuracy < 0.5 and found.confirmed > 0.9


@pytest.mark.slow
def test_training_and_test_share_a_folder_and_no_picture(few_steps):
    """The test takes what training leaves of a folder. Features are noise: who has seen it knows it, and nobody else.

    Fault planted: every slice from the front of its folder.
    """
    shares = {breed: {"desert": 0.5} for breed in BREEDS}
    environments = {
        split: SpawriousEnvironment(split=split, repeats=(0,), shares=shares) for split in ("train", "test")
    }
    rng = np.random.default_rng(0)
    features = {folder: rng.normal(size=(40, 200)).astype(np.float32) for folder in _FOLDERS}
    found = composition_search([SpawriousComposition(environments=environments)], features).ranked[0]
    assert (found.accuracy.n, found.in_context.n) == (40, 8)
    assert found.accuracy < 0.55 and found.confirmed < 0.55


@pytest.mark.slow
def test_the_ranking_and_what_is_proposed(few_steps):
    """Easiest first, by the first half; fewer than three propose nothing. Fault planted: the order reversed."""
    compositions = random_compositions(4, form="m2m")
    features = _features(20, breed=1.0, background=2.0)
    search = composition_search(compositions, features)
    accuracies = search.table["accuracy"].tolist()
    assert accuracies == sorted(accuracies, reverse=True)
    assert search.table["proposed"].tolist() == ["easy", "", "medium", "hard"]
    assert search == composition_search(compositions, features)  # it depends on nothing but its arguments
    assert search.agreement.n == 4
    few = composition_search(compositions[:2], features)
    assert few.proposed == {} and few.agreement.reason == "2 compositions are too few"


def test_what_cannot_be_searched():
    features = _features(20, breed=1.0, background=1.0)
    with pytest.raises(OochubError, match="1/beach/corgi has 3"):
        composition_search([], features | {(1, "beach", "corgi"): np.zeros((3, 10), np.float32)})
    with pytest.raises(OochubError, match="needs 20 images per folder, got 19"):
        composition_search([], {folder: rows[:19] for folder, rows in features.items()})
    with pytest.raises(OochubError, match=r"equally many training rows, got \[64, 72\]"):
        composition_search([TABLE_2["o2o_hard"], TABLE_2["m2m_hard"]], features)
    features[0, "snow", "corgi"][0, 0] = np.nan
    with pytest.raises(OochubError, match="not finite"):
        composition_search([], features)
