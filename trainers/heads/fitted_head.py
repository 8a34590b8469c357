"""A run on fixed features, the head that it gives, and the choice of its best epoch."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning.validation import Validation
from oochub.trainers.objective import Objective


class Probe(NamedTuple):
    """A run: an objective, made with its hyperparameters, and its settings."""

    objective: Objective
    args: RobustTrainingArguments


class FittedHead(NamedTuple):
    """What a run gave.

    Attributes:
        layers: (weight (out, in), bias (out,)) of each layer, float32, of the best epoch; ReLU between layers.
        best_epoch: The epoch, from 1, whose weights were kept.
        best_value: Its `metric_for_best_model`; None without validation rows.
        history: One record per epoch: epoch, and eval_<number>, see `Validation`.
        error: Why the run failed; None where it did not.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    best_epoch: int
    best_value: float | None
    history: list[dict[str, Any]]
    error: str | None = None

    def logits(self, features: Tensor) -> Tensor:
        """What the head says of features: float32 (n, d) to (n, outputs)."""
        return apply_layers(features[None], [(weight[None], bias[None]) for weight, bias in self.layers])[0]


class BestEpoch:
    """The best epoch of a head so far.

    Args:
        args: Arguments of its run.

    Attributes:
        head: What the run would give if it ended now.
    """

    def __init__(self, args: RobustTrainingArguments) -> None:
        self._args, self._bad_epochs = args, 0
        self.head = FittedHead((), 0, None, [])

    @property
    def goes_on(self) -> bool:
        """Whether the run is not over: neither failed nor out of patience."""
        return not self.head.error and not 0 < self._args.early_stopping_patience <= self._bad_epochs

    def see(self, layers: Any, judged: tuple[Validation, Any] | None) -> None:
        """Takes in the weights of a finished epoch."""
        if not self.goes_on:
            return
        epoch = len(self.head.history) + 1
        if not all(bool(part.isfinite().all()) for layer in layers for part in layer):
            reason = (
                f"Training diverged in epoch {epoch}. Lower the learning rate (currently {self._args.learning_rate:g})."
            )
            self.head = self.head._replace(error=reason)
            return
        numbers = judged[0].measure(judged[1]) if judged else {}
        history = [*self.head.history, {"epoch": epoch, **{f"eval_{name}": number for name, number in numbers.items()}}]
        value = numbers[judged[0].selection.metric] if judged else None
        if value is not None and math.isnan(value):
            reason = f"{self._args.metric_for_best_model} is undefined on the validation split. Choose another."
            self.head = self.head._replace(error=reason)
        elif judged is None or value is None or judged[0].selection.better(value, self.head.best_value):
            own = tuple((weight.clone(), bias.clone()) for weight, bias in layers)  # not a view of the whole stack
            self.head, self._bad_epochs = FittedHead(own, epoch, value, history), 0
        else:
            self.head, self._bad_epochs = self.head._replace(history=history), self._bad_epochs + 1


def apply_layers(features: Tensor, layers: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Logits of heads side by side.

    Args:
        features: float32 (streams, n, d), the rows of each stream: the first heads / streams heads see the first, the
            next ones the second and so on.
        layers: Weight (heads, out, in) and bias (heads, out) of each.

    Returns:
        float32 (heads, n, outputs).

    >>> layers = [(torch.tensor([[[1.0], [0.0]], [[0.0], [3.0]]]), torch.zeros(2, 2))]
    >>> apply_layers(torch.tensor([[[2.0]]]), layers).tolist()
    [[[2.0, 0.0]], [[0.0, 6.0]]]
    """
    (weight, bias), *rest = layers
    streams, rows, width = features.shape
    wide = weight.reshape(streams, -1, width).transpose(1, 2)  # one product for a stream, however many heads
    outputs = torch.baddbmm(bias.reshape(streams, 1, -1), features, wide)
    outputs = outputs.view(streams, rows, len(bias) // streams, bias.shape[1]).transpose(1, 2).flatten(0, 1)
    for weight, bias in rest:
        outputs = torch.baddbmm(bias[:, None], outputs.relu(), weight.transpose(1, 2))
    return outputs
