"""Averages of the weights along a training run: uniform, exponential, and SWAD's over a valley of the loss."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn, get_swa_multi_avg_fn, update_bn

from oochub.errors import OochubError
from oochub.input import Input
from oochub.trainers.arguments import RobustTrainingArguments


class AveragedWeights(NamedTuple):
    """What an average is of, in words of the recipe, and the last epoch that has a part in it."""

    words: str
    last_epoch: int


class _Segment(NamedTuple):
    """The mean of the weights over the steps between two validations, and the validation loss at its end."""

    steps: int
    mean: list[Tensor]
    loss: float
    epoch: int


class WeightAverage:
    """The mean of a model's weights over the steps of a run; its state is a part of each checkpoint.

    `uniform` is the mean over all steps from a share of the run on, as SWA with a constant rate (Izmailov et al. 2018),
    but after each step and not each epoch; `ema` the exponential moving average over all steps.

    `swad` is SWAD (Cha et al. 2021, Algorithm 1) with the epochs as its validations. The average begins at the first
    epoch t_s whose loss is the lowest of it and the N_s - 1 that follow, and r times the mean of these N_s losses is
    the limit. It ends when the last N_e losses are all above the limit: these epochs have no part in it, and the run
    stops. A run that stops before has its last steps in it; one that never finds t_s keeps the mean of its last epoch.
    As in the authors' code all steps of the epoch t_s count; that code also counts earlier epochs below the limit if
    N_e > N_s, and here they do not.

    Args:
        args: The settings of the run, whose `average` is not "none".
        parameters: Parameters of the model, in an order that does not change.

    >>> args = RobustTrainingArguments(output_dir="run", average="uniform", average_start=0.5)
    >>> weight = nn.Parameter(torch.zeros(1))
    >>> average = WeightAverage(args, [weight])
    >>> for step in range(1, 5):
    ...     weight.data = torch.full((1,), float(step))
    ...     average.take(step / 4)
    >>> average.restore(epoch=1).words, weight.item()
    ('the mean of the weights after the last 2 steps', 3.5)
    """

    def __init__(self, args: RobustTrainingArguments, parameters: Iterable[nn.Parameter]) -> None:
        self._args, self._parameters = args, list(parameters)
        ema = get_ema_multi_avg_fn(args.average_decay) if args.average == "ema" else None
        self._join = ema or get_swa_multi_avg_fn()
        self._steps, self._mean = 0, list[Tensor]()  # since the last validation for swad, else in all
        self._segments: list[_Segment] = []  # the last ones, not yet in the valley
        self._valley: _Segment | None = None
        self._first_epoch, self._limit, self.ended = 0, float("inf"), False

    @torch.no_grad()
    def take(self, done: float) -> None:
        """Takes the weights after a step of the optimizer.

        Args:
            done: Share of the run's steps that are done.
        """
        if self._args.average == "uniform" and done <= self._args.average_start:
            return
        weights = [parameter.detach() for parameter in self._parameters]
        if self._steps:
            self._join(self._mean, weights, self._steps)
        else:
            self._mean = [weight.clone() for weight in weights]
        self._steps += 1

    def close_epoch(self, epoch: int, loss: float) -> None:
        """Hears the validation loss after an epoch, by which SWAD begins and ends; `ended` says that it has ended."""
        if self._args.average != "swad" or self.ended or not self._steps:
            return
        self._segments.append(_Segment(self._steps, self._mean, loss, epoch))
        self._steps, self._mean = 0, []
        start, end = self._args.swad_start_patience, self._args.swad_end_patience
        if not self._first_epoch:
            window = self._segments[-start:]
            self._segments = window
            losses = [segment.loss for segment in window]
            if len(window) < start or min(losses) < losses[0]:
                return
            self._first_epoch = window[0].epoch
            self._limit = self._args.swad_ratio * statistics.fmean(losses)
        elif len(self._segments) >= end and all(segment.loss > self._limit for segment in self._segments[-end:]):
            self.ended = True
        while len(self._segments) > (end if self.ended else end - 1):  # what can still be cut off stays apart
            self._valley = _join_segments(self._valley, self._segments.pop(0))
        if self._valley is None:  # the first epoch of the valley has its part whatever follows
            self._valley = self._segments.pop(0)

    @torch.no_grad()
    def restore(self, epoch: int) -> AveragedWeights:
        """Gives the model the averaged weights; where no step was taken it keeps those that it has.

        Args:
            epoch: The last epoch of the run.
        """
        mean, kept = self._find_mean(epoch)
        for parameter, values in zip(self._parameters, mean, strict=True):
            parameter.copy_(values)
        return kept

    def _find_mean(self, epoch: int) -> tuple[Sequence[Tensor], AveragedWeights]:
        if self._args.average == "swad":
            joined = self._valley
            for segment in () if self.ended or joined is None else self._segments:
                joined = _join_segments(joined, segment)
            if joined is not None:
                words = f"the mean of the weights after {joined.steps:,} steps, from epoch {self._first_epoch} to"
                words += f" {joined.epoch}, chosen by SWAD by the loss on the validation split"
                return joined.mean, AveragedWeights(words, joined.epoch)
            last = self._segments[-1]
            words = (
                f"the mean of the weights after the {last.steps:,} steps of epoch {last.epoch}; SWAD found no valley"
            )
            return last.mean, AveragedWeights(words, last.epoch)
        if not self._steps:
            words = f"the last weights, because the run stopped before average_start={self._args.average_start:g}"
            return self._parameters, AveragedWeights(words, epoch)
        words = f"the mean of the weights after the last {self._steps:,} steps"
        if self._args.average == "ema":
            decay = f"{self._args.average_decay:g}"
            words = f"the exponential moving average of the weights after {self._steps:,} steps, decay {decay}"
        return self._mean, AveragedWeights(words, epoch)

    def state_dict(self) -> dict[str, Any]:
        """All that later steps and the result depend on: numbers, lists and tensors."""
        valley = [] if self._valley is None else [self._valley]
        return {
            "steps": self._steps,
            "mean": self._mean,
            "segments": [list(segment) for segment in self._segments],
            "valley": [list(segment) for segment in valley],
            "first_epoch": self._first_epoch,
            "limit": self._limit,
            "ended": self.ended,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up a saved state."""
        self._steps, self._mean = state["steps"], self._move(state["mean"])
        self._segments = [self._read_segment(segment) for segment in state["segments"]]
        self._valley = next((self._read_segment(segment) for segment in state["valley"]), None)
        self._first_epoch, self._limit, self.ended = state["first_epoch"], state["limit"], state["ended"]

    def _read_segment(self, stored: list[Any]) -> _Segment:
        steps, mean, loss, epoch = stored
        return _Segment(steps, self._move(mean), loss, epoch)

    def _move(self, tensors: list[Tensor]) -> list[Tensor]:
        return [tensor.to(like.device) for tensor, like in zip(tensors, self._parameters, strict=bool(tensors))]


