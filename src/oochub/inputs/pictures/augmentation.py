"""Random changes of a batch of images, on its device and without torchvision: flips, shifts, crops, colors."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from oochub.errors import unknown_name

_PARTS = ("flip", "shift", "crop", "color")
_SHIFT = 4  # pixels
_SCALE = (0.7, 1.0)  # share of the area that a crop keeps, as in DomainBed
_RATIO = (3 / 4, 4 / 3)  # of its width to its height, relative to the image's
_JITTER = 0.3  # brightness, contrast and saturation are multiplied by 1 - 0.3 to 1 + 0.3, as in DomainBed
_GRAY = (0.299, 0.587, 0.114)  # luma of red, green, blue, as in Pillow


def augment_images(pixels: Tensor, kind: str, *, generator: torch.Generator) -> Tensor:
    """A batch of which each image is changed at random.

    Args:
        pixels: uint8 (n, height, width, 3).
        kind: "none", or parts joined by "_", applied in this order. "flip": mirrored left to right with probability
            1/2. "shift": moved by -4 to 4 pixels in each direction; the border is repeated where it moved away.
            "crop": a rectangle of 0.7 to 1 of the area and 3/4 to 4/3 of the aspect, resized (bilinear). "color":
            brightness, then contrast, then saturation times 0.7 to 1.3.
        generator: Generator on the CPU; the draws are a function of its state.

    Returns:
        uint8 (n, height, width, 3).

    Raises:
        OochubError: An unknown part.

    >>> row = torch.arange(6, dtype=torch.uint8).view(1, 1, 6, 1)
    >>> augment_images(row, "flip", generator=torch.Generator().manual_seed(0)).flatten().tolist() in (
    ...     [0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])
    True
    """
    parts = split_augmentation(kind)
    if "flip" in parts or "shift" in parts:
        pixels = _flip_and_shift(pixels, parts, generator)
    if "crop" in parts:
        pixels = _crop(pixels, generator)
    return _jitter_colors(pixels, generator) if "color" in parts else pixels


def split_augmentation(kind: str) -> list[str]:
    """The parts of an augmentation; none for "none".

    Raises:
        OochubError: An unknown part.

    >>> split_augmentation("flip_color")
    ['flip', 'color']
    """
    parts = [] if kind == "none" else kind.split("_")
    for part in parts:
        if part not in _PARTS:
            raise unknown_name("augment", part, ["none", *_PARTS], "Join several with _, as in flip_crop_color.")
    return parts


def _flip_and_shift(pixels: Tensor, parts: list[str], generator: torch.Generator) -> Tensor:
    count, height, width, _ = pixels.shape
    picture = torch.arange(count).view(-1, 1).to(pixels.device)
    columns = torch.arange(width).expand(count, width)
    if "flip" in parts:
        mirrored = torch.rand(count, 1, generator=generator) < 0.5
        columns = torch.where(mirrored, width - 1 - columns, columns)
    if "shift" not in parts:
        return pixels.transpose(1, 2)[picture, columns.to(pixels.device)].transpose(1, 2)
    move = torch.randint(-_SHIFT, _SHIFT + 1, (2, count, 1), generator=generator)
    columns = (columns + move[0]).clamp(0, width - 1)
    rows = (torch.arange(height) + move[1]).clamp(0, height - 1)
    # one gather of whole pixels: row-major number of the pixel that lands here
    source = (rows.unsqueeze(2) * width + columns.unsqueeze(1)).view(count, -1)
    return pixels.reshape(count, height * width, -1)[picture, source.to(pixels.device)].view(pixels.shape)


def _crop(pixels: Tensor, generator: torch.Generator) -> Tensor:
    count = len(pixels)
    area = _SCALE[0] + (_SCALE[1] - _SCALE[0]) * torch.rand(count, generator=generator)
    lowest, highest = math.log(_RATIO[0]), math.log(_RATIO[1])
    ratio = torch.exp(lowest + (highest - lowest) * torch.rand(count, generator=generator))
    size = torch.stack([(area * ratio).sqrt(), (area / ratio).sqrt()]).clamp(max=1)  # width and height, of 1
    offset = (2 * torch.rand(2, count, generator=generator) - 1) * (1 - size)  # of the center, the image is -1 to 1
    boxes = torch.zeros(count, 2, 3)
    boxes[:, 0, 0], boxes[:, 1, 1], boxes[:, :, 2] = size[0], size[1], offset.T
    values = pixels.permute(0, 3, 1, 2).float()
    grid = functional.affine_grid(boxes.to(pixels.device), list(values.shape), align_corners=False)
    crops = functional.grid_sample(values, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return _round_to_uint8(crops).permute(0, 2, 3, 1)


def _jitter_colors(pixels: Tensor, generator: torch.Generator) -> Tensor:
    factors = 1 - _JITTER + 2 * _JITTER * torch.rand(3, len(pixels), 1, 1, 1, generator=generator)
    brightness, contrast, saturation = factors.to(pixels.device)
    gray = torch.tensor(_GRAY, device=pixels.device)
    values = (pixels * brightness).clamp(0, 255)
    mean = (values @ gray).mean((1, 2), keepdim=True).unsqueeze(3)
    values = mean.lerp(values, contrast).clamp(0, 255)
    return _round_to_uint8((values @ gray).unsqueeze(3).lerp(values, saturation))


def _round_to_uint8(values: Tensor) -> Tensor:
    return values.round().clamp(0, 255).to(torch.uint8)
