"""Mixup against loops in float64 NumPy: the mixed images, and the loss of the mixed labels."""

from typing import Any

import numpy as np
import pytest
import torch
from objective_references import COUNTS, made, row_losses, some_batch

import oochub
from oochub.errors import OochubError
from oochub.trainers.batch import Batch, Mixed

PICTURES = np.random.default_rng(5).normal(size=(12, 3, 2, 2))


def pictures(task: str = "classes", **options: Any) -> Batch:
    _, label, environment, _ = some_batch(task, **options).tensors()
    return Batch({"pixel_values": torch.tensor(PICTURES[: len(label)])}, label, environment, torch.arange(len(label)))


def soft_loss(logits: np.ndarray, first: np.ndarray, second: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Cross entropy with the mixed one-hot label, row by row: -sum_c (lam [c = y_i] + (1 - lam) [c = y_j]) log p_c."""
    target = weight[:, None] * np.eye(3)[first] + (1 - weight[:, None]) * np.eye(3)[second]
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return -(target * log_p).sum(1)


def test_the_default_mixes_with_one_weight_and_a_permutation() -> None:
    """Images are lam x_i + (1 - lam) x_j. Planted: a weight for each row; the two weights exchanged in the label."""
    batch, objective = pictures(), made("mixup", alpha=0.7)
    found = objective.change(batch, np.random.default_rng(4))
    draws = np.random.default_rng(4)
    lam, partner = draws.beta(0.7, 0.7), draws.permutation(12)
    assert np.allclose(found.inputs["pixel_values"], lam * PICTURES + (1 - lam) * PICTURES[partner], atol=1e-7)
    label, logits = batch.label.numpy(), np.random.default_rng(6).normal(size=(12, 3))
    expected = soft_loss(logits, label, label[partner], np.full(12, lam)).mean()
    assert objective(torch.tensor(logits), found.label).item() == pytest.approx(expected, rel=1e-6)
    assert torch.equal(found.environment, batch.environment) and torch.equal(found.row, batch.row)


def test_the_gradient_is_that_of_the_mixed_label() -> None:
    """By central differences; for numbers the loss differs from (z - mixed label)^2 by a constant alone."""
    rng = np.random.default_rng(2)
    z, weight = rng.normal(size=(5, 3)), torch.tensor(rng.random(5))
    first, second = (torch.tensor(rng.integers(0, 3, 5)) for _ in range(2))
    logits = torch.tensor(z, requires_grad=True)
    made("mixup")(logits, Mixed(first, second, weight)).backward()
    for place in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[place] = 1e-5
        ends = [soft_loss(z + s * step, first.numpy(), second.numpy(), weight.numpy()).mean() for s in (1, -1)]
        assert logits.grad[place].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)
    numbers = torch.tensor(z[:, :1], requires_grad=True)
    a, b = (torch.tensor(rng.normal(size=5)) for _ in range(2))
    made("mixup")(numbers, Mixed(a, b, weight)).backward()
    slope = 2 * (z[:, 0] - (weight * a + (1 - weight) * b).numpy()) / 5
    assert np.allclose(numbers.grad[:, 0].numpy(), slope)


def test_several_labels_mix_with_unknown_ones_left_out() -> None:
    """Reference: weight x loss with the first labels + (1 - weight) x loss with the second, each over what is known."""
    rng = np.random.default_rng(3)
    z, weight = rng.normal(size=(4, 3)), rng.random(4)
    first, second = rng.integers(0, 2, (2, 4, 3)).astype(float)
    first[0, 1] = np.nan
    label = Mixed(torch.tensor(first), torch.tensor(second), torch.tensor(weight))
    expected = (weight * row_losses(z, first) + (1 - weight) * row_losses(z, second)).mean()
    assert made("mixup")(torch.tensor(z), label).item() == pytest.approx(expected)


def test_domainbed_pairs_environments_in_a_random_cycle() -> None:
    """DomainBed: pairs (perm[i], perm[i + 1]), rows up to the shorter, one weight a pair, the mean of their means.

    Reference: the loop written from its code. Planted: the mean over rows in place of the mean over pairs.
    """
    batch, objective = pictures(), made("mixup", alpha=0.7, form="domainbed")
    found = objective.change(batch, np.random.default_rng(4))
    draws, environment, label = np.random.default_rng(4), batch.environment.numpy(), batch.label.numpy()
    order = draws.permutation([0, 1, 3])
    weights = draws.beta(0.7, 0.7, 3)
    logits = np.random.default_rng(6).normal(size=(len(found.row), 3))
    place, losses = 0, []
    for number in range(3):
        rows = [np.flatnonzero(environment == order[(number + k) % 3]) for k in (0, 1)]
        length, lam = min(map(len, rows)), weights[number]
        i, j = rows[0][:length], rows[1][:length]
        part = slice(place, place + length)
        assert np.allclose(found.inputs["pixel_values"][part], lam * PICTURES[i] + (1 - lam) * PICTURES[j], atol=1e-7)
        losses.append(soft_loss(logits[part], label[i], label[j], np.full(length, lam)).mean())
        place += length
    assert place == len(found.row)
    loss = objective(torch.tensor(logits), found.label, found.environment)
    assert loss.item() == pytest.approx(np.mean(losses), rel=1e-6)


@pytest.mark.parametrize("form", [None, "domainbed"])
def test_alpha_0_is_erm(form: str | None) -> None:
    batch, objective = pictures(environments=[0, 1, 2, 3] * 3), made("mixup", alpha=0.0, form=form)
    found = objective.change(batch, np.random.default_rng(0))
    assert np.allclose(found.inputs["pixel_values"], PICTURES[found.row], atol=0)
    logits = torch.tensor(np.random.default_rng(6).normal(size=(12, 3)))
    loss = objective(logits[found.row], found.label, found.environment)
    assert loss.item() == pytest.approx(made("erm")(logits, batch.label).item(), abs=1e-14)


def test_what_is_wrong_is_named() -> None:
    rows = {"label": torch.zeros(4), "environment": torch.zeros(4)}
    with pytest.raises(OochubError, match="tokens cannot be mixed"):
        made("mixup").examine(None, {"input_ids": torch.zeros(2, 4)}, **rows)
    objective = oochub.get("objective", "mixup")(form="domainbed")
    objective.prepare(environment_counts=COUNTS)
    with pytest.raises(OochubError, match="mixes environments, but there is only one"):
        objective.examine(None, {"pixel_values": torch.zeros(2, 4)}, **rows)
