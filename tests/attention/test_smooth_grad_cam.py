"""Smooth Grad-CAM++ against its Equations worked by loops, and models whose answer lies in one corner."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from mode_examples import EXAMPLES, example_rows
from torch import nn

import oochub
from oochub.attention.smooth_grad_cam import SmoothGradCam
from oochub.errors import OochubError
from oochub.models.mode import PredictedData
from oochub.models.model_source import ModelSource

_CPU = torch.device("cpu")


class _Places(nn.Module):
    """Convolutions, and a head that is linear piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 5, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(5, 3, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 4))

    def forward(self, pixel_values: torch.Tensor) -> Any:
        return SimpleNamespace(logits=self.head(self.body(pixel_values)))


class _Corner(nn.Module):
    """Its answer depends on the top right quarter of the image alone, by maps or by tokens behind a class token."""

    def __init__(self, *, tokens: bool) -> None:
        super().__init__()
        self.tokens, self.patches, self.head = tokens, nn.Conv2d(3, 4, 4, stride=4), nn.Linear(4, 2)
        self.embedding, self.masked, self.read = nn.Identity(), nn.Identity(), nn.Identity()
        self.corner = torch.zeros(8, 8)
        self.corner[:4, 4:] = 1

    def forward(self, pixel_values: torch.Tensor) -> Any:
        places = self.patches(pixel_values)
        if not self.tokens:
            return SimpleNamespace(logits=self.head(self.masked(places.relu() * self.corner).mean((2, 3))))
        tokens = self.embedding(torch.cat([torch.ones(len(places), 1, 4), places.flatten(2).mT], 1))
        tokens = self.masked(tokens.relu() * torch.cat([torch.ones(1), self.corner.flatten()])[:, None])
        first = tokens[:, :1] + tokens[:, 1:].mean(1, keepdim=True)
        last = self.read(torch.cat([first, tokens[:, 1:]], 1))  # as many tokens, of which one is read
        return SimpleNamespace(logits=self.head(last[:, 0]))


def _seeded(make: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return make().eval()


def _pixels(n: int, side: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(seed))


def _derivatives(network: _Places, activation: torch.Tensor, target: int) -> np.ndarray[Any, Any]:
    """The first three derivatives of exp(logit) by each activation, over exp(logit): (3, c, h, w), by autograd."""
    found = np.zeros((3, *activation.shape))
    for place in np.ndindex(*activation.shape):
        value = activation[place].clone().requires_grad_(True)
        changed = activation.clone()
        changed[place] = value
        y = network.head(changed[None])[0, target].exp()
        each = y
        for power in range(3):
            (each,) = torch.autograd.grad(each, value, create_graph=True)
            found[power][place] = (each / y).item()
    return found


def _map_by_loops(network: _Places, picture: torch.Tensor, noise: torch.Tensor, target: int) -> np.ndarray[Any, Any]:
    """Equations 6 to 10, with D_2 in the numerator."""
    clean = network.body(picture[None])[0].detach()
    first, second, third = np.mean(
        [_derivatives(network, network.body((picture + each)[None])[0].detach(), target) for each in noise], axis=0
    )
    kept = np.zeros(clean.shape[1:])
    for k in range(len(clean)):
        weight = 0.0
        for i, j in np.ndindex(*kept.shape):
            below = 2 * second[k, i, j] + clean[k].sum().item() * third[k, i, j]
            weight += (second[k, i, j] / below if below > 0 else 0.0) * max(first[k, i, j], 0.0)
        kept += weight * clean[k].numpy()
    kept = np.maximum(kept, 0)
    return kept / kept.max() if kept.max() > 0 else kept


def _resized(small: np.ndarray[Any, Any], side: int) -> torch.Tensor:
    return nn.functional.interpolate(torch.tensor(small)[None, None].float(), size=(side, side), mode="bilinear")[0, 0]


def test_the_map_is_that_of_the_equations():
    """Derivatives by autograd and sums by loops."""
    network, pictures = _seeded(_Places).double(), _pixels(4, 8).double()
    saliency = SmoothGradCam(network, {"pixel_values": pictures}, samples=3, noise=0.4, seed=5)
    noise = 0.4 * torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(5))
    target = torch.tensor([0, 1, 2, 3])
    maps = saliency({"pixel_values": pictures}, target)
    assert (maps.amax((1, 2)) > 0.5).sum() >= 2
    for picture, answer, found in zip(pictures, target.tolist(), maps, strict=True):
        expected = _map_by_loops(network, picture, noise.double(), answer)
        torch.testing.assert_close(found, _resized(expected, 8), atol=1e-5, rtol=0)


