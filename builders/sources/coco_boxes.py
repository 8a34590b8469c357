"""The boxes around the objects of one class in COCO's images, as its instances files have them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.coco_file import CocoFile
from oochub.errors import OochubError

_YEARS = ("train2017", "val2017")
_BOXES = pa.list_(pa.list_(pa.float64(), 4))
_SLACK = 1.0  # pixels by which a rounded box may leave its image


def coco_boxes(folder: Path, name: str, image_ids: Sequence[int]) -> dict[str, pa.Array]:
    """The boxes of a class in some images.

    Args:
        folder: Holds `annotations/` (or `annotations-json/`) with `instances_{train,val}2017.json`.
        name: A thing of `CATEGORY_IDS`, "car".
        image_ids: COCO image ids (n,).

    Returns:
        Columns of n rows: `boxes`, lists of x1, y1, x2, y2 in pixels; `categories`, 0 for each box; `crowd`, whether it
        holds several objects, 0 or 1; `object_areas`, the annotations' `area` in pixels; `width` and `height`.

    Raises:
        OochubError: A file that `CocoFile.read` refuses, an image that no file lists, a box that is not four numbers or
            does not lie in its image.

    >>> import json, tempfile
    >>> from oochub.builders.sources.coco_categories import THINGS
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "annotations").mkdir()
    >>> car = {"image_id": 7, "category_id": 3, "bbox": [2, 2, 4, 3], "area": 9.5, "iscrowd": 0}
    >>> content = {"images": [{"id": 7, "height": 10, "width": 20}], "annotations": [car], "categories": THINGS}
    >>> for year, each in (("train", content), ("val", {"images": [], "annotations": [], "categories": []})):
    ...     _ = (root / "annotations" / f"instances_{year}2017.json").write_text(json.dumps(each))
    >>> coco_boxes(root, "car", [7])["boxes"].to_pylist()
    [[[2.0, 2.0, 6.0, 5.0]]]
    """
    annotations = folder / ("annotations" if (folder / "annotations").is_dir() else "annotations-json")
    places = {image_id: row for row, image_id in enumerate(image_ids)}
    size = np.zeros((len(places), 2), np.int64)
    rows: list[list[tuple[list[float], int, float]]] = [[] for _ in places]
    for year in _YEARS:
        content = CocoFile.read(annotations / f"instances_{year}.json", outlines=False, boxes=True)
        for image_id, (height, width) in zip(content.image_id.tolist(), content.size.tolist(), strict=True):
            if image_id in places:
                size[places[image_id]] = width, height
        areas, crowds = content.annotations.numbers("area"), content.annotations.whole_numbers("iscrowd", default=0)
        for number in np.flatnonzero(content.category == CATEGORY_IDS[name]):
            row = places.get(int(content.annotated[number]))
            if row is not None:
                box = _read_box(content, number, size[row])
                rows[row].append((box, int(crowds[number] != 0), float(areas[number])))
    unlisted = np.flatnonzero(~size.any(axis=1))
    if len(unlisted):
        raise OochubError(
            f"{len(unlisted):,} images are in none of the instances files below {annotations}, first "
            f"{list(image_ids)[unlisted[0]]}. Fetch the files again: all must come from one release (2017)."
        )
    return {
        "boxes": pa.array([[box for box, _, _ in each] for each in rows], _BOXES),
        "categories": pa.array([[0] * len(each) for each in rows], pa.list_(pa.int64())),
        "crowd": pa.array([[crowd for _, crowd, _ in each] for each in rows], pa.list_(pa.int64())),
        "object_areas": pa.array([[area for _, _, area in each] for each in rows], pa.list_(pa.float64())),
        "width": pa.array(size[:, 0], pa.int32()),
        "height": pa.array(size[:, 1], pa.int32()),
    }


def _read_box(content: CocoFile, number: Any, size: NDArray[np.int64]) -> list[float]:
    """x1, y1, x2, y2 of an annotation, whose file has x, y, width and height."""
    box = content.annotations.rows[number].get("bbox")
    if type(box) is not list or len(box) != 4 or not {*map(type, box)} <= {int, float}:
        raise OochubError(
            f"{content.file}: `bbox` of {content.named(number)} must be four numbers, x, y, width and height, got "
            f"{repr(box)[:60]}. Fetch the file again."
        )
    x, y, width, height = map(float, box)
    inside = x >= -_SLACK and y >= -_SLACK and x + width <= size[0] + _SLACK and y + height <= size[1] + _SLACK
    if not (inside and width >= 0 and height >= 0):  # nan is not inside
        raise OochubError(
            f"{content.file}: `bbox` of {content.named(number)} must lie in its image of {size[0]} x {size[1]} pixels, "
            f"got {box}. Fetch the file again."
        )
    return [x, y, x + width, y + height]
