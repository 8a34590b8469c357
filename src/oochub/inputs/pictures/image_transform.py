"""A function of the user's own as an image processor: from an image to the tensor that a network reads."""

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from oochub.errors import OochubError

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


class ImageTransform:
    """An image processor that is a function, such as a `torchvision.transforms.Compose`.

    Args:
        function: Takes a PIL image (RGB) and returns one floating-point tensor or array (c, h, w); no channel order or
            range is assumed.

    Raises:
        OochubError: It cannot be called.

    >>> import torch
    >>> from PIL import Image
    >>> half = ImageTransform(lambda image: torch.full((3, 2, 2), 0.5))
    >>> half(Image.new("RGB", (8, 6)))["pixel_values"].shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, function: object) -> None:
        if not callable(function):
            raise OochubError(
                f"transform must be a function from a PIL image to a tensor (c, h, w), got a {type(function).__name__}."
            )
        self.function: Callable[[Image], object] = function

    def __call__(self, picture: "Image", *, return_tensors: str = "pt") -> "dict[str, torch.Tensor]":
        """The tensor of one image as `pixel_values` float32 (1, c, h, w).

        Raises:
            OochubError: The function returned something else.
        """
        import torch

        made = self.function(picture)
        made = torch.from_numpy(made) if isinstance(made, np.ndarray) else made
        if not isinstance(made, torch.Tensor):
            raise OochubError(f"transform must return one tensor (c, h, w), but it returned a {type(made).__name__}.")
        if made.ndim != 3:
            raise OochubError(
                f"transform must return a tensor (c, h, w) of one image, but it returned the shape {tuple(made.shape)}."
            )
        if not made.is_floating_point():
            dtype = str(made.dtype).removeprefix("torch.")
            raise OochubError(
                f"transform must return floating-point numbers, but it returned {dtype}. Scale them as in training, "
                "for example tensor / 255."
            )
        return {"pixel_values": made.detach().float().unsqueeze(0)}

    def to_json_string(self) -> str:
        """What the inputs depend on: a digest of the function; null if it cannot be known."""
        return json.dumps({"transform": digest_code(self.function)})


def digest_code(function: object) -> str | None:
    """A digest of a function or object with all that it uses; None if it holds something that cannot be known.

    It is that of `datasets`, which covers closures, globals and attributes, and the source text of the function or of
    its class, since an imported function counts there by its name.

    >>> digest_code(len) == digest_code(len), digest_code(len) == digest_code(max)
    (True, False)
    """
    from datasets.fingerprint import Hasher

    try:
        inner = Hasher.hash(function)
    except Exception:  # whatever the user's object raises when it is pickled
        return None
    return str(Hasher.hash([inner, read_source(function)]))


def read_source(thing: object) -> str:
    """The source text of a function, or of the class of an object; "" if there is none, as for built-in functions."""
    try:
        return inspect.getsource(thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing))
    except (OSError, TypeError):
        return ""