def _join_segments(first: _Segment | None, second: _Segment) -> _Segment:
    """The mean over the steps of both."""
    if first is None:
        return second
    steps = first.steps + second.steps
    mean = [one.lerp(other, second.steps / steps) for one, other in zip(first.mean, second.mean, strict=True)]
    return _Segment(steps, mean, second.loss, second.epoch)


def renew_batch_norm(model: nn.Module, batches: Iterable[object], inputs: Input, device: torch.device) -> None:
    """Sets the statistics of BatchNorm to those of the training rows under the model's weights, without augmentation.

    Args:
        model: The model; one without BatchNorm stays as it is.
        batches: All training rows in batches, the same in each process.
        inputs: Inputs of the rows.
        device: Where the model is.

    Raises:
        OochubError: A row that cannot be read.
    """
    hook = model.register_forward_pre_hook(_name_inputs, with_kwargs=True)
    try:
        update_bn(_read_batches(batches, inputs, device), model)
    finally:
        hook.remove()


def _read_batches(batches: Iterable[object], inputs: Input, device: torch.device) -> Iterator[object]:
    from accelerate.utils import send_to_device

    still = torch.Generator()
    for rows in batches:
        if isinstance(rows, OochubError):
            raise rows
        yield inputs.ready(send_to_device(rows, device), augment="none", generator=still)


def _name_inputs(
    model: nn.Module, given: tuple[dict[str, Tensor]], named: object
) -> tuple[tuple[()], dict[str, Tensor]]:
    """A batch's inputs by their names, for a caller that has one argument."""
    return (), given[0]
