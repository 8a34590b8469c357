"""All pairs at once against two models at a time, by `compare_values`, whose tests have tests of their own."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from oochub.errors import OochubError
from oochub.stats import model_places
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.model_places import compare_all_pairs
from oochub.stats.paired_values import PairedValues, compare_values

Z = 1.959963984540054


def contribute(kind, values, *, number=None, n=None, label=None, cluster=None):
    n = len(values) if n is None else n
    number = number or Estimate(float(np.nanmean(values)), n=n, method="")
    return PairedValues(kind=kind, values=values, number=number, n=n, label=label, sampling=Sampling(cluster=cluster))


def draw(kind, rows, *, models=6, clusters=None, seed=0):
    """Models that go together by row, the last two alike in every row."""
    draws = np.random.default_rng(seed)
    shared, cluster = draws.normal(size=rows), None
    if clusters:
        cluster = draws.integers(clusters, size=rows)
        cluster[:clusters] = np.arange(clusters)
        shared = shared + draws.normal(size=clusters)[cluster]
    latent = shared + 0.7 * draws.normal(size=(models - 1, rows)) + np.linspace(0, 0.6, models - 1)[:, None]
    latent = np.vstack([latent, latent[-1:]])
    label = None
    if kind == "shares":
        latent = latent > 0.3
    if kind == "auc":
        label = draws.integers(2, size=rows)
        latent = np.round(latent + label * np.linspace(0.3, 1, models)[:, None], 1)  # with ties
        latent[-1] = latent[-2]
    return [contribute(kind, row, label=label, cluster=cluster) for row in latent]


CASES = [
    ("shares", 40, None), ("shares", 700, None),
    ("means", 5, None), ("means", 9, None), ("means", 60, None), ("means", 500, None),
    ("means", 60, 1), ("means", 60, 4), ("means", 90, 10), ("means", 400, 50), ("means", 1500, 320),
    ("auc", 30, None), ("auc", 400, None), ("auc", 400, 30), ("auc", 300, 3),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "rows", "clusters"), CASES)
def test_each_pair_is_as_if_it_were_compared_alone(kind, rows, clusters):
    """Planted faults seen: a wrong n, the wrong sign, other degrees of freedom, turned subsets, no clusters."""
    models = draw(kind, rows, clusters=clusters, seed=rows)
    found = compare_all_pairs(models)
    for i, j in itertools.permutations(range(len(models)), 2):
        change, p_value, _ = compare_values(models[i], models[j])
        assert found.gain[i, j] == pytest.approx(change.value, abs=1e-12)
        assert found.p_value[i, j] == pytest.approx(p_value, rel=1e-9, abs=1e-15, nan_ok=True)
        error = (change.high - change.low) / (2 * Z)
        if not (kind == "auc" and change.value + Z * error > 1):  # its interval ends at 1
            assert found.error[i, j] == pytest.approx(error, rel=1e-9, abs=1e-12, nan_ok=True)
    assert np.isnan(np.diag(found.gain)).all() and np.isnan(np.diag(found.p_value)).all()


@pytest.mark.parametrize("kind", ["shares", "means", "auc", "t", "intervals"])
def test_models_that_are_alike_are_tested_once(kind, monkeypatch):
    """A thousand entries of three models: one test each, whatever the number of their pairs, with the same numbers."""
    draws = np.random.default_rng(3)
    label = draws.integers(2, size=60)
    rows = draws.normal(size=(3, 60)) + 0.5 * label
    rows = rows > 0 if kind == "shares" else np.empty((3, 0)) if kind == "intervals" else rows
    numbers = [Estimate(0.5 + k / 10, low=0.4 + k / 10, high=0.6 + k / 10, n=60, method="") for k in range(3)]
    given = {"label": label} if kind == "auc" else {}
    models = [
        contribute(kind, 3 * row + 1 if kind == "auc" and twice else row, number=number, n=60, **given)
        for twice in (False, True)  # scores on another scale rank the same
        for row, number in zip(rows, numbers, strict=True)
    ]
    calls = []
    monkeypatch.setattr(model_places, "compare_values", lambda *pair: calls.append(pair) or compare_values(*pair))
    found = compare_all_pairs([models[k % 6] for k in range(999)])
    assert len(calls) <= 6
    for i, j in [(0, 1), (1, 2), (0, 2), (0, 3), (4, 1), (5, 996), (2, 995), (998, 2)]:
        change, p_value, _ = compare_values(models[i % 6], models[j % 6])
        assert found.gain[i, j] == pytest.approx(change.value, abs=1e-12)
        assert found.p_value[i, j] == pytest.approx(p_value, rel=1e-9, nan_ok=True)
        assert found.error[i, j] == pytest.approx((change.high - change.low) / (2 * Z), abs=1e-12, nan_ok=True)
    assert np.isnan(np.diag(found.gain)).all()


def test_a_few_rows_that_flip_are_tested_as_scipy_does():
    """None, one, two or six rows against the first model, and all pairs of these: exact McNemar, by binomtest."""
    models = [contribute("shares", np.arange(12) >= flipped) for flipped in (0, 0, 1, 2, 6)]
    found = compare_all_pairs(models)
    for (i, one), (j, other) in itertools.permutations(enumerate((0, 0, 1, 2, 6)), 2):
        flips = abs(one - other)
        expected = stats.binomtest(0, flips).pvalue if flips else 1.0
        assert found.p_value[i, j] == pytest.approx(expected), (one, other)
        assert found.gain[i, j] == pytest.approx((one - other) / 12)


@pytest.mark.parametrize("kind", ["t", "percentiles", "intervals"])
def test_resamples_and_intervals_are_compared_pair_by_pair(kind):
    draws = np.random.default_rng(1)
    models = []
    for k in range(4):
        drawn = draws.normal(0.6 + k / 20, 0.05, 200)
        number = Estimate(0.6 + k / 20, low=0.5 + k / 20, high=0.7 + k / 20, n=80, method="")
        values = np.empty(0) if kind == "intervals" else np.where(draws.random(200) < 0.02, np.nan, drawn)
        models.append(contribute(kind, values, number=number, n=80))
    found = compare_all_pairs(models)
    for i, j in found.list_pairs():
        change, p_value, _ = compare_values(models[i], models[j])
        assert (found.gain[i, j], found.p_value[i, j]) == (change.value, p_value)


def test_a_model_alone_has_no_pair_and_other_rows_are_refused():
    one, other = contribute("means", np.ones(5)), contribute("means", np.ones(6))
    assert compare_all_pairs([]).gain.shape == (0, 0) and math.isnan(compare_all_pairs([one]).p_value[0, 0])
    with pytest.raises(OochubError, match="same rows only, got 2 sets"):
        compare_all_pairs([one, other])


def test_models_that_hardly_differ_keep_their_digits():
    """Each varies a million times as much as the difference. Planted fault seen: no digits checked."""
    draws = np.random.default_rng(0)
    first = draws.normal(0, 1e6, 400)
    models = [contribute("means", first), contribute("means", first + draws.normal(0.1, 1, 400))]
    found, (change, p_value, _) = compare_all_pairs(models), compare_values(*models)
    assert found.p_value[0, 1] == p_value and found.gain[0, 1] == change.value
