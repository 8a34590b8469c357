"""V-REx against a loop in float64 NumPy, and against the authors' own form for two environments."""

import numpy as np
import pytest
from objective_references import TASKS, Batch, agrees, environment_losses, loss_of, made, resumes, some_batch

import oochub


def domainbed(batch: Batch, weight: float) -> float:
    """DomainBed, VREx: mean = losses.mean(); penalty = ((losses - mean) ** 2).mean(); mean + weight * penalty."""
    losses = environment_losses(batch)
    mean = sum(losses) / len(losses)
    return mean + weight * sum((loss - mean) ** 2 for loss in losses) / len(losses)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weight", [1.0, 10.0])
def test_loss_and_gradient(task: str, weight: float) -> None:
    """Planted: the absent environment counted as a loss of 0; the standard deviation in place of the variance."""
    agrees(made("vrex", penalty_weight=weight, anneal_steps=0), lambda at: domainbed(at, weight), some_batch(task))


def test_the_authors_form_for_two_environments() -> None:
    """REx_code_release: (R1 + R2) + w (R1 - R2)^2 is twice this with penalty_weight = 2 w."""
    batch = some_batch(environments=[0, 1, 0, 1, 1])
    first, second = environment_losses(batch)
    expected = first + second + 7.0 * (first - second) ** 2
    assert 2 * loss_of(made("vrex", penalty_weight=14.0, anneal_steps=0), batch) == pytest.approx(expected, rel=1e-12)


def test_the_weight_is_1_until_the_annealing_step() -> None:
    objective = made("vrex", penalty_weight=50.0, anneal_steps=2)
    for weight in (1, 1, 50, 50):
        batch = some_batch(seed=weight)
        assert loss_of(objective.eval(), batch) == pytest.approx(domainbed(batch, weight), rel=1e-12)
        assert loss_of(objective.train(), batch) == pytest.approx(domainbed(batch, weight), rel=1e-12)
    assert objective.step.item() == 4


def test_a_run_resumes_before_at_and_after_the_annealing_step() -> None:
    for stop in (1, 2, 3):
        resumes(lambda: made("vrex", anneal_steps=2), stop=stop)


def test_numbers_of_environments_come_from_the_batch_where_it_was_not_prepared() -> None:
    objective = oochub.get("objective", "vrex")(anneal_steps=0)
    assert np.isclose(loss_of(objective, some_batch()), domainbed(some_batch(), 10.0), rtol=1e-12, atol=0)
