"""Finds the object of an image: from what was named, else from what the data themselves say.

Boxes in a column of the data; what the annotations of COCO outline, polygons and run lengths, crowds included; masks as
PNG files, one per image, as the segmentations of CUB lie beside its images; the pixels of those classes of a
semantic segmenter that are the class of the row.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import datasets
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub import catalog
from oochub.benchmark import find_data_folder
from oochub.builders.sources.coco_object_masks import Masks, object_masks
from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.inputs.pictures.preprocessing import decode_mask
from oochub.inputs.pictures.stored_pictures import read_picture_bytes
from oochub.records.build_record import BuildRecord
from oochub.storage.picture_file import check_inside
from oochub.storage.reading import read_bytes

if TYPE_CHECKING:
    from oochub.context_finder import OpenedPicture


class RowOfObject(NamedTuple):
    """A row whose object is asked for.

    Attributes:
        example_id: Its name.
        label: The name of its class.
        file: The name of its image's file; "" where the rows hold the bytes alone.
        columns: The row's other columns, by name.
    """

    example_id: str
    label: str
    file: str
    columns: Mapping[str, Any]


class ObjectArea(ABC):
    """Says of each row where its object is; a subclass checks what it can when it is made.

    Attributes:
        words: What it is, in words: "the masks in segmentations".
        needs: Columns of the data that it reads.
        is_whole: Whether an area is known to hold all objects of the class that its image shows.
    """

    words: str
    needs: tuple[str, ...] = ()
    is_whole: bool = False

    @abstractmethod
    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """Looks at all rows before a model runs.

        Raises:
            OochubError: Nothing is known of any row.
        """

    @abstractmethod
    def settings(self, rows: Sequence[RowOfObject]) -> Any:
        """What the areas of the rows depend on, JSON types: equal only where they are the same."""

    @abstractmethod
    def masks(self, rows: Sequence[RowOfObject], pictures: "Sequence[OpenedPicture]") -> list[NDArray[np.bool_] | None]:
        """The area of each row (h, w), True on the object, all False where it is not there; None where none is known.

        Raises:
            OochubError: What is known of a row is broken.
        """


class BoxAreas(ObjectArea):
    """The boxes of a row, one or a list of them, each x1, y1, x2, y2 in pixels of its image; the object is all in it.

    Args:
        column: Its name.
    """

    def __init__(self, column: str) -> None:
        self._column, self.needs = column, (column,)
        self.words = f"the boxes in the column {column}"

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        if not any(self._read_boxes(row) for row in rows):
            raise OochubError(
                f"None of {len(rows):,} rows has a box in the column {self._column}. Choose another column."
            )

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: the boxes."""
        return json.dumps([self._read_boxes(row) for row in rows])

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        return [self._mask(row, picture) for row, picture in zip(rows, pictures, strict=True)]

    def _mask(self, row: RowOfObject, picture: OpenedPicture) -> NDArray[np.bool_] | None:
        boxes = self._read_boxes(row)
        if boxes is None:
            return None
        mask = np.zeros((picture.image.height, picture.image.width), bool)
        for x1, y1, x2, y2 in boxes:
            if x1 >= picture.image.width or y1 >= picture.image.height:
                raise OochubError(
                    f"A box in the column {self._column} lies outside its image of {picture.image.width} x "
                    f"{picture.image.height} pixels; the row {row.example_id} has {[x1, y1, x2, y2]}. Fix the column."
                )
            mask[max(0, int(y1)) : int(np.ceil(y2)), max(0, int(x1)) : int(np.ceil(x2))] = True
        return mask

    def _read_boxes(self, row: RowOfObject) -> list[list[float]] | None:
        given: Any = row.columns[self._column]
        if given is None:
            return None
        try:
            boxes = np.asarray(given, np.float64).reshape(-1, 4)
            is_number = not any(
                isinstance(coordinate, bool | np.bool_ | str) for coordinate in np.asarray(given, object).flat
            )
        except (TypeError, ValueError):
            boxes, is_number = np.full((1, 4), np.nan), False
        if not (
            is_number and np.isfinite(boxes).all() and (boxes[:, 2:] > boxes[:, :2]).all() and (boxes[:, 2:] > 0).all()
        ):
            raise OochubError(
                f"A box in the column {self._column} must be four numbers x1, y1, x2, y2 in pixels, x1 < x2 and y1 < "
                f"y2; the row {row.example_id} has {given!r}. Fix the column, or name another one."
            )
        rows: list[list[float]] = boxes.tolist()
        return rows


