"""Mean squared error against scikit-learn and a hand-worked case."""

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error as reference

from oochub.eval_modules.metrics.mean_squared_error.mean_squared_error import mean_squared_error
from oochub.stats.estimation import estimate


def test_by_hand() -> None:
    """(1 + 0 + 4) / 3. Planted fault: its root, 1.29."""
    assert mean_squared_error(label=[-1, 2, 0.5], prediction=[0, 2, -1.5]) == pytest.approx(5 / 3, rel=1e-15)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16])
def test_equals_scikit_learn(kind: type) -> None:
    """Planted fault: squares of int16, which pass 32,767 and turn negative."""
    rng = np.random.default_rng(0)
    label, prediction = (rng.normal(-3, 300, 5000).astype(kind) for _ in range(2))
    expected = reference(label.astype(np.float64), prediction.astype(np.float64))
    assert mean_squared_error(label=label, prediction=prediction) == pytest.approx(expected, rel=1e-12)


def test_the_mean_of_the_labels_has_their_variance() -> None:
    label = np.random.default_rng(2).normal(1e3, 5, 2000)
    assert mean_squared_error(label, np.full(2000, label.mean())) == pytest.approx(label.var(), rel=1e-12)


def test_interval_covers_the_truth() -> None:
    """Of normal errors the mean square is truly 4: 300 sets of 100 rows. Planted fault: the interval of the MAE."""
    rng = np.random.default_rng(3)
    covered = 0
    for seed in range(300):
        columns = {"label": np.zeros(100), "prediction": rng.normal(0, 2, 100)}
        number = estimate(mean_squared_error, columns, resamples=200, seed=seed)
        covered += number.low <= 4 <= number.high
    assert 0.89 <= covered / 300 <= 0.99


def test_perfect_answers_have_no_interval() -> None:
    number = estimate(mean_squared_error, {"label": np.arange(10), "prediction": np.arange(10)})
    assert number == 0 and np.isnan([number.low, number.high]).all()
