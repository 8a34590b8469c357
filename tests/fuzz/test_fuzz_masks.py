"""Masks of COCO's annotations with one thing wrong, as areas and as outlines: refused, or the same pixels."""

import json
from pathlib import Path

import pytest
from fuzz_case import CHANGED, Case, Format, Used
from fuzz_coco import write_coco
from mutations import edited
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


def _wrong() -> dict[str, object]:
    """Segmentations that are none, by what is wrong with them."""
    packed = _FORMS["packed run lengths"]["counts"]
    return {
        "null": None,
        "a text": "abc",
        "a number": 7,
        "true": True,
        "an empty list": [],
        "an empty object": {},
        "a list of null": [None],
        "a list of texts": ["abc"],
        "a flat polygon": [0.0, 0.0, 6.0, 0.0, 6.0, 2.0],
        "an empty polygon": [[]],
        "a polygon of one point": [[0.0, 0.0]],
        "a polygon of an odd length": [[0.0, 0.0, 6.0, 0.0, 6.0, 2.0, 1.0]],
        "a polygon with null": [[0.0, 0.0, 6.0, None, 6.0, 2.0]],
        "a polygon with a text": [[0.0, 0.0, 6.0, "x", 6.0, 2.0]],
        "a polygon with nan": [[0.0, 0.0, 6.0, float("nan"), 6.0, 2.0]],
        "a polygon of pairs": [[[0.0, 0.0], [6.0, 0.0], [6.0, 2.0]]],
        "a polygon of texts": [["0", "0", "6", "0", "6", "2"]],
        "a polygon within a list": [[[0.0, 0.0, 6.0, 0.0, 6.0, 2.0]]],
        "a polygon with true": [[True, 0.0, 6.0, 0.0, 6.0, 2.0]],
        "a polygon and one of pairs": [[0.0, 0.0, 6.0, 0.0, 6.0, 2.0], [[0.0, 0.0], [6.0, 0.0], [6.0, 2.0]]],
        "a polygon with an infinite point": [[0.0, 0.0, 6.0, float("inf"), 6.0, 2.0]],
        "run lengths of another size": {"size": [20, 5], "counts": [0, 20, 80]},
        "run lengths of a larger size": {"size": [20, 20], "counts": [0, 20, 380]},
        "run lengths without size": {"counts": [0, 20, 80]},
        "run lengths without counts": {"size": [10, 10]},
        "run lengths of one side": {"size": [10], "counts": [0, 20, 80]},
        "run lengths of a negative size": {"size": [-10, -10], "counts": [0, 20, 80]},
        "run lengths of a size of texts": {"size": ["10", "10"], "counts": [0, 20, 80]},
        "run lengths of a fractional size": {"size": [10.5, 10], "counts": [0, 20, 80]},
        "run lengths that end early": {"size": [10, 10], "counts": [0, 20, 70]},
        "run lengths that go on": {"size": [10, 10], "counts": [0, 20, 90]},
        "no run lengths": {"size": [10, 10], "counts": []},
        "negative run lengths": {"size": [10, 10], "counts": [-20, 40, 80]},
        "fractional run lengths": {"size": [10, 10], "counts": [0, 20.5, 79.5]},
        "run lengths of texts": {"size": [10, 10], "counts": ["0", "20", "80"]},
        "run lengths of null": {"size": [10, 10], "counts": None},
        "run lengths of a number": {"size": [10, 10], "counts": 100},
        "packed run lengths of another size": {"size": [20, 5], "counts": packed},
        "packed run lengths cut": {"size": [10, 10], "counts": packed[:-1]},
        "packed run lengths doubled": {"size": [10, 10], "counts": packed * 2},
        "no packed run lengths": {"size": [10, 10], "counts": ""},
        "packed run lengths of other letters": {"size": [10, 10], "counts": "äöü"},
        "packed run lengths of a zero byte": {"size": [10, 10], "counts": "\0"},
        "packed run lengths of any letters": {"size": [10, 10], "counts": "zzzzzzzz"},
    }


def _setting(form: object):
    return edited(_FILE, lambda content: content["annotations"][0].update(segmentation=form))


CASES = [
    (kind, Case(name=word, mutate=_setting(form), names=("image 1", "1001")))
    for kind in (MASKS, UNION, OUTLINES)
    for word, form in _wrong().items()
]
CASES += [
    (
        MASKS,
        Case(
            name=f"another {word}",
            mutate=_setting(form),
            expect=frozenset({CHANGED}),
            numbers=[[*range(1, 25)], [*[20 / 100 + 24 / 100] * 3, *[12 / 100 + 24 / 100] * 21]],
        ),
    )
    for word, form in _FORMS.items()
    if word != "polygon"
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_masks(campaign, kind, case):
    campaign.run(kind, case)
