"""Environment reweighting against NOOCH's Eq. 2 with w = P(C = c), NOOCH's code and SubpopBench's, in float64 NumPy."""

import numpy as np
import pytest
import torch
from objective_references import COUNTS, TASKS, Batch, agrees, equal_batch, erm, loss_of, made, some_batch
from objective_references import row_losses as losses_of

import oochub
from oochub.errors import OochubError


def weighted(batch: Batch, weights: list[float]) -> float:
    losses = losses_of(batch.logits, batch.label)
    return float(np.mean([weights[e] * loss for e, loss in zip(batch.environment, losses, strict=True)]))


def eq2(batch: Batch, alpha: float) -> float:
    """1/n sum (1/w_i)^alpha l_i, "with w_i = P(C = c_i)" (NOOCH section 4.3)."""
    return weighted(batch, [(sum(COUNTS) / count) ** alpha if count else np.nan for count in COUNTS])


def nooch(batch: Batch, alpha: float) -> float:
    """NOOCH, run_model_interruptable.py: (1 - env_probs[envs]) ** reweight_exponent."""
    return weighted(batch, [(1 - count / sum(COUNTS)) ** alpha for count in COUNTS])


def subpopbench(batch: Batch, alpha: float) -> float:
    """SubpopBench, ReWeight: "grp_sizes = [x if x else np.inf ...]"; 1/n_g over their sum, times len(grp_sizes)."""
    inverse = [1 / (count if count else np.inf) ** alpha for count in COUNTS]
    return weighted(batch, [one / sum(inverse) * len(inverse) for one in inverse])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_loss_and_gradient_in_every_form(task: str, alpha: float) -> None:
    """Planted: frequencies of the batch in place of the training set's."""
    batch = some_batch(task)
    agrees(made("reweight_environments", alpha=alpha), lambda at: eq2(at, alpha), batch)
    agrees(made("reweight_environments", alpha=alpha, form="nooch"), lambda at: nooch(at, alpha), batch)
    agrees(made("reweight_environments", alpha=alpha, form="subpopbench"), lambda at: subpopbench(at, alpha), batch)


def test_alpha_0_and_equal_environments_are_erm() -> None:
    """With four equally frequent environments (1/w)^alpha is 4^alpha for all."""
    assert loss_of(made("reweight_environments", alpha=0.0), some_batch()) == pytest.approx(
        erm(some_batch()), rel=1e-13
    )
    for form, factor in ((None, 4.0), ("nooch", 0.75), ("subpopbench", 1.0)):
        objective = oochub.get("objective", "reweight_environments")(form=form).double()
        objective.prepare(environment_counts=[5, 5, 5, 5])
        assert loss_of(objective, equal_batch()) == pytest.approx(factor * erm(equal_batch()), rel=1e-13)


@pytest.mark.parametrize("form", [None, "nooch", "subpopbench"])
def test_an_environment_without_training_rows_touches_no_other(form: str | None) -> None:
    logits = torch.zeros(3, 3, requires_grad=True)
    loss = made("reweight_environments", form=form)(logits, torch.tensor([0, 1, 2]), torch.tensor([0, 3, 3]))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


def test_the_state_loads_into_one_that_was_not_prepared() -> None:
    first, second = made("reweight_environments"), oochub.get("objective", "reweight_environments")().double()
    second.load_state_dict(first.state_dict())
    assert loss_of(second, some_batch()) == loss_of(first, some_batch())


def test_environments_and_counts_are_asked_for() -> None:
    batch = some_batch().tensors()
    with pytest.raises(OochubError, match="Pass environment="):
        made("reweight_environments")(*batch[:2])
    with pytest.raises(OochubError, match=r"prepare\(environment_counts="):
        oochub.get("objective", "reweight_environments")()(*batch)
    with pytest.raises(OochubError, match="number of training rows of each environment"):
        oochub.get("objective", "reweight_environments")().prepare(environment_counts=[0, 0])
