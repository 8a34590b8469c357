"""Accuracy against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.accuracy.accuracy import accuracy
from oochub.stats.estimation import estimate


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int32])
def test_equals_scikit_learn(dtype: type) -> None:
    """Planted fault: `>=` in place of `==`."""
    rng = np.random.default_rng(0)
    label, prediction = rng.integers(0, 5, (2, 1001)).astype(dtype)
    assert accuracy(label=label, prediction=prediction) == accuracy_score(label, prediction)
    assert accuracy(label=torch.from_numpy(label), prediction=prediction.tolist()) == accuracy_score(label, prediction)


def test_bool_counts_as_zero_and_one() -> None:
    assert accuracy(label=[True, False, True, True], prediction=[1, 0, 0, 1]) == 0.75


def test_interval() -> None:
    """Binomial resampling: its ends are the binomial's quantiles (scipy), within a resampling error of one row."""
    from scipy import stats

    label = np.arange(400) % 5 > 0
    interval = estimate(accuracy, {"label": label, "prediction": np.ones(400, int)}, resamples=20_000)
    binomial = stats.binom(400, 0.8)
    assert interval.value == 0.8
    assert abs(interval.low * 400 - binomial.ppf(0.025)) <= 1
    assert abs(interval.high * 400 - binomial.ppf(0.975)) <= 1


@pytest.mark.parametrize(
    ("prediction", "message"),
    [
        ([0.2, 0.9], "prediction must hold whole numbers"),
        ([-2, 0], "prediction must be a class number, or -1 for none of the classes, got -2 at row 0"),
    ],
)
def test_messages(prediction: object, message: str) -> None:
    with pytest.raises(OochubError, match=message):
        accuracy(label=[0, 1], prediction=prediction)
