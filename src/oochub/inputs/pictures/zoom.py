"""A picture zoomed in on its center, before the model's own preprocessing: a shift that keeps the label.

Source: ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Figure 3 right, "an elementary zoom transformation"; the paper
does not say by how much.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import Preprocessing, decode

if TYPE_CHECKING:
    import torch


_LARGEST = 100  # what it keeps of a picture of 224 pixels is 2


def check_zoom(factor: Any) -> float:
    """The factor as a float.

    Raises:
        OochubError: It is not a number above 1 and at most 100: of smaller centers nothing is left to see.

    >>> check_zoom(2)
    2.0
    """
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 < factor <= _LARGEST:
        raise OochubError(
            f"zoom is a factor above 1, at most {_LARGEST}, such as 1.2 (1 / 1.2 of each side is kept), got {factor!r}."
        )
    return float(factor)


def zoom_in(picture: Image.Image, factor: float) -> Image.Image:
    """The center of a picture, 1 / factor of each side: what then fills the model's input looks factor times as large.

    Sides are rounded to whole pixels, at least one; the corner is rounded down.

    >>> zoom_in(Image.new("RGB", (60, 30)), 1.2).size
    (50, 25)
    """
    width, height = (max(1, round(side / factor)) for side in picture.size)
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


@dataclass(frozen=True)
class BesideZoomed:
    """Preprocesses a picture and its zoomed self, decoded once; stands in for a Preprocessing in `batches`.

    Attributes:
        preprocessing: What the model does to either.
        factor: See `zoom_in`.
    """

    preprocessing: Preprocessing
    factor: float

    @property
    def size(self) -> tuple[int, int]:
        """(2 height, width): the picture above, its zoomed self below."""
        height, width = self.preprocessing.size
        return 2 * height, width

    def pixels(self, data: bytes, where: str) -> NDArray[np.uint8]:
        """uint8 (2 height, width, 3) of one picture; see `Preprocessing.pixels`."""
        picture = decode(data, where)
        both = (picture, zoom_in(picture, self.factor))
        return np.concatenate([self.preprocessing.fitted(each) for each in both])

    def parts(self, pixels: "torch.Tensor") -> tuple["torch.Tensor", "torch.Tensor"]:
        """A batch uint8 (b, 2 height, width, 3) as the pictures and their zoomed selves, (b, height, width, 3) each."""
        height = self.preprocessing.size[0]
        return pixels[:, :height].contiguous(), pixels[:, height:].contiguous()
