"""What was measured of a network is remembered, and measured again for all that could change it."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from oochub.models.remembered_checks import MeasuredNetwork


class Network(nn.Module):
    """A layer, a buffer that no state dict holds, and a number."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.factor = nn.Linear(3, 2), 2.0
        self.register_buffer("shift", torch.zeros(2), persistent=False)

    def forward(self, x):
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


def measure(network: Network, *about: object, holds: bool = True) -> bool:
    """Whether the network's largest logit was measured now; a remembered one is its own all the same."""
    now = []

    def largest() -> float:
        now.append(network(x=torch.ones(1, 3)).logits.max().item())
        return now[0]

    value, is_earlier = MeasuredNetwork(network).measure_once(list(about), largest, holds=lambda value: holds)
    assert is_earlier == (not now)
    assert value == network(x=torch.ones(1, 3)).logits.max().item()
    return not is_earlier


@pytest.mark.parametrize("what", ["weight", "buffer", "attribute", "hook", "precision", "code"])
def test_a_changed_network_is_measured_itself(what):
    """Reference: the network. Planted faults: a digest without buffers, without hooks, without code: a wrong memory."""
    assert measure(Network()) and not measure(Network())
    assert measure(alter(Network(), what))


def test_another_question_is_measured():
    """Planted fault: what is asked is not part of the key."""
    assert measure(Network(), "one") and measure(Network(), "other") and not measure(Network(), "one")


def test_what_does_not_hold_is_measured_again():
    """Planted fault: every value is kept."""
    assert measure(Network(), holds=False) and measure(Network(), holds=False)


def test_without_a_cache_nothing_is_kept():
    """Planted fault: `kept` is not looked at."""
    for _ in range(2):
        assert not MeasuredNetwork(Network(), kept=False).measure_once([], lambda: 1)[1]
    assert not Path(os.environ["OOCHUB_CACHE"], "passes").exists()


def test_other_threads_measure_again(monkeypatch):
    """Sums in another order are other numbers. Planted fault: threads are not part of the key."""
    assert measure(Network())
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    assert measure(Network())


def test_the_memory_of_another_network_is_refused():
    """Planted fault: the seal of a file does not hold its name."""
    kept = Path(os.environ["OOCHUB_CACHE"], "passes")
    measure(Network(), 1)
    (first,) = kept.glob("*.json")
    measure(Network(), 2)
    (second,) = set(kept.glob("*.json")) - {first}
    second.write_bytes(first.read_bytes())
    assert measure(Network(), 2)
    second.write_bytes(second.read_bytes()[:-1])
    assert measure(Network(), 2) and not measure(Network(), 2)
