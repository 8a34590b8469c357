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
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import objective_name
from oochub.trainers.rows.examples import Examples
from oochub.trainers.samplers import EpochSampler

_LIKE_ERM = ("erm", "undersample", "undersample_environments", "subsample_groups")  # their batches differ, not the loss
MEANS_OVER_ROWS = (*_LIKE_ERM, "focal", "reweight", "reweight_environments")
"""Objectives whose loss is a mean over rows of what each row has alone: to them the batches of many runs are one."""

_ORDER = ("seed", "sampler", "sampler_power", "environments_per_batch")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


class HeadStack:
    """Heads that take their steps together.

    Runs with equal batches are a stream; their logits are one matrix product. No head sees another.

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
        streams = grouped(range(len(probes)), lambda run: _stream(probes[run]))
        self._runs = [run for members in streams.values() for run in members]  # their numbers, stream after stream
        self._probes = [probes[run] for run in self._runs]
        self._samplers = [samplers[members[0]] for members in streams.values()]
        self._sizes = [len(members) for members in streams.values()]
        self._stream = torch.repeat_interleave(torch.arange(len(streams)), torch.tensor(self._sizes)).to(self._device)
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
        self._losses = [
            torch.tensor(each).to(self._device) for each in grouped(range(len(probes)), self._loss_of).values()
        ]
        for probe in self._probes:
            probe.objective.to(self._device).train()

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

    def _loss_of(self, place: int) -> Hashable:
        """What the runs of one call of an objective share."""
        objective = self._probes[place].objective
        name = objective_name(objective)
        if name in _LIKE_ERM:
            return "erm"
        return _named(objective) if name in MEANS_OVER_ROWS else place

    def _by_stream(self) -> list[list[tuple[Tensor, Tensor]]]:
        split = [(weight.split(self._sizes), bias.split(self._sizes)) for weight, bias in self._layers]
        return [[(weights[s], biases[s]) for weights, biases in split] for s in range(len(self._sizes))]

    def _run_epoch(self, epoch: int) -> None:
        orders = []
        for sampler in self._samplers:
            sampler.set_epoch(epoch)
            orders.append(list(sampler))
        order, size = torch.tensor(orders).to(self._device), self._args.per_device_train_batch_size
        for step, start in enumerate(range(0, self._rows, size)):
            if self._done == self._steps:
                return
            for place, probe in enumerate(self._probes):
                if 0 < probe.objective.anneal_steps == self._done:
                    self._optimizer.forget(place)
            rows = order[:, start : start + size]
            seen = [self._dropped(self._features[of], s, epoch, step) for s, of in enumerate(rows)]
            logits = torch.cat([outputs_of(x, layers) for x, layers in zip(seen, self._by_stream(), strict=True)])
            self._loss(logits, self._label[rows], self._environment[rows]).backward()
            self._optimizer.step()
            self._done += 1

    def _loss(self, logits: Tensor, label: Tensor, environment: Tensor) -> Tensor:
        """The sum of the losses of all heads: logits (heads, n, outputs), label (streams, n), environment likewise."""
        total = logits.new_zeros(())
        for places in self._losses:
            objective, streams = self._probes[int(places[0])].objective, self._stream[places]
            rows = (part.flatten(0, 1) for part in (logits[places], label[streams], environment[streams]))
            total = total + len(places) * objective(*rows)
        return total

    def _dropped(self, features: Tensor, stream: int, epoch: int, step: int) -> Tensor:
        """The features after dropout, drawn for the place in the run."""
        if not (share := self._args.dropout):
            return features
        seed = self._probes[sum(self._sizes[:stream])].args.seed
        draws = np.random.default_rng([seed, epoch, step]).random(features.shape, np.float32)
        return features * torch.from_numpy(draws >= share).to(features) / (1 - share)

    def _judge(self, judge: tuple[Validation, Tensor] | None, kept: list[BestEpoch]) -> None:
        place = 0
        with torch.no_grad():
            for layers in self._by_stream():
                outputs = outputs_of(judge[1].to(self._device), layers).cpu() if judge else [None] * len(layers[0][0])
                for number, logits in enumerate(outputs):
                    own = tuple((weight[number].cpu(), bias[number].cpu()) for weight, bias in layers)
                    kept[place].see(own, None if judge is None else (judge[0], logits.numpy()))
                    place += 1


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
