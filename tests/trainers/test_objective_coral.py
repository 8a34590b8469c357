"""CORAL against a loop over pairs of environments in float64 NumPy with numpy.cov, in every form."""

from itertools import combinations

import numpy as np
import pytest
import torch
from objective_references import TASKS, Batch, agrees, environment_losses, erm, loss_of, made, some_batch

import oochub


def distance(x: np.ndarray, y: np.ndarray) -> float:
    """DomainBed, AbstractMMD.mmd, "mean_cov": (mean_x - mean_y).pow(2).mean() + (cova_x - cova_y).pow(2).mean()."""
    return float(np.mean((x.mean(0) - y.mean(0)) ** 2) + np.mean((np.cov(x.T) - np.cov(y.T)) ** 2))


def penalty(batch: Batch) -> float:
    """The mean over pairs; environments with one row have no covariance and are in no pair."""
    parts = [batch.of(e).features for e in np.unique(batch.environment)]
    found = [distance(x, y) for x, y in combinations([part for part in parts if len(part) > 1], 2)]
    return float(np.mean(found)) if found else 0.0


def coral(batch: Batch, weight: float) -> float:
    """DomainBed, AbstractMMD.update: the mean over environments of the loss + mmd_gamma * penalty."""
    return float(np.mean(environment_losses(batch))) + weight * penalty(batch)


def wilds(batch: Batch, weight: float) -> float:
    """WILDS, deepCORAL.py: avg_loss + penalty * penalty_weight, avg_loss over the rows of the batch."""
    return erm(batch) + weight * penalty(batch)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weight", [1.0, 10.0])
def test_loss_and_gradient_in_every_form(task: str, weight: float) -> None:
    """Planted: a covariance with n in place of n - 1; means of the batch in place of each environment's."""
    batch = some_batch(task)
    agrees(made("coral", penalty_weight=weight), lambda at: coral(at, weight), batch)
    for form in ("wilds", "subpopbench"):
        agrees(made("coral", penalty_weight=weight, form=form), lambda at: wilds(at, weight), batch)


def test_a_hand_worked_case() -> None:
    """Features (0), (2) against (1), (5): means 1 and 3, variances 2 and 8, so 4 + 36, beside log 2."""
    features = torch.tensor([[0.0], [2.0], [1.0], [5.0]])
    args = torch.zeros(4, 2), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1]), features
    assert oochub.get("objective", "coral")(penalty_weight=0.5)(*args).item() == pytest.approx(np.log(2) + 20)


def test_many_environments_and_wide_features() -> None:
    rng = np.random.default_rng(0)
    batch = some_batch(environments=rng.integers(0, 9, 40))._replace(features=rng.normal(5, 2, (40, 30)))
    objective = oochub.get("objective", "coral")()
    objective.prepare(environment_counts=[1] * 9)
    for each in (batch, some_batch(environments=[3] * 5)):
        assert loss_of(objective, each) == pytest.approx(coral(each, 1.0), rel=1e-11)


def test_float32_far_from_the_origin() -> None:
    """Features around 1000. Planted: without taking their mean away first, rounding is larger than the distance."""
    batch = some_batch()._replace(features=some_batch().features + 1000)
    tensors = batch.tensors()
    found = oochub.get("objective", "coral")()(tensors[0].float(), tensors[1], tensors[2], tensors[3].float())
    assert found.item() == pytest.approx(coral(batch, 1.0), rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_does_not_overflow(dtype: torch.dtype) -> None:
    """Features in the hundreds, whose squares float16 cannot hold, under autocast too."""
    batch = some_batch()._replace(features=300 * some_batch().features)
    tensors = batch.tensors()
    features = tensors[3].to(dtype).requires_grad_()
    rounded = batch._replace(features=features.detach().double().numpy())
    with torch.autocast("cpu", torch.bfloat16):
        loss = oochub.get("objective", "coral")(penalty_weight=1e-6)(*tensors[:3], features)
    loss.backward()
    assert loss.item() == pytest.approx(coral(rounded, 1e-6), rel=1e-4)
    assert features.grad.isfinite().all()


def test_tokens_are_rows_of_their_rows_environment() -> None:
    """Against numpy.cov over the tokens that are asked for, of all rows of an environment together."""
    rng = np.random.default_rng(0)
    label, environment = rng.integers(0, 6, (5, 4)), np.array([0, 0, 1, 1, 1])
    label[rng.random((5, 4)) < 0.3] = -100
    label[:, 0] = 2
    features = rng.normal(size=(5, 4, 3)) + environment[:, None, None]
    parts = [features[environment == e][label[environment == e] >= 0] for e in (0, 1)]
    logits = torch.zeros(5, 4, 6, dtype=torch.float64)
    found = oochub.get("objective", "coral")(penalty_weight=2.0, form="wilds")(
        logits, torch.tensor(label, dtype=torch.int32), torch.tensor(environment), torch.tensor(features)
    )
    assert found.item() == pytest.approx(np.log(6) + 2 * distance(*parts))
