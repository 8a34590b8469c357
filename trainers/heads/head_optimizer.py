"""SGD, Adam and AdamW for heads side by side, each with a learning rate, weight decay and schedule of its own."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.schedule import Schedule, optimizer_of

_BETA, _EPSILON = 0.999, 1e-8  # torch's second beta and epsilon of Adam


class HeadOptimizer:
    """Takes the steps that `torch.optim` would take for each head alone, all in a few operations.

    torch's optimizers have one rate for a tensor, and one call for each rate costs more than the heads themselves.

    Args:
        parameters: Tensors (heads, ...).
        args: Of each head; one `optim` for all.
        steps: How many steps the schedules are for.
        epoch: How many of them are an epoch.

    >>> heads = torch.zeros(2, 1, requires_grad=True)
    >>> args = [RobustTrainingArguments(output_dir="x", optim="sgd", learning_rate=rate) for rate in (0.1, 1.0)]
    >>> optimizer = HeadOptimizer([heads], args, steps=1)
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
        shapes = {_shape(each): each for each in args}
        courses = {shape: _course(each, steps, epoch) for shape, each in shapes.items()}
        rates = [(courses[_shape(each)] * torch.tensor([each.learning_rate, 1.0]))[:, None] for each in args]
        self._courses = torch.cat(rates, dim=1).to(device)  # (steps, heads, 2): rate, momentum
        self._decay = torch.tensor([each.weight_decay for each in args]).to(device)
        self._clip = args[0].max_grad_norm
        self._age = torch.zeros(len(args), device=device)  # steps since the moments were zero
        self._first = [torch.zeros_like(each, requires_grad=False) for each in self._parameters]
        self._second = [torch.zeros_like(each, requires_grad=False) for each in self._parameters]

    def step(self) -> None:
        """One step down the gradients, which are gone afterwards."""
        rate, momentum = self._courses[self._done].unbind(1)
        self._done, self._age = self._done + 1, self._age + 1
        with torch.no_grad():
            self._clip_gradients()
            for number, parameter in enumerate(self._parameters):
                of_head = (_wide(each, parameter) for each in (rate, momentum, self._decay, self._age))
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
        gradients = [each.grad for each in self._parameters if each.grad is not None]
        norm = torch.stack([each.flatten(1).norm(dim=1) for each in gradients]).norm(dim=0)
        for each in gradients:
            each.mul_(_wide((self._clip / (norm + 1e-6)).clamp(max=1.0), each))


def _wide(values: Tensor, like: Tensor) -> Tensor:
    return values.view(-1, *[1] * (like.ndim - 1))


def _shape(args: RobustTrainingArguments) -> tuple[str, float, float, float]:
    return args.lr_scheduler_type, args.warmup_ratio, args.lr_decay, args.momentum


def _course(args: RobustTrainingArguments, steps: int, epoch: int) -> Tensor:
    """Rate, for a learning rate of 1, and momentum (Adam: first beta) of each step, (steps, 2); by torch itself."""
    optimizer = optimizer_of(nn.Linear(1, 1), unit := replace(args, learning_rate=1.0))
    if args.lr_scheduler_type == "constant" and not args.warmup_ratio:
        return torch.tensor([_rate_and_momentum(optimizer)]).repeat(steps, 1)
    schedule, pairs = Schedule(optimizer, unit), []
    schedule.begin(steps, epoch=epoch)
    for _ in range(steps):
        pairs.append(_rate_and_momentum(optimizer))
        optimizer.step()  # moves nothing; a schedule wants to be second
        schedule.step()
    return torch.tensor(pairs)


def _rate_and_momentum(optimizer: torch.optim.Optimizer) -> tuple[float, float]:
    group = optimizer.param_groups[0]
    return group["lr"], group["momentum"] if "momentum" in group else group["betas"][0]
