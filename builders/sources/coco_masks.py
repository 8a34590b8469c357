"""How many pixels the masks of COCO's annotations cover, where their field `area` is not trusted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from oochub.errors import OochubError


def mask_areas(
    annotations: Sequence[Mapping[str, Any]], sizes: Mapping[int, tuple[int, int]], *, union: bool = False
) -> NDArray[np.float64]:
    """The pixels that each annotation's segmentation covers.

    Args:
        annotations: COCO annotations with image_id, category_id and segmentation: polygons, or run lengths.
        sizes: Image id to (height, width).
        union: Count a pixel once for each image and category: the first annotation of the pair gets the area of all
            their masks together, the others 0.

    Returns:
        (n,) pixels, in the order of the annotations.

    Raises:
        OochubError: pycocotools is not installed, or an annotation has no segmentation or an unknown image.

    >>> square = [[0, 0, 4, 0, 4, 4, 0, 4]]
    >>> annotation = {"image_id": 1, "category_id": 3, "segmentation": square}
    >>> mask_areas([annotation, annotation], {1: (10, 10)}).tolist()
    [16.0, 16.0]
    >>> mask_areas([annotation, annotation], {1: (10, 10)}, union=True).tolist()
    [16.0, 0.0]
    """
    try:
        from pycocotools import mask as coco_mask
    except ImportError as error:
        raise OochubError(
            'area="mask" and area="union" need pycocotools. Run: pip install "oochub[coco]"; or use area="field".'
        ) from error
    pixels = np.zeros(len(annotations))
    masks_of: dict[tuple[int, int], list[Any]] = {}
    first: dict[tuple[int, int], int] = {}
    for row, annotation in enumerate(tqdm(annotations, desc="Masks", unit="mask", disable=None, leave=False)):
        mask = run_lengths(annotation, sizes)
        if not union:
            pixels[row] = coco_mask.area(mask)
            continue
        key = (annotation["image_id"], annotation["category_id"])
        first.setdefault(key, row)
        masks_of.setdefault(key, []).append(mask)
    for key, masks in masks_of.items():
        pixels[first[key]] = coco_mask.area(coco_mask.merge(masks))
    return pixels


def run_lengths(annotation: Mapping[str, Any], sizes: Mapping[int, tuple[int, int]]) -> Any:
    """The mask of an annotation as pycocotools' compressed run lengths, from any of COCO's three forms.

    Raises:
        OochubError: No segmentation, or an image that `sizes` lacks.
    """
    from pycocotools import mask as coco_mask

    segmentation, image_id = annotation.get("segmentation"), annotation["image_id"]
    if not segmentation or image_id not in sizes:
        lacks = "segmentation" if image_id in sizes else "image"
        raise OochubError(
            f"An annotation of image {image_id} has no {lacks}, so its mask is unknown. Use area='field', "
            "or the original annotation files."
        )
    height, width = sizes[image_id]
    if isinstance(segmentation, list):
        return coco_mask.merge(coco_mask.frPyObjects(segmentation, height, width))
    if isinstance(segmentation["counts"], list):
        return coco_mask.frPyObjects(segmentation, height, width)
    return segmentation
