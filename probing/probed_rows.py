"""The rows that a probe asks about, their images and the areas of their objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.context_finder import OpenedPicture
from oochub.inputs.pictures.preprocessing import decode
from oochub.inputs.pictures.stored_pictures import keep_encoded, read_picture_bytes
from oochub.prediction.predictions import Predictions
from oochub.probing.altered_pictures import Mask, Pixels, remove_object
from oochub.probing.inpainting import Inpainting
from oochub.probing.object_area import ObjectArea, RowOfObject

STATES: Mapping[str, str] = {
    "no_area": "the location of the object is not known",
    "no_object": "the area of the object is empty",
    "other_size": "the mask and the image differ in size",
    "no_background": "the object leaves too little background to fill it with",
    "flagged": "the safety checker of the inpainting pipeline flagged the filled image",
}
"""Why a row is left out."""
PROBED = "probed"


class SeenObject(NamedTuple):
    """An image with its object.

    Attributes:
        state: `PROBED`, or one of `STATES`.
        pixels: uint8 (h, w, 3).
        mask: (h, w), True on the object; all False for a row that is known to have none.
        ground: The image without its object; None unless the state is `PROBED`.
    """

    state: str
    pixels: Pixels
    mask: Mask
    ground: Pixels | None


@dataclass(frozen=True, kw_only=True)
class ProbedRows:
    """Rows by their place in the predictions.

    Attributes:
        splits: Splits of the data.
        predictions: Predictions for their rows.
        places: The rows in the predictions (n,), rising.
        is_asked: True for the rows that are asked about (n,).
        is_lender: True for the rows that may lend their background (n,).
        area: Says where the object of each row is.
        without: Class number of rows that have no object, whose image is all background; None for no such class.
        fill: Fills the place of an object; None for tiles of background, see `remove_object`.
    """

    splits: Mapping[str, datasets.Dataset]
    predictions: Predictions
    places: NDArray[np.int64]
    is_asked: NDArray[np.bool_]
    is_lender: NDArray[np.bool_]
    area: ObjectArea
    without: int | None
    fill: Inpainting | None = None

    @classmethod
    def drawn(
        cls,
        splits: Mapping[str, datasets.Dataset],
        predictions: Predictions,
        area: ObjectArea,
        *,
        split: str,
        usual: NDArray[np.bool_] | None,
        present: int | None,
        most: int,
        seed: int,
        fill: Inpainting | None = None,
    ) -> "ProbedRows":
        """Draws at most `most` rows of a known class at random: the same ones for the same seed.

        Args:
            splits: Splits of the data.
            predictions: Predictions for their rows.
            area: Says where the object of each row is.
            split: Split whose rows are asked about.
            usual: Rows of the predictions (n,) that lend backgrounds, at most as many as are asked about; None where
                all of the split may.
            present: If a task asks for a thing, the class of rows that have it: they alone are asked about.
            most: Maximum number of rows to ask about.
            seed: Random seed for the draw.
            fill: Fills the place of an object; None for tiles of background.
        """
        label, generator = predictions.label, np.random.default_rng([seed, 0])
        is_labeled = (predictions.split == split) & (label >= 0)
        chosen = _sample_places(
            np.flatnonzero(is_labeled & (True if present is None else label == present)), most, generator
        )
        if usual is not None:
            lenders = _sample_places(np.flatnonzero(usual & (label >= 0)), 2 * most, generator)
        elif present is not None:
            lenders = np.union1d(
                chosen, _sample_places(np.flatnonzero(is_labeled & (label != present)), most, generator)
            )
        else:
            lenders = chosen
        places = np.union1d(chosen, lenders)
        return cls(
            splits=splits,
            predictions=predictions,
            places=places,
            is_asked=np.isin(places, chosen),
            is_lender=np.isin(places, lenders),
            area=area,
            without=None if present is None else 1 - present,
            fill=fill,
        )

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """Class numbers (n,)."""
        label: NDArray[np.int64] = self.predictions.label[self.places]
        return label

    @cached_property
    def example_ids(self) -> list[str]:
        """The names of the rows."""
        return [str(name) for name in np.asarray(self.predictions.column("example_id"))[self.places]]

    @cached_property
    def rows(self) -> list[RowOfObject]:
        """What an area is told of each row."""
        names = self.predictions.class_names
        return [
            RowOfObject(name, names[label], (row["image"] or {}).get("path") or "", row)
            for name, label, row in zip(self.example_ids, self.label.tolist(), self._light, strict=True)
        ]

    def with_object(self) -> list[RowOfObject]:
        """The rows that have an object: all but those of the class `without`."""
        return [row for row, label in zip(self.rows, self.label.tolist(), strict=True) if label != self.without]

    def seen(self, numbers: Sequence[int]) -> list[SeenObject]:
        """Rows by their number among these, with their objects.

        Raises:
            OochubError: An image or a mask that cannot be read.
        """
        names = [f"example {self.example_ids[k]}" for k in numbers]
        contents = [read_picture_bytes(self._read_picture(k), name) for k, name in zip(numbers, names, strict=True)]
        pictures = [
            OpenedPicture(content, decode(content, name)) for content, name in zip(contents, names, strict=True)
        ]
        has = [self.label[k] != self.without for k in numbers]
        masks = iter(
            self.area.masks(
                [self.rows[k] for k, one in zip(numbers, has, strict=True) if one],
                [picture for picture, one in zip(pictures, has, strict=True) if one],
            )
        )
        return [
            self._look(picture, next(masks) if one else None, one) for picture, one in zip(pictures, has, strict=True)
        ]

    def _look(self, picture: OpenedPicture, mask: Mask | None, has: bool) -> SeenObject:
        pixels = np.asarray(picture.image)
        nothing = np.zeros(pixels.shape[:2], bool)
        if not has:
            return SeenObject(PROBED, pixels, nothing, pixels)
        if mask is None:
            return SeenObject("no_area", pixels, nothing, None)
        if not mask.any():
            return SeenObject("no_object", pixels, nothing, None)
        if mask.shape != pixels.shape[:2]:
            return SeenObject("other_size", pixels, nothing, None)
        ground = remove_object(pixels, mask, self.fill)
        if ground is None:
            return SeenObject("no_background" if self.fill is None else "flagged", pixels, mask, None)
        return SeenObject(PROBED, pixels, mask, ground)

    @cached_property
    def _found(self) -> list[tuple[str, int]]:
        """The split of each row, and its number there."""
        number = dict[tuple[str, str], int]()
        splits = self.predictions.split[self.places].tolist()
        for split in dict.fromkeys(splits):
            part = self.splits[split]
            stored = part["example_id"][:] if "example_id" in part.column_names else range(len(part))
            number |= {(split, str(name)): row for row, name in enumerate(stored)}
        return [(split, number[split, name]) for split, name in zip(splits, self.example_ids, strict=True)]

    @cached_property
    def _parts(self) -> dict[str, Any]:
        """The splits with images as the bytes of their files, and the columns that the area reads."""
        names = {split for split, _ in self._found}
        parts = {split: keep_encoded(self.splits[split].select_columns(["image", *self.area.needs])) for split in names}
        encoded = datasets.Image(decode=False)
        for column in self.area.needs:
            for split, part in parts.items():
                if isinstance(part.features[column], datasets.Image):
                    parts[split] = part = part.cast_column(column, encoded)
        return parts

    @cached_property
    def _light(self) -> list[dict[str, Any]]:
        """The columns of each row, its image without its bytes."""
        rows = []
        for split, number in self._found:
            row = self._parts[split][number]
            rows.append({**row, "image": {"path": (row["image"] or {}).get("path")}})
        return rows

    def _read_picture(self, number: int) -> Any:
        split, row = self._found[number]
        return self._parts[split][row]["image"]


def _sample_places(places: NDArray[np.int64], most: int, generator: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(generator.permutation(places)[:most])
