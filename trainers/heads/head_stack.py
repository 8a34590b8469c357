"""A stack of heads on the same features: one batch goes through all of them, one backward pass serves them all.

SGD, Adam and AdamW are for heads side by side, each with a learning rate, weight decay and schedule of its own. Their
objectives are one objective, a call of which is the losses of all of them.
"""

import copy
import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.schedule import Schedule, make_optimizer
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.heads.fitted_head import BestEpoch, FittedHead, Probe, apply_layers
from oochub.trainers.objective import Objective
from oochub.trainers.recipe import name_objective
from oochub.trainers.rows.examples import Examples
from oochub.trainers.samplers import EpochSampler

_MOST_NUMBERS = 2**26  # of logits that are judged at a time
_ORDER = ("seed", "sampler", "sampler_power", "environments_per_batch")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


_BETA, _EPSILON = 0.999, 1e-8  # torch's second beta and epsilon of Adam


class _HeadOptimizer:
    """Takes the steps that `torch.optim` would take for each head alone, all in a few operations.

    torch's optimizers have one rate for a tensor, and one call for each rate costs more than the heads themselves.

    Args:
        parameters: Tensors (heads, ...).
        args: Arguments of each head; one `optim` for all.
        steps: Number of steps of the schedules.
        epoch: Number of steps per epoch.

    >>> heads = torch.zeros(2, 1, requires_grad=True)
    >>> args = [RobustTrainingArguments(output_dir="x", optim="sgd", learning_rate=rate) for rate in (0.1, 1.0)]
    >>> optimizer = _HeadOptimizer([heads], args, steps=1)
    >>> heads.sum().backward()
    >>> optimizer.step()
    >>> heads.detach().flatten()
    tensor([-0.1000, -1.0000])
    """

    def __init__(
        self, parameters: Sequence[Tensor], args: Sequence[RobustTrainingArguments], *, steps: int, epoch: int = 1
    ) -> None:
        self._parameters, self._kind, self._done = list(parameters), args[0].optim, 0
        device = self._parameters[0].device
        shapes = {_get_shape(arguments): arguments for arguments in args}
        courses = {shape: _plan_course(arguments, steps, epoch) for shape, arguments in shapes.items()}
        rates = [
            (courses[_get_shape(arguments)] * torch.tensor([arguments.learning_rate, 1.0]))[:, None]
            for arguments in args
        ]
        self._courses = torch.cat(rates, dim=1).to(device)  # (steps, heads, 2): rate, momentum
        self._decay = torch.tensor([arguments.weight_decay for arguments in args]).to(device)
        self._clip = args[0].max_grad_norm
        self._age = torch.zeros(len(args), device=device)  # steps since the moments were zero
        self._first = [torch.zeros_like(parameter, requires_grad=False) for parameter in self._parameters]
        self._second = [torch.zeros_like(parameter, requires_grad=False) for parameter in self._parameters]

    def step(self) -> None:
        """One step down the gradients, which are gone afterwards."""
        rate, momentum = self._courses[self._done].unbind(1)
        self._done, self._age = self._done + 1, self._age + 1
        with torch.no_grad():
            self._clip_gradients()
            for number, parameter in enumerate(self._parameters):
                of_head = (_widen(setting, parameter) for setting in (rate, momentum, self._decay, self._age))
                self._move(parameter, self._first[number], self._second[number], *of_head)
                parameter.grad = None

    def _move(
        self,
        parameter: Tensor,
        first: Tensor,
        second: Tensor,
        rate: Tensor,
        momentum: Tensor,
        decay: Tensor,
        age: Tensor,
    ) -> None:
        gradient = parameter.grad
        assert gradient is not None  # noqa: S101  every head has a loss
        if self._kind == "adamw":
            parameter.mul_(1 - rate * decay)
        else:
            gradient.addcmul_(parameter, decay)
        if self._kind == "sgd":
            first.mul_(momentum).add_(gradient)
            parameter.addcmul_(first, rate, value=-1)
        else:
            first.lerp_(gradient, 1 - momentum)
            second.mul_(_BETA).addcmul_(gradient, gradient, value=1 - _BETA)
            scale = (second.sqrt() / (1 - _BETA**age).sqrt()).add_(_EPSILON)
            parameter.addcmul_(first / scale, rate / (1 - momentum**age), value=-1)

    def forget(self, head: int) -> None:
        """Sets the moments of a head to zero."""
        self._age[head] = 0
        for moments in (*self._first, *self._second):
            moments[head] = 0

    def _clip_gradients(self) -> None:
        """Clips the gradient of each head to `max_grad_norm`, as `torch.nn.utils.clip_grad_norm_` does."""
        if not self._clip:
            return
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norm = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)
        for gradient in gradients:
            gradient.mul_(_widen((self._clip / (norm + 1e-6)).clamp(max=1.0), gradient))


