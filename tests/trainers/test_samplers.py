"""Samplers: frequencies against the formulas, batches by hand, and the same rows for every process and resumption."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate.data_loader import BatchSamplerShard
from scipy.stats import chisquare
from torch.utils.data import BatchSampler

from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.fitting import choose_sampler
from oochub.trainers.samplers import (
    SAMPLERS,
    EnvironmentSampler,
    UniformSampler,
    WeightedSampler,
    compute_power_weights,
    number_groups,
)

RNG = np.random.default_rng(0)
LABEL = RNG.choice(3, 600, p=[0.7, 0.25, 0.05])
ENVIRONMENT = RNG.choice(4, 600, p=[0.6, 0.3, 0.08, 0.02])


def made(name: str, *, batch_size: int = 8, label=LABEL, **options):
    args = RobustTrainingArguments(output_dir="runs", sampler=name, per_device_train_batch_size=batch_size, **options)
    return choose_sampler(args, SimpleNamespace(label=label, environment=ENVIRONMENT), processes=1)


def rows_of(sampler, epoch: int) -> list[int]:
    sampler.set_epoch(epoch)
    return list(sampler)


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_order_is_a_function_of_seed_and_epoch_alone(name: str) -> None:
    """Planted: a generator that goes on from one epoch to the next gives another order in a new process."""
    orders = {(seed, epoch): tuple(rows_of(made(name, seed=seed), epoch)) for seed in range(3) for epoch in range(3)}
    assert len(set(orders.values())) == 9
    for (seed, epoch), order in orders.items():
        sampler = made(name, seed=seed)
        list(sampler), rows_of(sampler, 7)  # what was drawn before does not matter
        assert tuple(rows_of(sampler, epoch)) == order and len(order) == len(sampler)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("processes", [2, 4])
def test_the_processes_together_see_the_rows_of_one(name: str, processes: int) -> None:
    """Accelerate deals the batches of its processes from the one order; together they are one process's batches."""
    whole = [set(rows) for rows in BatchSampler(made(name, batch_size=8), 8, drop_last=True)]
    parts = [
        list(
            BatchSamplerShard(
                BatchSampler(made(name, batch_size=8), 8 // processes, drop_last=True), processes, process
            )
        )
        for process in range(processes)
    ]
    for step, rows in enumerate(whole):
        together = [row for part in parts for row in part[step]]
        assert set(together) == rows


def test_uniform_is_every_row_once_or_those_given() -> None:
    assert sorted(rows_of(UniformSampler(100, seed=1), 2)) == list(range(100))
    given = [4, 4, 4, 9, 2]
    assert sorted(rows_of(UniformSampler(given, seed=1), 2)) == sorted(given)


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("class_balanced", LABEL),
        ("environment_balanced", ENVIRONMENT),
        ("group_balanced", number_groups(LABEL, ENVIRONMENT)),
    ],
)
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_balanced_draws_have_the_probabilities_of_the_formula(name: str, codes: np.ndarray, power: float) -> None:
    """NOOCH Eq. 3: P(j = i) proportional to (1/w_i)^alpha; chi-square over 60,000 draws. Planted: power + 0.1."""
    drawn = np.concatenate([rows_of(made(name, sampler_power=power), epoch) for epoch in range(100)])
    weights = np.array([(1 / np.mean(codes == code)) ** power for code in codes])
    expected = np.array([weights[codes == code].sum() for code in np.unique(codes)]) / weights.sum()
    found = np.array([(codes[drawn] == code).sum() for code in np.unique(codes)])
    assert chisquare(found, expected * len(drawn)).pvalue > 1e-3
    within = np.bincount(drawn, minlength=600)[codes == 0]  # rows of one kind are equally likely
    assert chisquare(within).pvalue > 1e-3


def test_rows_of_weight_zero_are_never_drawn() -> None:
    weights = np.zeros(50)
    weights[[3, 49]] = 1
    assert {row for epoch in range(50) for row in rows_of(WeightedSampler(weights, seed=0), epoch)} == {3, 49}


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_batches_of_environments(count: int) -> None:
    """Each batch has `count` distinct environments (0: all that have rows) and equally many rows of each."""
    environment = np.repeat([0, 2, 5], [500, 30, 3])
    sampler = EnvironmentSampler(environment, batch_size=12, environments_per_batch=count, seed=0)
    often = np.zeros(6)
    for epoch in range(40):
        rows = np.array(rows_of(sampler, epoch)).reshape(-1, 12)
        assert len(rows) == 45  # 533 rows in batches of 12
        for batch in rows:
            present, sizes = np.unique(environment[batch], return_counts=True)
            assert len(present) == (count or 3) and len(set(sizes)) == 1
            for one in present:
                of_one = batch[environment[batch] == one]
                assert len(set(of_one)) == len(of_one) or (environment == one).sum() < len(of_one)
            # consecutive rows go round the environments: halves are alike
            for half in np.split(batch, 2):
                assert 12 % (2 * (count or 3)) or len(set(np.unique(environment[half], return_counts=True)[1])) == 1
            often[present] += 1
    assert chisquare(often[[0, 2, 5]]).pvalue > 1e-3


def test_groups_are_pairs_of_class_and_environment() -> None:
    label, environment = torch.tensor([0, 1, 0, 1, 0]), torch.tensor([7, 7, 2, 7, 7])
    assert number_groups(label, environment).tolist() == [1, 2, 0, 2, 1]
    assert compute_power_weights(number_groups(label, environment)).tolist() == [2.5, 2.5, 5.0, 2.5, 2.5]


def test_what_cannot_be_sampled_is_named() -> None:
    with pytest.raises(OochubError, match="environments_per_batch=5 is more than the 4 environments"):
        made("environments", environments_per_batch=5)
    with pytest.raises(OochubError, match=r"A batch of 10 rows .* cannot hold equally many rows of 4"):
        made("environments", batch_size=10)
    with pytest.raises(OochubError, match="sampler='class_balanced' needs one class per row"):
        made("class_balanced", label=np.zeros((600, 2), np.float32))
