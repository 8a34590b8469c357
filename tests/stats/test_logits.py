"""summarize_softmax against scipy in float64."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from oochub.errors import OochubError
from oochub.stats.logits import summarize_softmax


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("scale", [1, 20, 400])
@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_equals_scipy(classes: int, scale: float, dtype: type) -> None:
    """Several blocks, with and without the largest logit subtracted. Planted fault: `base` left out of the loss."""
    rng = np.random.default_rng(0)
    logits = (scale * rng.normal(size=(999, classes))).astype(dtype)
    label = rng.integers(0, classes, 999)
    result = summarize_softmax(logits, label=label)
    wide = logits.astype(np.float64)
    tolerance = 1e-12 if dtype == np.float64 else 2e-6
    np.testing.assert_array_equal(result.prediction, wide.argmax(1))
    np.testing.assert_allclose(result.confidence, softmax(wide, axis=1).max(1), rtol=tolerance)
    expected = np.minimum(logsumexp(wide, axis=1) - wide[np.arange(999), label], 708.396)
    np.testing.assert_allclose(result.loss, expected, rtol=1e-6, atol=tolerance)
    assert result.confidence.max() <= 1 and result.loss.min() >= 0


def test_large_logits_do_not_overflow() -> None:
    """By hand: two classes 1 apart at 1e4, and a class ruled out by -inf."""
    result = summarize_softmax(np.array([[1e4, 1e4 - 1], [-np.inf, 3.0]], np.float32), label=[1, 0])
    assert result.confidence.tolist() == pytest.approx([1 / (1 + math.exp(-1)), 1.0], rel=1e-6)
    assert result.loss.tolist() == pytest.approx([math.log(1 + math.e), -math.log(np.finfo(float).tiny)], rel=1e-6)


def test_memory_does_not_grow_with_the_classes_times_rows() -> None:
    """Planted fault: one block of all rows, which holds 80 MB."""
    logits = np.zeros((20_000, 1000), np.float32)
    tracemalloc.start()
    summarize_softmax(logits, label=np.zeros(20_000, int))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.parametrize(
    ("logits", "label", "message"),
    [
        ([[0.0, np.nan]], None, "got NaN or infinity in 1 of 1 rows, the first at row 0"),
        ([[0.0, 1.0], [0.0, np.inf]], None, "the first at row 1"),
        ([0.0, 1.0], None, r"shape \(n, classes\)"),
        ([[0.0], [1.0]], None, r"float64 of shape \(2, 1\)"),
        (np.zeros((0, 2)), None, "one row"),
        ([[0.0, 1.0]], [2], "label must be one of 0..1, got 2"),
    ],
)
def test_messages(logits: object, label: object, message: str) -> None:
    with pytest.raises(OochubError, match=message):
        summarize_softmax(logits, label=label)
