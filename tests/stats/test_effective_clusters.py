"""Few large clusters beside many small ones: what they count as, and every interval and p-value that goes by it."""

import math

import numpy as np
import pytest
from scipy import stats

from oochub import get
from oochub.stats.bootstrap import bootstrap, replicate_interval
from oochub.stats.estimate import Estimate, Sampling, effective_clusters
from oochub.stats.estimation import estimate
from oochub.stats.p_values import sign_flips
from oochub.stats.paired_values import PairedValues, compare_values


def falling(clusters: int, rows: int) -> np.ndarray:
    """The cluster of each row; sizes fall as 1 / rank."""
    part = 1 / np.arange(1, clusters + 1)
    return np.repeat(np.arange(clusters), np.maximum(1, np.round(rows * part / part.sum())).astype(int))


def test_effective_clusters_by_hand() -> None:
    """Sizes 4, 1 and 1: 36 / 18. Equal sizes, in any order of the rows and with numbers left out: their number."""
    assert effective_clusters(np.repeat([0, 1, 2], [4, 1, 1])) == 2.0
    assert effective_clusters(np.array([7, 3, 7, 3, 5, 5])) == pytest.approx(3)
    assert effective_clusters(np.array([0, 1, 1]), np.array([2.0, 1.0, 1.0])) == pytest.approx(2)
    assert math.isnan(effective_clusters(np.zeros(0, int)))
    harmonic, squares = sum(1 / k for k in range(1, 51)), sum(1 / k**2 for k in range(1, 51))
    assert effective_clusters(falling(50, 60_000)) == pytest.approx(harmonic**2 / squares, rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([10] * 40, None),
        ([10] * 39, "only 39 clusters: the interval may be too narrow"),
        ([1000] + [1] * 500, "501 clusters count as 2 of equal size: the interval may be too narrow"),
        ([10] * 38 + [11], "only 39 clusters: the interval may be too narrow"),
        ([10, 20] * 50, None),
        ([30, 1], "2 clusters count as 1 of equal size: the interval may be too narrow"),
        ([30], "one cluster only: nothing is known about differences between clusters"),
    ],
)
def test_the_caveat_goes_by_effective_clusters(sizes: list[int], words: str | None) -> None:
    """Planted fault: the number of clusters, by which 501 that are nearly one need no word."""
    assert Sampling(cluster=np.repeat(np.arange(len(sizes)), sizes)).warning == words


def test_replicates_take_students_t_with_effective_clusters() -> None:
    """Sizes 4, 1 and 1 count as two: t of one degree of freedom by scipy, times the root of 2 / 1."""
    drawn = np.random.default_rng(0).normal(size=400)
    found = replicate_interval(drawn, 0.0, 6, Sampling(cluster=np.repeat([0, 1, 2], [4, 1, 1])))
    assert found.high == pytest.approx(stats.t.ppf(0.975, 1) * drawn.std(ddof=1) * math.sqrt(2))
    many = np.repeat(np.arange(101), [100] + [1] * 100)  # count as 4
    found = replicate_interval(drawn, 0.0, 200, Sampling(cluster=many))
    count = 200**2 / (100**2 + 100)
    by_hand = stats.t.ppf(0.975, count - 1) * drawn.std(ddof=1) * math.sqrt(count / (count - 1))
    assert found.high == pytest.approx(by_hand) and found.method.startswith("t interval")
    assert replicate_interval(drawn, 0.0, 200, Sampling(cluster=np.arange(200) % 100)).method.startswith("percentile")


def test_a_large_cluster_widens_the_interval_of_any_metric() -> None:
    """A median of 300 rows, of 60 equal clusters and of 60 whose sizes fall as 1 / rank (which count as 13)."""
    rng = np.random.default_rng(1)
    found = []
    for cluster in (np.repeat(np.arange(60), 5), falling(60, 300)):
        values = rng.normal(size=60)[cluster] + 0.1 * rng.normal(size=len(cluster))
        found.append(bootstrap(lambda x: float(np.median(x)), {"x": values}, Sampling(cluster=cluster)))
    assert found[0].method.startswith("percentile") and found[0].reason is None
    assert found[1].method.startswith("t interval") and "60 clusters count as" in str(found[1].reason)


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
def test_p_values_agree_with_their_intervals(size: float) -> None:
    """Where Student's t is taken of few effective clusters, the p-value is that of the same degrees of freedom.

    The interval of 1 - p ends at 0. Planted fault: one degree less than there are clusters, in the p-value alone.
    """
    rng = np.random.default_rng(2)
    cluster = falling(400, 2000)
    values = size * 0.1 + rng.normal(size=400)[cluster]
    found = sign_flips(values, Sampling(cluster=cluster))
    assert found.test == "Student's t"
    at = sign_flips(values, Sampling(cluster=cluster, confidence=1 - found.p_value)).mean
    assert min(abs(at.low), abs(at.high)) == pytest.approx(0, abs=1e-6)
    sampling, drawn = Sampling(cluster=falling(50, 300)), rng.normal(size=500)
    models = [
        PairedValues(
            kind="percentiles", values=each, number=Estimate(value, n=300, method=""), n=300, sampling=sampling
        )
        for each, value in ((np.zeros(500), 0.0), (drawn + size, size))
    ]
    tested = compare_values(*models)
    freedom = effective_clusters(falling(50, 300)) - 1
    error = drawn.std(ddof=1) * math.sqrt((freedom + 1) / freedom)
    assert tested.p_value == pytest.approx(2 * stats.t.sf(size / error, freedom), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.5, 0.2])
def test_numbers_of_unequal_clusters_cover_as_their_caveat_says(alike: float) -> None:
    """600 rows in 50 clusters whose sizes fall as 1 / rank: at least 0.80 with a caveat; sign flips refuse 5%.

    Macro F1 of three classes, a correlation, mean absolute errors; two models that are equally right on average.
    """
    cluster, worlds = falling(50, 600), 300
    rng = np.random.default_rng([7, int(10 * alike)])
    names = {"f1_macro": 0, "pearson": 0, "mean_absolute_error": 0}

    def draw(shared: np.ndarray) -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
        def effect() -> np.ndarray:
            own = rng.normal(size=shared.max() + 1)[shared]
            return math.sqrt(alike) * own + math.sqrt(1 - alike) * rng.normal(size=len(shared))

        label, number, first = rng.integers(3, size=len(shared)), effect(), effect()
        answers = np.where(first > -0.8, label, (label + 1) % 3)
        numbers = {"label": number, "prediction": number + 0.8 * effect()}
        return {
            "f1_macro": {"label": label, "prediction": answers},
            "pearson": numbers,
            "mean_absolute_error": numbers,
        }, first - effect()

    of_many, _ = draw(np.arange(400_000))
    truth = {name: float(get("metric", name)(**columns)) for name, columns in of_many.items()}
    refused = 0
    for seed in range(worlds):
        columns, change = draw(cluster)
        for name in names:
            found = estimate(get("metric", name), columns[name], cluster=cluster, seed=seed, resamples=400)
            assert "clusters count as 12" in str(found.reason)
            names[name] += found.low <= truth[name] <= found.high
        refused += sign_flips(change, Sampling(cluster=cluster, seed=seed)).p_value <= 0.05
    assert all(hits / worlds >= stats.binom.ppf(0.01, worlds, 0.90) / worlds for hits in names.values()), names
    assert refused <= stats.binom.ppf(0.99, worlds, 0.05)
