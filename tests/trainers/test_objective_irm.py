"""IRMv1 against loops in float64 NumPy, the slope by central differences of the scaled loss, in every form."""

import numpy as np
import pytest
import torch
from objective_references import (
    TASKS,
    Batch,
    agrees,
    environment_losses,
    loss_of,
    made,
    resumes,
    row_losses,
    some_batch,
)

import oochub


def slope(batch: Batch) -> float:
    """d/ds of the mean loss of s * logits at s = 1, in closed form of the paper's IRMv1 gradient."""
    z, y = batch.logits, batch.label
    if y.dtype.kind == "i":  # sum_c p_c z_c - z_y
        p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        return float(np.mean([p[i] @ z[i] - z[i, y[i]] for i in range(len(y))]))
    if y.ndim == 1:
        return float(np.mean(2 * (z[:, 0] - y) * z[:, 0]))
    return float(np.mean(np.nanmean((1 / (1 + np.exp(-z)) - y) * z, axis=1)))


def environments_of(batch: Batch) -> list[Batch]:
    return [batch.of(environment) for environment in np.unique(batch.environment)]


def irmv1(batch: Batch, weight: float) -> float:
    """Arjovsky et al., IRMv1: per environment R_e + lambda |d R_e(s f) / ds at s = 1|^2; the mean of them."""
    return float(np.mean(environment_losses(batch))) + weight * np.mean([slope(e) ** 2 for e in environments_of(batch)])


def nooch(batch: Batch, weight: float) -> float:
    """NOOCH: env_loss_total + coefficient * env_penalty_total; "if coefficient > 1: loss = loss / coefficient"."""
    loss = sum(environment_losses(batch)) + weight * sum(slope(e) ** 2 for e in environments_of(batch))
    return loss / weight if weight > 1 else loss


def domainbed(batch: Batch, weight: float) -> float:
    """DomainBed, IRM._irm_penalty: the product of the gradients of logits[::2] and logits[1::2]."""
    products = [
        slope(Batch(*(a[::2] for a in e))) * slope(Batch(*(a[1::2] for a in e))) for e in environments_of(batch)
    ]
    return float(np.mean(environment_losses(batch))) + weight * float(np.mean(products))


def test_the_reference_slope_is_the_derivative_by_the_scale() -> None:
    """The closed forms above against central differences of the loss of s * logits: the reference's own check."""
    for task in TASKS:
        batch = some_batch(task)
        ends = [row_losses(batch.logits * (1 + sign * 1e-5), batch.label).mean() for sign in (1, -1)]
        assert slope(batch) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weight", [0.1, 10.0])
def test_loss_and_gradient_in_every_form(task: str, weight: float) -> None:
    """Planted: the slope of the whole batch in place of each environment's; a penalty without its gradient."""
    batch = some_batch(task)
    agrees(made("irm", penalty_weight=weight, anneal_steps=0), lambda at: irmv1(at, weight), batch)
    agrees(made("irm", penalty_weight=weight, form="nooch"), lambda at: nooch(at, weight), batch)
    for form in ("domainbed", "wilds"):
        halves = made("irm", penalty_weight=weight, anneal_steps=0, form=form)
        agrees(halves, lambda at: domainbed(at, weight), batch)


def test_the_halves_can_be_negative_and_the_square_cannot() -> None:
    found = [domainbed(some_batch(seed=seed), 1.0) - domainbed(some_batch(seed=seed), 0.0) for seed in range(20)]
    assert min(found) < 0
    for seed, expected in enumerate(found):
        pair = [made("irm", penalty_weight=w, anneal_steps=0, form="domainbed") for w in (1.0, 0.0)]
        assert loss_of(pair[0], some_batch(seed=seed)) - loss_of(pair[1], some_batch(seed=seed)) == pytest.approx(
            expected
        )


def test_the_weight_is_1_until_the_annealing_step() -> None:
    """Planted: <= in place of < moves the jump by a step; counting in eval mode too."""
    objective = made("irm", penalty_weight=50.0, anneal_steps=2)
    for weight in (1, 1, 50, 50):
        batch = some_batch(seed=weight)
        expected = irmv1(batch, weight)
        assert loss_of(objective.eval(), batch) == pytest.approx(expected, rel=1e-12)
        assert loss_of(objective.train(), batch) == pytest.approx(expected, rel=1e-12)
    assert objective.step.item() == 4


def test_a_run_resumes_before_at_and_after_the_annealing_step() -> None:
    for stop in (1, 2, 3):
        resumes(lambda: made("irm", penalty_weight=50.0, anneal_steps=2), stop=stop)


def test_nooch_has_no_annealing() -> None:
    objective = oochub.get("objective", "irm")(form="nooch")
    assert objective.anneal_steps == 0
    assert type(objective)(**objective.hyperparameters).hyperparameters == objective.hyperparameters


def test_it_works_without_gradients_and_without_prepare() -> None:
    batch = some_batch()
    with torch.no_grad():
        found = oochub.get("objective", "irm")(anneal_steps=0, penalty_weight=3.0)(*batch.tensors())
    assert found.item() == pytest.approx(irmv1(batch, 3.0), rel=1e-12)


def test_tokens_by_their_rows() -> None:
    """Loss and slope of a row are means over its tokens that are asked for; by autograd of a factor of the logits."""
    draws = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 5, 7, generator=draws, dtype=torch.float64)
    label = torch.randint(7, (4, 5), generator=draws, dtype=torch.int32)
    label[torch.rand(4, 5, generator=draws) < 0.4] = -100
    environment = torch.tensor([0, 0, 1, 1])
    expected = 0.0
    for rows in ([0, 1], [2, 3]):
        factor = torch.ones((), dtype=torch.float64, requires_grad=True)
        losses = []
        for row in rows:
            asked = label[row] >= 0
            said = (factor * logits[row])[asked].log_softmax(-1)
            losses.append(-said[torch.arange(int(asked.sum())), label[row][asked].long()].mean())
        risk = torch.stack(losses).mean()
        (slope,) = torch.autograd.grad(risk, factor)
        expected += (risk.item() + 3.0 * slope.item() ** 2) / 2
    objective = oochub.get("objective", "irm")(penalty_weight=3.0, anneal_steps=0)
    assert objective(logits, label, environment=environment).item() == pytest.approx(expected, rel=1e-9)
