"""Images of the column `image`: decoded, resized, scaled and normalized as the model's image processor says."""

import copy
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub.errors import OochubError
from oochub.input import CHANGES, BrokenRow, Fetch, Input, InputBatch
from oochub.inputs.pictures.image_processor import (
    ImageTransform,
    check_image_processor,
    describe_backend,
    load_image_processor,
)
from oochub.inputs.pictures.image_threads import PictureRows, cache_pixels, map_images, read_batches
from oochub.inputs.pictures.preprocessing import FusedCheck, Normalizer, Preprocessing, check_fused, decode, normalize
from oochub.inputs.pictures.stored_pictures import cut_border, keep_encoded, read_picture_bytes

if TYPE_CHECKING:
    import torch

_THUMBNAIL = 224  # pixels of the longer side
_SQUARE = 48  # pixels of an image for a network from scratch


def _zoom_in(picture: Image.Image, factor: float) -> Image.Image:
    """The center of an image, 1 / factor of each side: what then fills the model's input looks factor times as large.

    A shift that keeps the label, before the model's own preprocessing. Source: ImageNet-OOD (Yang, Zhang and
    Russakovsky 2024), Figure 3 right, "an elementary zoom transformation"; the paper does not say by how much.

    Sides are rounded to whole pixels, at least one; the corner is rounded down. A factor is above 1 and at most 100: of
    smaller centers nothing is left to see, 2 pixels of 224.

    >>> _zoom_in(Image.new("RGB", (60, 30)), 1.2).size
    (50, 25)
    """
    width, height = (max(1, round(side / factor)) for side in picture.size)
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


@dataclass(frozen=True)
class _AsSeen:
    """Preprocesses an image whose border is cut, and its zoomed self below it, decoded once.

    Attributes:
        preprocessing: What the model does to either.
        border: See `Input.border`.
        zoom: See `_zoom_in`; None for the image alone.
    """

    preprocessing: Preprocessing
    border: int = 0
    zoom: float | None = None

    def pixels(self, data: bytes, where: str) -> NDArray[np.uint8]:
        """uint8 (height, width, 3) of one image, (2 height, width, 3) with the zoomed; see `Preprocessing.pixels`."""
        picture = cut_border(decode(data, where), self.border, where)
        seen = [picture] if self.zoom is None else [picture, _zoom_in(picture, self.zoom)]
        return np.concatenate([self.preprocessing.fitted(picture) for picture in seen])


