"""Masks of COCO's annotations with one thing wrong, as areas and as outlines: refused, or the same pixels."""

import json
from pathlib import Path

from fuzz_case import Format, Used
from fuzz_coco import write_coco
from pycocotools import mask as coco_mask

from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.coco_outlines import outlines

_FILE = "annotations/instances_train2017.json"
_PACKED = coco_mask.frPyObjects({"size": [10, 10], "counts": [0, 20, 80]}, 10, 10)
_FORMS = {
    "polygon": [[0.0, 0.0, 6.0, 0.0, 6.0, 2.0, 0.0, 2.0]],
    "run lengths": {"size": [10, 10], "counts": [0, 20, 80]},
    "packed run lengths": {"size": [10, 10], "counts": _PACKED["counts"].decode()},
}


def _make(folder: Path) -> None:
    write_coco(folder)
    content = json.loads((folder / _FILE).read_text())
    for annotation, form in zip(content["annotations"], _FORMS.values(), strict=False):
        annotation["segmentation"] = form
    (folder / _FILE).write_text(json.dumps(content))


def _areas(area: str):
    def use(folder: Path, out: Path) -> Used:
        table = read_coco(folder, area=area)
        return Used(numbers=[table.image_id, table.area.sum(1)])

    return use


def _outlines(folder: Path, out: Path) -> Used:
    contours = outlines(folder, [1, 2, 3, 4], ["car"])
    return Used(numbers={str(image): lines["car"] for image, lines in contours.items()})


MASKS = Format(name="masks", make=_make, use=_areas("mask"))
UNION = Format(name="masks, union", make=_make, use=_areas("union"))
OUTLINES = Format(name="outlines", make=_make, use=_outlines)
