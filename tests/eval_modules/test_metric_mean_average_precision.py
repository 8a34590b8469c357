"""Mean average precision against scikit-learn, label by label as OGB's evaluator does, and a hand-worked case."""

import math

import numpy as np
import pytest
from few_of import few_of
from scipy import stats
from scipy.special import ndtri
from sklearn.metrics import average_precision_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.mean_average_precision.mean_average_precision import (
    _compute_influence,
    _rank_labels,
    _State,
    mean_average_precision,
)
from oochub.stats.estimation import estimate

nan = math.nan


def columns(n: int, k: int, seed: int, *, digits: int = 1, share: float = 0.3) -> dict[str, np.ndarray]:
    """Rows with unknown labels and, of few digits, with ties."""
    rng = np.random.default_rng(seed)
    label = (rng.random((n, k)) < share).astype(float)
    score = np.round(rng.normal(label), digits)
    label[rng.random((n, k)) < 0.25] = nan
    return {"label": label, "score": score}


def ogb(label: np.ndarray, score: np.ndarray) -> float:
    """The rule of ogb/graphproppred/evaluate.py: labels with a 1 and a 0, on their labeled rows."""
    values = []
    for j in range(label.shape[1]):
        if (label[:, j] == 1).any() and (label[:, j] == 0).any():
            known = ~np.isnan(label[:, j])
            values.append(average_precision_score(label[known, j], score[known, j]))
    return sum(values) / len(values) if values else nan


def test_by_hand() -> None:
    """The mean of 5/6 and 1/2.

    The first label has its positives first and third, (1 + 2/3) / 2; of the second the unknown row is left out and the
    positive one is second of two; the third has no negative row and does not count.
    """
    label = [[1, 1, 1], [0, nan, 1], [1, 0, nan]]
    score = [[0.9, 0.2, 0.3], [0.5, 0.8, 0.1], [0.1, 0.4, 0.6]]
    assert mean_average_precision(label=label, score=score) == pytest.approx((5 / 6 + 1 / 2) / 2, rel=1e-15)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_equals_scikit_learn(digits: int) -> None:
    """Planted faults: of equal scores the first row alone counted as taken; the mean over all labels."""
    for seed in range(10):
        given = columns(80, 6, seed, digits=digits, share=0.04 if seed % 2 else 0.4)
        assert mean_average_precision(**given) == pytest.approx(ogb(**given), abs=1e-13)


def test_equal_scores_have_the_share_of_positives() -> None:
    """3 of 4 known rows hold; infinities tie as well. Planted fault: differences of scores, which are nan of inf."""
    label = np.array([[1], [1], [0], [1], [nan]])
    for score in (0.0, np.inf, -np.inf):
        assert mean_average_precision(label, np.full((5, 1), score)) == 3 / 4


def test_undefined_is_nan_with_a_reason() -> None:
    label = np.array([[1, 0, nan], [1, 0, nan], [nan, 0, 1]])
    assert math.isnan(mean_average_precision(label, np.zeros((3, 3))))
    number = estimate(mean_average_precision, {"label": label, "score": np.zeros((3, 3))})
    assert math.isnan(number) and number.reason == "no label has a known positive and a known negative row"


@pytest.mark.slow
@pytest.mark.parametrize(("n", "clusters"), few_of([(300, 30), (40, None), (300, None), (40, 20), (300, 10)]))
def test_interval_is_that_of_drawn_rows(n: int, clusters: int | None) -> None:
    """Against scikit-learn on drawn rows: 2 value - quantiles, Student's t of few rows or clusters; ends in [0, 1]."""
    given, rng = columns(n, 3, 1, share=0.1), np.random.default_rng(0)
    cluster = None if clusters is None else np.arange(n) * clusters // n
    number = estimate(mean_average_precision, given, cluster=cluster, resamples=300)
    drawn = []
    for _ in range(300):
        if cluster is None:
            rows = rng.integers(n, size=n)
        else:
            units = rng.integers(clusters, size=clusters)
            rows = np.concatenate([np.flatnonzero(cluster == each) for each in units])
        drawn.append(ogb(**{name: column[rows] for name, column in given.items()}))
    value, count = ogb(**given), clusters or n
    if n < 300 or count < 20:
        half = stats.t.ppf(0.975, count - 1) * np.nanstd(drawn, ddof=1) * math.sqrt(count / (count - 1))
        ends, method = [value - half, value + half], "t interval, bootstrap of "
    else:
        low, high = np.nanquantile(drawn, (0.025, 0.975))
        ends, method = [2 * value - high, 2 * value - low], "basic bootstrap of "
    assert number.value == pytest.approx(value, abs=1e-13)
    assert [number.low, number.high] == pytest.approx(np.clip(ends, 0, 1).tolist(), abs=1e-12)
    assert number.method.startswith(method)


def test_influence_is_the_slope_of_a_row_s_weight() -> None:
    """Of scikit-learn's weighted average precision, where scores tie and labels are unknown."""
    label, score = (column[:, 0] for column in columns(60, 1, 2, digits=0).values())
    known, weights = ~np.isnan(label), 1 + 1e-6 * np.eye(60)
    values = [average_precision_score(label[known], score[known], sample_weight=row[known]) for row in weights]
    slope = (np.array(values) - average_precision_score(label[known], score[known])) / 1e-6
    assert _compute_influence(_rank_labels(label[:, None], score[:, None])[0], 60) == pytest.approx(slope, abs=1e-6)


