"""Pearson's correlation against scipy, exact fractions and a hand-worked case."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import pearsonr, t

from oochub.eval_modules.metrics.pearson.pearson import _PearsonState, pearson
from oochub.stats.estimation import estimate


def test_by_hand() -> None:
    """Of (-1, 0, 1) and (-3, -2, 5) about their mean: products 8, squares 2 and 38. Planted fault: means left in."""
    assert pearson(label=[-1, 0, 1], prediction=[1, 2, 9]) == pytest.approx(8 / math.sqrt(2 * 38), rel=1e-15)
    assert pearson(label=[1, 2, 3], prediction=[6, 4, 2]) == pytest.approx(-1, rel=1e-15)


@pytest.mark.parametrize("slope", [-2.0, -0.1, 0.0, 0.5, 30.0])
def test_equals_scipy(slope: float) -> None:
    """Planted fault: the sign lost."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 50, 4000):
        label = rng.normal(size=n)
        prediction = slope * label + rng.normal(size=n)
        assert pearson(label, prediction) == pytest.approx(pearsonr(label, prediction).statistic, abs=1e-12)


def test_far_from_zero_no_digit_is_lost() -> None:
    """Against exact fractions, in one update and merged row by row."""
    rng = np.random.default_rng(1)
    label = 1e9 + rng.normal(size=60)
    prediction = -1e9 + (label - 1e9) + rng.normal(size=60)
    y, p = ([Fraction(value) for value in side.tolist()] for side in (label, prediction))
    centered = [[value - sum(side) / 60 for value in side] for side in (y, p)]
    product, of_label, of_prediction = (
        float(sum(a * b for a, b in zip(first, second, strict=True)))
        for first, second in (centered, (centered[0], centered[0]), (centered[1], centered[1]))
    )
    expected = product / math.sqrt(of_label * of_prediction)
    assert pearson(label, prediction) == pytest.approx(expected, rel=1e-6)  # labels have 7 digits after the point
    total = _PearsonState()
    for row in range(60):
        state = _PearsonState()
        state.update(label=label[[row]], prediction=prediction[[row]])
        total.merge(state)
    assert total.compute() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("label", "prediction", "reason"),
    [
        ([1.0], [2.0], "fewer than two rows"),
        ([0.1] * 10, range(10), "all labels or all predictions are equal"),
        (range(3), [0.1] * 3, "all labels or all predictions are equal"),
    ],
)
def test_undefined_is_nan_with_a_reason(label: list[float], prediction: list[float], reason: str) -> None:
    """Planted fault: a constant told by its sum of squares, 1e-33 of three times 0.1, gave a correlation."""
    assert math.isnan(pearson(label, prediction))
    number = estimate(pearson, {"label": np.array(label), "prediction": np.array(prediction)})
    assert math.isnan(number) and math.isnan(number.low) and number.reason == reason


def test_a_state_without_rows_merges() -> None:
    state = _PearsonState()
    state.update(label=[1, 2, 4], prediction=[0, 5, 1])
    before = state.compute()
    state.merge(_PearsonState())
    assert state.compute() == before == pytest.approx(pearsonr([1, 2, 4], [0, 5, 1]).statistic)


@pytest.mark.parametrize("n", [20, 20_000])
def test_rows_on_a_line_have_no_interval(n: int) -> None:
    number = estimate(pearson, {"label": np.arange(n) / 7, "prediction": 3 - np.arange(n) / 3})
    assert number == pytest.approx(-1) and np.isnan([number.low, number.high]).all()
    assert number.reason == "all rows are on one line: no interval can be estimated"


@pytest.mark.parametrize("cluster", [None, np.array([0, 0, 1, 2, 2, 2, 3, 4, 4, 0])])
def test_the_interval_is_the_jackknife_by_a_loop(cluster: np.ndarray | None) -> None:
    """Each row or cluster left out in turn, scored by scipy. Planted fault: the variance without units - 1."""
    rng = np.random.default_rng(3)
    label, noise = rng.normal(size=(2, 10))
    prediction = 100 + 7 * label + 5 * noise
    number = estimate(pearson, {"label": label, "prediction": prediction}, cluster=cluster)
    unit = np.arange(10) if cluster is None else cluster
    left = [np.arctanh(pearsonr(label[unit != one], prediction[unit != one]).statistic) for one in np.unique(unit)]
    units = len(left)
    error = np.sqrt((units - 1) * np.var(left))
    freedom = units - 1 if cluster is None else 10**2 / (9 + 1 + 9 + 1 + 4) - 1
    middle = np.arctanh(pearsonr(label, prediction).statistic)
    expected = np.tanh(middle + np.array([-1, 1]) * t.ppf(0.975, freedom) * error)
    assert [number.low, number.high] == pytest.approx(expected)


def test_few_rows_that_decide_are_said() -> None:
    """400 rows of which one makes the correlation; without it all predictions of the others are equal."""
    rng = np.random.default_rng(4)
    label, prediction = rng.normal(size=(2, 400))
    plain = estimate(pearson, {"label": label, "prediction": prediction})
    far = estimate(pearson, {"label": np.append(label, 40), "prediction": np.append(prediction, 40)})
    assert plain.reason is None and "few values make most of the spread" in far.reason
    alone = estimate(pearson, {"label": np.append(label, 40), "prediction": np.append(np.zeros(400), 40)})
    assert np.isnan(alone.low) and alone.reason.startswith("without one row or cluster")
