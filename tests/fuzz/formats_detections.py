"""COCO's results and YOLO's labels with one thing wrong: refused, or the numbers of what the file then says."""

import functools
import json
from pathlib import Path

from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from fuzz_case import Format, Used
from fuzz_predictions import evaluated, numbers_of

_RESULTS, _LABELS = "results.json", "labels/id3.txt"
_ROWS = 8


@functools.cache
def _data() -> DatasetDict:
    features = {
        "example_id": Value("string"),
        "boxes": List(List(Value("float32"), length=4)),
        "categories": List(ClassLabel(names=["head"])),
        "width": Value("int32"),
        "height": Value("int32"),
    }
    rows = {
        "example_id": [f"id{row}" for row in range(_ROWS)],
        "boxes": [[[2.0, 2.0, 6.0, 6.0]]] * _ROWS,
        "categories": [[0]] * _ROWS,
        "width": [20] * _ROWS,
        "height": [10] * _ROWS,
    }
    return DatasetDict({"test": Dataset.from_dict(rows, Features(features))})


def _make_results(folder: Path) -> None:
    entries = [
        {"image_id": f"id{row}", "category_id": 0, "bbox": [2.0, 2.0, 4.0, 4.0 + row], "score": 0.875 - row / 16}
        for row in range(_ROWS - 1)
    ]
    (folder / _RESULTS).write_text(json.dumps(entries))


def _make_labels(folder: Path) -> None:
    (folder / "labels").mkdir()
    for row in range(_ROWS - 1):
        (folder / "labels" / f"id{row}.txt").write_text(f"0 0.2 0.4 0.2 {0.4 + row / 20} {0.875 - row / 16}\n")


def _use_results(folder: Path, out: Path) -> Used:
    report = evaluated(folder / _RESULTS, out, benchmark=_data())
    return Used(numbers=numbers_of(report), notes=report.notes)


def _use_labels(folder: Path, out: Path) -> Used:
    report = evaluated(folder / "labels", out, benchmark=_data())
    return Used(numbers=numbers_of(report), notes=report.notes)


RESULTS = Format(name="results", make=_make_results, use=_use_results)
LABELS = Format(name="labels", make=_make_labels, use=_use_labels, names=("id3", "labels"))
