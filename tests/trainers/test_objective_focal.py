"""Focal loss against NOOCH's Eq. 7 and NOOCH's code, as loops in float64 NumPy."""

import numpy as np
import pytest
import torch
from objective_references import CLASS_COUNTS, Batch, agrees, made, some_batch

import oochub
from oochub.errors import OochubError


def eq7(q: np.ndarray, gamma: float) -> float:
    """1/n sum -(1 - q(x_i, y))^gamma log q(x_i, y)."""
    return float(np.mean([-((1 - one) ** gamma) * np.log(one) for one in q]))


def softmax_of_label(batch: Batch) -> np.ndarray:
    return np.array([np.exp(row[y]) / np.exp(row).sum() for row, y in zip(batch.logits, batch.label, strict=True)])


def several_labels(batch: Batch, gamma: float) -> float:
    """The mean over rows of the mean over known labels, each a sigmoid of its own."""
    rows = []
    for row, labels in zip(batch.logits, batch.label, strict=True):
        f = 1 / (1 + np.exp(-row))
        rows.append(
            eq7(np.array([a if y else 1 - a for a, y in zip(f, labels, strict=True) if not np.isnan(y)]), gamma)
        )
    return float(np.mean(rows))


def nooch(batch: Batch, gamma: float) -> float:
    """NOOCH, run_model_interruptable.py: mean of (1 - class_probs[y]) (1 - p_t)^eta (-log p_t)."""
    w = np.array(CLASS_COUNTS) / sum(CLASS_COUNTS)
    each = [
        (1 - w[y]) * (1 - p) ** gamma * -np.log(p) for p, y in zip(softmax_of_label(batch), batch.label, strict=True)
    ]
    return float(np.mean(each))


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0, 5.0])
def test_loss_and_gradient(gamma: float) -> None:
    """Planted: q detached from the graph fails the gradient at every gamma above 0."""
    agrees(made("focal", gamma=gamma), lambda at: eq7(softmax_of_label(at), gamma), some_batch())
    agrees(made("focal", gamma=gamma), lambda at: several_labels(at, gamma), some_batch("labels"))
    agrees(made("focal", gamma=gamma, form="nooch"), lambda at: nooch(at, gamma), some_batch())


def test_two_classes_one_logit_and_one_label_are_the_same() -> None:
    """Eq. 7 with f(x) = sigmoid(z): as two logits (0, z) and as one logit of a single binary label."""
    rng = np.random.default_rng(5)
    z, y = rng.normal(0, 2, 10), rng.integers(0, 2, 10)
    f = 1 / (1 + np.exp(-z))
    expected = eq7(np.where(y == 1, f, 1 - f), 0.7)
    objective = oochub.get("objective", "focal")(gamma=0.7)
    two = objective(torch.tensor(np.stack([np.zeros(10), z], 1)), torch.tensor(y))
    one = objective(torch.tensor(z[:, None]), torch.tensor(y[:, None].astype(float)))
    assert two.item() == pytest.approx(expected, rel=1e-12)
    assert one.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_where_the_model_is_certain_the_gradient_is_finite(gamma: float, dtype: torch.dtype) -> None:
    """There q rounds to 1. Planted: without the clamp the gradient is nan at gamma 0.2."""
    logits = torch.tensor([[1000.0, 0.0], [30.0, 0.0], [0.0, 1000.0]], dtype=dtype, requires_grad=True)
    loss = oochub.get("objective", "focal")(gamma=gamma)(logits, torch.tensor([0, 0, 0]))
    loss.backward()
    assert loss.item() == pytest.approx(1000 / 3, rel=1e-5)
    assert logits.grad.isfinite().all()
    assert logits.grad[2].tolist() == pytest.approx([-1 / 3, 1 / 3])


def test_a_row_without_a_known_label_adds_nothing() -> None:
    logits = torch.zeros(2, 2, requires_grad=True)
    label = torch.tensor([[1.0, 0.0], [float("nan"), float("nan")]])
    loss = oochub.get("objective", "focal")()(logits, label)
    loss.backward()
    assert loss.item() == pytest.approx(0.5 * np.log(2) / 2)
    assert logits.grad[1].tolist() == [0.0, 0.0]


def test_numbers_are_refused() -> None:
    with pytest.raises(OochubError, match="needs a probability of the label"):
        made("focal")(torch.zeros(3, 1), torch.zeros(3))
    with pytest.raises(OochubError, match="needs a probability of the label"):
        made("focal").examine(None, {}, label=torch.zeros(3), environment=torch.zeros(3))
    with pytest.raises(OochubError, match="class numbers"):
        made("focal", form="nooch")(torch.zeros(3, 3), torch.zeros(3, 3))


def test_counts_are_asked_for_in_the_form_that_needs_them() -> None:
    oochub.get("objective", "focal")().prepare()
    with pytest.raises(OochubError, match=r"prepare\(class_counts="):
        oochub.get("objective", "focal")(form="nooch").prepare(environment_counts=[1, 2])
    with pytest.raises(OochubError, match=r"prepare\(class_counts="):
        oochub.get("objective", "focal")(form="nooch")(torch.zeros(1, 2), torch.tensor([0]))
