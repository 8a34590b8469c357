"""A data set of images that are not what most are."""

from collections.abc import Sequence

import datasets
import numpy as np
from input_rows import encoded
from PIL import Image


def odd_pictures(classes: Sequence[str], *, usual: int = 0) -> datasets.Dataset:
    """One pixel, CMYK, 16 bits, a palette, a line, a JPEG without EXIF, one that is cut off, and usual ones.

    Args:
        classes: Names of the classes; rows are of the first two in turn.
        usual: How many usual images follow.
    """
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (24, 30, 3), np.uint8)
    deep = Image.fromarray(rng.integers(0, 2**16, (20, 20), np.uint16))
    files = {
        "pixel": encoded(Image.new("RGB", (1, 1), "red"), "PNG"),
        "cmyk": encoded(Image.fromarray(noise).convert("CMYK"), "JPEG"),
        "deep": encoded(deep, "PNG"),
        "palette": encoded(Image.fromarray(noise).convert("P"), "PNG"),
        "line": encoded(Image.new("RGB", (300, 2), "blue"), "PNG"),
        "plain": encoded(Image.fromarray(noise), "JPEG"),
        "broken": encoded(Image.fromarray(noise), "PNG")[:60],
    }
    files |= {
        f"usual{number}": encoded(Image.fromarray(rng.integers(0, 256, (32, 32, 3), np.uint8)), "PNG")
        for number in range(usual)
    }
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(decode=False),
            "label": datasets.ClassLabel(names=list(classes)),
        }
    )
    rows = {
        "example_id": list(files),
        "image": [{"bytes": content, "path": None} for content in files.values()],
        "label": [number % min(len(classes), 2) for number in range(len(files))],
    }
    return datasets.Dataset.from_dict(rows, features).cast_column("image", datasets.Image())
