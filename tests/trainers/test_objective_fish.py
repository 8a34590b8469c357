"""Fish against its update written out in float64 NumPy, and the gradient that it follows to second order."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from objective_references import COUNTS, agrees, environment_losses, equal_batch, erm, made, some_batch
from trainings import Linear, batch_of, training_step_of

import oochub
from oochub.trainers.batch import Batch

X = np.random.default_rng(1).normal(size=(12, 4))
W = np.random.default_rng(2).normal(size=(4, 3))


def gradient(weight: np.ndarray, x: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Of the mean cross entropy of softmax(x W): x' (p - onehot) / n."""
    p = np.exp(x @ weight)
    p /= p.sum(1, keepdims=True)
    return x.T @ (p - np.eye(weight.shape[1])[label]) / len(x)


def inner(weight: np.ndarray, batch: Batch, order: Any, *, rate: float, momentum: float = 0.0, state: Any = 0.0) -> Any:
    """One SGD step on each environment in turn; returns the weight and the momentum."""
    label, environment = batch.label.numpy(), batch.environment.numpy()
    for one in order:
        rows = environment == one
        state = momentum * state + gradient(weight, X[rows], label[rows])
        weight = weight - rate * state
    return weight, state


def batch() -> Batch:
    found = some_batch()
    return batch_of(X, found.label, found.environment)


def fish(**hyperparameters: Any) -> Any:
    objective = oochub.get("objective", "fish")(**hyperparameters)
    objective.prepare(environment_counts=COUNTS)
    return objective


def test_outside_a_trainer_it_is_the_mean_over_environments() -> None:
    agrees(made("fish"), lambda b: float(np.mean(environment_losses(b))), some_batch())
    equal = equal_batch()
    objective = oochub.get("objective", "fish")().double()
    assert objective(*equal.tensors()).item() == pytest.approx(erm(equal))


@pytest.mark.parametrize("form", [None, "domainbed", "authors"])
def test_a_step_goes_a_part_of_the_way_of_the_inner_steps(form: str | None) -> None:
    """Three steps with momentum, which goes on from step to step. Planted: moments forgotten; a fixed order."""
    model = Linear(W)
    training = training_step_of(model, torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9))
    objective, weight, state = fish(meta_lr=0.4, form=form), W, 0.0
    for step in range(3):
        training.shared_draws = np.random.default_rng(step)
        taken = objective.take_step(batch(), training)
        order = [0, 1, 3] if form == "domainbed" else np.random.default_rng(step).permutation([0, 1, 3])
        new, state = inner(weight, batch(), order, rate=0.3, momentum=0.9, state=state)
        weight = weight + (0.4 / 3 if form == "authors" else 0.4) * (new - weight)
        assert np.allclose(model.weight.detach().numpy(), weight, atol=1e-12)
        assert sorted(taken.batch.row.tolist()) == list(range(12)) and taken.logits.shape == (12, 3)


def test_with_one_environment_and_meta_lr_1_a_step_is_that_of_erm() -> None:
    one = batch()._replace(environment=torch.zeros(12, dtype=torch.int64))
    found = []
    for name in ("fish", "erm"):
        model = Linear(W)
        training = training_step_of(model, torch.optim.Adam(model.parameters(), lr=0.1))
        objective = fish(meta_lr=1.0) if name == "fish" else oochub.get("objective", "erm")()
        for _ in range(3):
            objective.take_step(one, training)
        found.append(model.weight.detach())
    assert torch.allclose(found[0], found[1], atol=1e-12)


def test_it_follows_the_inner_products_of_the_gradients() -> None:
    """E[theta' - theta] = -a sum g_i + a^2/2 grad sum_{i<j} g_i . g_j + O(a^3), over all orders of three environments.

    The error of the second-order term must fall ten times when the rate does; with one fixed order it does not.
    """
    label, environment = batch().label.numpy(), batch().environment.numpy()

    def gradients(weight: np.ndarray) -> list[np.ndarray]:
        return [gradient(weight, X[environment == e], label[environment == e]) for e in (0, 1, 3)]

    def products(weight: np.ndarray) -> float:
        g = gradients(weight)
        return sum((g[i] * g[j]).sum() for i, j in ((0, 1), (0, 2), (1, 2)))

    slope = np.zeros_like(W)
    for place in np.ndindex(W.shape):
        change = np.zeros_like(W)
        change[place] = 1e-5
        slope[place] = (products(W + change) - products(W - change)) / 2e-5
    errors = []
    for rate in (0.1, 0.01):
        moves = []
        for order in permutations((0, 1, 3)):
            model = Linear(W)
            training = training_step_of(model, torch.optim.SGD(model.parameters(), lr=rate))
            training.shared_draws = _Fixed(order)
            fish(meta_lr=1.0).take_step(batch(), training)
            moves.append(model.weight.detach().numpy() - W)
        second = np.mean(moves, axis=0) + rate * sum(gradients(W))
        errors.append(np.abs(second - rate**2 / 2 * slope).max() / np.abs(rate**2 / 2 * slope).max())
    assert errors[1] < 0.02 and 5 < errors[0] / errors[1] < 20


class _Fixed:
    """A generator that knows one order."""

    def __init__(self, order: Any) -> None:
        self._order = order

    def permutation(self, values: Any) -> np.ndarray:
        assert sorted(values) == sorted(self._order)
        return np.array(self._order)


def test_running_statistics_go_the_same_part_of_the_way() -> None:
    """BatchNorm's mean after two inner steps at momentum 0.1, and 0.4 of that way; its count is that of the steps."""
    norm = torch.nn.BatchNorm1d(4, affine=False).double()
    model = Linear(W)
    model.norm, model.forward = norm, lambda pixel_values: Linear.forward(model, norm(pixel_values))
    training = training_step_of(model, torch.optim.SGD(model.parameters(), lr=0.1))
    training.shared_draws = _Fixed((0, 1, 3))
    fish(meta_lr=0.4).take_step(batch(), training)
    mean = np.zeros(4)
    for e in (0, 1, 3):
        mean = 0.9 * mean + 0.1 * X[batch().environment.numpy() == e].mean(0)
    assert np.allclose(norm.running_mean.numpy(), 0.4 * mean) and norm.num_batches_tracked == 3
