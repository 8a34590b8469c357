"""Images as ways to find contexts get them."""

import numpy as np
from input_rows import encoded
from PIL import Image

from oochub.context_finder import OpenedPicture


def photographs(n=12):
    """Each of its own color, with noise."""
    rng = np.random.default_rng(4)
    pixels = rng.integers(0, 256, (n, 1, 1, 3)) // 2 + rng.integers(0, 128, (n, 40, 36, 3))
    return [Image.fromarray(each.astype(np.uint8)) for each in pixels]


def opened(image, form="PNG"):
    """The image as the bytes of a file, and as it is read."""
    return OpenedPicture(encoded(image, form), image.convert("RGB"))
