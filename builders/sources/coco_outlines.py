"""Outlines of what is annotated in single images of COCO and COCO-Stuff, to draw on the pictures."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.coco_file import CocoFile
from oochub.builders.sources.coco_masks import run_lengths
from oochub.errors import OochubError, unknown_name

_FIRST_STUFF = 92
_YEARS = ("val2017", "train2017")  # the small one first: where it has every image, the large one is not read

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
    wanted, names = set(image_ids), list(dict.fromkeys(class_names))
    for name in names:
        if name not in CATEGORY_IDS:
            raise unknown_name("class of COCO-Stuff", name, CATEGORY_IDS)
    _require_libraries()
    name_of = {CATEGORY_IDS[name]: name for name in names}
    contours: Outlines = {image_id: {name: [] for name in names} for image_id in wanted}
    left = {kind: set(wanted) for kind in sorted({_kind(number) for number in name_of})}
    files = _files(Path(folder).expanduser(), left)
    for kind, file in tqdm(files, desc="Reading outlines", unit="file", disable=None, leave=False):
        if left[kind]:
            left[kind] -= _add(contours, file, left[kind], name_of)
    unlisted = set.intersection(*left.values()) if left else set()
    if unlisted:
        raise OochubError(
            f"{len(unlisted)} of {len(wanted)} images are in none of the annotation files below {folder}, first "
            f"{min(unlisted)}. Give the raw folder that the predictions' data set was built from."
        )
    return contours


def _require_libraries() -> None:
    for module, extra in (("pycocotools", "coco"), ("contourpy", "plots")):
        if find_spec(module) is None:
            raise OochubError(f'Outlines need {module}, which is not installed. Run: pip install "oochub[{extra}]"')


def _kind(number: int) -> str:
    return "stuff" if number >= _FIRST_STUFF else "instances"


def _files(folder: Path, kinds: Iterable[str]) -> list[tuple[str, Path]]:
    annotations = folder / ("annotations" if (folder / "annotations").is_dir() else "annotations-json")
    files = [(kind, annotations / f"{kind}_{year}.json") for kind in kinds for year in _YEARS]
    for _, file in files:
        if not file.is_file():
            raise OochubError(
                f"There is no {file}. Outlines need the raw COCO folder; `oochub show benchmark nooch` lists its files."
            )
    return files


def _add(contours: Outlines, file: Path, wanted: set[int], name_of: Mapping[int, str]) -> set[int]:
    """Adds the contours of one file; returns the wanted images that it lists."""
    content = CocoFile.read(file)
    content.check_annotated()
    pairs = zip(content.image_id.tolist(), content.size.tolist(), strict=True)
    sizes = {image_id: (height, width) for image_id, (height, width) in pairs if image_id in wanted}
    for row, (image_id, number) in enumerate(zip(content.annotated.tolist(), content.category.tolist(), strict=True)):
        if image_id in sizes and number in name_of:
            contours[image_id][name_of[number]] += _contours(file, content.annotations.rows[row], sizes)
    return set(sizes)


def _contours(
    file: Path, annotation: Mapping[str, Any], sizes: Mapping[int, tuple[int, int]]
) -> list[NDArray[np.float64]]:
    from contourpy import contour_generator
    from pycocotools import mask as coco_mask

    mask = coco_mask.decode(run_lengths(annotation, sizes, file))
    # Zeros around it close the outlines of what the picture's border cuts.
    lines = contour_generator(z=np.pad(mask, 1).astype(np.float64)).lines(0.5)
    return [np.asarray(line, dtype=np.float64) - 1 for line in lines]
