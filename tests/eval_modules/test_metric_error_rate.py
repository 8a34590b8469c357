"""Error rate against scikit-learn's zero_one_loss."""

import numpy as np
import pytest
from sklearn.metrics import zero_one_loss

from oochub.eval_modules.metrics.error_rate.error_rate import error_rate


def test_equals_scikit_learn() -> None:
    """Planted fault: the accuracy."""
    rng = np.random.default_rng(0)
    label, prediction = rng.integers(0, 5, (2, 1001))
    expected = zero_one_loss(label, prediction)
    assert error_rate(label=label, prediction=prediction) == pytest.approx(expected, rel=1e-14)


def test_by_hand() -> None:
    assert error_rate(label=[0, 1, 1, 2], prediction=[0, 1, 2, 2]) == 0.25
    assert error_rate(label=[1], prediction=[1]) == 0.0