class CocoAreas(ObjectArea):
    """All annotations of a thing in an image of COCO, by the raw folder; rows are named by image ids.

    Args:
        folder: Holds `annotations/`.
        thing: The thing in COCO's words; None takes the class of each row.
    """

    def __init__(self, folder: str | Path, thing: str | None = None) -> None:
        self._folder, self._thing = Path(folder).expanduser(), thing
        self.words, self.is_whole = "COCO's annotations", True
        self._masks: Masks = {}

    @staticmethod
    def is_raw(folder: str | Path) -> bool:
        """Whether a folder is COCO's."""
        path = Path(folder).expanduser()
        return any((path / name).is_dir() for name in ("annotations", "annotations-json"))

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        strange = next((row.example_id for row in rows if not row.example_id.isdecimal()), None)
        if strange is not None:
            raise OochubError(
                f"COCO's areas go by image ids, which are numbers, but one id is {strange!r}. Pass masks or boxes."
            )
        things = dict.fromkeys(self._thing or row.label for row in rows)
        self._masks = object_masks(self._folder, [int(row.example_id) for row in rows], things)

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: a digest of the masks."""
        digest = hashlib.sha256()
        for mask in self.masks(rows, ()):
            digest.update(b"-" if mask is None else np.packbits(mask).tobytes())
        return digest.hexdigest()

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        return [self._mask(row) for row in rows]

    def _mask(self, row: RowOfObject) -> NDArray[np.bool_]:
        parts = self._masks[int(row.example_id)][self._thing or row.label]
        return np.logical_or.reduce(parts) if parts else np.zeros((1, 1), bool)


class MaskFiles(ObjectArea):
    """A folder of PNG files named by the rows' ids or by the files of their images; what is not black is the object.

    The mask of "161.Mallard/Mallard_0023" is `161.Mallard/Mallard_0023.png`, that of "7.jpg" is `7.png`.

    Args:
        folder: Holds them.

    Raises:
        OochubError: There is no such folder.

    >>> MaskFiles("no/such/folder")
    Traceback (most recent call last):
    oochub.errors.OochubError: Mask folder not found: no/such/folder, and no such column. A mask is a PNG of \
the same size as its image, named by the row's id or the image's file, white on the object and black elsewhere.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        self.words = f"the masks in {self._folder.name}"
        if not self._folder.is_dir():
            raise OochubError(
                f"Mask folder not found: {folder}, and no such column. A mask is a PNG of the same size as its "
                "image, named by the row's id or the image's file, white on the object and black elsewhere."
            )

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        if rows and not any(self._find_file(row) for row in rows):
            raise OochubError(
                f"None of {len(rows):,} images has a mask in {self._folder}; the first would be "
                f"{rows[0].example_id}.png. Pass the folder of this dataset's masks."
            )

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: a digest of the files."""
        digest = hashlib.sha256()
        for row in rows:
            file = self._find_file(row)
            digest.update(hashlib.sha256(b"" if file is None else read_bytes(file)).digest())
        return digest.hexdigest()

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        return [None if file is None else _read(file) for file in map(self._find_file, rows)]

    def _find_file(self, row: RowOfObject) -> Path | None:
        names = dict.fromkeys(
            (row.example_id, _strip_suffix(row.example_id), _strip_suffix(row.file), _strip_suffix(Path(row.file).name))
        )
        for name in filter(None, names):
            file = self._folder / f"{name}.png"
            if not Path(name).is_absolute() and file.is_file():
                check_inside(file, root=self._folder)
                return file
        return None


class MaskColumn(ObjectArea):
    """A column of masks, images of the same size as those of the rows; what is not black is the object.

    Args:
        column: Its name.
    """

    def __init__(self, column: str) -> None:
        self._column, self.needs = column, (column,)
        self.words = f"the masks in the column {column}"

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        if rows and not any(row.columns[self._column] for row in rows):
            raise OochubError(
                f"None of {len(rows):,} rows has a mask in the column {self._column}. Choose another column, or a "
                "folder of masks."
            )

    def settings(self, rows: Sequence[RowOfObject]) -> str:
        """See `ObjectArea.settings`: a digest of the files."""
        digest = hashlib.sha256()
        for row in rows:
            digest.update(hashlib.sha256(self._read_file(row) or b"").digest())
        return digest.hexdigest()

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`."""
        files = [self._read_file(row) for row in rows]
        names = [f"the mask of example {row.example_id}" for row in rows]
        return [None if of is None else decode_mask(of, name) for of, name in zip(files, names, strict=True)]

    def _read_file(self, row: RowOfObject) -> bytes | None:
        stored: Any = row.columns[self._column]
        return read_picture_bytes(stored, f"the mask of example {row.example_id}") if stored else None


def can_be_column(masks: str | Path) -> bool:
    """Whether masks that were named may be a column of the data: a text without a folder in it, and no folder itself.

    >>> can_be_column("mask"), can_be_column("photos/masks"), can_be_column(".")
    (True, False, False)
    """
    return isinstance(masks, str) and Path(masks).name == masks and not Path(masks).is_dir()


def _strip_suffix(name: str) -> str:
    """The name without its suffix, folders kept."""
    return str(Path(name).with_suffix("")) if Path(name).name else name


def _read(file: Path) -> NDArray[np.bool_]:
    return decode_mask(read_bytes(file), str(file))


