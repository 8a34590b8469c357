"""Energy against scipy's logsumexp."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oochub.eval_modules.detectors.energy import Energy


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("temperature", [0.5, 1, 20])
def test_equals_scipy(dtype: type, temperature: float) -> None:
    """Planted fault: without the factor T."""
    logits = (8 * np.random.default_rng(0).normal(size=(300, 7))).astype(dtype)
    expected = temperature * logsumexp(logits.astype(np.float64) / temperature, axis=1)
    np.testing.assert_allclose(Energy(temperature=temperature).score(logits=logits), expected, rtol=1e-13, atol=1e-13)


def test_large_logits_do_not_overflow() -> None:
    """Planted fault: exp without subtracting the largest."""
    np.testing.assert_allclose(Energy().score(logits=[[1e4, 1e4], [-1e4, -2e4]]), [1e4 + np.log(2), -1e4])
