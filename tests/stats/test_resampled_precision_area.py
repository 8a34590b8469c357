"""Resamples of cells of scores against resamples of rows that are scored as by scikit-learn; coverage of intervals."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import auc, average_precision_score, precision_recall_curve

from oochub.errors import OochubError
from oochub.eval_modules.metrics.average_precision.average_precision import average_precision
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import estimate
from oochub.stats.ranking import count_by_score, order_tallies, resampled_precision_area

# The share of OOD rows, how far apart the scores of both kinds are, and the digits of a score.
_ROWS = {
    "both": (0.4, 1.0, 9),
    "tied": (0.4, 1.0, 1),
    "few of one kind": (0.99, 2.0, 9),
    "few of one kind, nearly perfect": (0.998, 4.0, 9),
    "tied, few of one kind": (0.99, 2.0, 1),
    "wrong way round": (0.3, -1.0, 9),
}


def columns(n: int, seed: int, ood: float, apart: float, digits: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_ood = rng.permutation(np.arange(n) < ood * n)
    return {"score": np.round(rng.normal(np.where(is_ood, 0, apart)), digits), "is_ood": is_ood}


def areas_of_rows(truth: np.ndarray, score: np.ndarray, resamples: int) -> list[float]:
    """Average precision of resampled rows, by how often each row is drawn; the first is scikit-learn's as well."""
    order, rng, areas = np.argsort(-score), np.random.default_rng(1), []
    last = np.searchsorted(-score[order], -score[order], side="right") - 1
    for resample in range(resamples):
        times = np.bincount(rng.integers(len(score), size=len(score)), minlength=len(score))
        found = times[order] * truth[order]
        areas.append(found @ (np.cumsum(found)[last] / np.maximum(np.cumsum(times[order])[last], 1)) / found.sum())
        if resample == 0:
            assert areas[0] == pytest.approx(average_precision_score(truth, score, sample_weight=times), abs=1e-12)
    return areas


@pytest.mark.slow
@pytest.mark.parametrize("positive", ["id", "ood"])
@pytest.mark.parametrize("case", _ROWS)
def test_ends_are_those_of_resampled_rows(case: str, positive: str) -> None:
    """Another seed of 1,000 resampled rows moves an end by up to 0.07 of the width; so may the cells."""
    arrays = columns(10_000, 7, *_ROWS[case])
    truth, score = arrays["is_ood"] == (positive == "ood"), arrays["score"] * (1 if positive == "id" else -1)
    of_cells = resampled_precision_area(*order_tallies(*count_by_score(**arrays), positive), Sampling(resamples=4000))
    low, middle, high = np.quantile(areas_of_rows(truth, score, 1000), (0.025, 0.5, 0.975))
    assert np.quantile(of_cells, (0.025, 0.5, 0.975)) == pytest.approx([low, middle, high], abs=0.07 * (high - low))


@pytest.mark.slow
def test_ties_of_several_rows_are_those_of_resampled_rows() -> None:
    """Cells of one to three rows of either kind; the mean of 20,000 resamples by cells against 4,000 by scikit-learn.

    Planted faults: cells are counted as two rows where they have one; a tie before its own negatives.
    """
    is_ood = np.repeat([True, False, True, False, True, False], [1, 2, 1, 1, 3, 1])
    score = np.repeat([4, 4, 3, 3, 2, 1], [1, 2, 1, 1, 3, 1])
    rng, of_rows = np.random.default_rng(0), []
    for times in rng.poisson(1, (4000, len(score))):
        if times[is_ood].any() and times[~is_ood].any():
            of_rows.append(average_precision_score(~is_ood, score, sample_weight=times))
    of_cells = resampled_precision_area(
        *order_tallies(*count_by_score(score, is_ood), "id"), Sampling(resamples=20_000)
    )
    assert np.nanmean(of_cells) == pytest.approx(np.mean(of_rows), abs=4 * np.std(of_rows) / 4000**0.5)
    assert np.nanstd(of_cells) == pytest.approx(np.std(of_rows), rel=0.05)


@pytest.mark.slow
def test_the_trapezoid_is_that_of_resampled_rows() -> None:
    """Four scores: precision counts as 1 before the first row that is drawn. Planted fault: it counts as 0 there."""
    is_ood = np.repeat([True, False, True, False, True, False], [3, 2, 4, 1, 2, 3])
    score = np.repeat([1, 1, 2, 2, 3, 4], [3, 2, 4, 1, 2, 3])
    rng, of_rows = np.random.default_rng(0), []
    for times in rng.poisson(1, (2000, len(score))):
        if times[is_ood].any() and times[~is_ood].any():
            precision, recall, _ = precision_recall_curve(~is_ood, score, sample_weight=times)
            of_rows.append(auc(recall, precision))
    of_cells = resampled_precision_area(
        *order_tallies(*count_by_score(score, is_ood), "id"), Sampling(resamples=20_000), "trapezoid"
    )
    assert np.nanmean(of_cells) == pytest.approx(np.mean(of_rows), abs=4 * np.std(of_rows) / 2000**0.5)
    assert np.nanstd(of_cells) == pytest.approx(np.std(of_rows), rel=0.05)


def test_resamples_without_a_kind_are_undefined() -> None:
    """One positive of many rows is in 1 - 1/e of the resamples. Planted fault: a precision of 0 in the others."""
    areas = resampled_precision_area(np.array([0.0, 0, 1]), np.array([0.0, 50, 60]), Sampling(resamples=4000))
    assert np.isnan(areas).mean() == pytest.approx(np.exp(-1), abs=0.03)
    areas = resampled_precision_area(np.array([0.0, 50, 60]), np.array([0.0, 0, 1]), Sampling(resamples=4000))
    assert np.isnan(areas).mean() == pytest.approx(np.exp(-1), abs=0.03)


def test_another_form_is_refused() -> None:
    with pytest.raises(OochubError, match=r"form must be 'step' or 'trapezoid', got 'linear'\."):
        resampled_precision_area(np.arange(3), np.arange(3), Sampling(), "linear")


_CASES = [*product([(0.4, 1.0, 0.93), (0.98, 2.0, 0.90), (0.02, 1.0, 0.90)], ["id", "ood"])]


@pytest.mark.parametrize(
    ("ood", "apart", "least", "positive"),
    [
        pytest.param(*case, side, marks=pytest.mark.slow if k == 3 else pytest.mark.campaign)
        for k, (case, side) in enumerate(_CASES)
    ],
)
def test_intervals_cover(ood: float, apart: float, least: float, positive: str) -> None:
    """Of 300 samples of 2,000 rows, the share whose interval has the average precision of two million.

    Percentiles of resampled rows cover 0.98, 0.96, 0.95, 0.92, 0.95 and 0.95 of the same samples, those of cells 0.99,
    0.96, 0.95, 0.92, 0.95 and 0.96; so it is with 1,000 resamples, and 400 of them are drawn here.
    """
    truth = average_precision(**columns(2_000_000, 0, ood, apart, 9), positive=positive)
    intervals = [
        estimate(average_precision, columns(2000, seed, ood, apart, 9), options={"positive": positive}, resamples=400)
        for seed in range(1, 301)
    ]
    assert all(each.method.startswith("percentile bootstrap of cells of scores") for each in intervals)
    assert np.mean([each.low <= truth <= each.high for each in intervals]) >= least
