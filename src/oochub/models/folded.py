"""Batch norms folded into the convolutions before them: while it predicts, a network says the same in fewer steps."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from oochub.stats.logit_difference import logit_difference

_ROUNDING = 1.5e-6
"""Of the range of logits, on the probe: other rows move a few times as far, and answers stay those of transformers
within 1e-5. Folding rounds each weight once more, by 2^-24 of itself: trained networks move by less than 1e-6, some
random ones by 1e-5, and one wrong batch norm moves them by percents."""


@contextmanager
def folded(network: nn.Module, probe: Mapping[str, torch.Tensor]) -> Iterator[int]:
    """A block in which a convolution and the batch norm after it are one convolution; after it all is as before.

    A pair is a Conv2d that is called once and a BatchNorm2d whose input is the very output of that call, which nothing
    else reads: a pass over the probe shows it, whatever the layers are called. Where the logits of the probe are then
    not the same within rounding, nothing is changed. Weights of convolutions are laid out channels last, as pixels are.

    Args:
        network: In evaluation mode; `network(**probe).logits`.
        probe: Its inputs.

    Yields:
        How many batch norms are folded.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    >>> network = ResNetForImageClassification(config).eval()
    >>> with folded(network, {"pixel_values": torch.randn(2, 3, 32, 32)}) as pairs:
    ...     print(pairs, sum(isinstance(layer, nn.BatchNorm2d) for layer in network.modules()))
    6 0
    """
    pairs, logits = _pairs(network, probe)
    changed: dict[nn.Module, nn.Module] = {norm: nn.Identity() for norm in pairs}
    layers: Any = pairs.items()
    changed |= {convolution: fuse_conv_bn_eval(convolution, norm) for norm, convolution in layers}
    places: list[tuple[nn.Module, str, Any]] = [
        (parent, name, changed[layer])
        for parent in network.modules()
        for name, layer in parent._modules.items()
        if layer in changed
    ]
    convolutions = {changed.get(layer, layer) for layer in network.modules() if _is_convolution(layer)}
    places += [(layer, "weight", _channels_last(layer.weight)) for layer in convolutions]
    with _replaced(places):
        if _difference(network, probe, logits) <= _ROUNDING:
            yield len(pairs)
            return
    yield 0


@contextmanager
def _replaced(places: Sequence[tuple[nn.Module, str, Any]]) -> Iterator[None]:
    """A block in which each attribute of a layer is another."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    try:
        for owner, name, value in places:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _channels_last(weight: Any) -> nn.Parameter:
    return nn.Parameter(weight.detach().contiguous(memory_format=torch.channels_last), requires_grad=False)


def _difference(network: nn.Module, probe: Mapping[str, torch.Tensor], logits: torch.Tensor) -> float:
    with torch.inference_mode():
        return logit_difference(network(**probe).logits, logits)


def _pairs(network: nn.Module, probe: Mapping[str, torch.Tensor]) -> tuple[dict[nn.Module, nn.Module], torch.Tensor]:
    """The convolution of each batch norm that can be folded, and the logits of the probe."""
    calls: Counter[nn.Module] = Counter()
    made: dict[int, tuple[nn.Module, torch.Tensor]] = {}  # outputs by id, kept: so it stays theirs
    taken: dict[nn.Module, int] = {}

    def see(layer: nn.Module, given: Any, output: torch.Tensor) -> None:
        calls[layer] += 1
        if isinstance(layer, nn.Conv2d):
            made[id(output)] = (layer, output)
            reads.counts[id(output)] = 0  # what another tensor had, whose place it took
        elif given and id(given[0]) in made:
            taken[layer] = id(given[0])

    reads = _Reads()
    layers = [layer for layer in network.modules() if _is_convolution(layer) or _is_norm(layer)]
    handles = [layer.register_forward_hook(see) for layer in layers]
    try:
        with torch.inference_mode(), reads:
            logits: torch.Tensor = network(**probe).logits
    finally:
        for handle in handles:
            handle.remove()
    pairs = {norm: made[output][0] for norm, output in taken.items() if reads.counts[output] == 1}
    return {norm: layer for norm, layer in pairs.items() if calls[norm] == calls[layer] == 1}, logits


def _is_convolution(layer: nn.Module) -> bool:
    """One whose weight is stored and not computed, as that of weight normalization is."""
    return isinstance(layer, nn.Conv2d) and "weight" in layer._parameters


def _is_norm(layer: nn.Module) -> bool:
    """One that uses what it saw in training and does nothing else, as some subclasses do."""
    return type(layer) is nn.BatchNorm2d and layer.running_mean is not None and not layer.training


class _Reads(TorchDispatchMode):  # type: ignore[misc]
    """Counts how often operators read each tensor, by its id."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[int] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        self.counts.update(id(each) for each in tree_leaves((args, named)) if isinstance(each, torch.Tensor))
        return func(*args, **named)
