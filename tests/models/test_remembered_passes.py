"""Passes that are remembered: the same logits without a pass, and a pass of its own for all that could change them."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from oochub.models.remembered_passes import RememberedPasses


class Network(nn.Module):
    """A layer, a buffer that no state dict holds, and a number; it counts its passes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.factor, self._passes = nn.Linear(3, 2), 2.0, 0
        self.register_buffer("shift", torch.zeros(2), persistent=False)

    def forward(self, x):
        self._passes += 1
        return SimpleNamespace(logits=self.layer(x.to(self.layer.weight.dtype)) * self.factor + self.shift)


class Inverse(Network):
    def forward(self, x):
        return SimpleNamespace(logits=-super().forward(x).logits)


def alter(network: Network, what: str) -> Network:
    with torch.no_grad():
        if what == "weight":
            network.layer.weight[1, 2] += 1
        elif what == "buffer":
            network.shift[0] = 1
        elif what == "attribute":
            network.factor = 3.0
        elif what == "hook":
            network.layer.register_forward_hook(lambda layer, given, made: made + 1)
        elif what == "precision":
            network.double()
    return Inverse() if what == "code" else network


def passed(network: Network, x: torch.Tensor) -> bool:
    """Whether the network itself was asked; its logits are its own in any case."""
    before = network._passes
    found = RememberedPasses(network)(x=x).logits
    asked = network._passes > before
    with torch.inference_mode():
        assert torch.equal(found, network(x=x).logits) and not found.requires_grad
    return asked


X = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("what", ["weight", "buffer", "attribute", "hook", "precision", "code"])
def test_a_changed_network_is_asked_itself(what):
    """Reference: the network. Planted faults: a digest without buffers, without hooks, without code: a wrong memory."""
    assert passed(Network(), X) and not passed(Network(), X)
    assert passed(alter(Network(), what), X)


@pytest.mark.parametrize("x", [X + 1, X.reshape(3, 2).T.contiguous(), X[:1], X.double(), X.view(1, 2, 3)])
def test_other_inputs_are_passed(x):
    """Planted faults: inputs known by their shape; by their bytes alone."""
    assert passed(Network(), X) and passed(Network(), x) and not passed(Network(), x)


def test_other_threads_pass_again(monkeypatch):
    """Sums in another order are other numbers. Planted fault: threads are not part of the key."""
    assert passed(Network(), X)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    assert passed(Network(), X)


def test_the_memory_of_another_pass_is_refused():
    """Planted fault: the seal of a file does not hold its name."""
    kept = Path(os.environ["OOCHUB_CACHE"], "passes")
    passed(Network(), X)
    (first,) = kept.glob("*.safetensors")
    passed(Network(), X + 1)
    (second,) = set(kept.glob("*.safetensors")) - {first}
    second.write_bytes(first.read_bytes())
    assert passed(Network(), X + 1)
    second.write_bytes(second.read_bytes()[:-1])
    assert passed(Network(), X + 1) and not passed(Network(), X + 1)
