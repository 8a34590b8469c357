"""ECE against a loop over bins and hand-worked cases."""

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.eval_modules.metrics.ece.ece import _resample_calibrated, ece
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import estimate
from oochub.stats.logits import summarize_softmax


def by_loop(correct: np.ndarray, confidence: np.ndarray, bins: int) -> float:
    """Guo et al. 2017, Equation 3, bin by bin; 0 is put into the first bin."""
    edges, total = np.linspace(0, 1, bins + 1), 0.0
    for b in range(bins):
        inside = (confidence > edges[b]) & (confidence <= edges[b + 1])
        if b == 0:
            inside |= confidence == 0
        if inside.any():
            total += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    return total


@pytest.mark.parametrize("bins", [1, 10, 15])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_equals_the_loop(classes: int, bins: int) -> None:
    """Planted fault: bins [lo, hi), which moves a confidence on an edge."""
    rng = np.random.default_rng(classes)
    probability = rng.dirichlet(np.ones(classes), 2000)
    label = rng.integers(0, classes, 2000)
    expected = by_loop(probability.argmax(1) == label, probability.max(1), bins)
    assert ece(label=label, probability=probability, bins=bins) == pytest.approx(expected, abs=1e-12)
    if classes == 2:
        assert ece(label=label, probability=probability[:, 1], bins=bins) == pytest.approx(expected, abs=1e-12)
        positive = by_loop(label, probability[:, 1], bins)
        for form in (probability, probability[:, 1]):
            value = ece(label=label, probability=form, bins=bins, of="positive")
            assert value == pytest.approx(positive, abs=1e-12)


def test_edges_belong_to_the_lower_bin() -> None:
    """0.2 = 3/15 and 0.8 = 12/15: 0.2 * 15 is above 3 in floats, so multiplying would use the next bin.

    Rows: 0.2 (twice, one positive), and 0.21, negative. Third bin: |1 - 0.4|; fourth: |0 - 0.21|.
    """
    value = ece(label=[1, 0, 0], probability=[0.2, 0.2, 0.21], of="positive")
    assert value == pytest.approx((0.6 + 0.21) / 3, abs=1e-15)
    for edge in np.linspace(0, 1, 16)[1:-1]:
        above = np.nextafter(edge, 1)
        apart = ece(label=[1, 0], probability=[edge, above], of="positive")
        assert apart == pytest.approx(((1 - edge) + above) / 2, abs=1e-12)


def test_ends() -> None:
    assert ece(label=[0, 1], probability=[0.0, 1.0]) == 0.0
    assert ece(label=[1, 0], probability=[0.0, 1.0]) == 1.0
    assert ece(label=[1, 0], probability=[0.0, 1.0], of="positive") == 1.0


def test_one_pass_over_logits_gives_the_same() -> None:
    """summarize_softmax, then "positive" of (correct, confidence), is the "confidence" of the probabilities."""
    rng = np.random.default_rng(0)
    logits, label = rng.normal(size=(3000, 7)), rng.integers(0, 7, 3000)
    probability = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    summary = summarize_softmax(logits, label=label)
    value = ece(label=summary.prediction == label, probability=summary.confidence, of="positive")
    assert value == pytest.approx(ece(label=label, probability=probability), abs=1e-12)


def test_options_reach_the_interval() -> None:
    rng = np.random.default_rng(0)
    columns = {"label": rng.integers(0, 2, 200), "probability": rng.random(200)}
    interval = estimate(ece, columns, options={"bins": 5, "of": "positive"})
    assert interval.value == pytest.approx(ece(**columns, bins=5, of="positive"), rel=1e-12)
    assert interval.low <= interval.value <= interval.high


