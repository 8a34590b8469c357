"""ERM against the formula L = -1/n sum_i log softmax(z_i)[y_i] in float64 NumPy."""

import numpy as np
import torch

import oochub


def reference(logits: np.ndarray, label: np.ndarray) -> float:
    return float(np.mean([np.log(np.exp(row).sum()) - row[y] for row, y in zip(logits, label, strict=True)]))


def test_loss_and_gradient() -> None:
    """Gradient by central differences. Planted: sum instead of mean differs by a factor of 6."""
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(6, 4)), rng.integers(0, 4, 6)
    logits = torch.tensor(z, requires_grad=True)
    objective = oochub.get("objective", "erm")()
    objective.prepare(class_counts=[1, 2, 3, 4], environment_counts=None)
    loss = objective(logits, torch.tensor(y), environment=torch.zeros(6, dtype=torch.int64))
    loss.backward()
    assert loss.ndim == 0
    assert abs(loss.item() - reference(z, y)) < 1e-12
    for i, j in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[i, j] = 1e-5
        slope = (reference(z + step, y) - reference(z - step, y)) / 2e-5
        assert abs(logits.grad[i, j].item() - slope) < 1e-8
