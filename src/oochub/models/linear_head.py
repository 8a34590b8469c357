"""Finds a model's last linear layer by what it computes, never by what it is called."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from oochub.errors import OochubError, either


class Head(NamedTuple):
    """The layers whose mean output is the logits: `mean(f_k @ W_k.T + b_k)`, and the features they see.

    `weight` (c, d) and `bias` (c,) act on the concatenated inputs of the layers, so that
    `features @ weight.T + bias` equals the logits.
    """

    layers: tuple[nn.Module, ...]
    weight: torch.Tensor
    bias: torch.Tensor


def find_head(model: Any, probe: Mapping[str, torch.Tensor]) -> Head:
    """The head of a Hugging Face classifier or regressor, found with one probe batch in evaluation mode.

    Hooks on every linear layer and 1x1 convolution record what goes in and out. The head is the last layer whose
    output equals the logits; else the linear layers with one output a class whose mean equals them (a classifier
    with a distillation head).

    Args:
        model: A model whose output has `logits` (n, c).
        probe: What the model is called with, of at least two rows that differ: `pixel_values` (n, 3, h, w), ...

    Raises:
        OochubError: No such layer; features cannot be stored for this model.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3)
    >>> head = find_head(ResNetForImageClassification(config).eval(), {"pixel_values": torch.randn(2, 3, 32, 32)})
    >>> tuple(head.weight.shape)
    (3, 16)
    """
    with recorded(model, _linear_layers(model)) as calls, torch.inference_mode():
        logits = model(**probe).logits
    n = len(logits)
    for layer, (_, output) in reversed(calls.items()):
        if output.reshape(n, -1).shape == logits.shape and torch.equal(output.reshape(n, -1), logits):
            return _checked(Head((layer,), *_parameters(layer)), calls, logits)
    parts = [layer for layer, (_, output) in calls.items() if output.shape == logits.shape]
    if len(parts) > 1 and torch.allclose(torch.stack([calls[p][1] for p in parts]).mean(0), logits, atol=1e-5):
        weights, biases = zip(*map(_parameters, parts), strict=True)
        return _checked(
            Head(tuple(parts), torch.cat(weights, 1) / len(parts), torch.stack(biases).mean(0)), calls, logits
        )
    raise OochubError(
        f"{type(model).__name__} has no linear layer whose output is its logits, so its features are unknown. "
        f"Predict without {either('features=True', '--features')}."
    )


def features_of(head: Head, calls: dict[nn.Module, tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """The input of the head (n, d) from recorded calls."""
    return torch.cat([calls[layer][0].flatten(1) for layer in head.layers], dim=1)


class recorded:
    """Records the input and output of the last call of each layer while the block runs."""

    def __init__(self, model: nn.Module, layers: list[nn.Module] | tuple[nn.Module, ...]) -> None:
        self._layers = layers
        self._calls: dict[nn.Module, tuple[torch.Tensor, torch.Tensor]] = {}
        self._handles: list[Any] = []

    def __enter__(self) -> dict[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
        def record(layer: nn.Module, inputs: Any, output: torch.Tensor) -> None:
            self._calls.pop(layer, None)  # the order of the dict is that of the last calls
            self._calls[layer] = (inputs[0].detach(), output.detach())

        self._handles = [layer.register_forward_hook(record) for layer in self._layers]
        return self._calls

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()


def _linear_layers(model: nn.Module) -> list[nn.Module]:
    return [
        layer
        for layer in model.modules()
        if isinstance(layer, nn.Linear) or (isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1))
    ]


def _parameters(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    weight: torch.Tensor = layer.weight.detach().flatten(1)
    bias = torch.zeros(len(weight), device=weight.device) if layer.bias is None else layer.bias.detach()
    return weight, bias


def _checked(head: Head, calls: dict[nn.Module, tuple[torch.Tensor, torch.Tensor]], logits: torch.Tensor) -> Head:
    rebuilt = features_of(head, calls) @ head.weight.T + head.bias
    error = (rebuilt - logits).abs().max().item()
    if error > 1e-4 * max(1.0, logits.abs().max().item()):
        raise OochubError(
            f"The head found does not give the logits back (off by {error:.2g}); predict without features."
        )
    return head
