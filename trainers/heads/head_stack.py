"""A stack of heads on the same features: one batch goes through all of them, one backward pass serves them all."""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.heads.fitted_head import BestEpoch, FittedHead, Probe, outputs_of
from oochub.trainers.heads.head_optimizer import HeadOptimizer
from oochub.trainers.heads.joint_objective import joint_objective, loss_kind
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import objective_name
from oochub.trainers.rows.examples import Examples
from oochub.trainers.samplers import EpochSampler

_MOST_NUMBERS = 2**26  # of logits that are judged at a time
_ORDER = ("seed", "sampler", "sampler_power", "environments_per_batch")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


class HeadStack:
    """Heads that take their steps together.

    Runs with equal batches are a stream. The logits of all streams with equally many runs are one product of matrices,
    the losses of all runs with objectives of one kind one call. No head sees another.

    Args:
        train: Labels and environments of the training rows.
        features: Of the training rows, float32 (n, d).
        probes: The runs, with prepared objectives; they agree in optimizer, length, batch size and selection.
        samplers: Of the runs, of equal length.
        outputs: Of a head.
        hidden: Width of a hidden layer; 0 for none.
    """

    def __init__(
        self,
        train: Examples,
        features: Tensor,
        probes: Sequence[Probe],
        samplers: Sequence[EpochSampler],
        *,
        outputs: int,
        hidden: int = 0,
    ) -> None:
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._features = features.to(self._device)
        self._label, self._environment = train.label.to(self._device), train.environment.to(self._device)
        streams = sorted(grouped(range(len(probes)), lambda run: _stream(probes[run])).values(), key=len)
        self._runs = [run for members in streams for run in members]  # their numbers, stream after stream
        self._probes = [probes[run] for run in self._runs]
        self._seeds = [probes[members[0]].args.seed for members in streams]
        self._samplers = [samplers[members[0]] for members in streams]
        self._streams = [len(alike) for alike in grouped(streams, len).values()]  # of each size, and their heads
        self._heads = [sum(map(len, alike)) for alike in grouped(streams, len).values()]
        self._args, self._rows, self._done = probes[0].args, len(samplers[0]), 0
        widths = [features.shape[1], *([hidden] if hidden else []), outputs]
        networks = [_fresh(probe.args.seed, widths) for probe in self._probes]
        of_layers = zip(*networks, strict=True)
        layers = [[[each.weight for each in layer], [each.bias for each in layer]] for layer in of_layers]
        parts = [[torch.stack(part).detach().to(self._device).requires_grad_() for part in layer] for layer in layers]
        self._layers = [(weight, bias) for weight, bias in parts]
        flat = [part for layer in self._layers for part in layer]
        self._optimizer = HeadOptimizer(
            flat, [probe.args for probe in self._probes], steps=self._steps, epoch=self._epoch
        )
        objectives = [probe.objective.to(self._device).train() for probe in self._probes]
        alike = list(grouped(range(len(objectives)), lambda head: loss_kind(objectives[head], head)).values())
        self._losses = [joint_objective([objectives[head] for head in heads], device=self._device) for heads in alike]
        self._sizes = [len(heads) for heads in alike]
        self._by_loss = torch.tensor([head for heads in alike for head in heads]).to(self._device)
        stream = torch.tensor([number for number, members in enumerate(streams) for _ in members])
        self._stream = stream.to(self._device)[self._by_loss]
        self._restarts = grouped(range(len(objectives)), lambda head: objectives[head].anneal_steps)

    def fit(self, judge: tuple[Validation, Tensor] | None, bar: Any) -> list[FittedHead]:
        """Trains all heads until their epochs or steps are done or their patience is spent.

        Args:
            judge: What chooses the best epoch, and the validation features; None keeps the last one.
            bar: A progress bar that counts an epoch of a head as one.

        Returns:
            The heads, in the order of the probes.
        """
        kept = [BestEpoch(probe.args) for probe in self._probes]
        for epoch in range(self._args.num_train_epochs):
            if self._done < self._steps and any(each.goes_on for each in kept):
                self._run_epoch(epoch)
                self._judge(judge, kept)
            bar.update(len(kept))
        heads = {run: each.head for run, each in zip(self._runs, kept, strict=True)}
        return [heads[run] for run in range(len(heads))]

    @property
    def _epoch(self) -> int:
        return math.ceil(self._rows / self._args.per_device_train_batch_size)

    @property
    def _steps(self) -> int:
        steps = self._args.num_train_epochs * self._epoch
        return min(steps, self._args.max_steps) if self._args.max_steps > 0 else steps

    def _run_epoch(self, epoch: int) -> None:
        orders = []
        for sampler in self._samplers:
            sampler.set_epoch(epoch)
            orders.append(list(sampler))
        order, size = torch.tensor(orders).to(self._device), self._args.per_device_train_batch_size
        for step, start in enumerate(range(0, self._rows, size)):
            if self._done == self._steps:
                return
            for head in self._restarts.get(self._done, []) if self._done else []:
                self._optimizer.forget(head)
            rows = order[:, start : start + size]
            self._loss(rows, self._dropped(self._features[rows], epoch, step)).backward()
            self._optimizer.step()
            self._done += 1

    def _loss(self, rows: Tensor, features: Tensor) -> Tensor:
        """The sum of the losses of all heads, of row numbers (streams, n) and their features (streams, n, d)."""
        split = (
            [*zip(weight.split(self._heads), bias.split(self._heads), strict=True)] for weight, bias in self._layers
        )
        parts = zip(features.split(self._streams), *split, strict=True)  # features and layers of streams of a size
        logits = torch.cat([outputs_of(seen, layers) for seen, *layers in parts])
        logits = logits.index_select(0, self._by_loss).permute(1, 2, 0)  # (n, outputs, heads)
        row = rows.T[:, self._stream]
        batch = (logits, self._label[row].movedim(1, -1), self._environment[row])
        losses = zip(self._losses, *(part.split(self._sizes, -1) for part in batch), strict=True)
        return torch.stack([loss(*(part.squeeze(-1) for part in of)).sum() for loss, *of in losses]).sum()

    def _dropped(self, features: Tensor, epoch: int, step: int) -> Tensor:
        """The features after dropout, drawn for the place in the run."""
        if not (share := self._args.dropout):
            return features
        shape = features.shape[1:]
        draws = [np.random.default_rng([seed, epoch, step]).random(shape, np.float32) for seed in self._seeds]
        return features * torch.from_numpy(np.stack(draws) >= share).to(features) / (1 - share)

    def _judge(self, judge: tuple[Validation, Tensor] | None, kept: list[BestEpoch]) -> None:
        validation, features = judge or (None, self._features[:0])
        at_once = max(1, _MOST_NUMBERS // max(1, len(features) * self._layers[-1][1].shape[1]))
        with torch.no_grad():
            for start in range(0, len(kept), at_once):
                some = slice(start, start + at_once)
                layers = [(weight[some], bias[some]) for weight, bias in self._layers]
                logits = outputs_of(features.to(self._device)[None], layers).cpu().numpy()
                own = [tuple(part.cpu() for part in layer) for layer in layers]
                for head, best in enumerate(kept[start : start + at_once]):
                    weights = tuple((weight[head], bias[head]) for weight, bias in own)
                    best.see(weights, None if validation is None else (validation, logits[head]))


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items by their key, in order of appearance.

    >>> grouped([1, 2, 3], lambda number: number % 2)
    {1: [1, 3], 0: [2]}
    """
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _stream(probe: Probe) -> Hashable:
    """What decides the rows of the batches."""
    own = type(probe.objective).sampler is not Objective.sampler
    return (*(getattr(probe.args, name) for name in _ORDER), _named(probe.objective) if own else None)


def _named(objective: Objective) -> Hashable:
    return objective_name(objective), json.dumps(objective.hyperparameters, sort_keys=True)


def _fresh(seed: int, widths: Sequence[int]) -> list[nn.Linear]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [nn.Linear(inside, outside) for inside, outside in pairwise(widths)]
