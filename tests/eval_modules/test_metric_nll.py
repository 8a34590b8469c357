"""NLL against scikit-learn's log_loss and a hand-worked case."""

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from oochub.errors import OochubError
from oochub.eval_modules.metrics.nll.nll import nll


def test_by_hand() -> None:
    """(log 2 + log 4 + log 5) / 3. Planted fault: log2 in place of log."""
    assert nll(label=[1, 0, 1], probability=[0.5, 0.75, 0.2]) == pytest.approx(math.log(40) / 3, rel=1e-15)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_equals_scikit_learn(classes: int) -> None:
    """Planted fault: the probability of the predicted class in place of the true one."""
    rng = np.random.default_rng(classes)
    probability = rng.dirichlet(np.ones(classes), 5000)
    label = rng.integers(0, classes, 5000)
    expected = log_loss(label, probability, labels=range(classes))
    assert nll(label=label, probability=probability) == pytest.approx(expected, rel=1e-12)
    if classes == 2:
        assert nll(label=label, probability=probability[:, 1]) == pytest.approx(expected, rel=1e-9)


def test_certain_and_wrong_is_large_and_finite() -> None:
    assert nll(label=[1], probability=[0.0]) == pytest.approx(-math.log(np.finfo(np.float64).tiny))
    assert str(nll(label=[1], probability=[1.0])) == "0.0"  # not -0.0


@pytest.mark.parametrize(
    ("label", "probability", "message"),
    [
        ([1, 0], [2.5, -1.0], r"probability must lie in \[0, 1\], got 2.5 at row 0.*logits"),
        ([1, 0], [[0.5, 0.5], [0.5, 0.6]], "rows must sum to 1, got 1.1 at row 1"),
        ([1, 2], [[0.5, 0.5], [0.5, 0.5]], "label must be one of 0..1, got 2"),
        ([1, 0], [[1.0], [1.0]], r"got shape \(2, 1\)"),
        ([1, 0], [[0.5, np.nan], [1.0, 0.0]], "probability contains NaN in 1 of 2 rows, the first at row 0"),
    ],
)
def test_messages(label: list[int], probability: object, message: str) -> None:
    with pytest.raises(OochubError, match=f"(?s){message}"):
        nll(label=label, probability=probability)


def test_a_bad_row_beyond_the_first_chunk_is_named() -> None:
    probability = np.full(10_000, 0.5)
    probability[9000] = 1.5
    with pytest.raises(OochubError, match="at row 9000"):
        nll(label=np.zeros(10_000, int), probability=probability)


def test_half_precision_rows_of_many_classes_pass() -> None:
    """float16 softmax of 1,000 classes sums to 1 within the tolerance only if summed in float64."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 1000))
    probability = (np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).astype(np.float16)
    label = rng.integers(0, 1000, 200)
    expected = -np.log(probability[np.arange(200), label].astype(float)).mean()
    assert nll(label=label, probability=probability) == pytest.approx(expected, rel=1e-12)
