"""COCO's results: one JSON list of boxes, {"image_id", "category_id", "bbox": [x, y, width, height], "score"}."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, BridgedAnswers, RowImage
from oochub.exchange.detections import Detections, list_classes, read_box_classes
from oochub.storage.artifacts import FileKind
from oochub.storage.reading import read_json

if TYPE_CHECKING:
    import datasets

    from oochub.prediction.predictions import Predictions

_FIELDS = ("image_id", "category_id", "bbox", "score")
_LARGEST = float(np.finfo(np.float32).max)


class CocoResults(Bridge):
    """Reads and writes the results of a detector as COCO's evaluation takes them.

    `image_id` is the example_id of a row, as text or as a number, or the name of its file. `category_id` is that of
    COCO for a benchmark of COCO's images, else the number of the class from 0.

    Source: COCO, Results Format, 1. Object Detection (Detection).
    """

    title = "COCO results"
    answers = "a JSON list of COCO's results"
    written = FileKind("COCO's results", (".json",), lambda path: False)  # a list has no place for a mark
    written_kinds = ("boxes",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        """See `Bridge.recognizes`; its JSON is a list."""
        return path.suffix.lower() == ".json" and not path.is_dir() and head.lstrip()[:1] == b"["

    def read(self, path: Path, model: str | None) -> BridgedAnswers:
        """See `Bridge.read`."""
        entries = read_json(path, kept=_keep_fields)
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
        detections = Detections(
            name=path.name,
            images=[str(entry["image_id"]) for entry in entries],
            places=[f"entry {number + 1}" for number in range(len(entries))],
            categories=np.array([entry["category_id"] for entry in entries], np.int64),
            boxes=boxes,
            scores=np.array([entry["score"] for entry in entries], np.float64),
        )
        detections.check(path)
        return BridgedAnswers(detections.to_table())

    def fit(self, answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
        """See `Bridge.fit` and `Detections.fit`."""
        return Detections.from_table(answers.table).fit(data)

    def write(self, predictions: "Predictions", draft: Path, images: Iterator[RowImage | None]) -> None:
        """See `Bridge.write`: ids of digits as whole numbers, as COCO has them; an image without a box is not there."""
        box_classes = read_box_classes(predictions.metadata.benchmark, predictions.metadata.config)
        numbers = [box_classes.get(name, place) for place, name in enumerate(predictions.class_names)]
        columns = [predictions.rows.column(name).to_pylist() for name in ("example_id", "detected_boxes", "scores")]
        with draft.open("w", encoding="utf-8") as file:
            file.write("[")
            start = "\n"
            for example_id, boxes, scores, classes in zip(*columns, list_classes(predictions), strict=True):
                image_id = int(example_id) if example_id.isascii() and example_id.isdigit() else example_id
                for (x1, y1, x2, y2), score, number in zip(boxes, scores, classes, strict=True):
                    entry = {
                        "image_id": image_id,
                        "category_id": numbers[number],
                        "bbox": [float(corner) for corner in (x1, y1, x2 - x1, y2 - y1)],
                        "score": float(score),
                    }
                    file.write(start + json.dumps(entry, allow_nan=False))
                    start = ",\n"
            file.write("\n]\n")


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
    if not isinstance(box, list) or len(box) != 4 or not all(_is_number(number) for number in box):
        return f"must have four finite numbers as bbox, x, y, width and height, got {repr(box)[:80]}"
    return "" if _is_number(score) else f"must have a finite number as score, got {repr(score)[:60]}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST  # nan is not
