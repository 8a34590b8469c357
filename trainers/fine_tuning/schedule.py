"""The optimizer of a run and the course of its learning rate; how long each stage is, when an objective divides it."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from transformers import get_scheduler

from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments

_ONECYCLE_RISE = 0.3  # torch's default fraction of steps up to the peak


def make_optimizer(model: Any, args: RobustTrainingArguments) -> torch.optim.Optimizer:
    """The optimizer; weight decay acts on every parameter that is trained, as in DomainBed, WILDS and group_DRO.

    >>> args = RobustTrainingArguments(output_dir="x", optim="adam", learning_rate=0.1)
    >>> type(make_optimizer(torch.nn.Linear(1, 1), args)).__name__
    'Adam'
    """
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    shared: dict[str, Any] = {"lr": args.learning_rate, "weight_decay": args.weight_decay}
    if args.optim == "sgd":
        return torch.optim.SGD(trained, momentum=args.momentum, **shared)
    kind: type[torch.optim.Optimizer] = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[args.optim]
    return kind(trained, **shared)


class Schedule:
    """The learning rate over the steps of a stage; saved and loaded with a checkpoint.

    Args:
        optimizer: The optimizer whose rate it sets.
        args: Name of the schedule, rates.

    >>> args = RobustTrainingArguments(output_dir="x", lr_scheduler_type="linear", learning_rate=1.0)
    >>> optimizer = make_optimizer(torch.nn.Linear(1, 1), args)
    >>> schedule, rates = Schedule(optimizer, args), []
    >>> schedule.begin(4)
    >>> for _ in range(4):
    ...     rates.append(schedule.rate)
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer: torch.optim.Optimizer, args: RobustTrainingArguments) -> None:
        self._optimizer, self._args = optimizer, args
        self._schedule: Any = None

    def begin(self, steps: int, *, epoch: int = 1) -> None:
        """Starts anew, for a stage of `steps` optimizer steps, of which `epoch` are an epoch."""
        args, optimizer = self._args, self._optimizer
        if args.lr_scheduler_type == "onecycle":
            length = max(steps, 3) + 1  # one more: torch raises when the schedule is advanced past its last step
            rise = max(args.warmup_ratio or _ONECYCLE_RISE, 2 / length)  # torch divides by rise * length - 1
            self._schedule = torch.optim.lr_scheduler.OneCycleLR(
                optimizer, args.learning_rate, total_steps=length, pct_start=rise
            )
            return
        name = "constant_with_warmup" if args.lr_scheduler_type == "constant" else args.lr_scheduler_type
        warmup = math.ceil(args.warmup_ratio * steps)
        if args.lr_scheduler_type == "exponential":
            self._schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _Decay(args.lr_decay, epoch, warmup))
            return
        self._schedule = get_scheduler(name, optimizer, num_warmup_steps=warmup, num_training_steps=steps)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        rate: float = self._schedule.get_last_lr()[0]
        return rate

    def step(self) -> None:
        """Goes on to the next step's rate."""
        self._schedule.step()

    def state_dict(self) -> dict[str, Any]:
        """The place in the schedule."""
        state: dict[str, Any] = self._schedule.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up the place of a saved schedule of the same length."""
        self._schedule.load_state_dict(state)


class _Decay:
    """A factor for each finished epoch, after a linear rise; its attributes are saved with the schedule."""

    def __init__(self, decay: float, epoch: int, warmup: int) -> None:
        self.decay, self.epoch, self.warmup = decay, epoch, warmup

    def __call__(self, step: int) -> float:
        rise = min(1.0, step / self.warmup) if self.warmup else 1.0
        return float(rise * self.decay ** (step // self.epoch))


def stage_epochs(shares: Sequence[float], epochs: int) -> list[int]:
    """Epochs of each stage; one that has a share has at least one.

    Args:
        shares: Shares of the stages, which sum to 1.
        epochs: Epochs of the run.

    Raises:
        OochubError: Fewer epochs than stages.

    >>> stage_epochs((0.5, 0.5), 5)
    [2, 3]
    >>> stage_epochs((0.01, 0.99), 3)
    [1, 2]
    """
    needed = [int(share > 0) for share in shares]
    if epochs < sum(needed):
        raise OochubError(
            f"The objective trains in {sum(needed)} stages of at least one epoch, but num_train_epochs is {epochs}. "
            f"Set it to {sum(needed)} or larger; max_steps can shorten each stage."
        )
    lengths: list[int] = []
    for stage, least in enumerate(needed):
        length = round(sum(shares[: stage + 1]) * epochs) - sum(lengths)
        lengths.append(max(least, min(length, epochs - sum(lengths) - sum(needed[stage + 1 :]))))
    return lengths


def stage_steps(
    shares: Sequence[float], stage: int, *, epochs: int, max_steps: int, steps_per_epoch: int, began: int
) -> int:
    """Optimizer steps of a stage.

    Args:
        shares: Shares of the stages.
        stage: Its number.
        epochs: Epochs of the run.
        max_steps: Maximum number of steps of the run; -1 for no limit. It is divided like the epochs.
        steps_per_epoch: Steps per epoch of this stage.
        began: Optimizer steps before it.

    >>> stage_steps((0.5, 0.5), 1, epochs=4, max_steps=-1, steps_per_epoch=30, began=20)
    60
    """
    steps = stage_epochs(shares, epochs)[stage] * steps_per_epoch
    if max_steps > 0 and steps:
        steps = min(steps, max(1, round(sum(shares[: stage + 1]) * max_steps) - began))
    return steps
