"""Reads COCO and COCO-Stuff annotations into one table: how much of each image each of 171 classes takes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.coco_file import OTHER, CocoFile
from oochub.builders.sources.coco_masks import mask_areas
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.errors import unknown_name
from oochub.process.follow import follow

_YEARS = ("train2017", "val2017")
_COLUMN = np.full(256, -1, dtype=np.int64)
_COLUMN[list(CATEGORY_IDS.values())] = np.arange(len(CATEGORY_IDS))


@dataclass(frozen=True, kw_only=True)
class CocoTable:
    """One row per image, sorted by image id.

    Attributes:
        image_id: (n,) COCO image ids.
        file_name: (n,) file below `images/`, "val2017/000000000139.jpg".
        license: (n,) name of the image's license, "" where the file does not say.
        source_url: (n,) where the image was published, "" where the file does not say.
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
_NO_LICENSE = -1
_FILE_NAME = RawColumn(pattern=r"(.*/)?(?!\.\.?\Z)[^/]+", form="the name of a file")
_ROUNDING = 1e-6  # by which the area of an outline around a whole image may exceed it


class _Images(NamedTuple):
    """The images of the instances files, in order of their ids."""

    image_id: NDArray[np.int64]
    size: NDArray[np.int64]
    file_name: list[str]
    license: list[str]
    source_url: list[str]


class _Columns(NamedTuple):
    """What is kept of one file: its checked columns without its records, and those that `read_coco` asks for."""

    content: CocoFile
    area: NDArray[np.float64]
    masked: NDArray[np.int64]
    mask_size: NDArray[np.int64]


def read_coco(folder: Path, *, area: str = "field") -> CocoTable:
    """Reads the four annotation files of COCO and COCO-Stuff; by default no mask is decoded.

    The images are those of the instances files. One file is in memory at a time.

    Args:
        folder: Holds `annotations/` (or `annotations-json/`) with `{instances,stuff}_{train,val}2017.json`.
        area: "field" sums the annotations' `area`, as the authors' loader does; "mask" the pixels of their masks;
            "union" counts a pixel once where masks of a class overlap. The last two need pycocotools.

    Raises:
        OochubError: An unknown `area`; a file that `CocoFile.read` refuses; an image id in both halves, or two ids
            with one file; images without one annotation, or an annotation of an image that no instances file lists;
            an `area` that is not between 0 and the pixels of its image; run lengths, or an image of a stuff file, of
            another size than the image.

    Source: the rule of the authors' loader (NOOCH, Appendix B): the field `area` summed, category 183 dropped.
    """
    if area not in AREAS:
        raise unknown_name("area", area, AREAS)
    annotations = folder / ("annotations" if (folder / "annotations").is_dir() else "annotations-json")
    halves, read = [], []
    files = [annotations / f"{kind}_{year}.json" for kind in ("instances", "stuff") for year in _YEARS]
    for file in follow(files, desc="Reading annotations", unit="file", disable=None, leave=False):
        content = CocoFile.read(file, outlines=area != "field")
        if content.kind == "instances":
            halves.append(_read_images(content))
        read.append(_read_columns(content, area))
        del content
    return _tabulate(_join_halves(annotations, halves), read)


def _read_images(content: CocoFile) -> _Images:
    images, year = content.images, content.file.stem.rpartition("_")[2]
    licenses = images.read("license", RawColumn(kind="whole", default=_NO_LICENSE)).tolist()
    sources = (images.read(key, RawColumn(default="")) for key in ("flickr_url", "coco_url"))
    names = [name.rpartition("/")[2] for name in images.read("file_name", _FILE_NAME)]
    return _Images(
        content.image_id,
        content.size,
        [f"{year}/{name}" for name in names],
        [content.licenses.get(number, "") for number in licenses],
        [flickr or coco for flickr, coco in zip(*sources, strict=True)],
    )


