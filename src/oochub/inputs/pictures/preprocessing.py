"""What a model's image processor does to an image, as numbers, and the same arithmetic done faster: the fused path.

`check_fused` sees on a few images, before all are read, how far that is from the processor itself.
"""

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub.errors import OochubError
from oochub.inputs.pictures.stored_pictures import keep_encoded, read_picture_bytes
from oochub.stats.logits import logit_difference
from oochub.storage.picture_file import is_of_bytes, open_picture, scale_to_bytes, turn_upright

if TYPE_CHECKING:
    import torch

_STAGES: tuple[str, ...] = ("preprocess", "_preprocess", "_preprocess_image_like_inputs", "process_image", "resize")
_STAGES += ("center_crop", "rescale", "normalize", "pad")
_SAME_FOR_PICTURES = {"Beit", "MobileNetV2"}  # they override only what concerns segmentation maps
_USE_PROCESSOR = 'Use the processor itself: preprocessing="processor".'


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """What a model's image processor does to an image, as numbers.

    Attributes:
        resize: Shortest edge in pixels, the longer edge following as int(resize * long / short), as in torchvision;
            or exact (height, width).
        crop: (height, width) cut from the center, None for no crop. The corner is rounded down, as in transformers.
        resample: Pillow's filter, 2 bilinear, 3 bicubic.
        mean: Mean of each channel, subtracted after scaling.
        std: Standard deviation of each channel, divided by after the mean is subtracted.
        scale: Factor that a pixel 0..255 is multiplied by first.
        draft: Let the JPEG decoder shrink images whose short side is at least 4 times the target to about 2 times
            the target. Faster on large photographs and inexact (about 1 of 255 levels in the mean).

    Raises:
        OochubError: A crop that is larger than the resized image, or missing where images of different shape
            would stay different.

    >>> preprocessing = Preprocessing(resize=4, crop=(4, 4))
    >>> preprocessing.size
    (4, 4)
    """

    resize: int | tuple[int, int]
    crop: tuple[int, int] | None = None
    resample: int = 2
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    scale: float = 1 / 255
    draft: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.resize, int) and self.crop is None:
            raise OochubError(
                f"Resizing only the shortest edge, to {self.resize}, leaves images of several sizes. {_USE_PROCESSOR}"
            )
        height, width = (self.resize, self.resize) if isinstance(self.resize, int) else self.resize
        if self.crop is not None and (self.crop[0] > height or self.crop[1] > width):
            fault = f"A crop of {self.crop} does not fit in images resized to {self.resize}."
            raise OochubError(f"{fault} {_USE_PROCESSOR}")

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of every preprocessed image."""
        return self.crop or self.resize  # type: ignore[return-value]  # __post_init__: one of them is a pair

    @classmethod
    def from_processor(cls, processor: Any, *, draft: bool = False) -> "Preprocessing":
        """The numbers of a transformers image processor: ViT, DeiT, Bit, CLIP, Siglip, ConvNext, Levit, Beit, Pvt, ...

        Args:
            processor: An image processor, of the Pillow or the torchvision backend.
            draft: See the class.

        Raises:
            OochubError: The processor does something else than resize, center crop, scale and normalize.
        """
        from transformers.image_processing_backends import PilBackend, TorchvisionBackend

        if not isinstance(processor, PilBackend | TorchvisionBackend):
            raise OochubError(f"{type(processor).__name__} is not an image processor that we know. {_USE_PROCESSOR}")
        name = type(processor).__name__.removesuffix("Pil").removesuffix("Fast").removesuffix("ImageProcessor")
        resize, crop = _read_geometry(name, processor)
        own = (processor.image_mean, processor.image_std) if processor.do_normalize else (0.0, 1.0)
        mean, std = map(_parse_triple, own)
        return cls(
            resize=resize,
            crop=crop,
            resample=int(processor.resample),
            mean=mean,
            std=std,
            scale=float(processor.rescale_factor) if processor.do_rescale else 1.0,
            draft=draft,
        )

    def pixels(self, data: bytes, where: str) -> NDArray[np.uint8]:
        """Decodes, resizes and crops one image, in a single pass where that is exact; (height, width, 3) of `size`.

        Args:
            data: The bytes of a JPEG, PNG or other file that Pillow reads.
            where: What an error calls the image ("split test, example 000000000139").

        Raises:
            OochubError: See `decode`.
        """
        original, picture = _open_image(data, where, self._draft_size)
        return self.fitted(picture, original)

    def fitted(self, picture: Image.Image, original: tuple[int, int] | None = None) -> NDArray[np.uint8]:
        """`pixels` of an image that is decoded; `original` is its (height, width) before `draft` shrank it."""
        original_height, original_width = original or (picture.height, picture.width)
        height, width = self._compute_resized_size(original_height, original_width)
        crop_height, crop_width = self.size
        top, left = (height - crop_height) // 2, (width - crop_width) // 2
        resample = Image.Resampling(self.resample)
        if not self._fuses(original_height, original_width):
            resized = picture.resize((width, height), resample)
            return np.asarray(resized.crop((left, top, left + crop_width, top + crop_height)))
        across, down = picture.width / width, picture.height / height
        box = (left * across, top * down, (left + crop_width) * across, (top + crop_height) * down)
        return np.asarray(picture.resize((crop_width, crop_height), resample, box=box))

    def _fuses(self, height: int, width: int) -> bool:
        """Whether one resize of the crop's box rounds as a resize and then a crop does, to 1 of 255 levels.

        Pillow 13 takes the vertical pass first in some images that are not wider than high, and whether it does
        depends on the box (python-pillow/Pillow#9549). Nearest neighbors and enlarging double a rounding.
        """
        shrinks = isinstance(self.resize, int) and self.resize <= height < width
        return shrinks and self.crop is not None and self.resample != Image.Resampling.NEAREST

    @property
    def key(self) -> str:
        """A name of the geometry, for caches: equal exactly when the pixels are; mean, std and scale do not count."""
        geometry = {key: value for key, value in asdict(self).items() if key not in ("mean", "std", "scale")}
        return hashlib.sha256(json.dumps(geometry, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def _draft_size(self) -> int | None:
        return (self.resize if isinstance(self.resize, int) else max(self.resize)) if self.draft else None

    def _compute_resized_size(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.resize, int):
            return self.resize
        if width <= height:
            return int(self.resize * height / width), self.resize
        return self.resize, int(self.resize * width / height)


def decode(data: bytes, where: str, *, draft: int | None = None) -> Image.Image:
    """The image as RGB, turned as its EXIF tag says if that is whole; transparency is dropped.

    Pixels of more than 8 bits are read as `scale_to_bytes` says.

    Args:
        data: The bytes of the file.
        where: What an error calls the image.
        draft: Pixels that the shorter side needs; a JPEG of four times as many is decoded at about twice as many.

    Raises:
        OochubError: The file is empty, cut off, damaged, or no image; its pixels have no known range.

    >>> import io
    >>> file = io.BytesIO()
    >>> Image.new("L", (3, 2), 7).save(file, "PNG")
    >>> decode(file.getvalue(), "row 0").getpixel((0, 0))
    (7, 7, 7)
    """
    return _open_image(data, where, draft)[1]


def decode_mask(data: bytes, where: str) -> NDArray[np.bool_]:
    """The pixels of a mask that are above 0 (height, width), whatever they are: numbers of things may have 32 bits.

    Args:
        data: The bytes of the file.
        where: What an error calls the image.

    Raises:
        OochubError: See `decode`.
    """
    picture = open_picture(data, name=where)
    if is_of_bytes(picture):
        return np.asarray(decode(data, where).convert("L")) > 0
    with _explain_damage(where):
        picture.load()
        above: NDArray[np.bool_] = np.asarray(turn_upright(picture)) > 0
    return above


def normalize(batch: "torch.Tensor", preprocessing: Preprocessing) -> "torch.Tensor":
    """The input of the model: (pixel * scale - mean) / std, on the device of `batch`.

    Args:
        batch: uint8 (b, height, width, 3).
        preprocessing: Holds scale, mean and std.

    Returns:
        float32 (b, 3, height, width) in memory format channels_last; differs from the processor's own result by
        rounding alone (below 1e-5).

    >>> import torch
    >>> x = normalize(torch.full((1, 2, 2, 3), 255, dtype=torch.uint8), Preprocessing(resize=(2, 2), mean=(0.5,) * 3))
    >>> x.shape, round(x[0, 0, 0, 0].item(), 5)
    (torch.Size([1, 3, 2, 2]), 0.5)
    """
    import torch

    return _normalize_batch(batch, preprocessing, torch.empty(batch.shape, dtype=torch.float32, device=batch.device))


class Normalizer:
    """`normalize` into memory that is used again: fresh memory for every batch costs several times the arithmetic.

    The result is overwritten by the next call: finish the step, backward included, before it.

    >>> import torch
    >>> normalizer = Normalizer(Preprocessing(resize=(2, 2)))
    >>> round(normalizer(torch.full((3, 2, 2, 3), 51, dtype=torch.uint8)).mean().item(), 5)
    0.2
    """

    def __init__(self, preprocessing: Preprocessing) -> None:
        self._preprocessing = preprocessing
        self._memory: torch.Tensor | None = None

    def __call__(self, batch: "torch.Tensor") -> "torch.Tensor":
        """float32 (b, 3, height, width) of uint8 (b, height, width, 3); see `normalize`."""
        import torch

        if self._memory is None or len(self._memory) < len(batch) or self._memory.device != batch.device:
            self._memory = torch.empty(batch.shape, dtype=torch.float32, device=batch.device)
        return _normalize_batch(batch, self._preprocessing, self._memory[: len(batch)])


def _normalize_batch(batch: "torch.Tensor", preprocessing: Preprocessing, out: "torch.Tensor") -> "torch.Tensor":
    import torch

    count, height, width, channels = batch.shape
    factor, shift = _compute_factor_and_shift(preprocessing, width, str(batch.device))
    rows = out.view(count * height, width * channels)
    rows.copy_(batch.reshape(rows.shape))  # a product of mixed types would take five times as long
    torch.addcmul(shift, rows, factor, out=rows)
    return out.permute(0, 3, 1, 2)


def _read_geometry(name: str, processor: Any) -> tuple[int | tuple[int, int], tuple[int, int] | None]:
    """`resize` and `crop` of a processor whose class is `name`; see `Preprocessing`."""
    size = {key: value for key, value in dict(processor.size or {}).items() if value}
    crop = _pair(processor.crop_size) if processor.do_center_crop else None
    if name == "ConvNext" and processor.do_resize and not crop and set(size) == {"shortest_edge"}:
        edge = int(size["shortest_edge"])
        return (int(edge / processor.crop_pct), (edge, edge)) if edge < 384 else ((edge, edge), None)
    plain = name in _SAME_FOR_PICTURES or not _refuse_overridden(processor)
    if processor.do_resize and not processor.do_pad and (plain or name == "Levit"):
        if set(size) == {"height", "width"}:
            return _pair(size), crop
        if set(size) == {"shortest_edge"}:
            edge = int(size["shortest_edge"])
            return int((256 / 224) * edge) if name == "Levit" else edge, crop
    raise OochubError(
        f"{type(processor).__name__} with size {size} is not a plain resize, center crop, scale and normalize. "
        f"{_USE_PROCESSOR}"
    )


def _refuse_overridden(processor: Any) -> bool:
    from transformers.image_processing_backends import PilBackend, TorchvisionBackend

    backend = PilBackend if isinstance(processor, PilBackend) else TorchvisionBackend
    own = type(processor)
    return not issubclass(own, backend) or any(getattr(own, s, None) is not getattr(backend, s, None) for s in _STAGES)


def _pair(size: Any) -> tuple[int, int]:
    return int(size["height"]), int(size["width"])


def _parse_triple(value: float | Sequence[float]) -> tuple[float, float, float]:
    red, green, blue = [value] * 3 if isinstance(value, (int, float)) else value
    return float(red), float(green), float(blue)


def _open_image(data: bytes, where: str, draft: int | None) -> tuple[tuple[int, int], Image.Image]:
    """(height, width) of the upright original, and the upright RGB image, maybe shrunk by `draft`."""
    picture = open_picture(data, name=where)
    with _explain_damage(where):
        width, height = picture.size
        if draft is not None and min(width, height) >= 4 * draft:
            short = min(width, height)
            picture.draft("RGB", (2 * draft * width // short, 2 * draft * height // short))
        picture.load()
        before, file_format = picture.size, picture.format
        picture = turn_upright(picture)
        if picture.size != before:
            width, height = height, width
        picture = scale_to_bytes(picture, name=where, format=file_format)
        return (height, width), picture if picture.mode == "RGB" else picture.convert("RGB")


@contextmanager
def _explain_damage(where: str) -> Iterator[None]:
    """A block that reads the pixels of an image."""
    try:
        yield
    except OochubError:
        raise
    except (OSError, EOFError, SyntaxError, ValueError, struct.error, Image.DecompressionBombError) as error:
        raise OochubError(
            f"{where}: cannot read the image ({error}). Replace the file; truncated images are never used."
        ) from error


@lru_cache(maxsize=16)
def _compute_factor_and_shift(
    preprocessing: Preprocessing, width: int, device: str
) -> tuple["torch.Tensor", "torch.Tensor"]:
    import torch

    std = np.array(preprocessing.std)
    factor, shift = preprocessing.scale / std, -np.array(preprocessing.mean) / std
    # tiled to a row of pixels: 3.6 times as fast as broadcasting three numbers
    return tuple(torch.tensor(np.tile(v, width), dtype=torch.float32, device=device) for v in (factor, shift))  # type: ignore[return-value]


_LEVELS, _LOGITS = 1.0, 0.02
_ROUNDING = 0.01  # gray levels that the arithmetic of floats may add
_SAME = 1e-4  # gray levels: float32 rounds one of 255 by 2e-5
_PICTURES, _LOOKED_AT = 8, 32
_NOISE = ((500, 375), (375, 500))  # wide and tall: the fused path does not treat them alike


@dataclass(frozen=True, kw_only=True)
class FusedCheck:
    """The largest differences on the images of a probe.

    Attributes:
        levels: Difference of a pixel, in gray levels of 255 before normalization; infinite if sizes or names of inputs
            differ.
        logits: Difference of a logit, as a share of the range of all; 0 of equal pixels, without a pass.
        pictures: Number of images of the data set, beside two of noise.
        way: What is compared with the processor, "fused" or "draft".
        is_earlier: Whether the logits are those of an earlier run with this network, maybe of other images.

    >>> str(FusedCheck(levels=0.6, logits=0.004, pictures=8))
    'fused: pixels within 0.60 gray levels, logits within 0.40% of their range on 8 images and 2 of noise'
    >>> str(FusedCheck(levels=0.0, logits=0.0, pictures=8))
    'fused: equal pixels on 8 images and 2 of noise'
    """

    levels: float
    logits: float
    pictures: int
    way: str = "fused"
    is_earlier: bool = False

    @property
    def holds(self) -> bool:
        """Whether pixels are within one gray level and logits within 2% of their range."""
        return self.levels <= _LEVELS + _ROUNDING and self.logits <= _LOGITS

    def __str__(self) -> str:
        on = f" on {self.pictures} image{'' if self.pictures == 1 else 's'} and {len(_NOISE)} of noise"
        if math.isinf(self.levels):
            return f"{self.way}: inputs of another shape{on}"
        if self.levels <= _SAME:
            return f"{self.way}: equal pixels{on}"
        logits = f"logits within {self.logits:.2%} of their range"
        words = f"{on}; {logits} on those of an earlier run" if self.is_earlier else f", {logits}{on}"
        return f"{self.way}: pixels within {self.levels:.2f} gray levels{words}"


def check_fused(
    fused: Preprocessing,
    processed: "Callable[[Image.Image], Mapping[str, torch.Tensor]]",
    network: Any,
    part: Any,
    *,
    batch_size: int,
    device: "torch.device",
) -> FusedCheck:
    """Compares both ways on up to 8 of the first images, of different shapes where there are some, and on noise.

    Args:
        fused: Fused preprocessing to compare.
        processed: The model's own processor: all that the model is called with for one image.
        network: `network(pixel_values=x).logits` is (n, c). If it has `measure_once`, as a `MeasuredNetwork` has, what
            one gray level changes of its logits is measured once; in the first run it must be half of the bound.
        part: The split; images that cannot be read are passed over, since their own turn comes.
        batch_size: Rows per forward pass.
        device: Device that the network runs on.
    """
    import torch

    way = "draft" if fused.draft else "fused"
    files = list(islice(_read_first_pictures(part), _PICTURES))
    rng = np.random.default_rng(0)
    noise = [Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)) for width, height in _NOISE]
    own = [processed(picture) for picture in [*(picture for _, picture in files), *noise]]
    seen = [*(fused.pixels(content, "") for content, _ in files), *map(fused.fitted, noise)]
    pixels = torch.from_numpy(np.stack(seen)).to(device)
    ours = normalize(pixels, fused)
    if any(set(output) != {"pixel_values"} or output["pixel_values"].shape != ours[:1].shape for output in own):
        return FusedCheck(levels=math.inf, logits=math.inf, pictures=len(files), way=way)
    theirs = torch.cat([output["pixel_values"] for output in own]).to(device)
    gray = torch.tensor(fused.std, device=device).view(1, 3, 1, 1) / fused.scale
    levels = ((ours - theirs).abs() * gray).max().item()

    def measure() -> float:
        with torch.inference_mode():
            logits = [
                torch.cat([network(pixel_values=batch).logits.float() for batch in x.split(batch_size)])
                for x in (ours, theirs)
            ]
        return logit_difference(*logits)

    logits, is_earlier = 0.0, False
    if levels > _SAME:
        measure_once = getattr(network, "measure_once", None)
        if measure_once is None or fused.draft or levels > _LEVELS + _ROUNDING:
            logits = measure()
        else:
            about = ["fused", asdict(fused), str(device)]
            logits, is_earlier = measure_once(about, measure, holds=lambda share: share <= _LOGITS / 2)
    return FusedCheck(levels=levels, logits=logits, pictures=len(files), way=way, is_earlier=is_earlier)


def _read_first_pictures(part: Any) -> Iterator[tuple[bytes, Image.Image]]:
    """Files and images of the first rows that can be read; one of each shape comes before a second of the same."""
    shapes: dict[tuple[int, int], int] = {}
    contents: list[tuple[int, bytes]] = []
    for row in islice(keep_encoded(part.select_columns(["image"])), _LOOKED_AT):
        try:
            content = read_picture_bytes(row["image"], "")
            shape = open_picture(content, name="").size
        except OochubError:
            continue
        shapes[shape] = shapes.get(shape, 0) + 1
        contents.append((shapes[shape], content))
    for _, content in sorted(contents, key=lambda each: each[0]):
        try:
            yield content, decode(content, "")
        except OochubError:
            continue
