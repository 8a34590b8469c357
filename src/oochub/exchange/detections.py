"""Boxes that a detector drew, in any program's format, as answers to a data set's images.

An image without a box is in none of these formats: nothing was found in it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError
from oochub.exchange.bridge import BridgedAnswers, tally
from oochub.output import get_output
from oochub.prediction.prediction_data import list_example_ids
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildRecord, drop_build_column

_TRAIN = "train"
_SAID = b"detections"


@dataclass(frozen=True, kw_only=True)
class Detections:
    """Boxes of a file or folder, checked as far as they say themselves.

    Attributes:
        name: Name of the file or folder.
        images: What each box calls its image (d,): an id, or the name of a file.
        places: The place of each box in the file (d,), in words.
        categories: The number of each box's class (d,).
        boxes: x1, y1, x2, y2 of each box (d, 4), in pixels, or as fractions of the image.
        scores: The score of each box (d,), in [0, 1].
        are_fractions: Whether the boxes are fractions of their images, and classes counted from 0.
        class_names: The classes in the order of their numbers, if the file names them.
    """

    name: str
    images: Sequence[str]
    places: Sequence[str]
    categories: NDArray[np.int64]
    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    are_fractions: bool = False
    class_names: tuple[str, ...] | None = None

    def check(self, path: Path) -> None:
        """Checks that there are boxes, that they have a size, scores in [0, 1], and that none stands twice.

        Args:
            path: The file or folder that an error names.

        Raises:
            OochubError: What is wrong, in how many places, and the first.
        """
        if not len(self.scores):
            raise OochubError(f"{path} contains no box, so it names no image. Check that the detector wrote its boxes.")
        flat, unfit = (self.boxes[:, 2:] < self.boxes[:, :2]).any(axis=1), ~((self.scores >= 0) & (self.scores <= 1))
        whole = np.concatenate([self.boxes, self.scores[:, None], self.categories[:, None]], axis=1)
        order = np.lexsort([*whole.T, np.unique(self.images, return_inverse=True)[1]])
        same = (whole[order[1:]] == whole[order[:-1]]).all(axis=1)
        same &= np.asarray(self.images)[order[1:]] == np.asarray(self.images)[order[:-1]]
        twice = np.zeros(len(whole), bool)
        twice[order[1:][same]] = True
        for wrong, what, instead in (
            (~np.isfinite(self.boxes).all(axis=1), "a box that is not finite", "Write finite numbers."),
            (flat, "a negative width or height", "A box is its corner or center, then its width and height."),
            (unfit, "a score outside [0, 1]", "Write probabilities."),
            (twice, "the same box twice", "Drop the copies."),
        ):
            if wrong.any():
                first = self.places[int(np.argmax(wrong))]
                raise OochubError(f"{path} has {what} in {int(wrong.sum()):,} places, first {first}. {instead}")

    def to_table(self) -> pa.Table:
        """A row for each box; `from_table` is the inverse."""
        facts = {"name": self.name, "are_fractions": self.are_fractions, "class_names": self.class_names}
        table = pa.table(
            {
                "example_id": pa.array(self.images, pa.string()),
                "place": pa.array(self.places, pa.string()),
                "category": pa.array(self.categories),
                "box": pa.FixedSizeListArray.from_arrays(pa.array(self.boxes.ravel()), 4),
                "score": pa.array(self.scores),
            }
        )
        return table.replace_schema_metadata({_SAID: json.dumps(facts)})

    @classmethod
    def from_table(cls, table: pa.Table) -> "Detections":
        """The boxes of a table that `to_table` made."""
        facts = json.loads(table.schema.metadata[_SAID])
        return cls(
            name=facts["name"],
            images=table.column("example_id").to_pylist(),
            places=table.column("place").to_pylist(),
            categories=table.column("category").to_numpy(),
            boxes=table.column("box").combine_chunks().flatten().to_numpy().reshape(-1, 4),
            scores=table.column("score").to_numpy(),
            are_fractions=facts["are_fractions"],
            class_names=None if facts["class_names"] is None else tuple(facts["class_names"]),
        )

    def fit(self, data: Mapping[str, datasets.Dataset]) -> BridgedAnswers:
        """The boxes as answers to every image of the splits that they are of.

        An image is found by its example_id, as text or as a number, else by the name of its file, with or without its
        ending. A class is found by the name that the file gives its number, if it names its classes; by its number in
        the benchmark's own files, such as COCO's category ids; else by its place in the class names from 0. The splits
        are those with a box; the training split only if no other has one.

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
                f"{self.name} contains boxes, but there is no column boxes in {called} to compare them with. Name "
                "data that have one, such as nooch/boxes_car, or give answers of another kind."
            )
        problems: list[str] = []
        classes = self._find_classes(record, tuple(kind.class_names(some) or ()), problems)
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
        others = int((classes < 0).sum())
        if others:
            notes.append(f"{others:,} of {len(classes):,} boxes of {self.name} are of other classes and were not read")
        parts = []
        for number in tested:
            kept = np.flatnonzero((split == number) & (classes >= 0))
            part = _list_boxes(data[names[number]], kept, row, boxes, self.scores, classes)
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
        return BridgedAnswers(table, notes=tuple(notes))

    def _find_classes(
        self, record: BuildRecord | None, wanted: Sequence[str], problems: list[str]
    ) -> NDArray[np.int64]:
        """The place of each box's class among those of the data (d,); -1 of a class that these are not asked for."""
        box_classes = {} if record is None else read_box_classes(record.benchmark, record.config)
        if self.class_names is not None:
            numbers = {number: name.replace(" ", "_") for number, name in enumerate(self.class_names)}
            named = {name.replace(" ", "_"): place for place, name in enumerate(wanted)}
            if not {*named} & {*numbers.values()}:
                problems.append(f"it names none of the classes {', '.join(wanted[:5])}, first {self.class_names[0]}")
        elif box_classes:
            ordered = sorted(box_classes, key=box_classes.__getitem__)
            numbers = dict(enumerate(ordered)) if self.are_fractions else {box_classes[name]: name for name in ordered}
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
                f"{tally(len(strange), 'box has', 'boxes have')} a {word} that is none of {len(numbers)} ({shown}"
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
            for row, example_id in enumerate(list_example_ids(part)):
                by_id.setdefault(_shorten(example_id), []).append((number, row))
            for row, file in enumerate(_read_file_names(part)):
                by_file.setdefault(file, []).append((number, row))
                by_file.setdefault(file.rpartition(".")[0], []).append((number, row))
        sizes: dict[str, tuple[int, int] | None] = {}
        several: list[str] = []
        for name in dict.fromkeys(self.images):
            rows = by_id.get(_shorten(name)) or by_file.get(name) or []
            several += [name] if len(rows) > 1 else []
            sizes[name] = rows[0] if len(rows) == 1 else None
        unknown = [name for name, row in sizes.items() if row is None and name not in several]
        first = next(iter(data.values()))
        files = _read_file_names(first)
        rule = f"an image goes by its example_id, such as {list_example_ids(first)[0]}, as text or number" + (
            f", or by the name of its file, such as {files[0]}" if files else ""
        )
        for names, what in ((unknown, "not in these data"), (several, "the name of several of these data")):
            if names:
                which = tally(len(names), "image is", "images are")
                problems.append(f"{which} {what}, first {names[0][:60]!r}; {rule}")
        places = np.array([sizes[name] or (0, 0) for name in self.images], np.int64).reshape(-1, 2)
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
                "its boxes are fractions of images, but the data has no image sizes: it needs the columns width and "
                "height, in pixels"
            )
            return self.boxes
        boxes = self.boxes * np.tile(sizes, 2) if self.are_fractions else self.boxes
        beyond = (boxes[:, :2] >= sizes).any(axis=1) | (boxes[:, 2:] <= 0).any(axis=1)
        beyond |= (boxes[:, 2:] > 2 * sizes).any(axis=1) | (boxes[:, :2] < -sizes).any(axis=1)
        if beyond.any():
            first = int(np.argmax(beyond))
            width, height = sizes[first]
            problems.append(
                f"{tally(int(beyond.sum()), 'box does', 'boxes do')} not lie in the image, first "
                f"{[round(corner, 2) for corner in boxes[first].tolist()]} (x1, y1, x2, y2) of {width:.0f} x "
                f"{height:.0f} pixels in {self.places[first]}"
            )
        return boxes


