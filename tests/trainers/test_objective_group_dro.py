"""GroupDRO against loops in float64 NumPy written from the formulas, in every form."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import oochub
from oochub.errors import OochubError

COUNTS = [50, 8, 0, 200]  # the third environment is only in other splits
PRESENT = [0, 1, 3]


def row_losses(logits: np.ndarray, label: np.ndarray) -> np.ndarray:
    return np.array([np.log(np.exp(row).sum()) - row[y] for row, y in zip(logits, label, strict=True)])


def sagawa(batches: list[tuple], *, step: float, c: float, counts: list[int]) -> tuple[list[float], np.ndarray]:
    """q_g *= exp(step (l_g + C/sqrt(n_g))), normalize, L = sum_g q_g (l_g + C/sqrt(n_g)); absent l_g = 0."""
    q = np.array([n > 0 for n in counts], float)
    q /= q.sum()
    losses = []
    for logits, label, environment in batches:
        each = row_losses(logits, label)
        total = 0.0
        adjusted = np.zeros(len(counts))
        for g, n in enumerate(counts):
            rows = each[environment == g]
            adjusted[g] = (rows.mean() if len(rows) else 0.0) + (c / np.sqrt(n) if n else 0.0)
        for g in range(len(counts)):
            q[g] *= np.exp(step * adjusted[g])
        q /= q.sum()
        for g in range(len(counts)):
            total += q[g] * adjusted[g]
        losses.append(total)
    return losses, q


def domainbed(batches: list[tuple], *, step: float, environments: list[int]) -> list[float]:
    """DomainBed, GroupDRO.update: q = ones; q[m] *= (eta * loss_m).exp(); q /= q.sum(); loss = dot(losses, q)."""
    q = {g: 1.0 for g in environments}
    found = []
    for logits, label, environment in batches:
        losses = {}
        for g in environments:
            rows = environment == g
            if rows.any():
                losses[g] = row_losses(logits[rows], label[rows]).mean()
                q[g] *= np.exp(step * losses[g])
        total = sum(q.values())
        q = {g: value / total for g, value in q.items()}
        found.append(sum(losses[g] * q[g] for g in losses))
    return found


def nooch(batches: list[tuple], *, k: float, counts: list[int]) -> list[float]:
    """NOOCH Eq. 5 on a batch: max over its environments c of 1/n sum of losses + K/sqrt(n_c)."""
    found = []
    for logits, label, environment in batches:
        each = row_losses(logits, label)
        found.append(max(each[environment == g].mean() + k / np.sqrt(counts[g]) for g in np.unique(environment)))
    return found


def some_batches(count: int, *, rows: int = 12, seed: int = 0, missing: bool = True) -> list[tuple]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        present = [0, 3] if missing and number % 2 else PRESENT
        environment = np.concatenate([present, rng.choice(present, rows - len(present))])
        found.append((rng.normal(0, 2, (rows, 3)), rng.integers(0, 3, rows), environment))
    return found


def made(counts: list[int] = COUNTS, **hyperparameters: Any) -> Any:
    objective = oochub.get("objective", "group_dro")(**hyperparameters).double()
    objective.prepare(environment_counts=counts)
    return objective


def losses_of(objective: Any, batches: list[tuple]) -> list[float]:
    return [objective(*map(torch.tensor, batch)).item() for batch in batches]


@pytest.mark.parametrize(("step", "c"), [(0.01, 0.0), (0.5, 0.0), (0.1, 3.0), (0.0, 0.0)])
def test_default_equals_the_formula_over_many_steps(step: float, c: float) -> None:
    """Planted: weighting with the q of before the update differs by 1e-2; a gradient through q by 1e-3."""
    batches = some_batches(20)
    expected, q = sagawa(batches, step=step, c=c, counts=COUNTS)
    objective = made(step_size=step, adjustment=c)
    assert np.allclose(losses_of(objective, batches), expected, rtol=0, atol=1e-12)
    assert np.allclose(objective.weights.numpy(), q, rtol=0, atol=1e-12)


def test_nooch_form_is_the_maximum_over_the_environments_of_the_batch() -> None:
    batches = some_batches(10)
    found = losses_of(made(form="nooch", adjustment=5.0), batches)
    assert np.allclose(found, nooch(batches, k=5.0, counts=COUNTS), rtol=0, atol=1e-12)


def test_wilds_and_domainbed_forms_equal_their_loops() -> None:
    batches = some_batches(20, missing=False)
    expected, _ = sagawa(batches, step=0.3, c=0.0, counts=COUNTS)  # the WILDS update is the same, without C
    assert np.allclose(losses_of(made(step_size=0.3, form="wilds"), batches), expected, rtol=0, atol=1e-12)
    with_absent = some_batches(20)
    expected = domainbed(with_absent, step=0.3, environments=PRESENT)
    assert np.allclose(losses_of(made(step_size=0.3, form="domainbed"), with_absent), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", [None, "nooch"])
def test_gradient_by_central_differences(form: str | None) -> None:
    """The gradient is that of sum_g q_g l_g with q held at its updated value, or of the largest environment."""
    z, y, e = some_batches(1)[0]
    adjustment = 2.0 if form else 0.0
    logits = torch.tensor(z, requires_grad=True)
    objective = made(step_size=0.7, adjustment=adjustment, form=form)
    objective(logits, torch.tensor(y), torch.tensor(e)).backward()
    _, q = sagawa([(z, y, e)], step=0.7, c=0.0, counts=COUNTS)

    def value(at: np.ndarray) -> float:
        each = row_losses(at, y)
        means = np.array([each[e == g].mean() if (e == g).any() else 0.0 for g in range(4)])
        return nooch([(at, y, e)], k=adjustment, counts=COUNTS)[0] if form else float(q @ means)

    for i, j in np.ndindex(z.shape):
        step = np.zeros_like(z)
        step[i, j] = 1e-5
        slope = (value(z + step) - value(z - step)) / 2e-5
        assert abs(logits.grad[i, j].item() - slope) < 1e-8


def test_without_steps_and_with_equal_environments_it_is_erm() -> None:
    """step_size=0 leaves q uniform; with equally many rows of each environment that is the mean over all rows."""
    rng = np.random.default_rng(3)
    logits, label = torch.tensor(rng.normal(size=(12, 3))), torch.tensor(rng.integers(0, 3, 12))
    environment = torch.tensor([0, 1, 2, 3] * 3)
    loss = made([4, 4, 4, 4], step_size=0.0)(logits, label, environment)
    assert abs(loss.item() - oochub.get("objective", "erm")()(logits, label).item()) < 1e-14
    one = made([12], form="nooch")(logits, label, torch.zeros(12, dtype=torch.int64))
    assert abs(one.item() - oochub.get("objective", "erm")()(logits, label).item()) < 1e-14


def test_large_losses_do_not_overflow() -> None:
    objective = oochub.get("objective", "group_dro")(step_size=1.0)
    objective.prepare(environment_counts=[1, 1])
    logits = torch.tensor([[500.0, 0.0], [0.0, 0.0]])
    for _ in range(3):
        loss = objective(logits, torch.tensor([1, 1]), torch.tensor([0, 1]))
    assert loss.item() == pytest.approx(500.0)


def test_missing_environments_are_named() -> None:
    logits, label, environment = map(torch.tensor, some_batches(1)[0])
    with pytest.raises(OochubError, match=r"prepare\(environment_counts="):
        oochub.get("objective", "group_dro")()(logits, label, environment)
    with pytest.raises(OochubError, match="number of training rows of each environment"):
        made([0, 0])


HALVES = (slice(0, 5), slice(5, 12))  # also unequal parts make the joint batch


def steps(weight: torch.Tensor, objective: Any, part: slice | None, world: int) -> list[Any]:
    """Three steps of gradient descent on a linear model; gradients are averaged as DistributedDataParallel does."""
    record: list[Any] = []
    for x, label, environment in some_batches(3, seed=7):
        rows = part or slice(None)
        x, label, environment = (torch.tensor(array[rows]) for array in (x, label, environment))
        weight.grad = None
        loss = objective(x @ weight, label, environment)
        loss.backward()
        if world > 1:
            torch.distributed.all_reduce(weight.grad)
            weight.grad /= world
        record += [loss.item(), weight.grad.clone()]
        with torch.no_grad():
            weight -= 0.5 * weight.grad
    return [*record, objective.weights]


def one_of_two(rank: int, folder: Path, form: str | None) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    record = steps(torch.eye(3, dtype=torch.float64).requires_grad_(), made(step_size=0.5, form=form), HALVES[rank], 2)
    torch.save(record, folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("form", [None, "nooch"])
def test_two_processes_equal_one_on_the_joint_batch(form: str | None, tmp_path: Path) -> None:
    """Losses, gradients and weights of three steps. Planted: means of each process alone differ by 1e-2."""
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:  # fork is seconds faster than starting two interpreters
            code = 1
            try:
                torch.set_num_threads(1)
                one_of_two(rank, tmp_path, form)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    expected = steps(torch.eye(3, dtype=torch.float64).requires_grad_(), made(step_size=0.5, form=form), None, 1)
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        for ours, theirs in zip(found, expected, strict=True):
            assert torch.allclose(torch.as_tensor(ours), torch.as_tensor(theirs), rtol=0, atol=1e-12)
