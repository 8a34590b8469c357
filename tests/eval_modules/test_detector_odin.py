"""ODIN against scipy's softmax at its temperature; with a perturbation, on the logits stored for it."""

import numpy as np
import pytest
from scipy.special import softmax

from oochub.errors import OochubError
from oochub.eval_modules.detectors.odin import Odin

LOGITS = (8 * np.random.default_rng(0).normal(size=(20_000, 100))).astype(np.float32)


def test_equals_scipy_and_does_not_tie() -> None:
    """At T = 1000 float16 knows 96 different scores of 20,000, float32 19,425. Planted fault: float32 arithmetic."""
    score = Odin().score(logits=LOGITS)
    np.testing.assert_allclose(score, softmax(LOGITS.astype(np.float64) / 1000, axis=1).max(axis=1), atol=1.1e-12)
    assert len(np.unique(score)) == len(np.unique(LOGITS, axis=0))


def test_perturbed_logits_are_read_when_epsilon_is_above_zero() -> None:
    """Planted fault: epsilon ignored."""
    other = LOGITS[::-1]
    detector = Odin(temperature=10, epsilon=0.0014)
    np.testing.assert_array_equal(
        detector.score(logits=LOGITS, odin_logits=other), Odin(temperature=10).score(logits=other)
    )
    with pytest.raises(OochubError, match=r"odin_logits.*predict"):
        detector.score(logits=LOGITS)