def _widen(values: Tensor, like: Tensor) -> Tensor:
    return values.view(-1, *[1] * (like.ndim - 1))


def _get_shape(args: RobustTrainingArguments) -> tuple[str, float, float, float]:
    return args.lr_scheduler_type, args.warmup_ratio, args.lr_decay, args.momentum


def _plan_course(args: RobustTrainingArguments, steps: int, epoch: int) -> Tensor:
    """Rate, for a learning rate of 1, and momentum (Adam: first beta) of each step, (steps, 2); by torch itself."""
    optimizer = make_optimizer(nn.Linear(1, 1), unit := replace(args, learning_rate=1.0))
    if args.lr_scheduler_type == "constant" and not args.warmup_ratio:
        return torch.tensor([_get_rate_and_momentum(optimizer)]).repeat(steps, 1)
    schedule, pairs = Schedule(optimizer, unit), []
    schedule.begin(steps, epoch=epoch)
    for _ in range(steps):
        pairs.append(_get_rate_and_momentum(optimizer))
        optimizer.step()  # moves nothing; a schedule wants to be second
        schedule.step()
    return torch.tensor(pairs)


def _get_rate_and_momentum(optimizer: torch.optim.Optimizer) -> tuple[float, float]:
    group = optimizer.param_groups[0]
    return group["lr"], group["momentum"] if "momentum" in group else group["betas"][0]


def _join_objectives(objectives: Sequence[Objective], *, device: torch.device | str = "cpu") -> Objective:
    """One objective that takes heads side by side, as a last dimension; the objective itself of a single head.

    Args:
        objectives: Objectives of the heads, prepared and of one `_describe_loss`; they stay as they are.
        device: Device that they are on.

    >>> from oochub.trainers.objectives.focal import Focal
    >>> joint = _join_objectives([Focal(gamma=0.0), Focal(gamma=1.0)])
    >>> joint(torch.zeros(3, 2, 2), torch.tensor([[0, 1], [1, 1], [0, 0]]))  # log 2, and half of it
    tensor([0.6931, 0.3466])
    """
    first = objectives[0]
    if len(objectives) == 1:
        return first
    joint = copy.deepcopy(first)
    for name in first.side_by_side or ():
        values = [getattr(objective, name) for objective in objectives]
        if len(set(values)) > 1:
            setattr(joint, name, torch.tensor(values, dtype=torch.float32, device=device))
    for name, _ in first.named_buffers():
        joint.register_buffer(name, torch.stack([objective.get_buffer(name) for objective in objectives], -1))
    return joint


def _describe_loss(objective: Objective, head: int) -> Hashable:
    """What objectives have in common that can be joined; one that takes a single head has nothing.

    >>> from oochub.trainers.objectives.irm import Irm
    >>> _describe_loss(Irm(penalty_weight=1.0), 0) == _describe_loss(Irm(penalty_weight=2.0), 1)
    True
    >>> _describe_loss(Irm(form="nooch"), 0) == _describe_loss(Irm(), 1)
    False
    """
    if objective.side_by_side is None:
        return head
    common = {name: value for name, value in objective.hyperparameters.items() if name not in objective.side_by_side}
    return type(objective), json.dumps(common, sort_keys=True)


