"""How many pixels the masks of COCO's annotations cover, where their field `area` is not trusted."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, check_installed
from oochub.process.follow import follow

Sizes = Mapping[int, tuple[int, int]]


def mask_areas(
    annotations: Sequence[Mapping[str, Any]], sizes: Sizes, *, union: bool = False, file: str | Path = "annotations"
) -> NDArray[np.float64]:
    """The pixels that each annotation's segmentation covers.

    Args:
        annotations: COCO annotations with image_id, category_id and segmentation: polygons, or run lengths.
        sizes: Image id to (height, width).
        union: Count a pixel once for each image and category: the first annotation of the pair gets the area of all
            their masks together, the others 0.
        file: The file that they stand in, for error messages.

    Returns:
        (n,) pixels, in the order of the annotations.

    Raises:
        OochubError: pycocotools is not installed; else as for `run_lengths`.

    >>> square = [[0, 0, 4, 0, 4, 4, 0, 4]]
    >>> annotation = {"image_id": 1, "category_id": 3, "segmentation": square}
    >>> mask_areas([annotation, annotation], {1: (10, 10)}).tolist()
    [16.0, 16.0]
    >>> mask_areas([annotation, annotation], {1: (10, 10)}, union=True).tolist()
    [16.0, 0.0]
    """
    check_installed("pycocotools", "coco", 'area="mask" or "union"', 'Or use area="field".')
    from pycocotools import mask as coco_mask

    pixels = np.zeros(len(annotations))
    masks_of: dict[tuple[int, int], list[Any]] = {}
    first: dict[tuple[int, int], int] = {}
    for row, annotation in enumerate(follow(annotations, desc="Masks", unit="mask", disable=None, leave=False)):
        mask = run_lengths(annotation, sizes, file)
        if not union:
            pixels[row] = coco_mask.area(mask)
            continue
        key = (annotation["image_id"], annotation["category_id"])
        first.setdefault(key, row)
        masks_of.setdefault(key, []).append(mask)
    for key, masks in masks_of.items():
        pixels[first[key]] = coco_mask.area(coco_mask.merge(masks))
    return pixels


def run_lengths(annotation: Mapping[str, Any], sizes: Sizes, file: str | Path = "annotations") -> Any:
    """The mask of an annotation as pycocotools' compressed run lengths, from any of COCO's three forms.

    pycocotools checks nothing: of a wrong number of pixels it makes up the rest, and an outline far away takes all
    memory.

    Args:
        annotation: An annotation with image_id and segmentation.
        sizes: Image id to (height, width).
        file: The file that it stands in, for error messages.

    Raises:
        OochubError: No segmentation, or an image that `sizes` lacks; run lengths of another size than the image, or
            that do not cover it; an outline that is no list of points near the image.
    """
    from pycocotools import mask as coco_mask

    segmentation, image_id = annotation.get("segmentation"), annotation["image_id"]
    where = f"{file}: annotation {annotation.get('id', 'without id')} of image {image_id}"
    if not segmentation or image_id not in sizes:
        lacks = "segmentation" if image_id in sizes else "image in this file"
        raise OochubError(
            f"{where} has no {lacks}, so its mask is unknown. Use area='field', or the original annotation files."
        )
    height, width = sizes[image_id]
    if isinstance(segmentation, list):
        for outline in segmentation:
            _check_outline(outline, height, width, where)
        return coco_mask.merge(coco_mask.frPyObjects(segmentation, height, width))
    size, counts = (segmentation.get(key) for key in ("size", "counts")) if isinstance(segmentation, dict) else (0, 0)
    if size != [height, width]:
        raise OochubError(
            f"{where} has a mask of {size} pixels (height and width), but its image has {[height, width]}. Download "
            "the file again."
        )
    runs = counts if isinstance(counts, list) else _decode_counts(counts)
    whole = runs is not None and {type(run) for run in runs} <= {int} and all(run >= 0 for run in runs)
    if runs is None or not whole or sum(runs) != height * width:
        raise OochubError(
            f"{where} has a segmentation that cannot be read: its run lengths do not cover the {height * width} "
            "pixels of the image. Download the file again."
        )
    return coco_mask.frPyObjects(segmentation, height, width) if isinstance(counts, list) else segmentation


def _check_outline(outline: Any, height: int, width: int, where: str) -> None:
    is_flat = isinstance(outline, list) and {*map(type, outline)} <= {int, float}  # numpy takes texts and pairs too
    try:
        points = np.array(outline if is_flat else [], dtype=np.float64).reshape(-1, 2)
    except (ValueError, OverflowError):
        points = np.empty((0, 2))
    near = (points >= (-width, -height)) & (points <= (2 * width, 2 * height))  # nan is not
    if len(points) < 3 or not near.all():
        raise OochubError(
            f"{where} has a segmentation that cannot be read: an outline must be x and y of at least three points "
            f"near the {width} x {height} pixels of the image, got {str(outline)[:60]}. Download the file again."
        )


def _decode_counts(counts: Any) -> list[int] | None:
    """The run lengths of COCO's compressed form, 5 bits a letter from "0" on; None where it is no such text."""
    try:
        letters = np.frombuffer(counts.encode("ascii") if isinstance(counts, str) else counts, np.uint8)
    except (TypeError, UnicodeEncodeError):
        return None
    codes = letters.astype(np.int64) - 48
    last = (codes & 32) == 0
    if not len(codes) or codes.min() < 0 or codes.max() > 63 or not last[-1]:
        return None
    starts = np.flatnonzero(np.concatenate([[True], last[:-1]]))
    lengths = np.diff(np.append(starts, len(codes)))
    if lengths.max() > 7:  # more than 32 bits
        return None
    place = np.arange(len(codes)) - np.repeat(starts, lengths)
    numbers = np.add.reduceat((codes & 31) << 5 * place, starts)
    negative = (codes[starts + lengths - 1] & 16) > 0
    numbers[negative] -= 1 << 5 * lengths[negative]
    numbers[1::2] = numbers[1::2].cumsum()  # from the fourth on each is told by what it differs from its last but one
    numbers[2::2] = numbers[2::2].cumsum()
    return list(numbers.tolist())