def _read_columns(content: CocoFile, of: str) -> _Columns:
    if of == "field":
        area = content.annotations.read("area", RawColumn(kind="number"))
    else:
        sizes = dict(zip(content.image_id.tolist(), map(tuple, content.size.tolist()), strict=True))
        area = mask_areas(content.annotations.rows, sizes, union=of == "union", file=content.file)
    return _Columns(content.without_records(), area, *content.mask_sizes())


def _join_halves(annotations: Path, halves: Iterable[_Images]) -> _Images:
    columns: list[Any] = [list(column) for column in zip(*halves, strict=True)]
    ids = np.concatenate(columns[0])
    order = np.argsort(ids, kind="stable")
    names, licenses, urls = ([one for half in column for one in half] for column in columns[2:])
    images = _Images(
        ids[order],
        np.concatenate(columns[1])[order],
        *([column[row] for row in order] for column in (names, licenses, urls)),
    )
    table = RawTable(
        file=annotations / "instances_{train,val}2017.json",
        place=lambda row: f"image {images.image_id[row]} of {images.file_name[row].partition('/')[0]}",
    )
    table.add("id", [str(image_id) for image_id in images.image_id.tolist()], RawColumn(is_unique=True))
    table.add("file_name", images.file_name, RawColumn(is_unique=True))
    return images


def _tabulate(images: _Images, read: Iterable[_Columns]) -> CocoTable:
    pixels = images.size.astype(np.float64).prod(axis=1)
    area = np.zeros((len(pixels), len(CATEGORY_IDS)))
    count = np.zeros(area.shape, dtype=np.int32)
    for columns in read:
        row = _check_rows(images, columns, pixels)
        keep = columns.content.category != OTHER
        place = (row[keep], _COLUMN[columns.content.category[keep]])
        np.add.at(area, place, columns.area[keep] / pixels[place[0]])
        np.add.at(count, place, 1)
    return CocoTable(
        image_id=images.image_id,
        file_name=images.file_name,
        license=images.license,
        source_url=images.source_url,
        area=area,
        count=count,
    )


def _check_rows(images: _Images, columns: _Columns, pixels: NDArray[np.float64]) -> NDArray[np.int64]:
    """The row of each annotation's image; what one file says of images and areas agrees with the instances files."""
    content, area = columns.content, columns.area
    content.check_annotated()
    row, is_listed = _find_ids(images.image_id, content.annotated)
    content.table.require(
        is_listed, "no instances file lists its image. The four annotation files must come from one release (2017)"
    )
    content.table.require(
        (area >= 0) & (area <= pixels[row] * (1 + _ROUNDING)),
        lambda k: f"area must lie between 0 and the {pixels[row[k]]:.0f} pixels of its image, got {area[k]:.12g}",
    )
    own, is_own = _find_ids(images.image_id, content.image_id)
    own_id, masked = content.image_id[is_own], columns.masked
    _check_sizes(content.file, content.size[is_own], images.size[own[is_own]], lambda k: f"image {own_id[k]}")
    _check_sizes(
        content.file,
        columns.mask_size,
        images.size[row[masked]],
        lambda k: f"the run lengths of {content.named(masked[k])}",
    )
    return row


def _find_ids(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Finds the position of each wanted id in the ordered ids, and whether it is there."""
    row = np.searchsorted(ids, wanted)
    if not len(ids):
        return row, np.zeros(len(wanted), dtype=bool)
    row = row.clip(max=len(ids) - 1)
    return row, ids[row] == wanted


def _check_sizes(file: Path, here: NDArray[np.int64], there: NDArray[np.int64], place: Callable[[int], str]) -> None:
    """Checks heights and widths (k, 2) of one file against those of the instances files."""
    RawTable(file=file, place=place).require(
        (here == there).all(axis=1),
        lambda k: (
            f"its size is {here[k].tolist()} (height and width), but in the instances file the image has "
            f"{there[k].tolist()}. All files must come from one release (2017)"
        ),
    )
