"""Macro F1 against scikit-learn with the labels that occur, as WILDS' code has it; its interval by simulation."""

from importlib import import_module

import numpy as np
import pytest
from scipy.stats import t
from sklearn.metrics import f1_score

from oochub.eval_modules.metrics.f1_macro.f1_macro import f1_macro
from oochub.stats.estimation import estimate


@pytest.mark.parametrize("seed", range(20))
def test_equals_scikit_learn(seed):
    """Absent classes, single classes, answers into classes of nobody. Fault planted: the average over all classes."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(1, 60)), int(rng.integers(1, 12))
    label = rng.choice(rng.integers(0, classes, 4), n)
    prediction = np.where(rng.random(n) < 0.5, label, rng.integers(0, classes + 3, n))
    expected = f1_score(label, prediction, average="macro", labels=np.unique(label), zero_division=0)
    assert f1_macro(label=label, prediction=prediction) == pytest.approx(expected, abs=1e-12)


def test_sums_of_clusters_are_those_of_resampled_rows():
    """Unequal clusters, each resample drawn row by row and scored by scikit-learn, then Student's t by hand."""
    rng, cluster = np.random.default_rng(2), np.repeat(np.arange(40), [40, 20, 10, 5, *[3] * 36])
    label, prediction = rng.choice(4, len(cluster)), rng.choice([0, 1, 2, 3, 3, 8, -1], len(cluster))
    found = estimate(f1_macro, {"label": label, "prediction": prediction}, cluster=cluster, resamples=100, seed=6)
    drawn, generator = [], np.random.default_rng(6)
    for _ in range(100):
        rows = np.concatenate([np.flatnonzero(cluster == one) for one in generator.integers(40, size=40)])
        names = np.unique(label[rows])
        drawn.append(f1_score(label[rows], prediction[rows], average="macro", labels=names, zero_division=0))
    count = len(cluster) ** 2 / (40**2 + 20**2 + 10**2 + 5**2 + 36 * 9)
    half = t.ppf(0.975, count - 1) * np.std(drawn, ddof=1) * np.sqrt(count / (count - 1))
    assert [found.low, found.high] == pytest.approx([found.value - half, found.value + half])


def test_cells_of_many_rows_have_the_law_of_rows(monkeypatch):
    """Rows of one label and one answer drawn together, beside rows drawn one by one: ends within the error of draws."""
    rng = np.random.default_rng(3)
    label = rng.choice(5, 3000, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    columns = {
        "label": label,
        "prediction": np.where(rng.random(3000) < 0.7, label, rng.choice([0, 1, 2, 3, 4, -1], 3000)),
    }
    rows = estimate(f1_macro, columns, resamples=4000)
    monkeypatch.setattr(import_module("oochub.eval_modules.metrics.f1_macro.f1_macro"), "_MANY", 1)
    cells = estimate(f1_macro, columns, resamples=4000)
    assert cells.value == rows.value and cells.low != rows.low
    assert [cells.low, cells.high] == pytest.approx([rows.low, rows.high], abs=0.06 * (rows.high - rows.low))
