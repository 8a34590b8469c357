"""Max-Cosine against scipy's cosine distance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from oochub.errors import OochubError
from oochub.eval_modules.detectors.max_cosine import MaxCosine

RNG = np.random.default_rng(0)
FEATURES, WEIGHT = RNG.normal(size=(50, 6)), RNG.normal(size=(5, 6))


@pytest.mark.parametrize("scale", [1, 1e-300, 1e300])
def test_equals_scipy(scale: float) -> None:
    """Planted fault: features not divided by their norm."""
    expected = 1 - cdist(FEATURES, WEIGHT, "cosine").min(axis=1)
    np.testing.assert_allclose(MaxCosine().fit(weight=WEIGHT).score(features=FEATURES * scale), expected, atol=1e-14)


def test_zero_features_and_zero_weights_have_cosine_zero() -> None:
    """A norm of 0 divides nothing. Planted fault: rows / norm, which is nan."""
    detector = MaxCosine().fit(weight=[[0.0, 0.0], [-1.0, 0.0]])
    assert detector.score(features=[[0.0, 0.0], [1.0, 0.0]]).tolist() == [0, 0]


def test_another_width_is_refused() -> None:
    with pytest.raises(OochubError, match="7 columns"):
        MaxCosine().fit(weight=WEIGHT).score(features=np.ones((2, 7)))
