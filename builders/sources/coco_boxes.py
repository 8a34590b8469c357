"""The boxes around the objects of one class in COCO's images, as its instances files have them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.coco_file import CocoFile
from oochub.builders.sources.raw_table import RawColumn, RawTable
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
        areas = content.annotations.read("area", RawColumn(kind="number"))
        crowds = content.annotations.read("iscrowd", RawColumn(kind="whole", default=0))
        own = np.flatnonzero((content.category == CATEGORY_IDS[name]) & np.isin(content.annotated, image_ids))
        at = [places[image_id] for image_id in content.annotated[own].tolist()]
        for number, row, box in zip(own, at, _read_boxes(content, own, size[at]), strict=True):
            rows[row].append((box, int(crowds[number] != 0), float(areas[number])))
    unlisted = np.flatnonzero(~size.any(axis=1))
    if len(unlisted):
        raise OochubError(
            f"{len(unlisted):,} images are in none of the instances files below {annotations}, first "
            f"{list(image_ids)[unlisted[0]]}. Download the files again: all must come from one release (2017)."
        )
    return {
        "boxes": pa.array([[box for box, _, _ in row] for row in rows], _BOXES),
        "categories": pa.array([[0] * len(row) for row in rows], pa.list_(pa.int64())),
        "crowd": pa.array([[crowd for _, crowd, _ in row] for row in rows], pa.list_(pa.int64())),
        "object_areas": pa.array([[area for _, _, area in row] for row in rows], pa.list_(pa.float64())),
        "width": pa.array(size[:, 0], pa.int32()),
        "height": pa.array(size[:, 1], pa.int32()),
    }


def _read_boxes(content: CocoFile, own: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[list[float]]:
    """x1, y1, x2, y2 of some annotations, whose file has x, y, width and height; `sizes` are those of their images."""
    listed = [content.annotations.rows[row].get("bbox") for row in own]
    table = RawTable(file=content.file, place=lambda k: content.named(own[k]))
    table.require(
        [type(box) is list and len(box) == 4 and {*map(type, box)} <= {int, float} for box in listed],
        lambda k: f"bbox must be four numbers, x, y, width and height, got {listed[k]!r:.60}",
    )
    boxes = np.array([[*map(float, box)] for box in listed]).reshape(-1, 4)
    start, end = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    inside = (start >= -_SLACK) & (end <= sizes + _SLACK) & (boxes[:, 2:] >= 0)  # nan is not
    table.require(
        inside.all(axis=1),
        lambda k: f"bbox must lie in its image of {sizes[k][0]} x {sizes[k][1]} pixels, got {listed[k]!r:.80}",
    )
    ends: list[list[float]] = np.concatenate([start, end], axis=1).tolist()
    return ends
