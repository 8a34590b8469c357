"""Label reweighting against NOOCH's Eq. 2, NOOCH's code and SubpopBench's, as loops in float64 NumPy."""

import numpy as np
import pytest
import torch
from objective_references import CLASS_COUNTS, Batch, agrees, erm, loss_of, made, row_losses, some_batch

import oochub
from oochub.errors import OochubError


def eq2(batch: Batch, alpha: float) -> float:
    """1/n sum (1/w_i)^alpha l_i, w_i = P(Y = y_i) in the training set."""
    w = [count / sum(CLASS_COUNTS) for count in CLASS_COUNTS]
    losses = row_losses(batch.logits, batch.label)
    return float(np.mean([(1 / w[y]) ** alpha * loss for y, loss in zip(batch.label, losses, strict=True)]))


def nooch(batch: Batch, alpha: float) -> float:
    """NOOCH, run_model_interruptable.py: (1 - class_probs[y]) ** reweight_exponent."""
    w = [count / sum(CLASS_COUNTS) for count in CLASS_COUNTS]
    losses = row_losses(batch.logits, batch.label)
    return float(np.mean([(1 - w[y]) ** alpha * loss for y, loss in zip(batch.label, losses, strict=True)]))


def subpopbench(batch: Batch, alpha: float) -> float:
    """SubpopBench, ReWeight: 1/n_g over their sum, times the number of groups; SqrtReWeight: 1/sqrt(n_g)."""
    inverse = [1 / count**alpha for count in CLASS_COUNTS]
    weights = [one / sum(inverse) * len(inverse) for one in inverse]
    losses = row_losses(batch.logits, batch.label)
    return float(np.mean([weights[y] * loss for y, loss in zip(batch.label, losses, strict=True)]))


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 0.7, 1.0, 2.0])
def test_loss_and_gradient_in_every_form(alpha: float) -> None:
    """Planted: dividing by the sum of the weights, as weighted cross entropy does, differs at every alpha above 0."""
    batch = some_batch()
    agrees(made("reweight", alpha=alpha), lambda at: eq2(at, alpha), batch)
    agrees(made("reweight", alpha=alpha, form="nooch"), lambda at: nooch(at, alpha), batch)
    agrees(made("reweight", alpha=alpha, form="subpopbench"), lambda at: subpopbench(at, alpha), batch)


def test_alpha_0_is_erm() -> None:
    for form in (None, "nooch", "subpopbench"):
        assert loss_of(made("reweight", alpha=0.0, form=form), some_batch()) == pytest.approx(erm(some_batch()))


def test_frequencies_are_those_of_training_not_of_the_batch() -> None:
    """A batch of one class alone weighs as its class does in training."""
    objective = oochub.get("objective", "reweight")()
    objective.prepare(class_counts=[3, 1])
    loss = objective(torch.zeros(5, 2), torch.ones(5, dtype=torch.int64))
    assert loss.item() == pytest.approx(4 * np.log(2))


def test_equally_frequent_classes_are_erm_times_their_number() -> None:
    objective = oochub.get("objective", "reweight")().double()
    objective.prepare(class_counts=[7, 7, 7])
    assert loss_of(objective, some_batch()) == pytest.approx(3 * erm(some_batch()), rel=1e-13)


def test_a_class_without_training_rows_touches_no_other() -> None:
    for form, expected in ((None, 4 / 3), ("nooch", 1 / 4), ("subpopbench", 3 / 4)):
        objective = oochub.get("objective", "reweight")(form=form)
        objective.prepare(class_counts=[3, 1, 0])
        logits = torch.zeros(2, 3, requires_grad=True)
        loss = objective(logits, torch.tensor([0, 0]))
        loss.backward()
        assert loss.item() == pytest.approx(expected * np.log(3))  # n^-1 is 1/3, 1 and 0, their mean 4/9
        assert logits.grad.isfinite().all()


def test_the_state_loads_into_one_that_was_not_prepared() -> None:
    first, second = made("reweight"), oochub.get("objective", "reweight")().double()
    second.load_state_dict(first.state_dict())
    assert loss_of(second, some_batch()) == loss_of(first, some_batch())


def test_counts_and_classes_are_asked_for() -> None:
    objective = oochub.get("objective", "reweight")()
    with pytest.raises(OochubError, match=r"prepare\(class_counts=\[...\]\) first"):
        objective.prepare(environment_counts=[1, 2])
    with pytest.raises(OochubError, match=r"prepare\(class_counts=\[...\]\) first"):
        objective(torch.zeros(1, 2), torch.tensor([0]))
    for counts in ([0, 0], [[1, 2]], [-1, 2], [float("nan"), 1]):
        with pytest.raises(OochubError, match="number of training rows of each class"):
            objective.prepare(class_counts=counts)
    for task in ("labels", "numbers"):
        with pytest.raises(OochubError, match="needs class numbers"):
            made("reweight")(*some_batch(task).tensors())
