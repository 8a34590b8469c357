"""Reweighting by class and by environment against NOOCH's Eq. 2, NOOCH's code and SubpopBench's, in float64 NumPy."""

from typing import Any

import numpy as np
import pytest
import torch
from objective_references import CLASS_COUNTS, COUNTS, TASKS, Batch, agrees, made, row_losses, some_batch

import oochub
from oochub.errors import OochubError

COLUMNS = {"reweight": ("label", np.array(CLASS_COUNTS)), "reweight_environments": ("environment", np.array(COUNTS))}


def weights_of(form: str | None, count: np.ndarray, alpha: float) -> np.ndarray:
    """The weight of a row of each class or environment, by its rows in training.

    Eq. 2: (1/w)^alpha, w = P(Y = y) or P(C = c). NOOCH, run_model_interruptable.py: (1 - probs) ** reweight_exponent.
    SubpopBench, ReWeight: 1/n_g over their sum, times the number of groups; SqrtReWeight: 1/sqrt(n_g).
    """
    if form == "nooch":
        return (1 - count / count.sum()) ** alpha
    inverse = 1 / np.where(count > 0, count, np.inf) ** alpha
    return inverse / inverse.sum() * len(count) if form else inverse * float(count.sum()) ** alpha


@pytest.mark.parametrize("form", [None, "nooch", "subpopbench"])
@pytest.mark.parametrize(
    ("name", "task", "alpha"),
    [("reweight", "classes", alpha) for alpha in (0.0, 0.2, 2.0)]
    + [("reweight_environments", task, alpha) for task in TASKS for alpha in (0.2, 2.0)],
)
def test_loss_and_gradient_in_every_form(name: str, task: str, alpha: float, form: str | None) -> None:
    """Planted: dividing by the sum of the weights, as weighted cross entropy does; frequencies of the batch."""
    column, count = COLUMNS[name]
    weights = weights_of(form, count, alpha)

    def loss(batch: Batch) -> float:
        return float(np.mean(weights[getattr(batch, column)] * row_losses(batch.logits, batch.label)))

    agrees(made(name, alpha=alpha, form=form), loss, some_batch(task))


def test_frequencies_are_those_of_training_not_of_the_batch() -> None:
    """A batch of one class alone weighs as its class does in training."""
    objective = oochub.get("objective", "reweight")()
    objective.prepare(class_counts=[3, 1])
    loss = objective(torch.zeros(5, 2), torch.ones(5, dtype=torch.int64))
    assert loss.item() == pytest.approx(4 * np.log(2))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_class_without_training_rows_touches_no_other(name: str) -> None:
    for form, expected in ((None, 4 / 3), ("nooch", 1 / 4), ("subpopbench", 3 / 4)):
        objective = oochub.get("objective", name)(form=form)
        objective.prepare(class_counts=[3, 1, 0], environment_counts=[3, 1, 0])
        logits, rows = torch.zeros(2, 3, requires_grad=True), torch.tensor([0, 0])
        loss = objective(logits, rows, rows)
        loss.backward()
        assert loss.item() == pytest.approx(expected * np.log(3))  # n^-1 is 1/3, 1 and 0, their mean 4/9
        assert logits.grad.isfinite().all()


@pytest.mark.parametrize(("name", "of"), [("reweight", "class"), ("reweight_environments", "environment")])
def test_counts_and_classes_are_asked_for(name: str, of: str) -> None:
    objective = oochub.get("objective", name)()
    counts: dict[str, Any] = {"class_counts": [1, 2], "environment_counts": [1, 2]}
    rows = torch.tensor([0])
    with pytest.raises(OochubError, match=rf"prepare\({of}_counts="):
        objective(torch.zeros(1, 2), rows, rows)
    for wrong in ([0, 0], [[1, 2]], [-1, 2], [float("nan"), 1]):
        with pytest.raises(OochubError, match=f"number of training rows of each {of}"):
            objective.prepare(**counts | {f"{of}_counts": wrong})
    if name == "reweight":
        with pytest.raises(OochubError, match=r"prepare\(class_counts=\[...\]\) first"):
            objective.prepare(environment_counts=[1, 2])
        for task in ("labels", "numbers"):
            with pytest.raises(OochubError, match="needs class numbers"):
                made(name)(*some_batch(task).tensors())
