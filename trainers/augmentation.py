"""Random flips and shifts of a batch of pixels, on its device and without torchvision."""

import torch
from torch import Tensor

_SHIFT = 4  # pixels


def augmentation(pixels: Tensor, kind: str, *, generator: torch.Generator) -> Tensor:
    """A batch of which each picture is mirrored or moved at random; the border is repeated where it moved away.

    Args:
        pixels: uint8 (n, height, width, 3).
        kind: "none"; "flip", mirrored left to right with probability 1/2; "flip_shift", also moved by -4 to 4 pixels
            in each direction.
        generator: On the CPU; the draws are a function of its state.

    Returns:
        uint8 (n, height, width, 3).

    >>> row = torch.arange(6, dtype=torch.uint8).view(1, 1, 6, 1)
    >>> augmentation(row, "flip", generator=torch.Generator().manual_seed(0)).flatten().tolist() in (
    ...     [0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])
    True
    """
    if kind == "none":
        return pixels
    count, height, width, _ = pixels.shape
    mirrored = torch.rand(count, 1, generator=generator) < 0.5
    columns = torch.arange(width).expand(count, width)
    columns = torch.where(mirrored, width - 1 - columns, columns)
    if kind == "flip":
        picture = torch.arange(count).view(-1, 1)
        return pixels.transpose(1, 2)[picture.to(pixels.device), columns.to(pixels.device)].transpose(1, 2)
    move = torch.randint(-_SHIFT, _SHIFT + 1, (2, count, 1), generator=generator)
    columns = (columns + move[0]).clamp(0, width - 1)
    rows = (torch.arange(height) + move[1]).clamp(0, height - 1)
    # one gather of whole pixels: row-major number of the pixel that lands here
    source = (rows.unsqueeze(2) * width + columns.unsqueeze(1)).view(count, -1)
    picture = torch.arange(count).view(-1, 1)
    flat = pixels.reshape(count, height * width, -1)
    return flat[picture.to(pixels.device), source.to(pixels.device)].view(pixels.shape)
