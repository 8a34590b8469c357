"""Reads one annotation file of COCO or COCO-Stuff and checks, column by column, that it can be true."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco_categories import IDS, STUFF, THINGS
from oochub.builders.sources.coco_json import coco_json
from oochub.builders.sources.coco_records import CocoRecords
from oochub.errors import OochubError
from oochub.storage.reading import read_json

OTHER = 183
"""COCO-Stuff's "other": everything that is none of the stuff classes; nobody's context."""

_KINDS = {"instances": {row["id"]: row["name"] for row in THINGS}, "stuff": {row["id"]: row["name"] for row in STUFF}}
_AGAIN = "Fetch the file again."
_NO_ID = -1
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
    images: CocoRecords
    annotations: CocoRecords
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
        instances_val2017.json: `id` of image 139.5 must be a whole number, got 139.5. Fetch the file again.
        """
        content = read_json(file) if outlines else coco_json(file, boxes=boxes)
        images, annotations, categories = (CocoRecords.of(file, content, key) for key in _LISTS)
        licenses = CocoRecords.of(file, content, "licenses", required=False)
        license_names = zip(licenses.whole_numbers("id").tolist(), licenses.texts("name", default=""), strict=True)
        if images or annotations or categories:  # an empty half has no content that could be wrong
            _check_categories(categories, _detect_kind(file))
        found = cls(
            file=file,
            images=images,
            annotations=annotations,
            licenses=dict(license_names),
            image_id=images.whole_numbers("id"),
            size=np.stack([images.whole_numbers(key) for key in ("height", "width")], axis=1),
            annotation_id=annotations.whole_numbers("id", default=_NO_ID),
            annotated=annotations.whole_numbers("image_id"),
            category=annotations.whole_numbers("category_id"),
        )
        found._check()
        return found

    def _check(self) -> None:
        """What is left to check once every field has its type."""
        for name, ids in (("image", self.image_id), ("annotation", self.annotation_id[self.annotation_id != _NO_ID])):
            ordered = np.sort(ids)
            if len(twice := ordered[1:][ordered[1:] == ordered[:-1]]):
                raise OochubError(f"{self.file}: {len(twice):,} {name} ids occur twice, first {twice[0]}. {_AGAIN}")
        if len(flat := np.flatnonzero((self.size < 1).any(axis=1))):
            height, width = self.size[flat[0]]
            raise OochubError(
                f"{self.file}: image {self.image_id[flat[0]]} has no size ({width} x {height} pixels). {_AGAIN}"
            )
        own = _KINDS[self.kind]
        if len(strange := np.flatnonzero(~np.isin(self.category, list(own)))):
            raise OochubError(
                f"{self.file}: {len(strange):,} annotations have a category that COCO and COCO-Stuff 2017 lack, "
                f"first {self.category[strange[0]]} ({self.named(strange[0])}). Only the {len(own)} ids of the "
                f"official files, {min(own)} to {max(own)}, are allowed in {self.kind} files. {_AGAIN}"
            )

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
        found = [
            (row, segmentation.get("size"))
            for row, annotation in enumerate(self.annotations.rows)
            if type(segmentation := annotation.get("segmentation")) is dict
        ]
        for row, size in found:
            if type(size) is not list or len(size) != 2 or {type(number) for number in size} != {int}:
                raise OochubError(
                    f"{self.file}: the run lengths of {self.named(row)} have the size {size}; it must be two whole "
                    f"numbers, height and width. {_AGAIN}"
                )
        try:
            sizes = np.array([size for _, size in found], dtype=np.int64).reshape(-1, 2)
        except OverflowError:
            raise OochubError(f"{self.file}: run lengths are larger than any image. {_AGAIN}") from None
        return np.array([row for row, _ in found], dtype=np.int64), sizes


def _detect_kind(file: Path) -> str:
    return file.name.partition("_")[0]


def _check_categories(categories: CocoRecords, kind: str) -> None:
    declared = dict(zip(categories.whole_numbers("id").tolist(), categories.texts("name"), strict=True))
    file, own = categories.file, _KINDS[kind]
    for other, theirs in _KINDS.items():
        if other != kind and declared and declared.keys() <= theirs.keys():
            raise OochubError(
                f"{file} has the categories of {other}: it is the {other} file under the name of the {kind} file. "
                "Give each file its own name, or unpack them again."
            )
    names = {number: name.replace(" ", "_") for name, number in IDS.items()}
    for number, name in ((number, name.replace(" ", "_")) for number, name in declared.items()):
        if names.get(number) != name:
            raise OochubError(
                f"{file} calls category {number} {name!r}; in COCO and COCO-Stuff 2017 it is {names.get(number)!r}. "
                "Only files with the official categories give the official contexts."
            )
    missing = [f"{number} ({own[number]})" for number in own if number not in declared and number != OTHER]
    if missing:
        raise OochubError(
            f"{file} lacks {len(missing)} of the {len(own)} categories of {kind} in its list 'categories', first "
            f"{missing[0]}: no annotation could have them. Use the official file; a subset of it must keep the whole "
            "list."
        )