class HeadStack:
    """Heads that take their steps together.

    Runs with equal batches are a stream. The logits of all streams with equally many runs are one product of matrices,
    the losses of all runs with objectives of one kind one call. No head sees another.

    Args:
        train: Labels and environments of the training rows.
        features: Features of the training rows, float32 (n, d).
        probes: The runs, with prepared objectives; they agree in optimizer, length, batch size and selection.
        samplers: Samplers of the runs, of equal length.
        outputs: Number of outputs of a head.
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
        streams = sorted(group_by(range(len(probes)), lambda run: _get_stream(probes[run])).values(), key=len)
        self._runs = [run for members in streams for run in members]  # their numbers, stream after stream
        self._probes = [probes[run] for run in self._runs]
        self._seeds = [probes[members[0]].args.seed for members in streams]
        self._samplers = [samplers[members[0]] for members in streams]
        self._streams = [len(alike) for alike in group_by(streams, len).values()]  # of each size, and their heads
        self._heads = [sum(map(len, alike)) for alike in group_by(streams, len).values()]
        self._args, self._rows, self._done = probes[0].args, len(samplers[0]), 0
        widths = [features.shape[1], *([hidden] if hidden else []), outputs]
        networks = [_make_fresh_heads(probe.args.seed, widths) for probe in self._probes]
        of_layers = zip(*networks, strict=True)
        layers = [[[linear.weight for linear in layer], [linear.bias for linear in layer]] for layer in of_layers]
        parts = [[torch.stack(part).detach().to(self._device).requires_grad_() for part in layer] for layer in layers]
        self._layers = [(weight, bias) for weight, bias in parts]
        flat = [part for layer in self._layers for part in layer]
        self._optimizer = _HeadOptimizer(
            flat, [probe.args for probe in self._probes], steps=self._steps, epoch=self._epoch
        )
        objectives = [probe.objective.to(self._device).train() for probe in self._probes]
        alike = list(group_by(range(len(objectives)), lambda head: _describe_loss(objectives[head], head)).values())
        self._losses = [_join_objectives([objectives[head] for head in heads], device=self._device) for heads in alike]
        self._sizes = [len(heads) for heads in alike]
        self._by_loss = torch.tensor([head for heads in alike for head in heads]).to(self._device)
        stream = torch.tensor([number for number, members in enumerate(streams) for _ in members])
        self._stream = stream.to(self._device)[self._by_loss]
        self._restarts = group_by(range(len(objectives)), lambda head: objectives[head].anneal_steps)

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
            if self._done < self._steps and any(course.goes_on for course in kept):
                self._run_epoch(epoch)
                self._judge(judge, kept)
            bar.update(len(kept))
        heads = {run: course.head for run, course in zip(self._runs, kept, strict=True)}
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
            self._compute_loss(rows, self._drop_out(self._features[rows], epoch, step)).backward()
            self._optimizer.step()
            self._done += 1

    def _compute_loss(self, rows: Tensor, features: Tensor) -> Tensor:
        """The sum of the losses of all heads, of row numbers (streams, n) and their features (streams, n, d)."""
        split = (
            [*zip(weight.split(self._heads), bias.split(self._heads), strict=True)] for weight, bias in self._layers
        )
        parts = zip(features.split(self._streams), *split, strict=True)  # features and layers of streams of a size
        logits = torch.cat([apply_layers(seen, layers) for seen, *layers in parts])
        logits = logits.index_select(0, self._by_loss).permute(1, 2, 0)  # (n, outputs, heads)
        row = rows.T[:, self._stream]
        batch = (logits, self._label[row].movedim(1, -1), self._environment[row])
        losses = zip(self._losses, *(part.split(self._sizes, -1) for part in batch), strict=True)
        return torch.stack([loss(*(part.squeeze(-1) for part in of)).sum() for loss, *of in losses]).sum()

    def _drop_out(self, features: Tensor, epoch: int, step: int) -> Tensor:
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
                logits = apply_layers(features.to(self._device)[None], layers).cpu().numpy()
                own = [tuple(part.cpu() for part in layer) for layer in layers]
                for head, best in enumerate(kept[start : start + at_once]):
                    weights = tuple((weight[head], bias[head]) for weight, bias in own)
                    best.see(weights, None if validation is None else (validation, logits[head]))


def group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items by their key, in order of appearance.

    >>> group_by([1, 2, 3], lambda number: number % 2)
    {1: [1, 3], 0: [2]}
    """
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _get_stream(probe: Probe) -> Hashable:
    """What decides the rows of the batches."""
    own = type(probe.objective).sampler is not Objective.sampler
    rows_by = (name_objective(probe.objective), json.dumps(probe.objective.hyperparameters, sort_keys=True))
    return (*(getattr(probe.args, name) for name in _ORDER), rows_by if own else None)


def _make_fresh_heads(seed: int, widths: Sequence[int]) -> list[nn.Linear]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return [nn.Linear(inside, outside) for inside, outside in pairwise(widths)]