class SegmentedAreas(ObjectArea):
    """What a segmenter says is the class of each row, see `oochub contexts --contexts segments`.

    Args:
        way: `Segments` of a model.
        thing: The class whose area is asked for; None takes that of each row.
    """

    def __init__(self, way: Any, thing: str | None = None) -> None:
        self._way, self._thing = way, thing
        self.words, self.is_whole = f"the segments by {way.model}", True

    def begin(self, rows: Sequence[RowOfObject]) -> None:
        """See `ObjectArea.begin`."""
        names = list(dict.fromkeys(self._thing or row.label for row in rows))
        if rows and not any(self._way.classes_of(name) for name in names):
            raise OochubError(
                f"The segmentation model knows none of the classes {', '.join(names[:5])} by name. Say which of its "
                'classes they are with --probe-option label_map=FILE, one line "class of the data,class of the '
                'model" each.'
            )

    def settings(self, rows: Sequence[RowOfObject]) -> Any:
        """See `ObjectArea.settings`: the segmenter, and which of its classes are the object."""
        names = dict.fromkeys(self._thing or row.label for row in rows)
        return [self._way.settings(), {name: self._way.classes_of(name) for name in names}]

    def masks(self, rows: Sequence[RowOfObject], pictures: Sequence[OpenedPicture]) -> list[NDArray[np.bool_] | None]:
        """See `ObjectArea.masks`; None for a class that the segmenter does not know."""
        maps = self._way.maps([self._way.prepare(picture) for picture in pictures])
        return [self._mask(row, numbers, picture) for row, numbers, picture in zip(rows, maps, pictures, strict=True)]

    def _mask(self, row: RowOfObject, numbers: NDArray[np.int64], picture: OpenedPicture) -> NDArray[np.bool_] | None:
        classes = self._way.classes_of(self._thing or row.label)
        if not classes:
            return None
        mask = Image.fromarray(np.isin(numbers, classes)).resize(picture.image.size, Image.Resampling.NEAREST)
        return np.asarray(mask)


def choose_area(
    part: Any,
    *,
    masks: str | Path | None = None,
    boxes: str | None = None,
    segmenter: Any = None,
    data_dir: str | None = None,
    thing: str | None = None,
) -> ObjectArea:
    """The one that was named; without any, COCO's annotations for a task of nooch, else the column `mask` or `boxes`.

    Args:
        part: A split of the data.
        masks: A folder of PNG masks, the raw folder of COCO, or a column of masks; an existing folder comes first.
        boxes: A column of boxes.
        segmenter: A semantic segmenter, `Segments` of `oochub.context_finding`.
        data_dir: The raw folder of a benchmark.
        thing: What a task of two classes asks for; None takes the class of each row.

    Raises:
        OochubError: A stream, or rows without images; none that could be known; a column that is not there, or a
            class of a label map.
    """
    if not isinstance(part, datasets.Dataset):
        raise OochubError("The probe reads rows a second time, and a stream can be read only once. Load the data.")
    if "image" not in part.column_names:
        raise OochubError("The probe alters images, but these rows have none. Remove probe= (--probe).")
    record = BuildRecord.of(part.info)
    if masks is not None and can_be_column(masks) and masks in part.column_names:
        if not isinstance(part.features[masks], datasets.Image):
            raise OochubError(
                f"The column {masks} holds no images, so it holds no masks. Name a column of images, or a folder of "
                "PNG masks."
            )
        return MaskColumn(str(masks))
    if masks is not None:
        return CocoAreas(masks, thing) if CocoAreas.is_raw(masks) else MaskFiles(masks)
    if boxes is not None:
        if boxes not in part.column_names:
            raise unknown_name("column", boxes, part.column_names)
        return BoxAreas(boxes)
    if segmenter is not None:
        segmenter.check(_list_class_names(part, record, thing))
        return SegmentedAreas(segmenter, thing)
    if record is not None and record.benchmark == "nooch":
        return CocoAreas(find_data_folder(catalog.get("benchmark", "nooch"), data_dir), thing)
    if isinstance(part.features.get("mask"), datasets.Image):
        return MaskColumn("mask")
    if "boxes" in part.column_names:
        return BoxAreas("boxes")
    raise OochubError(
        f"The probe must know where the object is in each image. Pass {choose_wording('masks=')}, a folder of PNG "
        f"masks or a column of them; {choose_wording('boxes=')}, a column of boxes; or "
        f"{choose_wording('segmenter=')}, a semantic segmentation model that knows your classes."
    )


def _list_class_names(part: datasets.Dataset, record: BuildRecord | None, thing: str | None) -> list[str]:
    """The names that a label map may give classes of a segmenter for; none of data that do not name their classes."""
    feature = part.features.get("label")
    names = [thing, record.facts.object if record else None]
    return [*feature.names, *filter(None, names)] if isinstance(feature, datasets.ClassLabel) else []
