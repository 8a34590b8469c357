"""Boxes in a column of the data."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError
from oochub.probing.object_area import ObjectArea, RowOfObject


class BoxAreas(ObjectArea):
    """The boxes of a row, one or a list of them, each x1, y1, x2, y2 in pixels of its picture; the object is all in it.

    Args:
        column: Its name.
    """

    def __init__(self, column: str) -> None:
        self._column, self.needs = column, (column,)
        self.words = f"the boxes of the column {column}"

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        if not any(self._boxes(row) for row in rows):
            raise OochubError(
                f"None of {len(rows):,} rows has a box in the column {self._column}. Name another column."
            )

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: the boxes."""
        return json.dumps([self._boxes(row) for row in rows])

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        return [self._mask(row, picture) for row, picture in zip(rows, pictures, strict=True)]

    def _mask(self, row: RowOfObject, picture: OpenedPicture) -> NDArray[np.bool_] | None:
        boxes = self._boxes(row)
        if boxes is None:
            return None
        mask = np.zeros((picture.image.height, picture.image.width), bool)
        for x1, y1, x2, y2 in boxes:
            if x1 >= picture.image.width or y1 >= picture.image.height:
                raise OochubError(
                    f"A box in the column {self._column} lies outside its picture of {picture.image.width} x "
                    f"{picture.image.height} pixels; the row {row.example_id} has {[x1, y1, x2, y2]}. Mend the column."
                )
            mask[max(0, int(y1)) : int(np.ceil(y2)), max(0, int(x1)) : int(np.ceil(x2))] = True
        return mask

    def _boxes(self, row: RowOfObject) -> list[list[float]] | None:
        given: Any = row.columns[self._column]
        if given is None:
            return None
        try:
            boxes = np.asarray(given, np.float64).reshape(-1, 4)
            is_number = not any(isinstance(each, bool | np.bool_ | str) for each in np.asarray(given, object).flat)
        except (TypeError, ValueError):
            boxes, is_number = np.full((1, 4), np.nan), False
        if not (
            is_number and np.isfinite(boxes).all() and (boxes[:, 2:] > boxes[:, :2]).all() and (boxes[:, 2:] > 0).all()
        ):
            raise OochubError(
                f"A box in the column {self._column} is four numbers x1, y1, x2, y2 in pixels, x1 < x2 and y1 < y2; "
                f"the row {row.example_id} has {given!r}. Mend the column, or name another one."
            )
        found: list[list[float]] = boxes.tolist()
        return found
