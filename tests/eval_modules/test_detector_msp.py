"""MSP against scipy's softmax, and its order where a softmax in float64 saturates."""

import numpy as np
import pytest
from scipy.special import softmax

from oochub.errors import OochubError
from oochub.eval_modules.detectors.msp import Msp


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("temperature", [0.5, 1, 10])
def test_equals_scipy(dtype: type, temperature: float) -> None:
    """Planted fault: the temperature multiplied."""
    logits = (8 * np.random.default_rng(0).normal(size=(300, 7))).astype(dtype)
    expected = softmax(logits.astype(np.float64) / temperature, axis=1).max(axis=1)
    np.testing.assert_allclose(Msp(temperature=temperature).score(logits=logits), expected, rtol=0, atol=1.1e-12)


def test_saturated_logits_keep_their_order() -> None:
    """Float32 calls them all 1 from a lead of 17 on, float64 from 37 on. Planted fault: float64 softmax."""
    lead = np.arange(0, 700, 0.5, np.float32)
    logits = np.zeros((len(lead), 10), np.float32)
    logits[:, 3] = lead
    score = Msp().score(logits=logits)
    assert (np.diff(score) > 0).all() and score[-1] <= 1
    assert len(np.unique(softmax(logits, axis=1).max(axis=1))) < 60


def test_the_order_is_that_of_the_log_odds() -> None:
    """On confident random logits, against largest - log of the sum of the others, in 80-bit floats."""
    logits = 30 * np.random.default_rng(1).normal(size=(150, 50)).astype(np.float32)
    ordered = np.sort(logits.astype(np.longdouble), axis=1)
    odds = -np.log(np.exp(ordered[:, :-1] - ordered[:, -1:]).sum(axis=1))
    order = np.argsort(odds)
    apart = np.diff(odds[order]) > 0.3
    assert apart.sum() > 30 and (np.diff(Msp().score(logits=logits)[order])[apart] > 0).all()


def test_a_lead_beyond_float64_is_finite() -> None:
    assert Msp().score(logits=[[5000.0, 0.0], [800.0, -800.0]]).tolist() == [1, 1]


def test_one_logit_is_refused() -> None:
    with pytest.raises(OochubError, match="2 columns or more"):
        Msp().score(logits=[[1.0], [2.0]])
