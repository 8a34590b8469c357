"""The inputs of a model, batch by batch: its pictures, their zoomed selves where asked, and the other columns."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import torch

from oochub.models.images import Preprocessing, batches, decode, normalize
from oochub.models.zoom import BesideZoomed, zoomed


class Input(NamedTuple):
    """A batch: `pixel_values` (b, 3, h, w) on the device; `zoomed` the same of the zoomed pictures; `columns`."""

    pixel_values: torch.Tensor
    zoomed: torch.Tensor | None
    columns: Mapping[str, Any]


class Inputs:
    """Turns a split into batches of what the model sees.

    Args:
        processor: The model's image processor.
        preprocessing: "fused", one pass within one grey level of the processor; "processor", the processor itself.
        batch_size: Pictures in a batch.
        device: Where the pixel values go.
        zoom: Also the pictures zoomed by this factor; None for none.

    Raises:
        OochubError: "fused" with a processor that does more than resize, center crop, scale and normalize.
    """

    def __init__(
        self, processor: Any, preprocessing: str, batch_size: int, device: torch.device, zoom: float | None = None
    ) -> None:
        self._processor, self._batch_size, self._device, self._zoom = processor, batch_size, device, zoom
        self._fused = Preprocessing.from_processor(processor) if preprocessing == "fused" else None

    @property
    def std(self) -> tuple[float, float, float]:
        """What the processor divides each channel by; 1 where it does not normalize."""
        if self._fused is not None:
            return self._fused.std
        if not getattr(self._processor, "do_normalize", False):
            return 1.0, 1.0, 1.0
        given = self._processor.image_std
        red, green, blue = [given] * 3 if isinstance(given, int | float) else given
        return float(red), float(green), float(blue)

    def batches(self, part: Any) -> Iterator[Input]:
        """The batches of a split, in order.

        Raises:
            OochubError: A picture that cannot be read; its split and example are named.
        """
        return self._by_processor(part) if self._fused is None else self._by_fused(part, self._fused)

    def _by_fused(self, part: Any, fused: Preprocessing) -> Iterator[Input]:
        if self._zoom is None:
            for batch in batches(part, fused, batch_size=self._batch_size):
                yield Input(normalize(batch.pixels.to(self._device), fused), None, batch.columns)
            return
        both = BesideZoomed(fused, self._zoom)
        for batch in batches(part, both, batch_size=self._batch_size):
            plain, large = (normalize(one.to(self._device), fused) for one in both.parts(batch.pixels))
            yield Input(plain, large, batch.columns)

    def _by_processor(self, part: Any) -> Iterator[Input]:
        for columns in part.cast_column("image", datasets.Image(decode=False)).iter(self._batch_size):
            ids = columns.get("example_id", [""] * len(columns["image"]))
            pictures = [
                decode(picture_bytes(picture), f"split {part.split}, example {name}")
                for picture, name in zip(columns.pop("image"), ids, strict=True)
            ]
            large = None if self._zoom is None else self._processed([zoomed(one, self._zoom) for one in pictures])
            yield Input(self._processed(pictures), large, columns)

    def _processed(self, pictures: list[Any]) -> torch.Tensor:
        found: torch.Tensor = self._processor(pictures, return_tensors="pt")["pixel_values"].to(self._device)
        return found


def picture_bytes(picture: Mapping[str, Any]) -> bytes:
    """The file of a picture that is not decoded: its bytes, or what stands at its path.

    >>> picture_bytes({"bytes": b"abc", "path": None})
    b'abc'
    """
    return picture["bytes"] if picture["bytes"] is not None else Path(picture["path"]).read_bytes()
