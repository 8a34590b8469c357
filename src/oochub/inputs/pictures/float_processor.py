"""An image processor that scales before it resizes, as DINOv3's does, by torch alone: torchvision is not needed."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from oochub.errors import OochubError

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

_FILTERS = {2: "bilinear", 3: "bicubic"}


@dataclass(frozen=True, kw_only=True)
class FloatProcessor:
    """Scales, resizes with antialiasing, crops the center and normalizes.

    transformers has `DINOv3ViTImageProcessor` for torchvision alone. Its resize is that of torch, which this class
    calls: pixels are the same, to rounding. Attributes are those of a preprocessor_config.json.

    Raises:
        OochubError: A size that is not height and width, or a filter that torch does not have.

    >>> from PIL import Image
    >>> processor = FloatProcessor(size={"height": 4, "width": 4})
    >>> processor(Image.new("RGB", (9, 7), "white"))["pixel_values"].shape
    torch.Size([1, 3, 4, 4])
    """

    size: Mapping[str, int]
    image_mean: float | Sequence[float] = (0.485, 0.456, 0.406)
    image_std: float | Sequence[float] = (0.229, 0.224, 0.225)
    crop_size: Mapping[str, int] | None = None
    resample: int = 2
    rescale_factor: float = 1 / 255
    do_resize: bool = True
    do_rescale: bool = True
    do_normalize: bool = True
    do_center_crop: bool | None = False

    backend: ClassVar[str] = "torch"
    names: ClassVar[tuple[str, ...]] = ("DINOv3ViTImageProcessor", "DINOv3ViTImageProcessorFast")
    """What a file may call it."""

    def __post_init__(self) -> None:
        sides = {name for name, value in dict(self.size or {}).items() if value}
        if self.do_resize and (sides != {"height", "width"} or self.resample not in _FILTERS):
            raise OochubError(
                "Without torchvision, DINOv3's image processor resizes to a height and width, bilinear (2) or bicubic "
                f"(3), got {dict(self.size or {})} and resample {self.resample}. pip install 'oochub[vision]'."
            )

    @classmethod
    def of(cls, content: Mapping[str, object]) -> Self:
        """The processor of what a preprocessor_config.json says."""
        given = {name: content[name] for name in cls.__dataclass_fields__ if content.get(name) is not None}
        make: Callable[..., Self] = cls
        return make(**given)

    def __call__(self, picture: "Image", *, return_tensors: str = "pt") -> "dict[str, torch.Tensor]":
        """The tensor of one RGB image as `pixel_values` float32 (1, 3, h, w)."""
        import torch

        pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None].contiguous()
        pixels = pixels * self.rescale_factor if self.do_rescale else pixels  # bytes are resized as bytes
        if self.do_resize:
            sides = (self.size["height"], self.size["width"])
            pixels = torch.nn.functional.interpolate(pixels, sides, mode=_FILTERS[self.resample], antialias=True)
        if self.do_center_crop and self.crop_size:
            height, width = self.crop_size["height"], self.crop_size["width"]
            top, left = (pixels.shape[2] - height) // 2, (pixels.shape[3] - width) // 2
            if top < 0 or left < 0:
                raise OochubError(f"crop_size {height} x {width} is larger than the resized image. Correct it.")
            pixels = pixels[:, :, top : top + height, left : left + width]
        pixels = pixels.float()
        if self.do_normalize:
            mean, std = (torch.tensor(each).view(-1, 1, 1) for each in (self.image_mean, self.image_std))
            pixels = (pixels - mean) / std
        return {"pixel_values": pixels}

    def to_json_string(self) -> str:
        """What the inputs depend on."""
        return json.dumps(asdict(self))
