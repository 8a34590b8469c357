"""A bird in front of another place: cut out by its mask and put on the place, which is cut to the bird's image."""

import numpy as np
from PIL import Image

from oochub.errors import OochubError


def pasted_bird(bird: Image.Image, mask: Image.Image, place: Image.Image) -> Image.Image:
    """The bird's pixels where the mask is white, the place's where it is black, and shares of both where it is gray.

    Args:
        bird: RGB, of any size.
        mask: Gray values, of the same size; CUB's are gray where its annotators did not agree.
        place: RGB; its middle is cut to the shape of `bird` and scaled to its size by Lanczos.

    Returns:
        RGB, of the bird's size.

    Raises:
        OochubError: A mask of another size.

    Source: kohpangwei/group_DRO, `dataset_scripts/dataset_utils.py`.

    >>> red, blue = Image.new("RGB", (4, 2), (200, 0, 0)), Image.new("RGB", (9, 9), (0, 0, 100))
    >>> half = Image.new("L", (4, 2), 51)
    >>> pasted_bird(red, half, blue).getpixel((0, 0))
    (40, 0, 80)
    """
    if mask.size != bird.size:
        raise OochubError(f"the mask has {mask.size} pixels, but the image has {bird.size}. Download both again.")
    share = np.asarray(mask, np.float64)[..., None] / 255
    behind = np.asarray(_cut(place, bird.size), np.float64)
    both = np.around(np.asarray(bird, np.float64) * share) + np.around(behind * (1 - share))
    return Image.fromarray(both.astype(np.uint8))


def _cut(place: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The middle of an image in the shape of `size`, scaled to it; a smaller image is enlarged before."""
    width, height = size
    if place.width < width or place.height < height:
        by_width = (width, int(width / place.width * place.height))
        by_height = (int(height / place.height * place.width), height)
        place = place.resize(by_width if by_width[1] >= height else by_height, Image.Resampling.LANCZOS)
    left = top = 0
    if place.width / place.height > width / height:
        left = (place.width - int(width / height * place.height)) // 2
    else:
        top = (place.height - int(place.width / (width / height))) // 2
    middle = (left, top, place.width - left, place.height - top)
    return place.crop(middle).resize(size, Image.Resampling.LANCZOS)
