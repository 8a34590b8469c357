"""What the tests of objectives share: batches, losses of rows in float64 NumPy, gradients by central differences."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import oochub

CLASS_COUNTS = [90, 150, 18]
COUNTS = [50, 8, 0, 200]  # the third environment is only in other splits
PRESENT = [0, 1, 3]
TASKS = ("classes", "labels", "numbers")


class Batch(NamedTuple):
    """Logits (n, k), label, environment (n,) and features (n, 4), in NumPy."""

    logits: np.ndarray
    label: np.ndarray
    environment: np.ndarray
    features: np.ndarray

    def tensors(self) -> list[torch.Tensor]:
        return [torch.tensor(array) for array in self]

    def of(self, environment: int) -> "Batch":
        """The rows of one environment."""
        return Batch(*(array[self.environment == environment] for array in self))


def some_batch(task: str = "classes", *, rows: int = 12, seed: int = 0, environments: Any = None) -> Batch:
    """Environments 0, 1 and 3 in unequal parts, each at least twice, unless given; one label of "labels" is unknown."""
    rng = np.random.default_rng(seed)
    if environments is None:
        environments = rng.permutation(np.concatenate([PRESENT * 2, rng.choice(PRESENT, rows - 6)]))
    environments, n = np.asarray(environments), len(environments)
    label = {
        "classes": rng.integers(0, 3, n),
        "labels": np.where(np.arange(3 * n).reshape(n, 3) == 4, np.nan, rng.integers(0, 2, (n, 3)).astype(float)),
        "numbers": rng.normal(size=n),
    }[task]
    logits = rng.normal(0, 2, (n, 1 if task == "numbers" else 3))
    return Batch(logits, label, environments, rng.normal(0, 1, (n, 4)) + environments[:, None] / 4)


def equal_batch() -> Batch:
    """Three rows of each of four environments."""
    return some_batch(environments=[0, 1, 2, 3] * 3)


def row_losses(logits: np.ndarray, label: np.ndarray) -> np.ndarray:
    """-log softmax, the mean over known labels of the binary cross entropies, or the squared error."""
    if label.dtype.kind == "i":
        return np.array([np.log(np.exp(row).sum()) - row[y] for row, y in zip(logits, label, strict=True)])
    if label.ndim == 1:
        return (logits[:, 0] - label) ** 2
    found = []
    for row, ys in zip(logits, label, strict=True):
        p = 1 / (1 + np.exp(-row))
        found.append(np.mean([-np.log(q if y else 1 - q) for q, y in zip(p, ys, strict=True) if not np.isnan(y)]))
    return np.array(found)


def environment_losses(batch: Batch) -> list[float]:
    """The mean loss of each environment that has rows."""
    return [row_losses(batch.of(e).logits, batch.of(e).label).mean() for e in np.unique(batch.environment)]


def made(name: str, **hyperparameters: Any) -> Any:
    """An objective in float64, prepared with the counts above."""
    objective = oochub.get("objective", name)(**hyperparameters).double()
    objective.prepare(class_counts=CLASS_COUNTS, environment_counts=COUNTS)
    return objective


def loss_of(objective: Any, batch: Batch) -> float:
    return objective(*batch.tensors()).item()


def erm(batch: Batch) -> float:
    return float(row_losses(batch.logits, batch.label).mean())


def agrees(objective: Any, value: Callable[[Batch], float], batch: Batch, *, step: float = 1e-5) -> None:
    """The loss is `value` of the batch, and its gradients to logits and features are central differences of it."""
    tensors = batch.tensors()
    tensors[0].requires_grad_(), tensors[3].requires_grad_()
    objective.eval()  # every call is the same step
    loss = objective(*tensors)
    loss.backward()
    assert loss.ndim == 0
    assert loss.item() == pytest.approx(value(batch), rel=1e-11, abs=1e-12)
    for place in (0, 3):
        found = tensors[place].grad
        slopes = np.zeros_like(batch[place])
        for index in np.ndindex(slopes.shape):
            change = np.zeros_like(slopes)
            change[index] = step
            fields = list(batch)
            ends = []
            for sign in (1, -1):
                fields[place] = batch[place] + sign * change
                ends.append(value(Batch(*fields)))
            slopes[index] = (ends[0] - ends[1]) / (2 * step)
        found = np.zeros_like(slopes) if found is None else found.numpy()
        largest = max(1.0, np.abs(slopes).max())
        np.testing.assert_allclose(found, slopes, rtol=0, atol=2e-7 * largest)


def resumes(make: Callable[[], Any], *, steps: int = 6, stop: int = 3) -> None:
    """A run stopped after `stop` batches goes on from its state as if it had not been."""
    batches = [some_batch(seed=seed) for seed in range(steps)]
    straight = make()
    expected = [loss_of(straight, batch) for batch in batches]
    first = make()
    found = [loss_of(first, batch) for batch in batches[:stop]]
    second = make()
    second.load_state_dict(first.state_dict())
    assert found + [loss_of(second, batch) for batch in batches[stop:]] == expected
