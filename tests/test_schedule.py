"""Learning-rate schedules of every length; torch's OneCycleLR divides by zero for some."""

import pytest
import torch

from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.schedule import Schedule, optimizer_of


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5])
def test_onecycle_of_any_length_rises_and_falls(warmup):
    """Seen to fail at 9 steps and warmup .1: torch's phase of rise * steps - 1 = 0 steps."""
    for steps in range(1, 40):
        arguments = RobustTrainingArguments(output_dir="x", lr_scheduler_type="onecycle", warmup_ratio=warmup)
        optimizer = optimizer_of(torch.nn.Linear(1, 1), arguments)
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
