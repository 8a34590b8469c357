"""CVaR against a loop over the sorted losses in float64 NumPy, in both forms."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from objective_references import TASKS, Batch, agrees, loss_of, made, row_losses, some_batch


def largest_mean(batch: Batch, p: float) -> float:
    """NOOCH section 4.4: "the average loss of the p-percent worst-loss examples"; ceil(p n) of them (its code)."""
    losses = sorted(row_losses(batch.logits, batch.label), reverse=True)
    return float(np.mean(losses[: ceil(Fraction(str(p)) * len(losses))]))


def fractional(batch: Batch, p: float) -> float:
    """SubpopBench, joint_dro.py: 1/(p m) for the int(p m) largest, the rest of 1 for the next."""
    losses = sorted(row_losses(batch.logits, batch.label), reverse=True)
    left, total = 1.0, 0.0
    for loss in losses:
        weight = min(left, 1 / (p * len(losses)))
        total += weight * loss
        left -= weight
    return total


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("p", [0.1, 0.15, 1.0])
def test_loss_and_gradient(task: str, p: float) -> None:
    """Planted: floor in place of ceil."""
    for rows in (7, 20):
        batch = some_batch(task, rows=rows)
        agrees(made("cvar", p=p), lambda at: largest_mean(at, p), batch)
        agrees(made("cvar", p=p, form="subpopbench"), lambda at: fractional(at, p), batch)


def test_p_times_n_is_not_rounded_up_by_floating_point() -> None:
    """0.07 x 100 is 7.000000000000001 in floating point, and 7 rows are meant. Planted: math.ceil alone takes 8."""
    for rows in (40, 60, 100, 200, 700):
        for p in (0.05, 0.07, 0.1, 0.14, 0.15, 0.29, 0.55):
            batch = some_batch(rows=rows)
            assert loss_of(made("cvar", p=p), batch) == pytest.approx(largest_mean(batch, p), rel=1e-12)
