"""Reads one annotation file of COCO or COCO-Stuff and checks, column by column, that it can be true."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_categories import STUFF, THINGS
from oochub.builders.sources.coco_json import coco_json
from oochub.builders.sources.raw_table import RawColumn, RawRecords, RawTable
from oochub.errors import OochubError
from oochub.storage.reading import read_json

OTHER = 183
"""COCO-Stuff's "other": everything that is none of the stuff classes; nobody's context."""

_KINDS = {"instances": {row["id"]: row["name"] for row in THINGS}, "stuff": {row["id"]: row["name"] for row in STUFF}}
_AGAIN = "Download the file again."
_NO_ID = -1
_NUMBER, _TEXT = RawColumn(kind="whole"), RawColumn(default="")
_LISTS = ("images", "annotations", "categories")


@dataclass(frozen=True, kw_only=True)
class CocoFile:
    """What is in `{instances,stuff}_{train,val}2017.json`: m images and n annotations.

    Attributes:
        file: Path of the file.
        images: The m images.
        annotations: The n annotations.
        licenses: License id to its name.
        image_id: (m,) int64, none twice.
        size: (m, 2) int64 height and width in pixels, at least 1.
        annotation_id: (n,) int64, none twice; -1 if the file gives none.
        annotated: (n,) int64, the image of each annotation.
        category: (n,) int64, each one of the file's kind: things in instances files, stuff and 183 in stuff files.
    """

    file: Path
    images: RawRecords
    annotations: RawRecords
    licenses: Mapping[int, str]
    image_id: NDArray[np.int64]
    size: NDArray[np.int64]
    annotation_id: NDArray[np.int64]
    annotated: NDArray[np.int64]
    category: NDArray[np.int64]

    @classmethod
    def read(cls, file: Path, *, outlines: bool = True, boxes: bool = False) -> "CocoFile":
        """The checked content of a file; its kind is what its name begins with, "instances" or "stuff".

        Args:
            file: The file.
            outlines: Whether the annotations keep their polygons and run lengths, most of the file.
            boxes: Whether they keep their boxes without their outlines.

        Raises:
            OochubError: It is not complete JSON or not such a file; the file of the other kind; a category that is
                missing, unknown or renamed; a field that is missing or of another type; an id that is not a whole
                number or stands twice; an image without size.

        >>> import json, tempfile
        >>> file = Path(tempfile.mkdtemp()) / "instances_val2017.json"
        >>> image = {"id": 139.5, "height": 10, "width": 20}
        >>> _ = file.write_text(json.dumps({"images": [image], "annotations": [], "categories": THINGS}))
        >>> try:
        ...     CocoFile.read(file)
        ... except OochubError as error:
        ...     print(str(error).replace(str(file), file.name))
        instances_val2017.json, image 139.5: id must be a whole number, got 139.5. Download it again.
        """
        content = read_json(file) if outlines else coco_json(file, boxes=boxes)
        images, annotations, categories = (RawRecords.of(file, content, key) for key in _LISTS)
        licenses = RawRecords.of(file, content, "licenses", required=False)
        license_names = zip(licenses.read("id", _NUMBER).tolist(), licenses.read("name", _TEXT), strict=True)
        if images or annotations or categories:  # an empty half has no content that could be wrong
            _check_categories(categories, _detect_kind(file))
        size = RawColumn(kind="whole", lowest=1, form="in pixels")
        allowed = {number: number for number in _KINDS[_detect_kind(file)]}
        return cls(
            file=file,
            images=images,
            annotations=annotations,
            licenses=dict(license_names),
            image_id=images.read("id", RawColumn(kind="whole", is_unique=True)),
            size=np.stack([images.read(key, size) for key in ("height", "width")], axis=1),
            annotation_id=annotations.read("id", RawColumn(kind="whole", is_unique=True, default=_NO_ID)),
            annotated=annotations.read("image_id", _NUMBER),
            category=annotations.read("category_id", RawColumn(kind="whole", codes=allowed)),
        )

    @property
    def table(self) -> RawTable:
        """The annotations as a table without columns, to check rules of several."""
        return RawTable(file=self.file, place=self.named)

    def check_annotated(self) -> None:
        """Checks that there are annotations where there are images.

        Raises:
            OochubError: There is none.
        """
        if len(self.image_id) and not len(self.annotated):
            raise OochubError(
                f"{self.file} lists {len(self.image_id):,} images but no annotation, so nothing would be in any of "
                f"them. {_AGAIN}"
            )

    @property
    def kind(self) -> str:
        """The kind of file: "instances" or "stuff"."""
        return _detect_kind(self.file)

    def without_records(self) -> "CocoFile":
        """The columns alone: the records are the many bytes."""
        return replace(self, images=replace(self.images, rows=[]), annotations=replace(self.annotations, rows=[]))

    def named(self, row: int) -> str:
        """What an error calls an annotation: "annotation 906 of image 139"."""
        number = self.annotation_id[row]
        return f"{f'annotation {number}' if number != _NO_ID else 'an annotation'} of image {self.annotated[row]}"

    def mask_sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which annotations have run lengths, and the height and width (k, 2) that these are of.

        Raises:
            OochubError: Run lengths without a size of two whole numbers.
        """
        outlines = [annotation.get("segmentation") for annotation in self.annotations.rows]
        rows = np.array([row for row, outline in enumerate(outlines) if type(outline) is dict], dtype=np.int64)
        sizes = [outlines[row].get("size") for row in rows]
        RawTable(file=self.file, place=lambda k: f"the run lengths of {self.named(rows[k])}").require(
            [type(of) is list and len(of) == 2 and all(type(n) is int and abs(n) < 2**31 for n in of) for of in sizes],
            lambda k: f"the size must be two whole numbers, height and width, got {sizes[k]!r:.60}",
        )
        return rows, np.array(sizes, dtype=np.int64).reshape(-1, 2)


def _detect_kind(file: Path) -> str:
    return file.name.partition("_")[0]


def _check_categories(categories: RawRecords, kind: str) -> None:
    numbers, names = categories.read("id", _NUMBER).tolist(), categories.read("name", RawColumn())
    file, own = categories.file, _KINDS[kind]
    for other, theirs in _KINDS.items():
        if other != kind and numbers and theirs.keys() >= {*numbers}:
            raise OochubError(
                f"{file} has the categories of {other}: it is the {other} file under the name of the {kind} file. "
                "Give each file its own name, or unpack them again."
            )
    official = {number: name for names in _KINDS.values() for number, name in names.items()}
    categories.table.require(
        [official.get(n) in (name, name.replace("_", " ")) for n, name in zip(numbers, names, strict=True)],
        lambda row: f"its name is {names[row]!r:.60}, but in COCO and COCO-Stuff 2017 {official.get(numbers[row])!r}",
    )
    missing = [f"{number} ({own[number]})" for number in own if number not in {*numbers, OTHER}]
    if missing:
        raise OochubError(
            f"{file} lacks {len(missing)} of the {len(own)} categories of {kind} in its list 'categories', first "
            f"{missing[0]}: no annotation could have them. Use the official file; a subset of it must keep the whole "
            "list."
        )