class Pictures(Input):
    """Images as `pixel_values` float32 (n, 3, height, width); in training they are augmented as uint8 before.

    Args:
        processor: The image processor of the model, or its processor of images and texts.
        preprocessing: "fused" decodes and resizes in one pass, within one gray level of the processor; "processor" is
            the processor itself, which is for prediction alone; "auto" is the fused path where there is one, until
            `settle` has compared it; "draft" is the fused path on large JPEGs that their decoder shrinks first, see
            `Preprocessing.draft`, and `settle` measures how far that goes.

    Raises:
        OochubError: "fused" with a processor that does more than resize, center crop, scale and normalize.

    >>> from transformers import ViTImageProcessorPil
    >>> Pictures(ViTImageProcessorPil(size={"height": 48, "width": 48})).probe()["pixel_values"].shape
    torch.Size([2, 3, 48, 48])
    """

    unit: ClassVar[str] = "image"
    changes: ClassVar[frozenset[str]] = frozenset(CHANGES)
    rank: ClassVar[int] = 0
    beside: ClassVar[tuple[str, ...]] = ()
    """Columns that `_process` reads besides the image."""
    column = "image"

    def __init__(self, processor: Any, *, preprocessing: str = "fused") -> None:
        from transformers import ProcessorMixin

        if isinstance(processor, ProcessorMixin):
            processor, self.tokenizer = processor.image_processor, processor.tokenizer
        if not isinstance(processor, ImageTransform):
            check_image_processor(processor)
        self.processor = processor
        self._fused: Preprocessing | None = None
        self._way = preprocessing
        self._is_settled = preprocessing in ("fused", "processor")
        self._check: FusedCheck | None = None
        if preprocessing != "processor":
            try:
                self._fused = Preprocessing.from_processor(processor, draft=preprocessing == "draft")
            except OochubError:
                if preprocessing != "auto":
                    raise
        self._normalize = None if self._fused is None else Normalizer(self._fused)

    @classmethod
    def takes(cls, processor: Any) -> bool:
        """See `Input.takes`: an image processor of transformers, a processor of images and texts, or a transform."""
        if isinstance(processor, ImageTransform):
            return True
        from transformers import ProcessorMixin
        from transformers.image_processing_base import ImageProcessingMixin

        parts = processor.get_attributes() if isinstance(processor, ProcessorMixin) else ()
        return {"image_processor", "tokenizer"} <= {*parts} or isinstance(processor, ImageProcessingMixin)

    @classmethod
    def load_processor(cls, source: str | None, dataset: Any, *, training: bool = False) -> Any:
        """See `Input.load_processor`; a network from scratch sees whole images squeezed to 48 x 48 pixels."""
        from transformers import ViTImageProcessorPil

        if source is None and training:  # exact size, no crop: a center crop would cut off context at the sides
            return ViTImageProcessorPil(size={"height": _SQUARE, "width": _SQUARE})
        if source is None:
            raise OochubError("A model object needs image_processor=, the processor of its images.")
        return load_image_processor(source)

    @classmethod
    def of(cls, processor: Any, *, normalize: bool = True, preprocessing: str = "fused") -> Self:
        """See `Input.of`."""
        if not normalize:
            processor = copy.deepcopy(processor)
            processor.do_normalize = False
        return cls(processor, preprocessing=preprocessing)

    def fetch(self, dataset: Any, cache_dir: Path | None) -> Fetch:
        """See `Input.fetch`; with a folder, all images are decoded once into a memory-mapped file in it."""
        fused = self._describe_training()
        if cache_dir is not None:
            return partial(_take_pixels, cache_pixels(dataset, fused, cache_dir=cache_dir))
        present = [name for name in ("example_id", "image") if name in dataset.column_names]
        return PictureRows(dataset.select_columns(present), fused)

    def ready(
        self, batch: Mapping[str, "torch.Tensor"], *, augment: str, generator: "torch.Generator"
    ) -> dict[str, "torch.Tensor"]:
        """See `Input.ready`; the values are in memory that the next call uses again."""
        from oochub.inputs.pictures.augmentation import augment_images

        assert self._normalize is not None  # noqa: S101  fetch() comes first
        return {"pixel_values": self._normalize(augment_images(batch["pixels"], augment, generator=generator))}

    def batches(
        self,
        part: Any,
        *,
        batch_size: int,
        device: "torch.device",
        zoom: float | None = None,
        broken: list[BrokenRow] | None = None,
    ) -> Iterator[InputBatch]:
        """See `Input.batches`."""
        if self._fused is None:
            yield from self._run_processor(part, batch_size, device, zoom, broken)
            return
        for batch in self.pack_batches(part, batch_size=batch_size, zoom=zoom, broken=broken):
            yield self.unpack_batch(batch, device)

    def pack_batches(
        self, part: Any, *, batch_size: int, zoom: float | None = None, broken: list[BrokenRow] | None = None
    ) -> Iterator[InputBatch]:
        """See `Input.pack_batches`: pixels as uint8 (b, height, width, 3), where the preprocessing is fused."""
        if self._fused is None:
            yield from super().pack_batches(part, batch_size=batch_size, zoom=zoom, broken=broken)
            return
        seen = self._fused if zoom is None and not self.border else _AsSeen(self._fused, self.border, zoom)
        workers, height = self.num_workers, self._fused.size[0]
        for batch in read_batches(
            part, seen.pixels, batch_size=batch_size, num_workers=workers, broken=broken, is_digested=True
        ):
            plain, *large = ({"pixel_values": pixels.contiguous()} for pixels in batch.pixels.split(height, dim=1))
            yield InputBatch(plain, batch.columns, large[0] if large else None, batch.rows.tolist())

    def unpack_batch(self, batch: InputBatch, device: "torch.device") -> InputBatch:
        """See `Input.unpack_batch`: pixels normalized."""
        arrived = super().unpack_batch(batch, device)
        if self._fused is None:
            return arrived
        fused, large = self._fused, arrived.zoomed
        plain = {name: normalize(pixels, fused) for name, pixels in arrived.inputs.items()}
        zoomed = None if large is None else {name: normalize(pixels, fused) for name, pixels in large.items()}
        return arrived._replace(inputs=plain, zoomed=zoomed)

    def prepare(self, picture: Image.Image) -> "NDArray[np.uint8] | Mapping[str, torch.Tensor]":
        """What becomes of one decoded image before it is joined to others; several threads may do this at once."""
        picture = cut_border(picture, self.border, "an image")
        return self._process(picture) if self._fused is None else self._fused.fitted(picture)

    def join(self, prepared: Sequence[Any], device: "torch.device") -> dict[str, "torch.Tensor"]:
        """What the model is called with for images that `prepare` made ready; those of a processor have one shape."""
        import torch

        if self._fused is None:
            return _stack(list(prepared), device)
        return {"pixel_values": normalize(torch.from_numpy(np.stack(prepared)).to(device), self._fused)}

    def settle(self, part: Any, network: Any, *, batch_size: int, device: "torch.device") -> bool:
        """See `Input.settle`: the fused path where it is as good as the processor, else that."""
        if self._is_settled or self._fused is None:
            return False
        check = check_fused(self._fused, self._process, network, part, batch_size=batch_size, device=device)
        self._is_settled, self._check = True, check
        if self._way == "draft" or check.holds:
            return False
        self._fused = None
        return True

    def probe(self) -> dict[str, "torch.Tensor"]:
        """See `Input.probe`."""
        import torch

        generator = torch.Generator().manual_seed(0)
        if self._fused is not None:
            return {"pixel_values": torch.randn(2, 3, *self._fused.size, generator=generator)}
        noise = torch.randint(256, (2, _THUMBNAIL, _THUMBNAIL, 3), dtype=torch.uint8, generator=generator).numpy()
        return _stack([self._process(Image.fromarray(pixels)) for pixels in noise])

    def settings(self) -> dict[str, Any]:
        """See `Input.settings`: the image processor's own record."""
        cut = {"border": self.border} if self.border else {}
        return {"image_processor": json.loads(self.processor.to_json_string()), **cut}

    @property
    def std(self) -> tuple[float, ...]:
        """See `Input.std`: that of red, green and blue."""
        if self._fused is not None:
            return self._fused.std
        if not getattr(self.processor, "do_normalize", False):
            return 1.0, 1.0, 1.0
        std = self.processor.image_std
        red, green, blue = [std] * 3 if isinstance(std, int | float) else std
        return float(red), float(green), float(blue)

    def provenance(self) -> dict[str, Any]:
        """See `Input.provenance`."""
        way = {"preprocessing": "processor" if self._fused is None else "draft" if self._fused.draft else "fused"}
        check = {} if self._check is None else {"preprocessing_check": str(self._check)}
        cut = {"border_cut": self.border} if self.border else {}
        return {**way, **cut, **check, **super().provenance(), "processor_backend": describe_backend(self.processor)}

    def thumbnails(self, part: Any, rows: Sequence[int]) -> list[bytes | None]:
        """See `Input.thumbnails`: at most 224 pixels wide and high, with the border if there is one."""
        pictures = keep_encoded(part.select_columns(["image"]))
        return [_make_thumbnail(pictures[row]["image"], f"row {row}") for row in rows]

    def _describe_training(self) -> Preprocessing:
        if self._fused is None:
            raise OochubError('preprocessing="processor" is only for prediction. Train with "fused".')
        return self._fused

    def _run_processor(
        self,
        part: Any,
        batch_size: int,
        device: "torch.device",
        zoom: float | None,
        broken: list[BrokenRow] | None,
    ) -> Iterator[InputBatch]:
        def make(data: bytes, where: str, *row: Mapping[str, object]) -> list[Mapping[str, "torch.Tensor"]]:
            picture = cut_border(decode(data, where), self.border, where)
            seen = [picture] if zoom is None else [picture, _zoom_in(picture, zoom)]
            return [self._process(picture, *row) for picture in seen]

        workers, beside = self.num_workers, self.beside
        read = map_images(
            part, make, batch_size=batch_size, num_workers=workers, broken=broken, beside=beside, is_digested=True
        )
        for batch in read:
            for few in _split_by_shape(batch.made):
                plain, *large = (_stack(list(tensors), device) for tensors in zip(*batch.made[few], strict=True))
                own = {name: values[few] for name, values in batch.columns.items()}
                yield InputBatch(plain, own, large[0] if large else None, batch.rows[few])

    def _process(self, picture: Any, row: Mapping[str, object] | None = None) -> Mapping[str, "torch.Tensor"]:
        """All that the model is called with for one image; in a batch, processors pad images to the largest.

        Args:
            picture: The image, RGB.
            row: The columns `beside` of its row.
        """
        import torch

        values = self.processor(picture, return_tensors="pt").items()
        return {
            name: tensor for name, tensor in values if isinstance(tensor, torch.Tensor)
        }  # EoMT's also lists patches


def _split_by_shape(made: list[list[Mapping[str, "torch.Tensor"]]]) -> list[slice]:
    """The rows in order, cut where a shape changes: some processors keep the shape of an image."""
    shapes = [[value.shape for own in row for value in own.values()] for row in made]
    cuts = [row for row in range(1, len(shapes)) if shapes[row] != shapes[row - 1]]
    return [slice(start, end) for start, end in pairwise([0, *cuts, len(shapes)])]


def _stack(
    inputs: list[Mapping[str, "torch.Tensor"]], device: "torch.device | str" = "cpu"
) -> dict[str, "torch.Tensor"]:
    import torch

    return {name: torch.cat([input_[name] for input_ in inputs]).to(device) for name in inputs[0]}


def _make_thumbnail(stored: Mapping[str, Any], where: str) -> bytes:
    picture = decode(read_picture_bytes(stored, where), where)
    picture.thumbnail((_THUMBNAIL, _THUMBNAIL))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)  # a new file: what the original carried besides pixels stays behind
    return file.getvalue()


def _take_pixels(pixels: Any, rows: list[int]) -> "dict[str, torch.Tensor]":
    import torch

    return {"pixels": torch.from_numpy(pixels[rows])}
