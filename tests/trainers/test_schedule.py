"""Learning-rate schedules of every length; torch's OneCycleLR divides by zero for some."""

from pathlib import Path

import pytest
import torch
from trainings import made_split, trainer_of

from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.schedule import Schedule, make_optimizer


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5])
def test_onecycle_of_any_length_rises_and_falls(warmup):
    """Seen to fail at 9 steps and warmup .1: torch's phase of rise * steps - 1 = 0 steps."""
    for steps in range(1, 40):
        arguments = RobustTrainingArguments(output_dir="x", lr_scheduler_type="onecycle", warmup_ratio=warmup)
        optimizer = make_optimizer(torch.nn.Linear(1, 1), arguments)
        schedule = Schedule(optimizer, arguments)
        schedule.begin(steps)
        rates = []
        for _ in range(steps):
            rates.append(schedule.rate)
            optimizer.step()
            schedule.step()
        peak = rates.index(max(rates))
        assert max(rates) <= arguments.learning_rate + 1e-12
        assert rates[: peak + 1] == sorted(rates[: peak + 1])
        assert rates[peak:] == sorted(rates[peak:], reverse=True)


def rates_of(steps: int, epoch: int, **given: float) -> list[float]:
    arguments = RobustTrainingArguments(output_dir="x", lr_scheduler_type="exponential", **given)
    optimizer = make_optimizer(torch.nn.Linear(1, 1), arguments)
    schedule, rates = Schedule(optimizer, arguments), []
    schedule.begin(steps, epoch=epoch)
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        assert schedule.rate == rates[-1]
        optimizer.step()
        schedule.step()
    return rates


def test_exponential_falls_after_each_epoch():
    """By hand; and WILDS' own, torch's StepLR of gamma 0.96 stepped once an epoch. Planted: a fall at each step."""
    rates = rates_of(7, 3, learning_rate=2.0, lr_decay=0.5)
    assert rates == [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.5]
    assert rates_of(6, 2, learning_rate=2.0, lr_decay=0.5, warmup_ratio=0.5) == [
        2.0 * rise * fall for rise, fall in zip([0, 1 / 3, 2 / 3, 1, 1, 1], [1, 1, 0.5, 0.5, 0.25, 0.25], strict=True)
    ]
    optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=1e-3)
    step, theirs = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.96), []
    for _ in range(4):
        theirs += [optimizer.param_groups[0]["lr"]] * 5
        optimizer.step()
        step.step()
    assert rates_of(20, 5, learning_rate=1e-3) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_run_with_exponential(tmp_path: Path, accumulate: int) -> None:
    """35 rows, batches of 10: 4 or 2 steps an epoch. The log has the rate that the next epoch begins with."""
    given = {"lr_scheduler_type": "exponential", "lr_decay": 0.5, "num_train_epochs": 3, "learning_rate": 0.01}
    size = {"per_device_train_batch_size": 10, "gradient_accumulation_steps": accumulate}
    result = trainer_of(tmp_path / "run", made_split(35, 1), **given, **size).train()
    assert [record["learning_rate"] for record in result.history] == [0.005, 0.0025, 0.00125]
    assert result.global_step == 12 // accumulate


def test_a_saved_place_brings_its_epoch_along():
    """A run that goes on does not know the length of its epoch before the checkpoint is read."""
    args = RobustTrainingArguments(output_dir="x", lr_scheduler_type="exponential", learning_rate=1.0, lr_decay=0.5)
    courses = []
    for stop in (0, 4):
        optimizer = make_optimizer(torch.nn.Linear(1, 1), args)
        schedule, rates = Schedule(optimizer, args), []
        schedule.begin(9, epoch=3)
        for step in range(9):
            if step == stop:
                taken = make_optimizer(torch.nn.Linear(1, 1), args)
                taken.load_state_dict(optimizer.state_dict())
                after = Schedule(taken, args)
                after.begin(9)
                after.load_state_dict(schedule.state_dict())
                optimizer, schedule = taken, after
            rates.append(schedule.rate)
            optimizer.step()
            schedule.step()
        courses.append(rates)
    assert courses[0] == courses[1] == [1.0] * 3 + [0.5] * 3 + [0.25] * 3


@pytest.mark.parametrize("decay", [0, -0.5, True, "x"])
def test_a_wrong_decay_is_named(decay):
    with pytest.raises(OochubError, match="lr_decay must be a finite number above 0"):
        RobustTrainingArguments(output_dir="x", lr_decay=decay)
    with pytest.raises(OochubError, match=r"lr_decay=0\.5 is only for lr_scheduler_type='exponential', got 'linear'"):
        RobustTrainingArguments(output_dir="x", lr_decay=0.5, lr_scheduler_type="linear")
