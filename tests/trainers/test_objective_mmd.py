"""The maximum mean discrepancy against loops over rows and pairs of environments in float64 NumPy."""

from itertools import combinations

import numpy as np
import pytest
import torch
from objective_references import TASKS, Batch, agrees, environment_losses, erm, loss_of, made, some_batch

import oochub


def kernel(x: np.ndarray, y: np.ndarray) -> float:
    """DomainBed, AbstractMMD.gaussian_kernel: the sum over gamma of exp(-gamma D), D squared distances; its mean."""
    gammas = [0.001, 0.01, 0.1, 1, 10, 100, 1000]
    return float(np.mean([sum(np.exp(-gamma * np.sum((a - b) ** 2)) for gamma in gammas) for a in x for b in y]))


def mmd(batch: Batch, weight: float, *, over_rows: bool = False) -> float:
    """DomainBed, AbstractMMD: mean loss + mmd_gamma * the mean over pairs of Kxx + Kyy - 2 Kxy.

    SubpopBench has the mean loss over the rows.
    """
    parts = [batch.of(e).features for e in np.unique(batch.environment)]
    found = [kernel(x, x) + kernel(y, y) - 2 * kernel(x, y) for x, y in combinations(parts, 2)]
    loss = erm(batch) if over_rows else float(np.mean(environment_losses(batch)))
    return loss + weight * (float(np.mean(found)) if found else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("form", [None, "subpopbench"])
@pytest.mark.parametrize("task", TASKS)
def test_loss_and_gradient_in_every_form(task: str, form: str | None) -> None:
    """Planted: a sum over pairs in place of their mean; the unbiased estimate, without the diagonal."""
    weight = 0.0 if task == "labels" else 2.0
    objective = made("mmd", penalty_weight=weight, form=form)
    batch = some_batch(task, rows=9)
    agrees(objective, lambda at: mmd(at, weight, over_rows=form is not None), batch, step=1e-6)


def test_many_environments() -> None:
    rng = np.random.default_rng(0)
    batch = some_batch(environments=rng.integers(0, 9, 20))
    objective = oochub.get("objective", "mmd")()
    objective.prepare(environment_counts=[1] * 9)
    for each in (batch, some_batch(environments=[3] * 5)):
        assert loss_of(objective, each) == pytest.approx(mmd(each, 1.0), rel=1e-11)


def test_equal_rows_and_rows_far_apart() -> None:
    """Squared distances of 0, with kernel 7, and so large that it is 0: (7 + 7 - 0) beside log 2, in float32 too."""
    for dtype in (torch.float32, torch.float64):
        features = torch.tensor([[1e4], [1e4], [-1e4], [-1e4]], dtype=dtype, requires_grad=True)
        args = torch.zeros(4, 2, dtype=dtype), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1])
        loss = oochub.get("objective", "mmd")()(*args, features)
        loss.backward()
        assert loss.item() == pytest.approx(np.log(2) + 14)
        assert features.grad.isfinite().all()