def resampled(label: np.ndarray, score: np.ndarray, resamples: int) -> list[float]:
    """The metric of resampled rows, from how often each is drawn; the first is scikit-learn's as well."""
    rng, n = np.random.default_rng(1), len(label)
    known = [np.flatnonzero(~np.isnan(column)) for column in label.T]
    orders = [rows[np.argsort(-score[rows, j])] for j, rows in enumerate(known)]
    lasts = [np.searchsorted(-score[order, j], -score[order, j], side="right") - 1 for j, order in enumerate(orders)]
    values = []
    for resample in range(resamples):
        times, of_labels = np.bincount(rng.integers(n, size=n), minlength=n), []
        for j, (order, last) in enumerate(zip(orders, lasts, strict=True)):
            found = times[order] * label[order, j]
            precision = np.cumsum(found)[last] / np.maximum(np.cumsum(times[order])[last], 1)
            of_labels.append(found @ precision / found.sum())
        values.append(np.mean(of_labels))
        if resample == 0:
            rows = np.repeat(np.arange(n), times)
            assert values[0] == pytest.approx(ogb(label[rows], score[rows]), abs=1e-12)
    return values


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alike", "rare", "tied"])
def test_many_rows_have_the_ends_of_the_bootstrap(kind: str) -> None:
    """Of 10,000 rows; an end moves by up to a tenth of the width, as another seed of 700 resamples moves it."""
    n, rng = 10_000, np.random.default_rng(3)
    k, share, digits, shared = {"alike": (3, 0.3, 9, 5.0), "rare": (12, 0.015, 9, 0), "tied": (3, 0.3, 0, 0)}[kind]
    latent = rng.normal(size=(n, k)) + shared * rng.normal(size=(n, 1))
    label = (latent < ndtri(share) * math.hypot(1, shared)).astype(float)
    score = np.round(rng.normal(1.5 * label) + shared * rng.normal(size=(n, 1)) / 5, digits)
    label[rng.random((n, k)) < 0.1] = nan
    interval = estimate(mean_average_precision, {"label": label, "score": score})
    value, quantiles = mean_average_precision(label, score), np.quantile(resampled(label, score, 700), (0.025, 0.975))
    low, high = 2 * value - quantiles[::-1]
    assert [interval.low, interval.high] == pytest.approx([low, high], abs=0.1 * (high - low))
    assert interval == value and interval.method.startswith("normal law of the resamples")


@pytest.mark.parametrize("n", [20, 20_000])
def test_a_perfect_order_leaves_room_for_a_row_that_nobody_saw(n: int) -> None:
    """One row more in either label, worst in one of two ways: Wilson's interval of 0, by the effective rows."""
    label = np.tile([[1.0, 0.0], [0.0, 1.0]], (n // 2, 1))
    number = estimate(mean_average_precision, {"label": label, "score": label})
    m = n // 2
    losses = np.array([0.5 / m, np.mean(1 / np.arange(2, m + 2))]) / 2  # of a label, in the mean of two
    effective = losses.sum() / (losses**2).sum()
    assert (float(number), number.high) == (1, 1)
    assert number.low == pytest.approx(1 - 1.959964**2 / (effective + 1.959964**2), abs=1e-6)


@pytest.mark.parametrize(
    ("label", "score", "message"),
    [
        ([1, 0], [0.1, 0.2], r"label must have shape \(n, k\), one value for each of k labels a row, got \(2,\)"),
        ([[1], [0]], [0.1, 0.2], r"score must have shape \(n, k\)"),
        ([[1, 0.5]], [[1, 2]], r"label must be 1, 0 or nan \(unknown\), got 0.5 at row 0, label 1 \(1 such labels\)"),
        ([[1, -1], [2, 0]], np.zeros((2, 2)), r"got -1 at row 0, label 1 \(2 such labels\)"),
        ([["a"]], [[1.0]], "label must hold 1, 0 or nan"),
        ([[1, 0]], [[1.0]], r"label and score must have one shape \(n, k\), got \(1, 2\) and \(1, 1\)"),
        (np.zeros((3, 0)), np.zeros((3, 0)), r"got \(3, 0\)"),
    ],
)
def test_messages(label: object, score: object, message: str) -> None:
    with pytest.raises(OochubError, match=message):
        mean_average_precision(label=label, score=score)


def test_batches_of_other_labels_do_not_mix() -> None:
    """Nothing of the refused batch stays. Planted fault: rows appended before the check."""
    state, other = _State(), _State()
    state.update(label=[[1, 0], [0, 1]], score=[[2, 1], [1, 2]])
    other.update(label=[[1, 0, 0]], score=[[2, 1, 0]])
    for refused in (lambda: state.update(label=[[1]], score=[[1]]), lambda: state.merge(other)):
        with pytest.raises(OochubError, match=r"same number k of labels per row, got [12] and [23]"):
            refused()
    assert state.compute() == 1.0
