"""Opens the image processor of a model; what its files leave unsaid is not guessed, and its numbers make sense."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from oochub.errors import OochubError, choose_wording
from oochub.inputs.pictures.float_processor import FloatProcessor
from oochub.remote.fetch import fetch_model_folder
from oochub.storage.reading import read_json

_LARGEST = 16_384  # pixels of a side
_CHANNELS = 3
_NEEDED = {
    "do_normalize": ("image_mean", "image_std"),
    "do_resize": ("size", "patch_size", "max_num_patches"),  # in patches where an image keeps its shape
    "do_center_crop": ("crop_size",),
}
_FILES = ("preprocessor_config.json", "processor_config.json")
_NEXT = "Copy the model's file, or write it with save_pretrained of its image processor."


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
        option = choose_wording("image_processor=FOLDER_OR_ID", "--image-processor FOLDER_OR_ID")
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
    check_image_processor(processor)
    return processor


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
    numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    return bool(values) and len(numbers) == len(values) and all(above < each < math.inf for each in numbers)


def _raise_wrong_value(name: str, allowed: str, value: Any) -> OochubError:
    return OochubError(f"{name} of the image processor must be {allowed}, got {value}. {_NEXT}")
