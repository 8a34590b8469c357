"""Annotations that cannot be true: each is an error that names the file and the id, and none is counted."""

import json
import sys
from copy import deepcopy

import numpy as np
import pytest

from oochub import OochubError
from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.coco_categories import STUFF, THINGS

SQUARE = [[1, 1, 5, 1, 5, 5, 1, 5]]
RUNS = {"counts": [11, 4, 85], "size": [10, 10]}


@pytest.fixture(autouse=True, params=["msgspec", "json"])
def parser(request, monkeypatch):
    """What each test says holds with the fast parser and without it."""
    if request.param == "json":
        monkeypatch.setitem(sys.modules, "msgspec", None)


def _content():
    """Four files: a car in each of two images of 10 x 10 pixels, a road behind one; the halves of val are empty."""
    empty = {"images": [], "annotations": [], "categories": []}
    images = [{"id": k, "file_name": f"{k:012d}.jpg", "height": 10, "width": 10, "license": 1} for k in (7, 9)]
    cars = [{"id": k, "image_id": k, "category_id": 3, "area": 16.0, "segmentation": SQUARE} for k in (7, 9)]
    road = {"id": 70, "image_id": 7, "category_id": 149, "area": 4, "segmentation": RUNS}
    licenses = [{"id": 1, "name": "CC BY"}]
    return {
        "instances_train2017": {"images": images, "annotations": cars, "categories": THINGS, "licenses": licenses},
        "stuff_train2017": {"images": deepcopy(images), "annotations": [road], "categories": STUFF},
        "instances_val2017": empty,
        "stuff_val2017": empty,
    }


def _written(folder, content):
    (folder / "annotations").mkdir(exist_ok=True)
    for name, part in content.items():
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(part))
    return folder


def test_what_can_be_true_is_read(tmp_path):
    """Worked by hand; an area of the whole image, by outlines a little more, an id left out and a null address too."""
    content = _content()
    image, car = content["instances_train2017"]["images"][0], content["instances_train2017"]["annotations"][0]
    image["flickr_url"], image["coco_url"] = None, "http://x"
    car["area"] = 100.00001
    del car["id"]
    table = read_coco(_written(tmp_path, content))
    assert table.image_id.tolist() == [7, 9] and table.license == ["CC BY", "CC BY"]
    assert table.source_url == ["http://x", ""] and table.file_name[0] == "train2017/000000000007.jpg"
    assert table.area.sum(axis=1).tolist() == pytest.approx([1.0000001 + 0.04, 0.16])
    assert table.count.sum() == 3
    np.testing.assert_array_equal(read_coco(tmp_path, area="mask").area[1], table.area[1])


def _set(where, **fields):
    """Changes fields of one record: "instances images 0"."""
    name, key, row = where.split()
    return lambda content: content[f"{name}_train2017"][key][int(row)].update(fields)


def _remove(where, field):
    name, key, row = where.split()
    return lambda content: content[f"{name}_train2017"][key][int(row)].pop(field)


def _swap(content):
    content["instances_train2017"] = content["stuff_train2017"]


def _swap_back(content):
    content["stuff_train2017"] = content["instances_train2017"]


def _put(name, key, value):
    return lambda content: content[f"{name}_train2017"].__setitem__(key, value)


