"""Smooth Grad-CAM++: which places of a picture speak for a class, by the gradients of a few noisy copies of it."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from torch import nn

from oochub.errors import OochubError, unknown_name
from oochub.models.spatial_layer import find_spatial_layer, outputs_of

Variant = Literal["paper", "torchcam"]


class SmoothGradCam:
    r"""The map L = relu(sum_k w_k A_k) of each picture, on the last layer with places.

    A_k(i, j) are the activations of the layer for the picture as it is, g the gradient of the class's logit by them,
    and D_p the mean of g^p over copies of the picture with normal noise (for a network that is linear piece by piece
    the p-th derivative of exp(logit), but for a factor). Then

        alpha_k(i, j) = D_2 / (2 D_2 + D_3 sum_ab A_k(a, b)),    w_k = sum_ij alpha_k(i, j) relu(D_1)

    The paper prints D_1 in the numerator, which is no solution of its own Equation. A denominator that is not above 0,
    which activations below 0 can give, makes no weight. The map is divided by its largest value, and all 0 where
    nothing speaks for the class. The noise is the same for every picture and every network, so a map depends neither
    on the rest of its batch nor on what was mapped before.

    `variant="torchcam"` computes what torchcam 0.5.0 does, which Spawrious used: the activations and the D_1 of the
    last noisy copy alone, sum_ab g^3 A in the denominator, and the range of the map stretched to [0, 1].

    Args:
        network: Of a mode; `network(**inputs).logits` is (b, c). It is run in evaluation mode and left as it was.
        probe: Inputs of two pictures that differ, as `Input.probe` gives.
        samples: Noisy copies of each picture, 1 or more.
        noise: Standard deviation of the noise, 0 or more, in units of what the network is called with: normalized
            pixels, not a share of their range.
        variant: "paper", or "torchcam".
        seed: Of the noise.

    Raises:
        OochubError: An unknown variant, a setting out of range; what `find_spatial_layer` raises.

    Source: Omeiza et al. 2019 (arXiv 1908.01224), Section 3, Equations 6 to 10; used by Spawrious, Appendix D.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    >>> network, pixels = ResNetForImageClassification(config).eval(), torch.randn(2, 3, 64, 64)
    >>> saliency = SmoothGradCam(network, {"pixel_values": pixels})
    >>> saliency({"pixel_values": pixels}, torch.tensor([0, 1])).shape
    torch.Size([2, 64, 64])
    """

    def __init__(
        self,
        network: Any,
        probe: Mapping[str, torch.Tensor],
        *,
        samples: int = 4,
        noise: float = 0.3,
        variant: Variant = "paper",
        seed: int = 0,
    ) -> None:
        check_saliency(samples=samples, noise=noise, variant=variant)
        self._network, self._samples, self._noise, self._seed = network, samples, noise, seed
        self._variant = variant
        with _evaluating(network):
            self._layer = find_spatial_layer(network, probe)

    def __call__(self, inputs: Mapping[str, torch.Tensor], target: torch.Tensor) -> torch.Tensor:
        """The maps float32 (b, height, width) in [0, 1], of the size of the pictures, where the network is.

        Args:
            inputs: What the network is called with, `pixel_values` (b, 3, height, width) among it.
            target: int (b,): the class that each map speaks for.
        """
        pixels = inputs["pixel_values"].detach()
        generator = torch.Generator().manual_seed(self._seed)
        noise = self._noise * torch.randn(self._samples, *pixels.shape[1:], generator=generator)
        with _evaluating(self._network):
            clean = self._passed(inputs, pixels, target)[0]
            noisy = [self._passed(inputs, pixels + each.to(pixels), target) for each in noise]
        gradients = torch.stack([gradient for _, gradient in noisy])
        first, second, third = (gradients.pow(power).mean(0) for power in (1, 2, 3))
        if self._variant == "torchcam":
            shown, first = noisy[-1][0], gradients[-1]
            alpha = second / (2 * second + (third * clean).sum((2, 3), keepdim=True) + 1e-8)
        else:
            shown = clean
            below = 2 * second + third * clean.sum((2, 3), keepdim=True)
            alpha = torch.where(below > 0, second / below, 0.0)
        weight = (alpha * first.relu()).sum((2, 3), keepdim=True)
        maps = (weight * shown).sum(1, keepdim=True).relu()
        if self._variant == "torchcam":
            maps = maps - maps.amin((2, 3), keepdim=True)
        largest = maps.amax((2, 3), keepdim=True)
        maps = torch.where(largest > 0, maps / largest, 0.0)
        resized = nn.functional.interpolate(maps, size=pixels.shape[2:], mode="bilinear", align_corners=False)
        return resized[:, 0].float().clamp(0, 1)

    def _passed(
        self, inputs: Mapping[str, torch.Tensor], pixels: torch.Tensor, target: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The activations of the layer and the gradient of the target's logit by them, float64 (b, c, h, w) each."""
        layer = self._layer
        with torch.enable_grad(), outputs_of(self._network, layer.layer) as calls:
            x = pixels.clone().requires_grad_(True)  # gradients flow though every weight may be frozen
            logits = self._network(**{**inputs, "pixel_values": x}).logits
            output = calls[layer.call][1]
            (gradient,) = torch.autograd.grad(logits.gather(1, target.to(logits.device)[:, None]).sum(), output)
        size = (pixels.shape[2], pixels.shape[3])
        activation, gradient = (layer.places(each.detach(), size).double() for each in (output, gradient))
        return activation, gradient


def check_saliency(*, samples: int, noise: float, variant: str) -> None:
    """Checks settings of `SmoothGradCam` before a model is opened.

    Raises:
        OochubError: An unknown variant, no noisy copy, a noise that is negative or not finite.
    """
    if variant not in get_args(Variant):
        raise unknown_name("variant", variant, get_args(Variant))
    if samples < 1 or not 0 <= noise < math.inf:
        raise OochubError(
            f"Smooth Grad-CAM++ takes 1 noisy copy or more, of a noise of 0 or more; got {samples} and {noise:g}."
        )


@contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    """A block in which the network is in evaluation mode; after it each layer is in its own mode again."""
    modes = {layer: layer.training for layer in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for layer, mode in modes.items():
            layer.training = mode
