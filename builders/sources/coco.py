"""Reads COCO and COCO-Stuff annotations into one table: how much of each image each of 171 classes takes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.coco_masks import mask_areas
from oochub.errors import OochubError, unknown_name

_OTHER = 183  # COCO-Stuff's "other": everything that is none of the stuff classes; dropped

_YEARS = ("train2017", "val2017")
_COLUMN = np.full(256, -1, dtype=np.int64)
_COLUMN[list(CATEGORY_IDS.values())] = np.arange(len(CATEGORY_IDS))


@dataclass(frozen=True, kw_only=True)
class CocoTable:
    """One row an image, sorted by image id.

    Attributes:
        image_id: (n,) COCO image ids.
        file_name: (n,) file below `images/`, "val2017/000000000139.jpg".
        license: (n,) name of the picture's license, "" where the file does not say.
        source_url: (n,) where the picture was published, "" where the file does not say.
        area: (n, 171) float64, sum of the annotations' `area` over height x width: a fraction of the image, crowds
            included; annotations that overlap add up. Columns in the order of `CATEGORY_IDS`.
        count: (n, 171) number of annotations, crowds included.
    """

    image_id: NDArray[np.int64]
    file_name: list[str]
    license: list[str]
    source_url: list[str]
    area: NDArray[np.float64]
    count: NDArray[np.int32]


AREAS = ("field", "mask", "union")


def read_coco(folder: Path, *, area: str = "field") -> CocoTable:
    """Reads the four annotation files of COCO and COCO-Stuff; by default no mask is decoded.

    The images are those of the instances files. One file is in memory at a time.

    Args:
        folder: Holds `annotations/` (or `annotations-json/`) with `{instances,stuff}_{train,val}2017.json`.
        area: "field" sums the annotations' `area`, as the authors' loader does; "mask" the pixels of their masks;
            "union" counts a pixel once where masks of a class overlap. The last two need pycocotools.

    Raises:
        OochubError: An unknown `area`, a file that is not complete JSON or lacks a field, an image id that occurs
            twice, an annotation of an image or a category that is not declared, an image without size.

    Source: the rule of the authors' loader (NOOCH, Appendix B): the field `area` summed, category 183 dropped.
    """
    if area not in AREAS:
        raise unknown_name("area", area, AREAS)
    annotations = folder / ("annotations" if (folder / "annotations").is_dir() else "annotations-json")
    columns: list[dict[str, Any]] = []
    pending = []
    files = [annotations / f"{kind}_{year}.json" for kind in ("instances", "stuff") for year in _YEARS]
    for file in tqdm(files, desc="Reading annotations", unit="file", disable=None, leave=False):
        content = _load(file)
        _check_categories(file, content["categories"])
        if file.name.startswith("instances"):
            columns += _images(file, content)
        pending.append((file, *_annotation_columns(file, content, area)))
        del content
    return _tabulate(columns, pending)


def _load(file: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(file.read_bytes())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise OochubError(
            f"{file} is not complete JSON ({error}). Its download or its unpacking broke off: fetch it again."
        ) from error
    for key in ("images", "annotations", "categories"):
        if not isinstance(content, dict) or not isinstance(content.get(key), list):
            raise OochubError(f"{file} has no list {key!r}, so it is not a COCO annotation file.")
    return content


def _check_categories(file: Path, categories: list[dict[str, Any]]) -> None:
    names = {number: name for name, number in CATEGORY_IDS.items()} | {_OTHER: "other"}
    for category in categories:
        number, name = category["id"], str(category["name"]).replace(" ", "_")
        if names.get(number) != name:
            raise OochubError(
                f"{file} calls category {number} {name!r}; in COCO and COCO-Stuff 2017 it is {names.get(number)!r}. "
                "Only files with the official categories give the official contexts."
            )


def _images(file: Path, content: dict[str, Any]) -> list[dict[str, Any]]:
    year = file.stem.rpartition("_")[2]
    licenses = {entry["id"]: entry["name"] for entry in content.get("licenses", [])}
    rows = []
    for image in content["images"]:
        try:
            row = {
                "image_id": image["id"],
                "file_name": f"{year}/{image['file_name'].rpartition('/')[2]}",
                "pixels": image["height"] * image["width"],
                "license": licenses.get(image.get("license"), ""),
                "source_url": image.get("flickr_url", "") or image.get("coco_url", ""),
                "file": file,
            }
        except KeyError as error:
            raise OochubError(f"{file}: an image lacks the field {error}: {image}.") from error
        if row["pixels"] <= 0:
            raise OochubError(f"{file}: image {image['id']} has no size ({image['width']} x {image['height']}).")
        rows.append(row)
    return rows


def _annotation_columns(file: Path, content: dict[str, Any], of: str) -> tuple[NDArray[Any], ...]:
    annotations = content["annotations"]
    n = len(annotations)
    try:
        image_id = np.fromiter((a["image_id"] for a in annotations), np.int64, n)
        category = np.fromiter((a["category_id"] for a in annotations), np.int64, n)
        if of == "field":
            area = np.fromiter((a["area"] for a in annotations), np.float64, n)
        else:
            sizes = {image["id"]: (image["height"], image["width"]) for image in content["images"]}
            area = mask_areas(annotations, sizes, union=of == "union")
    except KeyError as error:
        raise OochubError(f"{file}: an annotation lacks the field {error}.") from error
    keep = category != _OTHER
    return image_id[keep], category[keep], area[keep]


def _tabulate(images: list[dict[str, Any]], pending: list[Any]) -> CocoTable:
    ids = np.array([row["image_id"] for row in images], dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        files = sorted({images[order[twice[0] + k]]["file"].name for k in (0, 1)})
        raise OochubError(
            f"{len(twice)} image ids occur twice, first {ids[twice[0]]} in {' and '.join(files)}. "
            "Each image must be listed once: use the original files."
        )
    images = [images[i] for i in order]
    pixels = np.array([row["pixels"] for row in images], dtype=np.float64)
    area = np.zeros((len(ids), len(CATEGORY_IDS)))
    count = np.zeros(area.shape, dtype=np.int32)
    for file, image_id, category, size in pending:
        row = np.searchsorted(ids, image_id)
        _check_annotations(file, ids, row, image_id, category, size)
        column = _COLUMN[category]
        np.add.at(area, (row, column), size / pixels[row])
        np.add.at(count, (row, column), 1)
    return CocoTable(
        image_id=ids,
        file_name=[row["file_name"] for row in images],
        license=[row["license"] for row in images],
        source_url=[row["source_url"] for row in images],
        area=area,
        count=count,
    )


def _check_annotations(
    file: Path,
    ids: NDArray[Any],
    row: NDArray[Any],
    image_id: NDArray[Any],
    category: NDArray[Any],
    area: NDArray[Any],
) -> None:
    if not len(image_id):
        return
    unknown = ids[np.minimum(row, len(ids) - 1)] != image_id if len(ids) else np.ones(len(image_id), bool)
    if unknown.any():
        raise OochubError(
            f"{file}: {unknown.sum()} annotations are of images that no instances file lists, first image id "
            f"{image_id[unknown][0]}. The four annotation files must come from the same release (2017)."
        )
    strange = (category < 0) | (category >= len(_COLUMN))
    strange |= _COLUMN[np.where(strange, 0, category)] < 0
    if strange.any():
        raise OochubError(
            f"{file}: {strange.sum()} annotations have a category that COCO and COCO-Stuff 2017 lack, first "
            f"{category[strange][0]}. Allowed: the 171 ids 1 to 182 of the official files, and 183 (other)."
        )
    if not np.isfinite(area).all() or (area < 0).any():
        raise OochubError(f"{file}: an annotation's `area` is negative or not a number.")