IMAGE, CAR, ROAD = "instances images 0", "instances annotations 0", "stuff annotations 0"
FAULTS = {
    "the stuff file as instances": (
        _swap,
        "instances_train2017.json has the categories of stuff: it is the stuff file",
    ),
    "the instances file as stuff": (_swap_back, "has the categories of instances: it is the instances file under"),
    "no annotations of instances": (_put("instances", "annotations", []), "2 images but no annotation"),
    "no annotations of stuff": (_put("stuff", "annotations", []), "stuff_train2017.json lists 2 images but no"),
    "79 categories": (
        _put("instances", "categories", THINGS[1:]),
        r"lacks 1 of the 80 categories.* first 1 \(person\)",
    ),
    "no categories": (_put("instances", "categories", []), "lacks 80 of the 80 categories of instances"),
    "a category renamed": (
        _put("instances", "categories", [{"id": 1, "name": "human"}]),
        "category 1: its name is 'human', but in COCO",
    ),
    "a thing among stuff": (_set(ROAD, category_id=3), "annotation 70 of image 7: category_id must be 92, 93"),
    "stuff among things": (
        _set(CAR, category_id=183),
        r"annotation 7 of image 7: category_id must be 1, 2, .* \(80 in all\), got 183",
    ),
    "a category of nothing": (_set(CAR, category_id=10**9), "category_id must be 1, .*, got 1000000000"),
    "a fractional image id": (_set(IMAGE, id=7.5), "image 7.5: id must be a whole number, got 7.5"),
    "an annotation id twice": (
        _set(CAR, id=9),
        "annotation 9 of image 9: id must be unique, got 9, as in annotation 9 of image 7",
    ),
    "an image id twice": (_set(IMAGE, id=9), "image 9: id must be unique, got 9, as in image 9"),
    "two ids with one file": (
        _set(IMAGE, file_name="000000000009.jpg"),
        "image 9 of train2017: file_name must be unique, got 'train2017/000000000009.jpg', as in image 7",
    ),
    "an annotation of no image": (_set(CAR, image_id=8), "annotation 7 of image 8: no instances file lists its image"),
    "a negative width": (
        _set(IMAGE, width=-10),
        "image 7: width must be a whole number, 1 or more, in pixels, got -10",
    ),
    "no height": (_remove(IMAGE, "height"), "image 7: the field height is missing"),
    "an empty file name": (_set(IMAGE, file_name="train2017/"), "image 7: file_name must be the name of a file"),
    "half a letter in a name": (_set(IMAGE, file_name="\ud800.jpg"), "holds half of a character"),
    "an area above the image": (
        _set(CAR, area=101.0),
        "annotation 7 of image 7: area must lie between 0 and the 100 pixels of its image, got 101",
    ),
    "a negative area": (_set(CAR, area=-1), "annotation 7 of image 7: area must lie between 0 and .*, got -1"),
    "run lengths of another size": (
        _set(ROAD, segmentation={**RUNS, "size": [5, 20]}),
        r"run lengths of annotation 70 of image 7: its size is \[5, 20\] .* has \[10, 10\]",
    ),
    "run lengths without size": (
        _set(ROAD, segmentation={"counts": [100]}),
        "annotation 70 of image 7: the size must be two whole numbers.* got None",
    ),
    "a fractional mask size": (
        _set(ROAD, segmentation={"size": [10.0, 10]}),
        r"size must be two whole numbers, .* got \[10.0, 10\]",
    ),
    "an image of two sizes": (_set("stuff images 0", height=20), r"image 7: its size is \[20, 10\] .* has \[10, 10\]"),
    "a content that is a list": (
        lambda content: content.update(stuff_val2017=[]),
        "stuff_val2017.json must have a list",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_true_is_refused(tmp_path, name):
    """Planted faults, each seen: one check of `CocoFile`, `_join_halves` or `_check_rows` left out."""
    edit, words = FAULTS[name]
    content = deepcopy(_content())
    edit(content)
    with pytest.raises(OochubError, match=words) as raised:
        read_coco(_written(tmp_path, content))
    assert "train2017.json" in str(raised.value) or "annotations" in str(raised.value)


@pytest.mark.parametrize("half", ["instances_train2017", "stuff_val2017"])
@pytest.mark.parametrize(("content", "words"), [(b'{"images": [{"id', "line 1"), (b'{"a": "\xe9"}', "not UTF-8")])
def test_a_cut_file_is_named(tmp_path, half, content, words):
    (_written(tmp_path, _content()) / "annotations" / f"{half}.json").write_bytes(content)
    with pytest.raises(OochubError, match=rf"{half}\.json.*{words}"):
        read_coco(tmp_path)


def test_two_halves_with_one_image(tmp_path):
    content = _content()
    content["instances_val2017"] = deepcopy(content["instances_train2017"])
    with pytest.raises(
        OochubError, match=r"image 7 of val2017: id must be unique, got '7', as in image 7 of train2017"
    ):
        read_coco(_written(tmp_path, content))


@pytest.mark.parametrize("area", ["mask", "union"])
def test_masks_that_cannot_be_true(tmp_path, area):
    """By `area="mask"` too the file and the annotation are named; planted: no check of the run lengths' sum."""
    content = _content()
    content["stuff_train2017"]["annotations"][0]["segmentation"] = {"counts": [11, 4], "size": [10, 10]}
    with pytest.raises(OochubError, match=r"stuff_train2017\.json: annotation 70 of image 7 .* do not cover the 100"):
        read_coco(_written(tmp_path, content), area=area)
