"""Masks as PNG files and boxes in a column with one thing wrong: refused, a row left out, or the same pixels.

COCO's annotations go through the cases of test_fuzz_masks.py: `CocoAreas` reads them as outlines do.
"""

import io
import json
from pathlib import Path

import datasets
import numpy as np
from fuzz_case import Format, Used
from PIL import Image

from oochub.context_finder import OpenedPicture
from oochub.prediction.predictions import Predictions
from oochub.probing.object_area import BoxAreas, MaskFiles, RowOfObject
from oochub.probing.probed_rows import ProbedRows

_SIZE = 12
_NAMES = ["cow", "camel"]


def _mask(top: int, size: int = _SIZE) -> Image.Image:
    pixels = np.zeros((size, size), np.uint8)
    pixels[top : top + 4, 2:8] = 255
    return Image.fromarray(pixels)


def _make_masks(folder: Path) -> None:
    for number in range(3):
        _mask(number).save(folder / f"{number}.png")


def _rows_of(folder: Path) -> ProbedRows:
    file = io.BytesIO()
    Image.fromarray(np.full((_SIZE, _SIZE, 3), 90, np.uint8)).save(file, "PNG")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=_NAMES)})
    pictures = [{"bytes": file.getvalue(), "path": None}] * 3
    part = datasets.Dataset.from_dict({"image": pictures, "label": [0, 1, 0]}, features)
    predictions = Predictions.from_arrays(
        logits=np.eye(2)[[0, 1, 0]], label=[0, 1, 0], class_names=_NAMES, example_id=["0", "1", "2"]
    )
    split = str(predictions.split[0])
    chosen = {"split": split, "usual": None, "present": None, "most": 9, "seed": 0}
    return ProbedRows.drawn({split: part}, predictions, MaskFiles(folder), **chosen)


def _use_masks(folder: Path, out: Path) -> Used:
    """Each row's state, and its mask as a digest of its places."""
    rows = _rows_of(folder)
    rows.area.begin(rows.with_object())
    rows.area.settings(rows.with_object())
    seen = rows.seen([0, 1, 2])
    return Used(numbers=[[each.state, np.flatnonzero(each.mask).tolist()] for each in seen])


def _make_boxes(folder: Path) -> None:
    (folder / "boxes.json").write_text(json.dumps([[1, 2, 5, 6], [[0, 0, 3, 3], [4, 4, 9.5, 9]], None]))


def _use_boxes(folder: Path, out: Path) -> Used:
    """The column as a data set would hold it."""
    given = json.loads((folder / "boxes.json").read_text())
    rows = [RowOfObject(str(number), "cow", "", {"box": value}) for number, value in enumerate(given)]
    picture = OpenedPicture(b"", Image.new("RGB", (_SIZE, _SIZE)))
    area = BoxAreas("box")
    area.begin(rows)
    area.settings(rows)
    masks = area.masks(rows, [picture] * len(rows))
    return Used(numbers=[None if mask is None else np.flatnonzero(mask).tolist() for mask in masks])


PNG = Format(name="mask files", make=_make_masks, use=_use_masks)
BOXES = Format(name="boxes of objects", make=_make_boxes, use=_use_boxes, names=("row ",))
