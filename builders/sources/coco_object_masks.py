"""The masks of what is annotated in single images of COCO and COCO-Stuff."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.coco_file import CocoFile
from oochub.builders.sources.coco_masks import run_lengths
from oochub.errors import OochubError, check_installed, unknown_name
from oochub.process.follow import follow

_FIRST_STUFF = 92
_YEARS = ("val2017", "train2017")  # the small one first: where it has every image, the large one is not read

Masks = dict[int, dict[str, list[NDArray[np.bool_]]]]


def object_masks(folder: str | Path, image_ids: Iterable[int], class_names: Iterable[str]) -> Masks:
    """The masks of some classes in some images, from polygons and both forms of run lengths, crowds included.

    Each file is read once for all images, one is in memory at a time, and only those that the classes need are read.

    Args:
        folder: Holds `annotations/` (or `annotations-json/`) with `{instances,stuff}_{train,val}2017.json`.
        image_ids: COCO image ids.
        class_names: Names of `CATEGORY_IDS`, "car", "dining_table", "sky-other".

    Returns:
        Image id to class name to a mask (height, width) an annotation; a class that is not in the image has none.

    Raises:
        OochubError: pycocotools is not installed, an unknown class, a missing or broken file, an image that no file
            lists, an annotation whose segmentation is missing, broken or of another size.

    >>> import json, tempfile
    >>> from oochub.builders.sources.coco_categories import THINGS
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "annotations").mkdir()
    >>> square = {"image_id": 7, "category_id": 3, "segmentation": [[2, 2, 6, 2, 6, 6, 2, 6]], "id": 1}
    >>> content = {"images": [{"id": 7, "height": 10, "width": 10}], "annotations": [square], "categories": THINGS}
    >>> for year in ("train2017", "val2017"):
    ...     _ = (root / "annotations" / f"instances_{year}.json").write_text(json.dumps(content))
    >>> (mask,) = object_masks(root, [7], ["car"])[7]["car"]
    >>> int(mask.sum()), mask.shape
    (16, (10, 10))
    """
    wanted, names = set(image_ids), list(dict.fromkeys(class_names))
    for name in names:
        if name not in CATEGORY_IDS:
            raise unknown_name("class of COCO-Stuff", name, CATEGORY_IDS)
    check_installed("pycocotools", "coco", "Reading COCO's masks")
    name_of = {CATEGORY_IDS[name]: name for name in names}
    masks: Masks = {image_id: {name: [] for name in names} for image_id in wanted}
    kinds = {"stuff" if number >= _FIRST_STUFF else "instances" for number in name_of}
    left = {kind: set(wanted) for kind in sorted(kinds)}
    files = _find_files(Path(folder).expanduser(), left)
    for kind, file in follow(files, desc="Reading masks", unit="file", disable=None, leave=False):
        if left[kind]:
            content = CocoFile.read(file)
            content.check_annotated()
            pairs = zip(content.image_id.tolist(), content.size.tolist(), strict=True)
            sizes = {image_id: (height, width) for image_id, (height, width) in pairs if image_id in left[kind]}
            for image_id, number, mask in _decode(file, content, sizes, set(name_of)):
                masks[image_id][name_of[number]].append(mask)
            left[kind] -= set(sizes)
    unlisted = set.intersection(*left.values()) if left else set()
    if unlisted:
        raise OochubError(
            f"{len(unlisted)} of {len(wanted)} images are in none of the annotation files below {folder}, first "
            f"{min(unlisted)}. Give the raw folder that the predicted data set was built from."
        )
    return masks


def _find_files(folder: Path, kinds: Iterable[str]) -> list[tuple[str, Path]]:
    annotations = folder / ("annotations" if (folder / "annotations").is_dir() else "annotations-json")
    files = [(kind, annotations / f"{kind}_{year}.json") for kind in kinds for year in _YEARS]
    for _, file in files:
        if not file.is_file():
            raise OochubError(
                f"There is no {file}. Outlines need the raw COCO folder; `oochub show benchmark nooch` lists its files."
            )
    return files


def _decode(
    file: Path, content: CocoFile, sizes: dict[int, tuple[int, int]], numbers: set[int]
) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
    from pycocotools import mask as coco_mask

    for row, (image_id, number) in enumerate(zip(content.annotated.tolist(), content.category.tolist(), strict=True)):
        if image_id in sizes and number in numbers:
            yield image_id, number, coco_mask.decode(run_lengths(content.annotations.rows[row], sizes, file)) > 0
