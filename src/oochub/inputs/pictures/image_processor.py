"""Opens the image processor of a model; what its files leave unsaid is not guessed, and its numbers make sense.

`FloatProcessor` scales before it resizes, as DINOv3's does, by torch alone: torchvision is not needed.
`ImageTransform` makes an image processor of a function of the user's own, from an image to a tensor.
"""

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from PIL import Image

from oochub.errors import OochubError, choose_wording
from oochub.remote.remote_repository import fetch_model_folder
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    import torch

_FILTERS = {2: "bilinear", 3: "bicubic"}


_LARGEST = 16_384  # pixels of a side
_CHANNELS = 3
_NEEDED = {
    "do_normalize": ("image_mean", "image_std"),
    "do_resize": ("size", "patch_size", "max_num_patches"),  # in patches where an image keeps its shape
    "do_center_crop": ("crop_size",),
}
_FILES = ("preprocessor_config.json", "processor_config.json")
_NEXT = "Copy the model's file, or write it with save_pretrained of its image processor."


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
        fields = {name: content[name] for name in cls.__dataclass_fields__ if content.get(name) is not None}
        make: Callable[..., Self] = cls
        return make(**fields)

    def __call__(self, picture: Image.Image, *, return_tensors: str = "pt") -> "dict[str, torch.Tensor]":
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
                raise OochubError(f"crop_size {height} x {width} is larger than the resized image. Fix it.")
            pixels = pixels[:, :, top : top + height, left : left + width]
        pixels = pixels.float()
        if self.do_normalize:
            mean, std = (
                torch.tensor(channel_values).view(-1, 1, 1) for channel_values in (self.image_mean, self.image_std)
            )
            pixels = (pixels - mean) / std
        return {"pixel_values": pixels}

    def to_json_string(self) -> str:
        """What the inputs depend on."""
        return json.dumps(asdict(self))


def load_image_processor(source: str) -> Any:
    """The image processor of a folder or Hub id.

    transformers fills what the files leave out with numbers of its own: the model would then see other images than
    those it was trained on.

    Args:
        source: Folder or Hub id.

    Raises:
        OochubError: There is none, the files do not say by what images are resized, cropped or normalized, or a
            number makes no sense.
        OSError: A file is broken.
    """
    from transformers import AutoImageProcessor
    from transformers.utils import is_torchvision_available

    place = fetch_model_folder(source)
    stated = {} if is_torchvision_available() else _read_own_config(Path(place))
    if stated:
        needed = [name for step, names in _NEEDED.items() if stated.get(step) for name in names[:2]]
        missing = [name for name in needed if name in FloatProcessor.__dataclass_fields__ and stated.get(name) is None]
        if missing:
            raise OochubError(f"The image processor of {source} does not say {', '.join(missing)}. {_NEXT}")
        own = FloatProcessor.of(stated)
        check_image_processor(own)
        return own
    try:
        processor = AutoImageProcessor.from_pretrained(place, trust_remote_code=False)
    except OSError as error:
        if any((Path(place) / name).is_file() for name in _FILES):
            raise
        option = choose_wording("image_processor=FOLDER_OR_ID")
        raise OochubError(
            f"{source} has no image processor ({_FILES[0]}), which says how its images are resized and normalized. "
            f"Predict with {option}, the processor of the model that it was fine-tuned from, or save that beside the "
            "weights."
        ) from error
    stated, _ = processor.get_image_processor_dict(place)
    needed = [name for step, names in _NEEDED.items() if getattr(processor, step, False) for name in names]
    missing = [name for name in needed if _has_number(processor, name) and stated.get(name) is None]
    if missing:
        raise OochubError(
            f"The image processor of {source} does not say {', '.join(missing)}, and {type(processor).__name__} "
            f"would use its own numbers. {_NEXT}"
        )
    _repeat_gray_mean(processor, Path(place))
    check_image_processor(processor)
    return processor


def _repeat_gray_mean(processor: object, folder: Path) -> None:
    """Gives the mean and deviation of one channel to all three, if the model beside reads gray images."""
    file = folder / "config.json"
    content = read_json(file) if file.is_file() else None
    if not isinstance(content, dict) or content.get("num_channels") != 1:
        return
    for name in ("image_mean", "image_std"):
        value = getattr(processor, name, None)
        if isinstance(value, list | tuple) and len(value) == 1:
            setattr(processor, name, [*value] * _CHANNELS)


def _read_own_config(folder: Path) -> Mapping[str, object]:
    """The config of a processor that transformers has for torchvision alone, and we too; empty for any other."""
    file = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    try:
        content = None if file is None else read_json(file)
    except OochubError:  # said with more words where transformers opens it
        return {}
    inner = content.get("image_processor", content) if isinstance(content, dict) else None
    is_own = isinstance(inner, dict) and inner.get("image_processor_type") in FloatProcessor.names
    return inner if is_own and isinstance(inner, dict) else {}


