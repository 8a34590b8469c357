"""CausIRL against a loop in float64 NumPy over every way to cut the environments, with the distances of the papers."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from objective_references import TASKS, Batch, agrees, environment_losses, equal_batch, erm, loss_of, made, some_batch
from scipy import stats
from test_objective_coral import distance as coral_distance
from test_objective_mmd import kernel

import oochub


def between(x: np.ndarray, y: np.ndarray, kind: str) -> float:
    return coral_distance(x, y) if kind == "coral" else kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)


def domainbed(batch: Batch, cuts: tuple[int, ...], kind: str) -> float:
    """DomainBed, AbstractCausIRL.update: the mean loss + the distance of cat(f_e[:s_e]) and cat(f_e[s_e:]).

    "if len(first) > 1 and len(second) > 1 ... else: penalty = 0"
    """
    parts = [batch.of(e).features for e in np.unique(batch.environment)]
    first = np.concatenate([part[:cut] for part, cut in zip(parts, cuts, strict=True)])
    second = np.concatenate([part[cut:] for part, cut in zip(parts, cuts, strict=True)])
    penalty = between(first, second, kind) if len(first) > 1 and len(second) > 1 else 0.0
    return float(np.mean(environment_losses(batch))) + penalty


def cuts_found(objective: Any, batch: Batch, kind: str) -> tuple[int, ...]:
    """Which cuts s_e in 0, ..., n_e - 1 give the objective's loss; only where the distance is 0 may several."""
    ranges = [range(n) for n in np.unique(batch.environment, return_counts=True)[1]]
    loss = loss_of(objective, batch)
    fitting = [cuts for cuts in product(*ranges) if abs(domainbed(batch, cuts, kind) - loss) < 1e-10]
    assert len(fitting) == 1 or (fitting and sum(fitting[0]) <= 1), fitting
    return fitting[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["coral", "mmd"])
@pytest.mark.parametrize("task", TASKS)
def test_every_loss_and_gradient_is_that_of_one_cut(task: str, kind: str) -> None:
    """Planted: one cut for all environments fits no cut of each."""
    batch = some_batch(task, environments=[0, 0, 1, 0, 3, 3, 1, 0, 3])
    objective, seen = made("causirl", distance=kind), set()
    for _ in range(4):
        objective.eval()
        cuts = cuts_found(objective, batch, kind)
        agrees(objective, lambda at, cuts=cuts: domainbed(at, cuts, kind), batch, step=1e-6)
        objective.train()
        assert loss_of(objective, batch) == pytest.approx(domainbed(batch, cuts, kind), rel=1e-11)
        seen.add(cuts)
    assert len(seen) > 1


def test_cuts_are_uniform_and_independent() -> None:
    """2,000 steps on environments of 4 and 3 rows: each of the 12 pairs of cuts equally often (chi-squared)."""
    from oochub.trainers.objectives.causirl import _hash_environments

    drawn = torch.stack([_hash_environments(torch.tensor(step), 2) for step in range(2000)])
    assert 0 <= drawn.min() and drawn.max() < 2**32
    cuts = drawn * torch.tensor([4, 3]) >> 32
    counts = torch.bincount(cuts[:, 0] * 3 + cuts[:, 1], minlength=12)
    assert counts.sum() == 2000 and len(counts) == 12
    assert stats.chisquare(counts).pvalue > 0.01
    after = torch.bincount(cuts[:-1, 0] * 4 + cuts[1:, 0], minlength=16)
    assert stats.chi2_contingency(after.view(4, 4)).pvalue > 0.01


def test_the_draws_do_not_depend_on_the_random_state_or_on_prepare() -> None:
    batch = some_batch()
    torch.manual_seed(0)
    first = [loss_of(objective, batch) for objective in [made("causirl")] for _ in range(5)]
    torch.manual_seed(1)
    unprepared = oochub.get("objective", "causirl")()
    assert [loss_of(unprepared, batch) for _ in range(5)] == first
    assert len(set(first)) > 1


def test_without_a_penalty_or_rows_to_mix_it_is_erm() -> None:
    batch = equal_batch()
    assert loss_of(made("causirl", penalty_weight=0.0), batch) == pytest.approx(erm(batch), rel=1e-13)
    for lonely in ([0, 1, 3], [0, 0], [3]):  # every s_e is 0, or a mixture has one row
        objective = made("causirl", penalty_weight=100.0)
        for _ in range(5):
            expected = float(np.mean(environment_losses(some_batch(environments=lonely))))
            assert loss_of(objective, some_batch(environments=lonely)) == pytest.approx(expected, rel=1e-13)
