"""Outlines of what is annotated in single images of COCO and COCO-Stuff, to draw on the images."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_object_masks import object_masks
from oochub.errors import check_installed

Outlines = dict[int, dict[str, list[NDArray[np.float64]]]]


def outlines(folder: str | Path, image_ids: Iterable[int], class_names: Iterable[str]) -> Outlines:
    """The outlines of some classes in some images, from polygons and both forms of run lengths, crowds included.

    Each file is read once for all images, one is in memory at a time, and only those that the classes need are read.

    Args:
        folder: Holds `annotations/` (or `annotations-json/`) with `{instances,stuff}_{train,val}2017.json`.
        image_ids: COCO image ids.
        class_names: Names of `CATEGORY_IDS`, "car", "dining_table", "sky-other".

    Returns:
        Image id to class name to closed contours, each float64 (m, 2) of x and y in pixels, in the coordinates of
        `imshow`: (0, 0) is the middle of the first pixel. They run along the border of each annotation's mask, those
        of holes included; a class that is not in the image has none.

    Raises:
        OochubError: pycocotools or contourpy is not installed, an unknown class, a missing or broken file, an image
            that no file lists, an annotation whose segmentation is missing, broken or of another size.

    >>> import json, tempfile
    >>> from oochub.builders.sources.coco_categories import THINGS
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "annotations").mkdir()
    >>> square = {"image_id": 7, "category_id": 3, "segmentation": [[2, 2, 6, 2, 6, 6, 2, 6]], "id": 1}
    >>> content = {"images": [{"id": 7, "height": 10, "width": 10}], "annotations": [square], "categories": THINGS}
    >>> for year in ("train2017", "val2017"):
    ...     _ = (root / "annotations" / f"instances_{year}.json").write_text(json.dumps(content))
    >>> (contour,) = outlines(root, [7], ["car"])[7]["car"]
    >>> contour.min(axis=0).tolist(), contour.max(axis=0).tolist()
    ([1.5, 1.5], [5.5, 5.5])
    """
    check_installed("contourpy", "plots", "Drawing outlines")
    masks = object_masks(folder, image_ids, class_names)
    return {
        image_id: {
            name: [line for mask in of_class for line in _trace_contours(mask)] for name, of_class in named.items()
        }
        for image_id, named in masks.items()
    }


def _trace_contours(mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    from contourpy import contour_generator

    # Zeros around it close the outlines of what the image's border cuts.
    lines = contour_generator(z=np.pad(mask, 1).astype(np.float64)).lines(0.5)
    return [np.asarray(line, dtype=np.float64) - 1 for line in lines]
