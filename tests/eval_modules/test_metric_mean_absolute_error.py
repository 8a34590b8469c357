"""Mean absolute error against scikit-learn and a hand-worked case."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error as reference

from oochub.eval_modules.metrics.mean_absolute_error.mean_absolute_error import mean_absolute_error
from oochub.stats.estimation import estimate


def test_by_hand() -> None:
    """(1 + 0 + 2) / 3. Planted fault: the mean of the errors with their signs, 1/3 below 0."""
    assert mean_absolute_error(label=[-1, 2, 0.5], prediction=[0, 2, -1.5]) == 1.0


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_equals_scikit_learn(kind: type) -> None:
    """Planted fault: differences taken in the integers or floats that were given, not in float64."""
    rng = np.random.default_rng(0)
    label, prediction = (rng.normal(-3, 100, 5000).astype(kind) for _ in range(2))
    expected = reference(label.astype(np.float64), prediction.astype(np.float64))
    assert mean_absolute_error(label=label, prediction=prediction) == pytest.approx(expected, rel=1e-12)


def test_interval_is_near_the_bootstrap_of_errors() -> None:
    """Against a loop over resamples: 400 errors are little skewed, so percentiles are near."""
    rng = np.random.default_rng(1)
    label, prediction = rng.exponential(3, 400), rng.exponential(3, 400)
    errors = np.abs(label - prediction)
    drawn = [errors[rng.integers(400, size=400)].mean() for _ in range(4000)]
    number = estimate(mean_absolute_error, {"label": label, "prediction": prediction}, resamples=4000)
    expected = np.quantile(drawn, (0.025, 0.975))
    assert [number.low, number.high] == pytest.approx(expected, abs=0.06 * np.ptp(expected))
    assert number.n == 400 and number.method == "t interval of rows, corrected for skewness"


@pytest.mark.parametrize("error", [0.0, 1.0, 2.5])
def test_equal_errors_have_no_interval(error: float) -> None:
    """Planted fault: errors of 0 or 1 taken for a share, with Wilson's interval, [0, 0.28] of ten perfect answers."""
    number = estimate(mean_absolute_error, {"label": np.arange(10), "prediction": np.arange(10) + error})
    assert number == error and np.isnan([number.low, number.high]).all()
    assert number.reason.startswith(f"{error:g} in every row or cluster")
