"""Smooth Grad-CAM++: which places of an image speak for a class, by the gradients of a few noisy copies of it.

The layer is the last of the network that still has places on the image, found by what it computes, never by its name.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import nn

from oochub.errors import OochubError, unknown_name

Variant = Literal["paper", "torchcam"]


class SmoothGradCam:
    r"""The map L = relu(sum_k w_k A_k) of each image, on the last layer with places.

    A_k(i, j) are the activations of the layer for the image as it is, g the gradient of the class's logit by them,
    and D_p the mean of g^p over copies of the image with normal noise (for a network that is linear piece by piece
    the p-th derivative of exp(logit), but for a factor). Then

        alpha_k(i, j) = D_2 / (2 D_2 + D_3 sum_ab A_k(a, b)),    w_k = sum_ij alpha_k(i, j) relu(D_1)

    The paper prints D_1 in the numerator, which is no solution of its own Equation. A denominator that is not above 0,
    which activations below 0 can give, makes no weight. The map is divided by its largest value, and all 0 where
    nothing speaks for the class. The noise is the same for every image and every network, so a map depends neither
    on the rest of its batch nor on what was mapped before.

    `variant="torchcam"` computes what torchcam 0.5.0 does, which Spawrious used: the activations and the D_1 of the
    last noisy copy alone, sum_ab g^3 A in the denominator, and the range of the map stretched to [0, 1].

    Args:
        network: Network of a mode; `network(**inputs).logits` is (b, c). It is run in evaluation mode and left as it
            was.
        probe: Inputs of two images that differ, as `Input.probe` gives.
        samples: Noisy copies of each image, 1 or more.
        noise: Standard deviation of the noise, 0 or more, in units of what the network is called with: normalized
            pixels, not a share of their range.
        variant: "paper", or "torchcam".
        seed: Random seed for the noise.

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
        with _set_evaluation_mode(network):
            self._layer = find_spatial_layer(network, probe)

    def __call__(self, inputs: Mapping[str, torch.Tensor], target: torch.Tensor) -> torch.Tensor:
        """The maps float32 (b, height, width) in [0, 1], of the size of the images, where the network is.

        Args:
            inputs: What the network is called with, `pixel_values` (b, 3, height, width) among it.
            target: int (b,): the class that each map speaks for.
        """
        pixels = inputs["pixel_values"].detach()
        generator = torch.Generator().manual_seed(self._seed)
        noise = self._noise * torch.randn(self._samples, *pixels.shape[1:], generator=generator)
        with _set_evaluation_mode(self._network):
            clean = self._run_pass(inputs, pixels, target)[0]
            noisy = [self._run_pass(inputs, pixels + draw.to(pixels), target) for draw in noise]
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

    def _run_pass(
        self, inputs: Mapping[str, torch.Tensor], pixels: torch.Tensor, target: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The activations of the layer and the gradient of the target's logit by them, float64 (b, c, h, w) each."""
        layer = self._layer
        with torch.enable_grad(), record_outputs(self._network, layer.layer) as calls:
            x = pixels.clone().requires_grad_(True)  # gradients flow though every weight may be frozen
            logits = self._network(**{**inputs, "pixel_values": x}).logits
            output = calls[layer.call][1]
            (gradient,) = torch.autograd.grad(logits.gather(1, target.to(logits.device)[:, None]).sum(), output)
        size = (pixels.shape[2], pixels.shape[3])
        activation, gradient = (layer.places(tensor.detach(), size).double() for tensor in (output, gradient))
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
            f"Smooth Grad-CAM++ needs at least 1 noisy copy and noise of at least 0; got {samples} and {noise:g}."
        )


