"""The optimizer of a run and the course of its learning rate."""

import math
from typing import Any

import torch
from transformers import get_scheduler

from oochub.trainers.arguments import RobustTrainingArguments

_ONECYCLE_RISE = 0.3  # torch's default fraction of steps up to the peak


def optimizer_and_schedule(
    model: Any, args: RobustTrainingArguments, *, total_steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Weight decay acts on every parameter, as in DomainBed, WILDS and group_DRO.

    Args:
        model: Its parameters are trained.
        args: Names of optimizer and schedule, rates.
        total_steps: Optimizer steps of the whole run.

    >>> args = RobustTrainingArguments(output_dir="x", lr_scheduler_type="linear", learning_rate=1.0)
    >>> optimizer, schedule = optimizer_and_schedule(torch.nn.Linear(1, 1), args, total_steps=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += schedule.get_last_lr()
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """
    shared: dict[str, Any] = {"lr": args.learning_rate, "weight_decay": args.weight_decay}
    optimizer: torch.optim.Optimizer
    if args.optim == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), momentum=args.momentum, **shared)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), **shared)
    if args.lr_scheduler_type == "onecycle":
        steps = max(total_steps, 3) + 1  # one more: torch raises when the schedule is advanced past its last step
        rise = max(args.warmup_ratio or _ONECYCLE_RISE, 2 / steps)  # torch divides by rise * steps - 1
        return optimizer, torch.optim.lr_scheduler.OneCycleLR(
            optimizer, args.learning_rate, total_steps=steps, pct_start=rise
        )
    name = "constant_with_warmup" if args.lr_scheduler_type == "constant" else args.lr_scheduler_type
    warmup = math.ceil(args.warmup_ratio * total_steps)
    return optimizer, get_scheduler(name, optimizer, num_warmup_steps=warmup, num_training_steps=total_steps)
