"""Boxes that a detector wrote, as COCO's results or YOLO's labels, become answers to a data set's images.

COCO's results are one JSON list of {"image_id", "category_id", "bbox": [x, y, width, height], "score"}. YOLO's labels
are a folder with one text file per image, whose lines hold class, x and y of the center, width and height as fractions
of the image, and the confidence. An image without a box is not in either: nothing was found in it.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError
from oochub.evaluation.answers_file import AnswersFile
from oochub.output import get_output
from oochub.records.build_record import BuildRecord, drop_build_column
from oochub.storage.reading import parse_json, parse_plain_number, read_bytes, read_lines

_FIELDS = ("image_id", "category_id", "bbox", "score")
_NAMES_FILE = "classes.txt"
_TRAIN = "train"
_LARGEST = float(np.finfo(np.float32).max)
_MOST_FILES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class DetectionsFile:
    """The boxes of a file of COCO's results or of a folder of YOLO's labels, checked as far as they say themselves.

    Attributes:
        name: Name of the file or folder.
        sha256: SHA-256 of its bytes; of a folder, of the names and bytes of its files.
        images: What each box calls its image (d,): an id, or the name of a file without its ending.
        places: Where each box stands (d,), in words.
        categories: The number of each box's class (d,).
        boxes: x1, y1, x2, y2 of each box (d, 4), in pixels; of YOLO's labels as fractions of the image.
        scores: The score of each box (d,), in [0, 1].
        are_fractions: Whether the boxes are fractions of their images.
        class_names: The classes that the folder's classes.txt names, in order; None without one.
    """

    name: str
    sha256: str
    images: Sequence[str]
    places: Sequence[str]
    categories: NDArray[np.int64]
    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    are_fractions: bool = False
    class_names: tuple[str, ...] | None = None

    @classmethod
    def read(cls, path: str | Path) -> "DetectionsFile":
        """Reads a JSON file of COCO's results, or a folder of YOLO's labels.

        Args:
            path: The file, or the folder, whose label files may lie in its folder `labels`.

        Raises:
            OochubError: No such file, JSON that is cut off or no list of results, a field that is missing or of another
                type, a number that is not finite, a score outside [0, 1], a box without size, the same box twice; a
                label file with a line that is none, or without confidences.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "results.json"
        >>> _ = file.write_text('[{"image_id": 7, "category_id": 3, "bbox": [1, 2, 4, 4], "score": 0.9}]')
        >>> DetectionsFile.read(file).boxes.tolist()
        [[1.0, 2.0, 5.0, 6.0]]
        """
        path = Path(path).expanduser()
        found = _read_labels(path) if path.is_dir() else _read_results(path)
        _check_numbers(path, found)
        return found

    def tabulate(self, data: Mapping[str, datasets.Dataset]) -> AnswersFile:
        """The boxes as answers to every image of the splits that they are of.

        An image is found by its example_id, as text or as a number, else by the name of its file, with or without its
        ending. A class is found by its number in the benchmark's own files, such as COCO's category ids, else by its
        place in the class names from 0; a folder's classes.txt names its own. The splits are those with a box; the
        training split only where no other has one.

        Args:
            data: Splits by name, with the truth of boxes, as `oochub.load` gives them.

        Raises:
            OochubError: Data without boxes; images or classes that the data do not have, boxes that do not lie in their
                image, fractions where the data do not say how large images are.
        """
        data = drop_build_column(data)
        some = next(iter(data.values()))
        record, kind = BuildRecord.of(some.info), get_output("boxes")
        called = "the data" if record is None else f"{record.benchmark}/{record.config}"
        if not kind.is_truth_of(some.features or {}):
            raise OochubError(
                f"{self.name} holds boxes, but there is no column boxes in {called} to compare them with. Name data "
                "that have one, such as nooch/boxes_car, or give answers of another kind."
            )
        problems: list[str] = []
        asked = self._find_classes(record, tuple(kind.class_names(some) or ()), problems)
        split, row = self._find_images(data, problems)
        boxes = self.boxes
        if not problems:
            boxes = self._place_boxes(data, split, row, problems)
        if problems:
            lines = "".join(f"\n- {problem}" for problem in problems)
            raise OochubError(f"{self.name} does not fit {called}:{lines}\nCorrect these, or name other data.")
        names, counts = list(data), np.bincount(split, minlength=len(data))
        covered = [number for number in range(len(data)) if counts[number]]
        tested = [number for number in covered if names[number] != _TRAIN] or covered
        left_out = int(counts[[number for number in covered if number not in tested]].sum())
        notes = [f"{left_out:,} boxes of {self.name} are in images of {_TRAIN} and were not read"] if left_out else []
        others = int((asked < 0).sum())
        if others:
            notes.append(f"{others:,} of {len(asked):,} boxes of {self.name} are of other classes and were not read")
        parts = []
        for number in tested:
            kept = np.flatnonzero((split == number) & (asked >= 0))
            part = _list_boxes(data[names[number]], kept, row, boxes, self.scores, asked)
            empty = len(part) - len(np.unique(row[split == number]))
            if empty:
                notes.append(
                    f"{self.name} has no box of any class in {empty:,} of {len(part):,} images of {names[number]}: "
                    "they count as images in which nothing was found"
                )
            parts.append(part.append_column("split", pa.array([names[number]] * len(part), pa.string())))
        table = pa.concat_tables(parts)
        if len(kind.class_names(some) or ()) < 2:
            table = table.drop_columns(["detected_categories"])
        return AnswersFile(name=self.name, sha256=self.sha256, table=table, notes=tuple(notes))

    def _find_classes(
        self, record: BuildRecord | None, wanted: Sequence[str], problems: list[str]
    ) -> NDArray[np.int64]:
        """The place of each box's class among those of the data (d,); -1 of a class that these are not asked for."""
        known: Mapping[str, int] = {}
        if record is not None and record.benchmark in catalog.names("benchmark"):
            known = catalog.get("benchmark", record.benchmark).of(record.config).box_classes
        if self.class_names is not None:
            numbers = {number: name.replace(" ", "_") for number, name in enumerate(self.class_names)}
            named = {name.replace(" ", "_"): place for place, name in enumerate(wanted)}
            if not {*named} & {*numbers.values()}:
                problems.append(
                    f"its {_NAMES_FILE} names none of the classes {', '.join(wanted[:5])}, first {self.class_names[0]}"
                )
        elif known:
            ordered = sorted(known, key=known.__getitem__)
            numbers = dict(enumerate(ordered)) if self.are_fractions else {known[name]: name for name in ordered}
            named = {name: place for place, name in enumerate(wanted)}
        else:
            numbers = dict(enumerate(wanted))
            named = {name: place for place, name in enumerate(wanted)}
        places = {number: named.get(name, -1) for number, name in numbers.items()}
        strange = [row for row, number in enumerate(self.categories.tolist()) if number not in places]
        if strange:
            shown = ", ".join(f"{number} {name}" for number, name in list(numbers.items())[:3])
            word = "class" if self.are_fractions else "category_id"
            problems.append(
                f"{_count(len(strange), 'box has', 'boxes have')} a {word} that is none of {len(numbers)} ({shown}"
                f"{', ...' if len(numbers) > 3 else ''}), first {self.categories[strange[0]]} in "
                f"{self.places[strange[0]]}"
            )
        return np.array([places.get(number, -1) for number in self.categories.tolist()], np.int64)

    def _find_images(
        self, data: Mapping[str, datasets.Dataset], problems: list[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of the split of each box's image (d,), and of its row there (d,)."""
        by_id: dict[str, list[tuple[int, int]]] = {}
        by_file: dict[str, list[tuple[int, int]]] = {}
        for number, part in enumerate(data.values()):
            for row, each in enumerate(_read_ids(part)):
                by_id.setdefault(_shorten(each), []).append((number, row))
            for row, file in enumerate(_read_file_names(part)):
                by_file.setdefault(file, []).append((number, row))
                by_file.setdefault(file.rpartition(".")[0], []).append((number, row))
        found: dict[str, tuple[int, int] | None] = {}
        several: list[str] = []
        for name in dict.fromkeys(self.images):
            rows = by_id.get(_shorten(name)) or by_file.get(name) or []
            several += [name] if len(rows) > 1 else []
            found[name] = rows[0] if len(rows) == 1 else None
        unknown = [name for name, row in found.items() if row is None and name not in several]
        first = next(iter(data.values()))
        files = _read_file_names(first)
        rule = f"an image goes by its example_id, such as {_read_ids(first)[0]}, as text or number" + (
            f", or by the name of its file, such as {files[0]}" if files else ""
        )
        for names, what in ((unknown, "not in these data"), (several, "the name of several of these data")):
            if names:
                which = _count(len(names), "image is", "images are")
                problems.append(f"{which} {what}, first {names[0][:60]!r}; {rule}")
        places = np.array([found[name] or (0, 0) for name in self.images], np.int64).reshape(-1, 2)
        return places[:, 0], places[:, 1]

    def _place_boxes(
        self,
        data: Mapping[str, datasets.Dataset],
        split: NDArray[np.int64],
        row: NDArray[np.int64],
        problems: list[str],
    ) -> NDArray[np.float64]:
        """The boxes (d, 4) in pixels; those that do not lie in their image are problems."""
        sizes = np.full((len(row), 2), np.nan)
        for number, part in enumerate(data.values()):
            if {"width", "height"} <= {*part.column_names}:
                columns = part.select_columns(["width", "height"]).with_format("numpy")[:]
                mine = split == number
                sizes[mine] = np.stack([columns["width"], columns["height"]], axis=1)[row[mine]]
        if self.are_fractions and np.isnan(sizes).any():
            problems.append(
                "its boxes are fractions of images, but the data do not say how large these are: they need the columns "
                "width and height, in pixels"
            )
            return self.boxes
        boxes = self.boxes * np.tile(sizes, 2) if self.are_fractions else self.boxes
        beyond = (boxes[:, :2] >= sizes).any(axis=1) | (boxes[:, 2:] <= 0).any(axis=1)
        beyond |= (boxes[:, 2:] > 2 * sizes).any(axis=1) | (boxes[:, :2] < -sizes).any(axis=1)
        if beyond.any():
            first = int(np.argmax(beyond))
            width, height = sizes[first]
            problems.append(
                f"{_count(int(beyond.sum()), 'box does', 'boxes do')} not lie in the image, first "
                f"{[round(each, 2) for each in boxes[first].tolist()]} (x1, y1, x2, y2) of {width:.0f} x {height:.0f} "
                f"pixels in {self.places[first]}"
            )
        return boxes


def _read_results(path: Path) -> DetectionsFile:
    content = read_bytes(path)
    entries = parse_json(content, name=str(path), kept=_keep_fields)
    if not isinstance(entries, list):
        raise OochubError(
            f"{path} is not COCO's results: these are one list of objects with {', '.join(_FIELDS)}. Write the "
            "detector's results, not the annotations."
        )
    for number, entry in enumerate(entries):
        fault = _find_fault(entry)
        if fault:
            raise OochubError(f"{path}: entry {number + 1} of {len(entries):,} {fault}. Write the results again.")
    boxes = np.array([entry["bbox"] for entry in entries], np.float64).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return DetectionsFile(
        name=path.name,
        sha256=hashlib.sha256(content).hexdigest(),
        images=[str(entry["image_id"]) for entry in entries],
        places=_Entries(len(entries)),
        categories=np.array([entry["category_id"] for entry in entries], np.int64),
        boxes=boxes,
        scores=np.array([entry["score"] for entry in entries], np.float64),
    )


class _Entries(Sequence[str]):
    """Places of the boxes of a JSON list, without a text for each."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, row: Any) -> Any:
        return f"entry {row + 1}"

    def __len__(self) -> int:
        return self._count


def _keep_fields(record: dict[str, object]) -> dict[str, object]:
    return {name: record[name] for name in (*_FIELDS, "segmentation") if name in record}


def _find_fault(entry: object) -> str:
    """What is wrong with an entry of COCO's results, in words; "" if nothing is."""
    if not isinstance(entry, dict):
        return f"must be an object with {', '.join(_FIELDS)}, got {repr(entry)[:60]}"
    missing = [name for name in _FIELDS if name not in entry]
    if missing:
        masks = ": masks are not read, only boxes" if missing == ["bbox"] and "segmentation" in entry else ""
        return f"has no {' and no '.join(missing)}{masks}"
    image, category, box, score = (entry[name] for name in _FIELDS)
    if isinstance(image, bool) or not isinstance(image, int | str):
        return f"must have a whole number or a text as image_id, got {repr(image)[:60]}"
    if isinstance(category, bool) or not isinstance(category, int) or not 0 <= category < 2**31:
        return f"must have a whole number as category_id, got {repr(category)[:60]}"
    if not isinstance(box, list) or len(box) != 4 or not all(_is_number(each) for each in box):
        return f"must have four finite numbers as bbox, x, y, width and height, got {repr(box)[:80]}"
    return "" if _is_number(score) else f"must have a finite number as score, got {repr(score)[:60]}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST  # nan is not


def _read_labels(folder: Path) -> DetectionsFile:
    inner = folder / "labels"
    place = inner if inner.is_dir() else folder
    files = sorted(file for file in place.glob("*.txt") if file.name != _NAMES_FILE)
    if not files or len(files) > _MOST_FILES:
        raise OochubError(
            f"{place} holds {len(files):,} label files IMAGE.txt, of which 1 to {_MOST_FILES:,} are read. Give the "
            "folder of YOLO's labels."
        )
    digest = hashlib.sha256()
    images, places, numbers = [], [], []
    for file in files:
        lines = read_lines(file)
        digest.update(f"{file.name}\n{len(lines)}\n".encode() + "\n".join(lines).encode())
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            fields = line.split()
            values = [parse_plain_number(field) for field in fields]
            fault = ""
            if len(fields) == 5:
                fault = "has no confidence: save labels with their confidences (save_conf=True)"
            elif len(fields) != 6:
                fault = f"has {len(fields)} numbers in place of 6: class, center x, center y, width, height, confidence"
            elif any(map(math.isnan, values)) or not fields[0].isdigit() or len(fields[0]) > 9:
                fault = f"must hold a class number and five finite numbers, got {line[:60]!r}"
            if fault:
                raise OochubError(f"{file}, line {number}, {fault}. Write the labels again.")
            images.append(file.stem)
            places.append(f"{file.name}, line {number}")
            numbers.append(values)
    named = next((each for each in (place / _NAMES_FILE, folder / _NAMES_FILE) if each.is_file()), None)
    table = np.array(numbers, np.float64).reshape(-1, 6)
    half = table[:, 3:5] / 2
    return DetectionsFile(
        name=folder.name,
        sha256=digest.hexdigest(),
        images=images,
        places=places,
        categories=table[:, 0].astype(np.int64),
        boxes=np.concatenate([table[:, 1:3] - half, table[:, 1:3] + half], axis=1),
        scores=table[:, 5],
        are_fractions=True,
        class_names=None if named is None else tuple(line.strip() for line in read_lines(named) if line.strip()),
    )


def _check_numbers(path: Path, found: DetectionsFile) -> None:
    """That boxes have a size, scores are in [0, 1], and no box stands twice."""
    if not len(found.scores):
        raise OochubError(f"{path} holds no box, so it names no image. Check that the detector wrote its boxes.")
    flat, unfit = (found.boxes[:, 2:] < found.boxes[:, :2]).any(axis=1), ~((found.scores >= 0) & (found.scores <= 1))
    whole = np.concatenate([found.boxes, found.scores[:, None], found.categories[:, None]], axis=1)
    order = np.lexsort([*whole.T, np.unique(found.images, return_inverse=True)[1]])
    same = (whole[order[1:]] == whole[order[:-1]]).all(axis=1)
    same &= np.asarray(found.images)[order[1:]] == np.asarray(found.images)[order[:-1]]
    twice = np.zeros(len(whole), bool)
    twice[order[1:][same]] = True
    for wrong, what, instead in (
        (~np.isfinite(found.boxes).all(axis=1), "a box that is not finite", "Write finite numbers."),
        (flat, "a negative width or height", "A box is its corner or center, then its width and height."),
        (unfit, "a score outside [0, 1]", "Write probabilities."),
        (twice, "the same box twice", "Drop the copies."),
    ):
        if wrong.any():
            first = found.places[int(np.argmax(wrong))]
            raise OochubError(f"{path} has {what} in {int(wrong.sum()):,} places, first {first}. {instead}")


def _list_boxes(
    part: datasets.Dataset,
    kept: NDArray[np.int64],
    row: NDArray[np.int64],
    boxes: NDArray[np.float64],
    scores: NDArray[np.float64],
    classes: NDArray[np.int64],
) -> pa.Table:
    """A row for every image of a split, with its boxes in the order of the file."""
    kept = kept[np.argsort(row[kept], kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=len(part)))]).astype(np.int32)
    flat = pa.FixedSizeListArray.from_arrays(pa.array(boxes[kept].ravel()), 4)
    columns = {"detected_boxes": flat, "scores": pa.array(scores[kept]), "detected_categories": pa.array(classes[kept])}
    return pa.table(
        {
            "example_id": pa.array(_read_ids(part), pa.string()),
            **{name: pa.ListArray.from_arrays(pa.array(offsets), values) for name, values in columns.items()},
        }
    )


def _read_ids(part: datasets.Dataset) -> list[str]:
    if "example_id" not in part.column_names:
        return [str(row) for row in range(len(part))]
    return [str(each) for each in part.select_columns(["example_id"]).with_format("arrow")[:]["example_id"].to_pylist()]


def _read_file_names(part: datasets.Dataset) -> list[str]:
    """The name of each image's file; none where the data do not say it. No image is read."""
    column = next((name for name, kind in (part.features or {}).items() if isinstance(kind, datasets.Image)), None)
    if column is None:
        return []
    stored = part.data.column(column)
    paths = pa.chunked_array([pc.struct_field(chunk, "path") for chunk in stored.chunks], pa.string())
    if part._indices is not None:
        paths = paths.take(part._indices.column(0))
    names = [str(path or "").rpartition("/")[2] for path in paths.to_pylist()]
    return names if all(names) else []


def _shorten(name: str) -> str:
    """A number without its leading zeros; another name as it is."""
    return name.lstrip("0") or "0" if name.isascii() and name.isdigit() else name


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