def read_box_classes(benchmark: str | None, config: str | None) -> Mapping[str, int]:
    """The numbers of classes in a benchmark's own files (`Benchmark.box_classes`); empty where they count from 0.

    >>> read_box_classes("nooch", "boxes_car")["car"]
    3
    """
    if benchmark is None or config is None or benchmark not in catalog.names("benchmark"):
        return {}
    declared: Mapping[str, int] = catalog.get("benchmark", benchmark).of(config).box_classes
    return declared


def name_classes(predictions: Predictions) -> list[str]:
    """The classes that a file which counts from 0 may hold, in the order of their numbers."""
    box_classes = read_box_classes(predictions.metadata.benchmark, predictions.metadata.config)
    is_known = {*predictions.class_names} <= box_classes.keys()
    return sorted(box_classes, key=box_classes.__getitem__) if is_known else list(predictions.class_names)


def list_classes(predictions: Predictions) -> list[list[int]]:
    """The place of the class of each box of each row among the class names; 0 of data with one class."""
    if "detected_categories" in predictions.column_names:
        categories: list[list[int]] = predictions.rows.column("detected_categories").to_pylist()
        return categories
    return [[0] * len(row) for row in predictions.rows.column("scores").to_pylist()]


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
            "example_id": pa.array(list_example_ids(part), pa.string()),
            **{name: pa.ListArray.from_arrays(pa.array(offsets), values) for name, values in columns.items()},
        }
    )


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
