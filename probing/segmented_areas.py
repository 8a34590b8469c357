"""The object by a semantic segmenter: the pixels of the segmenter's classes that are the class of the row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError
from oochub.probing.object_area import ObjectArea, RowOfObject


class SegmentedAreas(ObjectArea):
    """What a segmenter says is the class of each row, see `oochub contexts --contexts segments`.

    Args:
        way: `Segments` of a model.
        thing: The class whose area is asked for; None takes that of each row.
    """

    def __init__(self, way: Any, thing: str | None = None) -> None:
        self._way, self._thing = way, thing
        self.words = f"the segments by {way.model}"

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        asked = list(dict.fromkeys(self._thing or row.label for row in rows))
        if rows and not any(self._way.classes_of(name) for name in asked):
            raise OochubError(
                f"The segmenter knows none of the classes {', '.join(asked[:5])} by name. Say which of its classes "
                'they are: --probe-option label_map=FILE, a line "class of the data,class of the segmenter" each.'
            )

    def settings(self, rows: Sequence[RowOfObject]) -> Any:
        """See `ObjectArea.settings`: the segmenter, and which of its classes are the object."""
        names = dict.fromkeys(self._thing or row.label for row in rows)
        return [self._way.settings(), {name: self._way.classes_of(name) for name in names}]

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`; None for a class that the segmenter does not know."""
        maps = self._way.maps(pictures)
        return [self._mask(row, numbers, picture) for row, numbers, picture in zip(rows, maps, pictures, strict=True)]

    def _mask(self, row: RowOfObject, numbers: NDArray[np.int64], picture: OpenedPicture) -> NDArray[np.bool_] | None:
        classes = self._way.classes_of(self._thing or row.label)
        if not classes:
            return None
        mask = Image.fromarray(np.isin(numbers, classes)).resize(picture.image.size, Image.Resampling.NEAREST)
        return np.asarray(mask)
