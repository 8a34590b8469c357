"""The model in training as the step of an objective sees it: asked for outputs, updated with a loss."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional

from oochub.errors import OochubError
from oochub.input import Input
from oochub.trainers.fine_tuning.auxiliary import Auxiliary, find_second_head
from oochub.trainers.losses import token_losses


class Outputs(NamedTuple):
    """What a model says of inputs.

    Attributes:
        logits: (n, k); of a detector (n, q, c + 5), the logits of q boxes and the boxes.
        features: (n, d), what a known head sees; of tokens (n, t, d).
    """

    logits: Tensor
    features: Tensor | None


class TrainingStep:
    """Asks the model, and updates it, on Accelerate.

    Args:
        accelerator: The Accelerator that prepared the others.
        model: The prepared model.
        optimizer: The prepared optimizer.
        head: The model's last layers, whose inputs are its features; none leaves the features out.
        dropout: Dropout probability for the features, in training.
        separate: Whether `outputs` takes the rows of each environment as a batch of their own.
        max_grad_norm: Gradients are clipped to it; 0 does not clip.
        keep_first: Whether `start_over` will be called: a copy of the weights is kept for it.
        auxiliary: What the model's second head predicts, if it has one.

    Attributes:
        module: The model itself, without what Accelerate wraps around it.
        draws: Random numbers of this step and process.
        shared_draws: Random numbers of this step, equal in all processes.
        done: The share of the stage's steps that are done, 0 to 1.

    >>> from oochub.trainers.backbone import open_backbone
    >>> model, _ = open_backbone("resnet-tiny", class_names=["cat", "dog"])
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> training = TrainingStep(Accelerator(), model.cpu(), optimizer, head=[model.classifier[1]])
    >>> training.outputs({"pixel_values": torch.zeros(2, 3, 48, 48)}).features.shape
    torch.Size([2, 128])
    """

    def __init__(
        self,
        accelerator: Accelerator,
        model: Any,
        optimizer: Any,
        *,
        head: Sequence[nn.Module] = (),
        dropout: float = 0.0,
        separate: bool = False,
        max_grad_norm: float = 0.0,
        keep_first: bool = False,
        auxiliary: Auxiliary | None = None,
    ) -> None:
        self._accelerator, self._model, self._optimizer = accelerator, model, optimizer
        self._head, self._dropout, self._max_grad_norm = tuple(head), dropout, max_grad_norm
        self._separate = separate
        self.module = accelerator.unwrap_model(model)
        self._auxiliary = auxiliary and auxiliary._replace(label=auxiliary.label.to(accelerator.device))
        self.draws = self.shared_draws = np.random.default_rng(0)
        self.done = 0.0
        state = self.module.state_dict() if keep_first else {}
        self._first = {name: tensor.detach().cpu().clone() for name, tensor in state.items()}

    def outputs(self, inputs: Mapping[str, Tensor], environment: Tensor | None = None) -> Outputs:
        """What the model says of a batch's inputs; gradients reach the weights through both.

        Args:
            inputs: What the model is called with.
            environment: Environment of each row (n,); with `separate`, each environment's rows are their own batch.
        """
        if environment is None or not self._separate:
            with self._capture_features() as seen:
                output = self._model(**inputs)
            boxes = getattr(output, "pred_boxes", None)
            logits = output.logits if boxes is None else torch.cat([output.logits, boxes], -1)
            first = 2 if boxes is None and logits.ndim == 3 else 1  # a vector a token, or a row
            vectors = [seen[layer].flatten(first).float() for layer in self._head]
            return Outputs(logits, torch.cat(vectors, -1) if vectors else None)
        rows = [(environment == number).nonzero()[:, 0] for number in environment.unique()]
        parts = [self.outputs({name: values[part] for name, values in inputs.items()}) for part in rows]
        order = torch.cat(rows).argsort()
        logits, features = (
            torch.cat(tensors)[order] if tensors[0] is not None else None for tensors in zip(*parts, strict=True)
        )
        assert logits is not None  # noqa: S101 every part has them
        return Outputs(logits, features)

    def outputs_of_all(self, batches: Any, inputs: Input) -> Outputs:
        """What the model says of all rows of a loader, in evaluation mode, from all processes, on the CPU.

        For tokens (n, t), it gives the token that it says and the loss of the true one instead of logits, (n, t, 2).

        Args:
            batches: A prepared loader of `Examples`.
            inputs: Inputs of the examples.

        Raises:
            OochubError: A row that cannot be read.
        """
        self._model.eval()
        parts, still, gather = [], torch.Generator(), self._accelerator.gather_for_metrics
        with torch.no_grad():
            for rows in batches:
                if isinstance(rows, OochubError):
                    raise rows
                outputs = self.outputs(inputs.ready(rows, augment="none", generator=still))
                if rows["label"].dtype == torch.int32:  # of tokens the logits would be too many to keep
                    losses = token_losses(outputs.logits.float(), rows["label"])
                    outputs = Outputs(torch.stack([outputs.logits.argmax(-1).float(), losses], dim=-1), None)
                parts.append([gather(output).float().cpu() for output in outputs if output is not None])
        logits, *features = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
        return Outputs(logits, features[0] if features else None)

    def auxiliary_loss(self, features: Tensor | None, row: Tensor) -> Tensor | float:
        """The weighted loss of the second head, to be added to the loss of a batch; 0 where there is none.

        Args:
            features: Features of the rows, as `outputs` gave them.
            row: Their numbers in the training set (n,).
        """
        if self._auxiliary is None:
            return 0.0
        assert features is not None  # noqa: S101  who has a second head knows the first
        return self._auxiliary.loss(find_second_head(self.module), features, row)

    def update(self, loss: Tensor) -> None:
        """One step of the optimizer down a scalar loss (with gradient accumulation, when its last batch is here)."""
        self._accelerator.backward(loss)
        if self._max_grad_norm and self._accelerator.sync_gradients:
            self._accelerator.clip_grad_norm_(self._model.parameters(), self._max_grad_norm)
        self._optimizer.step()
        self._optimizer.zero_grad()

    def start_over(self) -> None:
        """Restores the weights from before the first step."""
        self.module.load_state_dict(self._first)

    def replace_head(self, weight: Tensor, bias: Tensor) -> None:
        """Gives the model's last layer this weight (k, d) and bias (k,)."""
        (layer,) = self._head
        with torch.no_grad():
            parameters: tuple[Any, Any] = (layer.weight, layer.bias)
            for parameter, values in zip(parameters, (weight, bias), strict=True):
                parameter.copy_(values.view_as(parameter))

    def forget(self) -> None:
        """Sets the optimizer's moments and step counts to zero, in place, so that references to it stay valid."""
        for moments in self._optimizer.state.values():
            for value in moments.values():
                if isinstance(value, Tensor):
                    value.zero_()

    @contextmanager
    def _capture_features(self) -> Iterator[dict[nn.Module, Tensor]]:
        """Fills a dict with the inputs of the head's layers, after dropout, while the block runs."""
        seen: dict[nn.Module, Tensor] = {}

        def see(layer: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            first = functional.dropout(inputs[0], self._dropout, training=layer.training)
            seen[layer] = first
            return (first, *inputs[1:])

        handles = [layer.register_forward_pre_hook(see) for layer in self._head]
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()
