"""A folded network says what the network says, and is the network again afterwards."""

import copy
from collections.abc import Mapping
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
import transformers
from input_rows import encoded, photograph
from tiny_classifiers import TINY, tiny_classifier
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.models.acceleration import fold_batch_norm
from oochub.models.extraction import Perturbation
from oochub.models.model_source import ModelSource
from oochub.models.remembered_checks import MeasuredNetwork

_FOLDED = {"efficientnet": 22, "levit": 4, "mobilenet_v1": 27, "regnet": 9, "resnet": 6}
"""Batch norms after a convolution, counted in the printed modules; the other types of `TINY` are slow tests."""


def norms(network: nn.Module) -> int:
    return sum(isinstance(layer, nn.BatchNorm2d) for layer in network.modules())


def seen_something(network: nn.Module) -> nn.Module:
    """The network as after training: means, variances and weights of batch norm that are not 0 and 1."""
    generator = torch.Generator().manual_seed(0)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.2, generator=generator)
            layer.running_var.uniform_(0.5, 2, generator=generator)
            layer.weight.data.uniform_(0.5, 1.5, generator=generator)
            layer.bias.data.normal_(0, 0.2, generator=generator)
    return network.eval()


class Net(nn.Module):
    """A convolution with its batch norm, then two convolutions and a batch norm in the way that `form` says."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form
        self.stem, self.stem_norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
        self.first, self.norm, self.second = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1)
        if form == "weight norm":
            self.first = nn.utils.parametrizations.weight_norm(self.first)

    def forward(self, pixel_values: torch.Tensor) -> ImageClassifierOutput:
        stem = self.stem_norm(self.stem(pixel_values))
        x = self.first(stem)
        if self.form == "relu between":
            y = self.norm(x.relu())
        elif self.form == "in place between":
            y = self.norm(x.add_(1))
        elif self.form == "called twice":
            y = self.norm(x) + self.norm(self.second(x))
        elif self.form == "convolution twice":
            y = self.norm(x) + self.first(stem.flip(1))
        elif self.form == "read beside":
            y = self.norm(x) + x
        else:
            y = self.norm(x)
        return ImageClassifierOutput(logits=self.second(y).mean((2, 3)))


@pytest.mark.parametrize(
    ("form", "pairs"),
    [
        ("plain", 2),
        ("relu between", 1),
        ("in place between", 1),
        ("called twice", 1),
        ("convolution twice", 1),
        ("read beside", 1),
        ("weight norm", 1),
    ],
)
def test_only_what_nothing_else_reads_is_folded(form: str, pairs: int) -> None:
    """And each layer, weight and training flag is as before, after an error too."""
    network = seen_something(Net(form))
    before = copy.deepcopy(network.state_dict())
    layers = dict(network.named_modules())
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    expected = network(pixel_values=x).logits
    with pytest.raises(ZeroDivisionError), fold_batch_norm(network, {"pixel_values": x}) as found:
        assert (found, norms(network)) == (pairs, 2 - pairs)
        torch.testing.assert_close(network(pixel_values=x).logits, expected, rtol=0, atol=1e-5)
        raise ZeroDivisionError
    assert dict(network.named_modules()) == layers
    after = network.state_dict()
    assert list(after) == list(before)
    assert all(
        torch.equal(after[name], each) and after[name].stride() == each.stride() for name, each in before.items()
    )
    assert all(each.requires_grad for each in network.parameters())


@pytest.mark.parametrize(("form", "pairs"), [("plain", 2), ("read beside", 1)])
def test_a_network_that_was_folded_before_is_folded_without_a_pass(form: str, pairs: int) -> None:
    """To the same layers and weights. Planted fault: the pairs of another form are remembered for it."""
    network = seen_something(Net(form))
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    passes, logits = [], []

    def answer(inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        passes.append(1)
        return network(**inputs).logits

    for _ in range(2):
        measured = MeasuredNetwork(network)
        with fold_batch_norm(network, {"pixel_values": x}, answer=answer, measured=measured) as folded:
            assert (folded, norms(network)) == (pairs, 2 - pairs)
            logits.append(network(pixel_values=x).logits)
    assert len(passes) == 2 and torch.equal(*logits)


def test_a_network_without_batch_norms_makes_no_pass() -> None:
    """Planted fault: a pass to look for pairs of which there are none."""
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 2)).eval()
    with fold_batch_norm(network, {"pixel_values": torch.randn(2, 3, 8, 8)}, answer=lambda inputs: 1 / 0) as folded:
        assert folded == 0 and network[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert network[0].weight.is_contiguous()


class Standardized(nn.Conv2d):
    """A convolution that standardizes its weight."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return self._conv_forward(x, weight / weight.std((1, 2, 3), keepdim=True), self.bias)


def test_a_layer_that_does_more_is_left_alone() -> None:
    """A convolution that standardizes its weight undoes the folding: the logits say so, and nothing is folded."""
    network = Net("plain")
    network.first = Standardized(3, 4, 3)
    seen_something(network)
    x = torch.randn(2, 3, 8, 8)
    expected = network(pixel_values=x).logits
    for _ in range(2):  # it is remembered that it cannot be
        with fold_batch_norm(network, {"pixel_values": x}, measured=MeasuredNetwork(network)) as pairs:
            assert (pairs, norms(network)) == (0, 2)
            torch.testing.assert_close(network(pixel_values=x).logits, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=() if name in _FOLDED else pytest.mark.campaign) for name in TINY]
)
def test_types_of_transformers(model_type: str, tmp_path: Path) -> None:
    """Logits and ODIN's gradient are those of the unfolded network in float64, within float32 rounding."""
    folder = tiny_classifier(model_type, tmp_path / "model")
    network = seen_something(transformers.AutoModelForImageClassification.from_pretrained(folder))
    source = ModelSource(str(folder))
    rows = datasets.Dataset.from_dict({"image": [{"bytes": encoded(photograph(40, 40)), "path": None}]})
    inputs = source.inputs(rows.cast_column("image", datasets.Image()), preprocessing="auto").probe()
    exact = copy.deepcopy(network).double()
    wide = {name: each.double() if each.is_floating_point() else each for name, each in inputs.items()}
    expected = exact(**wide).logits
    own = (network(**inputs).logits - expected).abs().max()
    extent = float(np.ptp(expected.detach().numpy()))
    with fold_batch_norm(network, inputs) as pairs:
        assert pairs == _FOLDED.get(model_type, pairs)
        error = (network(**inputs).logits - expected).abs().max()
        assert error <= max(4 * own, 1e-5 * extent), (error, own)
        if model_type in _FOLDED:
            step = Perturbation(0.0014)
            moved = step(network, inputs["pixel_values"]) - step(exact, wide["pixel_values"])
            assert (moved.abs() > 1e-4).float().mean() < 0.001  # a sign turns where the gradient is nearly 0