def describe_backend(processor: object) -> str:
    """The package that resizes for a processor, and its version: transformers takes torchvision if it is installed.

    >>> from transformers import ViTImageProcessorPil
    >>> describe_backend(ViTImageProcessorPil()).partition(" ")[0]
    'pillow'
    """
    from importlib.metadata import PackageNotFoundError, version

    backend = str(getattr(processor, "backend", ""))
    is_timm = type(processor).__name__ == "TimmWrapperImageProcessor"
    named = "timm" if is_timm else {"pil": "pillow", "torchvision": "torchvision", "torch": "torch"}.get(backend)
    try:
        return "a function" if named is None else f"{named} {version(named)}"
    except PackageNotFoundError:
        return str(named)


def check_image_processor(processor: Any) -> None:
    """Checks what an image processor does to images; a processor may lack any of it.

    Raises:
        OochubError: A step that is neither on nor off, a size that is not positive, a mean that is not finite, a
            deviation that is not above 0, a scale that is not, another number of channels than 3.

    >>> from transformers import ViTImageProcessorPil
    >>> check_image_processor(ViTImageProcessorPil(size={"height": 48, "width": 48}, image_std=[0.5, 0.0, 0.5]))
    Traceback (most recent call last):
    oochub.errors.OochubError: image_std of the image processor must be finite numbers above 0, got (0.5, 0.0, 0.5). ...
    """
    for step in (*_NEEDED, "do_rescale"):
        if getattr(processor, step, None) not in (None, True, False):
            raise _raise_wrong_value(step, "true or false", getattr(processor, step))
    if getattr(processor, "do_normalize", False):
        if not _read_numbers(processor.image_mean):
            raise _raise_wrong_value("image_mean", "finite numbers", processor.image_mean)
        if not _read_numbers(processor.image_std, above=0):
            raise _raise_wrong_value("image_std", "finite numbers above 0", processor.image_std)
        for name in ("image_mean", "image_std"):
            value = getattr(processor, name)
            if isinstance(value, list | tuple) and len(value) != _CHANNELS:
                raise OochubError(
                    f"{name} of the image processor has {len(value)} channels, but images have {_CHANNELS}. {_NEXT}"
                )
    if getattr(processor, "do_rescale", False) and not _read_numbers(processor.rescale_factor, above=0):
        raise _raise_wrong_value("rescale_factor", "a finite number above 0", processor.rescale_factor)
    if getattr(processor, "do_resize", False) and processor.resample not in tuple(Image.Resampling):
        raise _raise_wrong_value("resample", "a filter of Pillow, 0 to 5", processor.resample)
    for step, name in (("do_resize", "size"), ("do_center_crop", "crop_size")):
        if getattr(processor, step, False) and _has_number(processor, name):
            size = getattr(processor, name)
            stated = {} if isinstance(size, int) else {k: v for k, v in dict(size or {}).items() if v is not None}
            sides = [size] if isinstance(size, int) else [*stated.values()]
            if not sides or not all(type(side) is int and 1 <= side <= _LARGEST for side in sides):
                raise _raise_wrong_value(name, f"whole numbers of pixels from 1 to {_LARGEST}", size)
            if ("height" in stated) != ("width" in stated):
                raise _raise_wrong_value(name, "a height and a width", dict(stated))
    for name in ("patch_size", "max_num_patches"):
        if isinstance(getattr(type(processor), name, None), int):
            number = getattr(processor, name)
            if type(number) is not int or not 1 <= number <= _LARGEST:
                raise _raise_wrong_value(name, f"a whole number from 1 to {_LARGEST}", number)


def _has_number(processor: Any, name: str) -> bool:
    """Whether processors of this class have such a number at all."""
    return getattr(type(processor), name, None) is not None


def _read_numbers(value: Any, *, above: float = -math.inf) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    numbers = [number for number in values if isinstance(number, int | float) and not isinstance(number, bool)]
    return bool(values) and len(numbers) == len(values) and all(above < number < math.inf for number in numbers)


def _raise_wrong_value(name: str, allowed: str, value: Any) -> OochubError:
    return OochubError(f"{name} of the image processor must be {allowed}, got {value}. {_NEXT}")


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
        self.function: Callable[[Image.Image], object] = function

    def __call__(self, picture: Image.Image, *, return_tensors: str = "pt") -> "dict[str, torch.Tensor]":
        """The tensor of one image as `pixel_values` float32 (1, c, h, w).

        Raises:
            OochubError: The function returned something else.
        """
        import torch

        tensor = self.function(picture)
        tensor = torch.from_numpy(tensor) if isinstance(tensor, np.ndarray) else tensor
        if not isinstance(tensor, torch.Tensor):
            raise OochubError(f"transform must return one tensor (c, h, w), but it returned a {type(tensor).__name__}.")
        if tensor.ndim != 3:
            raise OochubError(
                "transform must return a tensor (c, h, w) of one image, but it returned the shape "
                f"{tuple(tensor.shape)}."
            )
        if not tensor.is_floating_point():
            dtype = str(tensor.dtype).removeprefix("torch.")
            raise OochubError(
                f"transform must return floating-point numbers, but it returned {dtype}. Scale them as in training, "
                "for example tensor / 255."
            )
        return {"pixel_values": tensor.detach().float().unsqueeze(0)}

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