def test_the_variant_is_torchcams():
    """The sums of torchcam 0.5.0, which itself gave the numbers of this variant within 2e-7 on eight images."""
    network, pictures = _seeded(_Places), _pixels(4, 8)
    saliency = SmoothGradCam(network, {"pixel_values": pictures}, variant="torchcam", noise=1.0, seed=3)
    noise = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(3))
    maps = saliency({"pixel_values": pictures}, torch.arange(4))
    for target, picture in enumerate(pictures):
        clean = network.body(picture[None])[0].detach()
        squares, cubes = torch.zeros(clean.shape), torch.zeros(clean.shape)
        for each in noise:
            activation = network.body((picture + each)[None]).detach().requires_grad_(True)
            (gradient,) = torch.autograd.grad(network.head(activation)[0, target], activation)
            squares, cubes = squares + gradient[0] ** 2 / 4, cubes + gradient[0] ** 3 / 4
        alpha = squares / (2 * squares + (cubes * clean).sum((1, 2), keepdim=True) + 1e-8)
        weight = (alpha * gradient[0].relu()).sum((1, 2))
        expected = (weight[:, None, None] * activation[0].detach()).sum(0).relu()
        expected = (expected - expected.min()) / (expected.max() - expected.min() + 1e-8)
        torch.testing.assert_close(maps[target], _resized(expected.numpy(), 8), atol=1e-5, rtol=0)


@pytest.mark.parametrize("tokens", [False, True], ids=["maps", "tokens"])
def test_a_map_lies_on_the_corner_that_is_read(tokens):
    """Planted faults: the first token taken for one of the image, and rows of tokens for columns."""
    network = _seeded(lambda: _Corner(tokens=tokens))
    pictures = _pixels(6, 32)
    maps = SmoothGradCam(network, {"pixel_values": pictures[:2]})({"pixel_values": pictures}, torch.zeros(6).long())
    assert maps.shape == (6, 32, 32) and maps.min() >= 0 and maps.max() <= 1
    assert (maps.sum((1, 2)) > 0).any()
    inside = maps[:, :18, 14:].sum((1, 2))  # half a place of 4 pixels is blurred across the border
    assert torch.allclose(inside, maps.sum((1, 2)))


def test_a_map_is_of_its_picture_alone():
    """Planted fault: noise drawn for each row of a batch."""
    network, pictures = _seeded(_Places), _pixels(5, 8)
    saliency = SmoothGradCam(network, {"pixel_values": pictures[:2]})
    together = saliency({"pixel_values": pictures}, torch.arange(5) % 4)
    for row in range(5):
        alone = saliency({"pixel_values": pictures[row : row + 1]}, torch.tensor([row % 4]))
        torch.testing.assert_close(alone[0], together[row], atol=1e-6, rtol=0)


def test_where_nothing_speaks_for_a_class_the_map_is_zero():
    """Planted fault: a division of 0 by 0."""
    network, pictures = _seeded(_Places), _pixels(2, 8)
    saliency = SmoothGradCam(network, {"pixel_values": pictures})
    network.head[3].weight.data.zero_()
    assert not saliency({"pixel_values": pictures}, torch.tensor([0, 1])).any()


@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if name != "presence" and oochub.get("mode", name).is_one_pass]
)
def test_every_mode_has_maps_and_stays_as_it_was(name, tmp_path):
    """Planted faults, each seen: a hook that is left, evaluation mode that stays, gradients of parameters."""
    example = EXAMPLES[name](tmp_path / "model")
    data = example_rows(example.class_names, example.class_names)
    source = ModelSource(str(example.model))
    inputs = source.inputs(data["test"])
    opened = oochub.get("mode", name)(source, inputs, PredictedData(data["test"], data, _CPU, 16))
    network = opened.network
    some = next(iter(network.modules()))
    some.training = True
    before = {key: value.clone() for key, value in network.state_dict().items()}
    batch = next(inputs.batches(data["test"], batch_size=3, device=_CPU))
    saliency = SmoothGradCam(network, inputs.probe(), samples=2)
    maps = saliency(batch.inputs, torch.tensor([0, 1, 2]))
    assert maps.shape == (3, *batch.inputs["pixel_values"].shape[2:]) and maps.any() and maps.isfinite().all()
    assert some.training and not any(layer.training for layer in network.modules() if layer is not some)
    assert not any(layer._forward_hooks for layer in network.modules())
    assert all(parameter.grad is None for parameter in network.parameters())
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


def test_settings_are_checked():
    """What is wrong, what is allowed, what was got."""
    network, probe = _seeded(_Places), {"pixel_values": _pixels(2, 8)}
    with pytest.raises(OochubError, match="No variant named 'torchcm'"):
        SmoothGradCam(network, probe, variant="torchcm")
    for wrong in ({"samples": 0}, {"noise": -0.1}, {"noise": float("nan")}):
        with pytest.raises(OochubError, match="1 noisy copy and"):
            SmoothGradCam(network, probe, **wrong)