@contextmanager
def _set_evaluation_mode(network: nn.Module) -> Iterator[None]:
    """A block in which the network is in evaluation mode; after it each layer is in its own mode again."""
    modes = {layer: layer.training for layer in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for layer, mode in modes.items():
            layer.training = mode


_UNEVEN = 1.5  # how far the strides down and across may be from each other: a grid is rounded


class SpatialLayer(NamedTuple):
    """A layer, which of its calls in a pass is meant, and how its output lies on the image.

    Attributes:
        layer: The layer, whose output has places.
        call: The number of the call, of a layer that is called several times.
        form: "channels_first" (b, c, h, w), "channels_last" (b, h, w, c), or "tokens" (b, t, c).
        before: Tokens that are none of the image, such as a class token, before those that are.
        after: Such tokens behind them.
    """

    layer: nn.Module
    call: int
    form: str
    before: int = 0
    after: int = 0

    def places(self, output: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
        """The output (b, c, h, w), a view of it.

        Args:
            output: Output of the layer.
            size: (height, width) of the image that the network sees.
        """
        if self.form == "channels_first":
            return output
        if self.form == "channels_last":
            return output.movedim(-1, 1)
        tokens = output[:, self.before : output.shape[1] - self.after]
        grid = _fit_grid(tokens.shape[1], size)
        if grid is None:
            raise OochubError(
                f"{tokens.shape[1]} tokens do not form a grid on an image of {size[0]} x {size[1]} pixels. Resize "
                "all images to one size, as the model's processor does."
            )
        cells: torch.Tensor = tokens.movedim(-1, 1).unflatten(-1, grid)
        return cells


def find_spatial_layer(network: Any, probe: Mapping[str, torch.Tensor]) -> SpatialLayer:
    """The last layer with places through which all passes that the logits know of the image.

    A pass over the probe records what each layer gives: maps (b, c, h, w) or (b, h, w, c), or tokens (b, t, c). Tokens
    that are the same for two images when a sequence of their number is first seen are none of the image. From the
    last layer back, the first is taken whose places the logits depend on, and without whose gradient no gradient
    reaches the pixels: of a residual network the end of its last stage and not one of the branches before it, of a
    vision transformer that reads its class token what goes into its last block.

    Args:
        network: A network in evaluation mode; `network(**probe).logits` is (b, c).
        probe: Inputs with `pixel_values` of two images that differ.

    Raises:
        OochubError: A network that is not called with pixels, or that has no such layer.

    >>> from transformers import ResNetConfig, ResNetForImageClassification
    >>> config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    >>> network = ResNetForImageClassification(config).eval()
    >>> found = find_spatial_layer(network, {"pixel_values": torch.randn(2, 3, 64, 64)})
    >>> found.layer is network.resnet.encoder.stages[-1], found.form
    (True, 'channels_first')
    """
    if "pixel_values" not in probe or probe["pixel_values"].ndim != 4:
        raise OochubError(
            f"A saliency map lies on an image, but {type(network).__name__} does not take pixels. Use a model of "
            "images."
        )
    pixels = probe["pixel_values"].detach().clone().requires_grad_(True)
    size = (pixels.shape[2], pixels.shape[3])
    with torch.enable_grad(), record_outputs(network) as calls:
        logits = network(**{**probe, "pixel_values": pixels}).logits.float()
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(0)).to(logits.device)
    answer = (logits * weights).sum()  # a plain sum may be the same for every image
    found: SpatialLayer
    for found, given in reversed(list(_find_candidates(calls, size))):
        (gradient,) = torch.autograd.grad(answer, given, retain_graph=True, allow_unused=True)
        if gradient is not None and found.places(gradient, size).any() and _is_whole(answer, given, pixels):
            return found
    raise OochubError(
        f"{type(network).__name__} has no layer of spatial features that its whole output depends on, so it has no "
        "saliency map. Use a convolutional network or a vision transformer."
    )


@contextmanager
def record_outputs(
    network: nn.Module, layer: nn.Module | None = None
) -> Iterator[list[tuple[nn.Module, torch.Tensor]]]:
    """A block in which what each layer of a network gives is listed, in the order of the calls.

    Args:
        network: The network that the layers belong to.
        layer: The only one that is listed; None lists all.
    """
    calls: list[tuple[nn.Module, torch.Tensor]] = []

    def see(module: nn.Module, _: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) and output else output
        if isinstance(first, torch.Tensor):
            calls.append((module, first))

    handles = [module.register_forward_hook(see) for module in ([layer] if layer is not None else network.modules())]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _find_candidates(
    calls: list[tuple[nn.Module, torch.Tensor]], size: tuple[int, int]
) -> Iterator[tuple[SpatialLayer, torch.Tensor]]:
    counts: dict[nn.Module, int] = {}
    beside: dict[int, tuple[int, int] | None] = {}  # number of tokens: how many are not of the image
    for layer, given in calls:
        call = counts[layer] = counts.get(layer, -1) + 1
        if given.ndim == 4:
            for form, (height, width) in (("channels_first", given.shape[2:]), ("channels_last", given.shape[1:3])):
                if given.requires_grad and height * width > 1 and _is_even((height, width), size):
                    yield SpatialLayer(layer, call, form), given
                    break
        elif given.ndim == 3 and len(given) == 2 and given.shape[2] > 1:  # (b, c, 1) is what pooling leaves
            count = given.shape[1]
            if count not in beside:
                beside[count] = _count_extra_tokens(given)
            ends = beside[count]
            if given.requires_grad and ends and (_fit_grid(count - sum(ends), size) or (1, 1)) != (1, 1):
                yield SpatialLayer(layer, call, "tokens", *ends), given


def _count_extra_tokens(given: torch.Tensor) -> tuple[int, int] | None:
    """How many tokens before and behind the others are the same for two images; None where all are."""
    differ = (given[0] != given[1]).any(-1).nonzero().flatten().tolist()
    return (differ[0], given.shape[1] - differ[-1] - 1) if differ else None


def _fit_grid(count: int, size: tuple[int, int]) -> tuple[int, int] | None:
    """The (rows, columns) of `count` tokens whose places on the image are nearest to squares; None if none are near."""
    grids = [(rows, count // rows) for rows in range(1, count + 1) if count % rows == 0]
    even = [grid for grid in grids if _is_even(grid, size)]
    return min(even, key=lambda grid: _measure_unevenness(grid, size), default=None)


def _measure_unevenness(grid: tuple[int, int], size: tuple[int, int]) -> float:
    down, across = (pixels / places for pixels, places in zip(size, grid, strict=True))
    return max(down / across, across / down)


def _is_even(grid: tuple[int, int], size: tuple[int, int]) -> bool:
    return all(0 < places <= pixels for places, pixels in zip(grid, size, strict=True)) and (
        _measure_unevenness(grid, size) <= _UNEVEN
    )


def _is_whole(answer: torch.Tensor, given: torch.Tensor, pixels: torch.Tensor) -> bool:
    """Whether no gradient reaches the pixels past this output."""
    handle = given.register_hook(torch.zeros_like)
    try:
        (gradient,) = torch.autograd.grad(answer, pixels, retain_graph=True, allow_unused=True)
    finally:
        handle.remove()
    return gradient is None or not gradient.any()
