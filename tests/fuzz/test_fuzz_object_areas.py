"""Masks as PNG files and boxes in a column with one thing wrong: refused, a row left out, or the same pixels.

COCO's annotations go through the cases of test_fuzz_masks.py: `CocoAreas` reads them as outlines do.
Planted faults seen: a mask's pixels above 127 alone, links followed out of the folder, an infinite box let through.
"""

import io
import json
import os
from pathlib import Path

import datasets
import numpy as np
import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from mutations import bytes_cases
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
BOXES = Format(name="boxes of objects", make=_make_boxes, use=_use_boxes)


def _first_box(value: object):
    def change(folder: Path) -> None:
        file = folder / "boxes.json"
        file.write_text(json.dumps([value, *json.loads(file.read_text())[1:]]))

    return change


def _saved(image: Image.Image, form: str = "PNG", **more: object):
    return lambda folder: image.save(folder / "0.png", form, **more)


def _linked(target: str):
    def change(folder: Path) -> None:
        (folder / "0.png").unlink()
        (folder / "0.png").symlink_to(target)

    return change


def _linked_out(folder: Path) -> None:
    _mask(0).save(folder.parent / "outside.png")
    _linked("../outside.png")(folder)


def _in_place_of_the_file(make):
    def change(folder: Path) -> None:
        (folder / "0.png").unlink()
        make(folder / "0.png")

    return change


def _usual(number: int) -> list[object]:
    return ["probed", np.flatnonzero(np.asarray(_mask(number))).tolist()]


_OTHERS = [_usual(1), _usual(2)]
_WRONG_BOXES = {
    "a text": "abc", "a number": 7, "true": True, "three numbers": [1, 2, 3], "five numbers": [1, 2, 3, 4, 5],
    "texts": ["a", "b", "c", "d"], "null among them": [1, 2, None, 6], "nan": [1, 2, float("nan"), 6],
    "infinite": [1, 2, float("inf"), 6], "an object": {"x": 1},
    "truths": [False, False, True, True], "a truth among them": [False, 2, 5, 6],
    "digits as text": ["1", "2", "5", "6"],
    "turned in x": [5, 2, 1, 6], "turned in y": [1, 6, 5, 2],
    "of no width": [1, 2, 1, 6], "left of the image": [-9, 2, -3, 6], "ragged": [[1, 2, 5, 6], [1, 2, 3]],
    "one good, one turned": [[1, 2, 5, 6], [5, 2, 1, 6]],
}  # fmt: skip
_RIGHT_BOXES = {
    "as fractions of pixels": ([1.2, 2.9, 4.5, 5.1], (1, 2, 5, 6)),
    "beyond the image": ([1, 2, 1e300, 6], (1, 2, _SIZE, 6)),
    "from before the image": ([-1e300, 2, 5, 6], (0, 2, 5, 6)),
}


def _placed(x1: int, y1: int, x2: int, y2: int) -> list[int]:
    return [y * _SIZE + x for y in range(y1, y2) for x in range(x1, x2)]


CASES = [(PNG, case) for case in bytes_cases("0.png", expect=frozenset({REFUSED, SAME}))]
CASES += [
    (PNG, Case(name="a folder for a mask", mutate=_in_place_of_the_file(Path.mkdir), expect=frozenset({CHANGED}),
               numbers=[["no_area", []], *_OTHERS])),
    (PNG, Case(name="a pipe for a mask", mutate=_in_place_of_the_file(os.mkfifo), expect=frozenset({CHANGED}),
               numbers=[["no_area", []], *_OTHERS])),
    (PNG, Case(name="no file", mutate=lambda folder: (folder / "0.png").unlink(), expect=frozenset({CHANGED}),
               numbers=[["no_area", []], *_OTHERS])),
    (PNG, Case(name="a link out of the folder", mutate=_linked_out)),
    (PNG, Case(name="a link to nothing", mutate=_linked("nothing"), expect=frozenset({CHANGED}),
               numbers=[["no_area", []], *_OTHERS])),
    (PNG, Case(name="a mask of gray values", mutate=_saved(_mask(0).point(lambda value: value // 200)),
               expect=frozenset({SAME}))),
    (PNG, Case(name="a mask in color", mutate=_saved(_mask(0).convert("RGB")), expect=frozenset({SAME}))),
    (PNG, Case(name="a mask of a palette", mutate=_saved(_mask(0).convert("P")), expect=frozenset({SAME}))),
    (PNG, Case(name="a mask of bits", mutate=_saved(_mask(0).convert("1")), expect=frozenset({SAME}))),
    (PNG, Case(name="a mask as GIF", mutate=_saved(_mask(0), "GIF"), expect=frozenset({SAME}))),
    (BOXES, Case(name="a box of null", mutate=_first_box(None), expect=frozenset({CHANGED}))),
    *((BOXES, Case(name=f"a box is {word}", mutate=_first_box(value), names=("row 0",)))
      for word, value in _WRONG_BOXES.items()),
    *((BOXES, Case(name=f"a box {word}", mutate=_first_box(value), expect=frozenset({SAME, CHANGED}),
                   numbers=[_placed(*corners), _placed(0, 0, 3, 3) + _placed(4, 4, 10, 9), None]))
      for word, (value, corners) in _RIGHT_BOXES.items()),
]  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_object_areas(campaign, kind, case):
    campaign.run(kind, case)
