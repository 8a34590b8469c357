"""What the annotations of COCO outline: polygons and run lengths, crowds included."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_object_masks import Masks, object_masks
from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError
from oochub.probing.object_area import ObjectArea, RowOfObject


class CocoAreas(ObjectArea):
    """All annotations of a thing in an image of COCO, by the raw folder; rows are named by image ids.

    Args:
        folder: Holds `annotations/`.
        thing: In COCO's words; None takes the class of each row.
    """

    def __init__(self, folder: str | Path, thing: str | None = None) -> None:
        self._folder, self._thing = Path(folder).expanduser(), thing
        self.words = "the annotations of COCO"
        self._masks: Masks = {}

    @staticmethod
    def is_raw(folder: str | Path) -> bool:
        """Whether a folder is COCO's."""
        path = Path(folder).expanduser()
        return any((path / name).is_dir() for name in ("annotations", "annotations-json"))

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        strange = next((row.example_id for row in rows if not row.example_id.isdecimal()), None)
        if strange is not None:
            raise OochubError(f"Areas of COCO are of its images, whose ids are numbers; there is a {strange!r}.")
        things = dict.fromkeys(self._thing or row.label for row in rows)
        self._masks = object_masks(self._folder, [int(row.example_id) for row in rows], things)

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: a digest of the masks."""
        digest = hashlib.sha256()
        for mask in self.masks(rows, ()):
            digest.update(b"-" if mask is None else np.packbits(mask).tobytes())
        return digest.hexdigest()

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        return [self._mask(row) for row in rows]

    def _mask(self, row: RowOfObject) -> NDArray[np.bool_]:
        parts = self._masks[int(row.example_id)][self._thing or row.label]
        return np.logical_or.reduce(parts) if parts else np.zeros((1, 1), bool)
