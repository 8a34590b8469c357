"""YOLO's labels: a folder with a text file per image, whose lines are class, center x and y, width, height, confidence.

The four numbers of a box are fractions of the image.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, BridgedAnswers, RowImage
from oochub.exchange.detections import Detections, list_classes, name_classes
from oochub.storage.artifacts import FileKind
from oochub.storage.reading import parse_plain_number, read_lines

if TYPE_CHECKING:
    import datasets

    from oochub.prediction.predictions import Predictions

_NAMES_FILE = "classes.txt"
_MOST_FILES = 1_000_000
_SIZE = ("width", "height")


class YoloLabels(Bridge):
    """Reads and writes the labels that YOLO's programs save of predictions (`save_txt=True, save_conf=True`).

    A file is named as its image: by its example_id, or as its file. Classes are numbered from 0 in the order of the
    data's classes, those of COCO's images in the order of COCO's 80; a file classes.txt names others, one a line.

    Source: Ultralytics, Object Detection Datasets, Ultralytics YOLO format.
    """

    title = "YOLO labels"
    answers = "a folder of YOLO's labels, one IMAGE.txt per image with confidences"
    written = FileKind("YOLO's labels", (), lambda folder: False, is_folder=True, names=("labels/*.txt", _NAMES_FILE))
    written_kinds = ("boxes",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        """See `Bridge.recognizes`; it holds text files, or a folder `labels` that does."""
        return path.is_dir() and next(iter(_find_folder(path).rglob("*.txt")), None) is not None

    def files(self, path: Path) -> Sequence[Path]:
        """See `Bridge.files`."""
        named = [file for file in (_find_names(path),) if file is not None]
        return [*_list_labels(path), *named]

    def read(self, path: Path, model: str | None) -> BridgedAnswers:
        """See `Bridge.read`."""
        place, named = _find_folder(path), _find_names(path)
        images: list[str] = []
        places: list[str] = []
        numbers: list[list[float]] = []
        for file in _list_labels(path):
            for number, line in enumerate(read_lines(file), 1):
                if line.strip():
                    numbers.append(_read_line(line, f"{file}, line {number},"))
                    images.append(file.relative_to(place).with_suffix("").as_posix())
                    places.append(f"{file.name}, line {number}")
        table = np.array(numbers, np.float64).reshape(-1, 6)
        half = table[:, 3:5] / 2
        detections = Detections(
            name=path.name,
            images=images,
            places=places,
            categories=table[:, 0].astype(np.int64),
            boxes=np.concatenate([table[:, 1:3] - half, table[:, 1:3] + half], axis=1),
            scores=table[:, 5],
            are_fractions=True,
            class_names=None if named is None else tuple(line.strip() for line in read_lines(named) if line.strip()),
        )
        detections.check(path)
        return BridgedAnswers(detections.to_table())

    def fit(self, answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
        """See `Bridge.fit` and `Detections.fit`."""
        return Detections.from_table(answers.table).fit(data)

    def check(self, predictions: "Predictions") -> None:
        """See `Bridge.check`; the fractions need the size of each image."""
        super().check(predictions)
        missing = [name for name in _SIZE if name not in predictions.column_names]
        if missing:
            raise OochubError(
                f"{self.title} are fractions of images, but the predictions have no image sizes: they have no column "
                f"{' and '.join(missing)}. Predict data with the columns width and height, in pixels."
            )
        names = predictions.rows.column("example_id").to_pylist()
        strange = [name for name in names if not name or {"", ".", ".."} & {*name.split("/")} or "\0" in name]
        if strange or len({*names}) < len(names):
            first = strange[0] if strange else next(name for name in names if names.count(name) > 1)
            raise OochubError(
                f"{self.title} are files named by example_id, but {first!r} names no file, or several rows. Export the "
                "predictions of one split, or rename the examples."
            )

    def write(self, predictions: "Predictions", draft: Path, images: Iterator[RowImage | None]) -> None:
        """See `Bridge.write`: `labels/`, with an empty file for an image without a box, and `classes.txt`."""
        every = name_classes(predictions)
        (draft / _NAMES_FILE).write_text("".join(f"{name}\n" for name in every), "utf-8")
        numbers = [every.index(name) for name in predictions.class_names]
        columns = [
            predictions.rows.column(name).to_pylist() for name in ("example_id", *_SIZE, "detected_boxes", "scores")
        ]
        for name, width, height, boxes, scores, classes in zip(*columns, list_classes(predictions), strict=True):
            file = draft / "labels" / PurePosixPath(f"{name}.txt")
            file.parent.mkdir(parents=True, exist_ok=True)
            size = (width, height, width, height)
            lines = []
            for (x1, y1, x2, y2), score, number in zip(boxes, scores, classes, strict=True):
                parts = ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)
                shares = [repr(float(part) / float(of)) for part, of in zip(parts, size, strict=True)]
                lines.append(" ".join([str(numbers[number]), *shares, repr(float(score))]) + "\n")
            file.write_text("".join(lines), "utf-8")


def _find_folder(path: Path) -> Path:
    return path / "labels" if (path / "labels").is_dir() else path


def _find_names(path: Path) -> Path | None:
    places = (_find_folder(path) / _NAMES_FILE, path / _NAMES_FILE)
    return next((file for file in places if file.is_file()), None)


def _list_labels(path: Path) -> list[Path]:
    place = _find_folder(path)
    files = sorted(file for file in place.rglob("*.txt") if file.name != _NAMES_FILE)
    if not files or len(files) > _MOST_FILES:
        raise OochubError(
            f"{place} contains {len(files):,} label files IMAGE.txt, of which 1 to {_MOST_FILES:,} are read. Pass "
            "the folder of YOLO's labels."
        )
    return files


def _read_line(line: str, place: str) -> list[float]:
    """The six numbers of a box."""
    fields = line.split()
    values = [parse_plain_number(field) for field in fields]
    fault = ""
    if len(fields) == 5:
        fault = "has no confidence: save labels with their confidences (save_conf=True)"
    elif len(fields) != 6:
        fault = f"has {len(fields)} numbers in place of 6: class, center x, center y, width, height, confidence"
    elif any(map(math.isnan, values)) or not (fields[0].isascii() and fields[0].isdigit()) or len(fields[0]) > 9:
        fault = f"must hold a class number and five finite numbers, got {line[:60]!r}"
    if fault:
        raise OochubError(f"{place} {fault}. Write the labels again.")
    return values
