"""The boxes of nooch/boxes_car against the annotation files, and boxes that cannot be true."""

import json

import pytest

import oochub
from oochub.builders.sources.coco_boxes import coco_boxes
from oochub.builders.sources.coco_categories import THINGS
from oochub.errors import OochubError


@pytest.mark.slow
def test_rows_have_the_boxes_of_the_annotations(raw):
    """reference: a loop over the raw files; the sides are those of ce_car. Planted fault seen: x2 that is the width."""
    folder = raw("nooch/boxes_car")
    expected, sizes = {}, {}
    for year in ("train2017", "val2017"):
        content = json.loads((folder / "annotations" / f"instances_{year}.json").read_bytes())
        sizes |= {image["id"]: [image["width"], image["height"]] for image in content["images"]}
        for each in content["annotations"]:
            if each["category_id"] == 3:
                x, y, width, height = each["bbox"]
                entry = ([x, y, x + width, y + height], each["iscrowd"], each["area"])
                expected.setdefault(each["image_id"], []).append(entry)
    boxes = oochub.load("nooch/boxes_car", data_dir=str(folder))
    cars = oochub.load("nooch/ce_car", data_dir=str(folder))
    for split, part in boxes.items():
        rows = part.remove_columns("image")
        for row, other in zip(rows, cars[split].remove_columns("image"), strict=True):
            found = list(zip(row["boxes"], row["crowd"], row["object_areas"], strict=True))
            assert found == expected.get(int(row["example_id"]), [])
            assert [row["width"], row["height"]] == sizes[int(row["example_id"])]
            assert {name: row[name] for name in ("example_id", "challenge", "group", "environment")} == {
                name: other[name] for name in ("example_id", "challenge", "group", "environment")
            }
            assert bool(found) == other["label"]


@pytest.mark.parametrize(
    ("bbox", "words"),
    [
        ([1, 2, 3], "must be four numbers, x, y, width and height"),
        ([1, 2, "3", 4], "must be four numbers"),
        ([1, 2, float("nan"), 4], "must lie in its image of 20 x 10 pixels"),
        ([1, 2, -3, 4], "must lie in its image"),
        ([18, 2, 4, 4], "must lie in its image"),
    ],
)
def test_a_box_that_cannot_be_is_named(bbox, words, tmp_path):
    (tmp_path / "annotations").mkdir()
    car = {"id": 5, "image_id": 7, "category_id": 3, "bbox": bbox, "area": 9.5, "iscrowd": 0}
    content = {"images": [{"id": 7, "height": 10, "width": 20}], "annotations": [car], "categories": THINGS}
    for year, each in (("train", content), ("val", {"images": [], "annotations": [], "categories": []})):
        (tmp_path / "annotations" / f"instances_{year}2017.json").write_text(json.dumps(each))
    with pytest.raises(OochubError, match=f"annotation 5 of image 7: bbox {words}"):
        coco_boxes(tmp_path, "car", [7])
    with pytest.raises(OochubError, match=r"1 images are in none of the instances files .*, first 8"):
        coco_boxes(tmp_path, "cat", [7, 8])