@pytest.mark.parametrize(
    ("options", "message"),
    [({"bins": 0}, "bins must be"), ({"bins": 1.5}, "bins must be"), ({"of": "max"}, 'of must be "confidence" or')],
)
def test_messages(options: dict[str, object], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        ece(label=[1], probability=[0.5], **options)


def test_positive_needs_two_classes() -> None:
    with pytest.raises(OochubError, match='of="positive" needs two classes, got 3'):
        ece(label=[1], probability=[[0.2, 0.3, 0.5]], of="positive")


@pytest.mark.slow
@pytest.mark.parametrize(("bins", "lowest", "excess"), [(15, 0.5, 0.3), (200, 0.5, 0.3), (15, 0.94, 1.0)])
def test_the_limit_law_is_that_of_the_bootstrap(bins: int, lowest: float, excess: float) -> None:
    """Of 10,000 rows, the reach of the interval against residuals resampled here, bin by bin, with numpy."""
    rng, n = np.random.default_rng(0), 10_000
    confidence = lowest + (1 - lowest) * rng.random(n)
    label = (rng.random(n) < confidence - excess) * 1
    interval = estimate(ece, {"label": label, "probability": confidence}, resamples=4000, options={"bins": bins})
    edges = np.linspace(0, 1, bins + 1)
    surplus = np.where((edges[:-1] < confidence[:, None]) & (confidence[:, None] <= edges[1:]), 1.0, 0.0)
    surplus *= (label - confidence)[:, None]
    sums = np.array([surplus[rng.integers(n, size=n)].mean(axis=0) for _ in range(400)])
    reach = np.quantile(np.abs(sums - surplus.mean(axis=0)).sum(axis=1), 0.95)
    assert interval.method == "normal law of the bins' residuals, 4000 draws"
    assert interval.value - interval.low == pytest.approx(reach, rel=0.06)
    clustered = estimate(ece, {"label": label, "probability": confidence}, cluster=np.arange(n) // 2, resamples=100)
    assert clustered.method.startswith("bootstrap")


def _falling(clusters: int, rows: int) -> np.ndarray:
    part = 1 / np.arange(1, clusters + 1)
    return np.repeat(np.arange(clusters), np.maximum(1, np.round(rows * part / part.sum())).astype(int))


def _bootstrap_by_loop(
    bin_of: np.ndarray, surplus: np.ndarray, cluster: np.ndarray, seed: int, draws: int
) -> np.ndarray:
    """Distances of the bins' residuals, each resample drawn row by row."""
    rng, members = np.random.default_rng(seed), [np.flatnonzero(cluster == one) for one in np.unique(cluster)]
    own, found = np.bincount(bin_of, surplus, 15) / len(surplus), []
    for _ in range(draws):
        rows = np.concatenate([members[one] for one in rng.integers(len(members), size=len(members))])
        found.append(np.abs(np.bincount(bin_of[rows], surplus[rows], 15) / len(rows) - own).sum())
    return np.array(found)


def _answers(cluster: np.ndarray, seed: int, surplus: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shift = 0.15 * rng.normal(size=cluster.max() + 1)[cluster]
    confidence = 0.5 + rng.random(len(cluster)) / 2
    return confidence, (rng.random(len(cluster)) < confidence - surplus + shift) * 1


def test_sums_of_clusters_have_the_law_of_resampled_rows() -> None:
    """Unequal clusters, each resample drawn row by row here with the same seed: the same reach, to rounding.

    And with another seed quantiles within the error of so many draws.
    """
    cluster = _falling(60, 1500)
    confidence, label = _answers(cluster, 0, 0.1)
    surplus, bin_of = label - confidence, np.ceil(confidence * 15).astype(int) - 1
    found = estimate(ece, {"label": label, "probability": confidence}, cluster=cluster, resamples=500, seed=3)
    reach = np.quantile(_bootstrap_by_loop(bin_of, surplus, cluster, 3, 500), 0.95)
    assert found.value - found.low == pytest.approx(reach, rel=1e-9)
    other = estimate(ece, {"label": label, "probability": confidence}, cluster=cluster, resamples=4000, seed=4)
    assert other.value - other.low == pytest.approx(reach, rel=0.1)
    assert estimate(ece, {"label": label, "probability": confidence}, cluster=cluster, resamples=500, seed=3) == found


@pytest.mark.parametrize(("bins", "n"), [(15, 200), (15, 3000), (1, 300), (200, 1000)])
def test_calibrated_answers_are_drawn_as_wide_as_row_by_row(bins: int, n: int) -> None:
    """One binomial a cell against one uniform number a row. Planted fault: half of the variance."""
    rng = np.random.default_rng(n + bins)
    binned = 0.5 + rng.random(n) / 2
    bin_of = np.ceil(binned * bins).astype(int) - 1
    sums = [np.bincount(bin_of, (rng.random(n) < binned) - binned, bins) / n for _ in range(4000)]
    by_row = np.abs(sums).sum(axis=1)
    by_cell = np.abs(_resample_calibrated(bin_of, binned, bins, Sampling(resamples=4000))).sum(axis=1)
    assert by_cell.mean() == pytest.approx(by_row.mean(), rel=0.05)  # four standard errors of a single bin
    assert np.quantile(by_cell, 0.95) == pytest.approx(np.quantile(by_row, 0.95), rel=0.07)
