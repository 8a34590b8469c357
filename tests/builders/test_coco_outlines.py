"""Outlines against the masks that pycocotools decodes: a pixel lies within them exactly where the mask is set."""

import json
from itertools import groupby

import numpy as np
import pytest
from matplotlib.path import Path as Polygon
from pycocotools import mask as coco_mask

from oochub import OochubError
from oochub.builders.sources.coco_categories import CATEGORY_IDS, STUFF, THINGS
from oochub.builders.sources.coco_file import CocoFile
from oochub.builders.sources.coco_outlines import outlines

FILES = [f"{kind}_{year}.json" for kind in ("instances", "stuff") for year in ("train2017", "val2017")]


def within(contours, height, width):
    """(height, width): is the middle of the pixel within an odd number of contours?"""
    odd = np.zeros((height, width), bool)
    for contour in contours:
        assert contour.shape[1] == 2 and contour.dtype == np.float64 and (contour[0] == contour[-1]).all()
        (left, top), (right, bottom) = (
            np.ceil(contour.min(axis=0)).astype(int),
            np.floor(contour.max(axis=0)).astype(int),
        )
        rows, columns = np.mgrid[top : bottom + 1, left : right + 1]
        inside = Polygon(contour).contains_points(np.stack([columns.ravel(), rows.ravel()], axis=1))
        odd[top : bottom + 1, left : right + 1] ^= inside.reshape(rows.shape)
    return odd


def decoded(annotation, height, width):
    """The mask by pycocotools' own conversions, written apart from ours."""
    segmentation = annotation["segmentation"]
    if isinstance(segmentation, list):
        parts = coco_mask.frPyObjects(segmentation, height, width)
        return np.any([coco_mask.decode(part) for part in parts], axis=0)
    if isinstance(segmentation["counts"], list):
        flat = np.repeat(np.arange(len(segmentation["counts"])) % 2, segmentation["counts"])
        return flat.reshape(width, height).T.astype(bool)
    return coco_mask.decode(segmentation).astype(bool)


def check(folder, contents, classes, image_ids):
    """How many annotations were compared, each pixel of each image."""
    contours = outlines(folder, image_ids, classes)
    assert set(contours) == set(image_ids)
    sizes = {image["id"]: (image["height"], image["width"]) for content in contents for image in content["images"]}
    compared = 0
    for image_id in image_ids:
        assert set(contours[image_id]) == set(classes)
        for name in classes:
            chosen = [
                annotation
                for content in contents
                for annotation in content["annotations"]
                if annotation["image_id"] == image_id and annotation["category_id"] == CATEGORY_IDS[name]
            ]
            odd = np.zeros(sizes[image_id], bool)
            for annotation in chosen:
                odd ^= decoded(annotation, *sizes[image_id])
            assert np.array_equal(within(contours[image_id][name], *sizes[image_id]), odd), (image_id, name)
            assert bool(contours[image_id][name]) == odd.any() or len(chosen) > 1
            compared += len(chosen)
    return compared


def test_toy_world(coco):
    """Polygons, stuff and crowds of every image, both years at once."""
    contents = [json.loads((coco / "annotations" / name).read_text()) for name in FILES]
    ids = [image["id"] for content in contents[:2] for image in content["images"]]
    assert check(coco, contents, ["car", "person", "road", "sky-other"], ids) > 200
    assert any(annotation["iscrowd"] for content in contents for annotation in content["annotations"])


def test_area_of_a_car(coco):
    """A toy car's outline encloses what COCO's `area` says, but for an eighth of a pixel at each corner."""
    content = json.loads((coco / "annotations" / "instances_val2017.json").read_text())
    cars = [annotation for annotation in content["annotations"] if annotation["category_id"] == 3]
    single = [
        annotation for annotation in cars if sum(other["image_id"] == annotation["image_id"] for other in cars) == 1
    ]
    contours = outlines(coco, [annotation["image_id"] for annotation in single], ["car"])
    for annotation in single:
        area = 0.0
        for contour in contours[annotation["image_id"]]["car"]:
            x, y = contour.T
            area += abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
        assert 0 <= annotation["area"] - area <= 0.2 * annotation["area"]
    assert len(single) > 3


def world(folder, **contents):
    """A raw folder of tiny files; those that are not given hold nothing."""
    (folder / "annotations").mkdir(parents=True)
    for name in FILES:
        content = contents.get(name.removesuffix(".json"), {"images": [], "annotations": [], "categories": []})
        if not isinstance(content, str):
            content = json.dumps({**content, "categories": STUFF if name.startswith("stuff") else THINGS})
        (folder / "annotations" / name).write_text(content)
    return folder


def file_of(*annotations, size=(20, 30)):
    ids = {annotation["image_id"] for annotation in annotations}
    images = [{"id": image_id, "height": size[0], "width": size[1]} for image_id in ids]
    return {"images": images, "annotations": list(annotations), "categories": []}


def ring():
    """A disk with a hole that touches the border of a 20 x 30 image, and a speck apart."""
    rows, columns = np.mgrid[:20, :30]
    distance = np.hypot(rows - 6, columns - 9)
    mask = (distance < 9) & (distance > 4)
    mask[18:, 28:] = True
    return mask


def test_three_forms_of_one_mask(tmp_path):
    """Compressed and uncompressed run lengths give one outline, with the hole and cut by the image's border."""
    mask = ring()
    flat = mask.T.ravel()
    runs = [len(list(group)) for _, group in groupby(flat.tolist())]
    counts = runs if not flat[0] else [0, *runs]
    compressed = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    forms = {1: {"counts": counts, "size": [20, 30]}, 2: {"counts": compressed["counts"].decode(), "size": [20, 30]}}
    rows = [
        {"image_id": number, "category_id": 1, "id": number, "iscrowd": 1, "segmentation": form}
        for number, form in forms.items()
    ]
    folder = world(tmp_path / "raw", instances_train2017=file_of(*rows))
    contours = outlines(folder, [1, 2], ["person"])
    for image_id in (1, 2):
        assert np.array_equal(within(contours[image_id]["person"], 20, 30), mask)
        assert len(contours[image_id]["person"]) == 3
    points = np.concatenate(contours[1]["person"])
    assert points.min() == -0.5 and points[:, 0].max() == 29.5 and points[:, 1].max() == 19.5


def test_polygons_of_one_annotation(tmp_path):
    """An annotation of two polygons has two outlines; a rectangle runs along the edges of its pixels."""
    two = [[2, 3, 8, 3, 8, 7, 2, 7], [12, 3, 16, 3, 16, 9, 12, 9]]
    row = {"image_id": 5, "category_id": 3, "id": 1, "segmentation": two}
    contours = outlines(world(tmp_path / "raw", instances_val2017=file_of(row)), [5], ["car", "bus"])[5]
    assert contours["bus"] == []
    boxes = sorted([*contour.min(axis=0), *contour.max(axis=0)] for contour in contours["car"])
    assert boxes == [[1.5, 2.5, 7.5, 6.5], [11.5, 2.5, 15.5, 8.5]]


def test_files_are_read_once_and_only_where_needed(tmp_path, monkeypatch):
    """A thing in val2017 needs one file of four; whatever is in the others, even if broken, is not read."""
    thing = {"image_id": 5, "category_id": 3, "id": 1, "segmentation": [[2, 3, 8, 3, 8, 7, 2, 7]]}
    stuff = {"image_id": 6, "category_id": 149, "id": 2, "segmentation": [[2, 3, 8, 3, 8, 7, 2, 7]]}
    nowhere = {"id": 6, "height": 20, "width": 30}
    instances = file_of(thing)
    instances["images"].append(nowhere)
    read = []
    whole = CocoFile.read
    monkeypatch.setattr(CocoFile, "read", lambda file: read.append(file.name) or whole(file))
    folder = world(tmp_path / "raw", instances_val2017=instances, stuff_train2017=file_of(stuff), stuff_val2017="{")
    assert outlines(folder, [5], ["car", "truck"])[5]["car"]
    assert read == ["instances_val2017.json"]
    (folder / "annotations" / "stuff_val2017.json").write_text(json.dumps(file_of()))  # an empty half
    read.clear()
    contours = outlines(folder, [5, 6, 5], ["road", "car"])
    assert contours[6]["road"] and not contours[6]["car"] and not contours[5]["road"]
    assert len(read) == len(set(read)) == 3
    assert outlines(folder, [], ["car"]) == {}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"segmentation": []}, "no segmentation"),
        ({"segmentation": {"counts": "??", "size": [20]}}, "annotation 1 of image 5 has a mask of"),
        ({"segmentation": {"counts": [600], "size": [30, 20]}}, "annotation 1 of image 5 has a mask of"),
        (
            {"segmentation": {"counts": "??", "size": [20, 30]}},
            "annotation 1 of image 5 has a segmentation that cannot",
        ),
        ({"segmentation": {"counts": [-1, 601], "size": [20, 30]}}, "do not cover the 600 pixels"),
        ({"segmentation": {"counts": [300.5, 299.5], "size": [20, 30]}}, "do not cover the 600 pixels"),
        ({"segmentation": [[1, 2, 3]]}, "at least three points"),
        ({"segmentation": [[1, 1, 1, 1e9, 9, 9]]}, "near the 30 x 20 pixels"),  # pycocotools alone fills all memory
        ({"segmentation": [[1, 1, 1, float("nan"), 9, 9]]}, "near the 30 x 20 pixels"),
        ({"segmentation": [[1, 1, "a", 2, 9, 9]]}, "at least three points"),
    ],
)
def test_broken_annotations_are_named(tmp_path, changed, words):
    """Planted faults seen: no check of the size, of the run lengths' sum, of the outline's points."""
    row = {"image_id": 5, "category_id": 3, "id": 1, "segmentation": [[2, 3, 8, 3, 8, 7, 2, 7]]} | changed
    folder = world(tmp_path / "raw", instances_val2017=file_of(row))
    with pytest.raises(OochubError, match=words):
        outlines(folder, [5], ["car"])


def test_wrong_turns(tmp_path, coco):
    with pytest.raises(OochubError, match="Did you mean 'car'"):
        outlines(coco, [1], ["carr"])
    with pytest.raises(OochubError, match=r"1 of 1 images are in none .* first 999999999"):
        outlines(coco, [999999999], ["car", "road"])
    with pytest.raises(OochubError, match=r"There is no .*instances_val2017\.json"):
        outlines(tmp_path, [1], ["car"])
    row = {"image_id": 5, "category_id": 3, "id": 1, "segmentation": [[2, 3, 8, 3, 8, 7, 2, 7]]}
    content = file_of(row)
    del content["images"][0]["height"]
    with pytest.raises(OochubError, match="the field height is missing"):
        outlines(world(tmp_path / "raw", instances_val2017=content), [5], ["car"])


@pytest.mark.slow
def test_real_annotations(real_data, tmp_path):
    """Polygons and crowds of real images, compressed run lengths of real stuff; each pixel as pycocotools has it."""
    things = json.loads((real_data / "coco" / "permissive_subset" / "instances.json").read_text())
    stuff = json.loads((real_data / "coco" / "annotations" / "stuff_examples.json").read_text())
    folder = world(tmp_path / "raw", instances_val2017=things, stuff_train2017=stuff)
    ids = sorted(image["id"] for image in things["images"])[:12]
    assert check(folder, [things], ["person", "car", "pizza"], ids) > 20
    names = {number: name for name, number in CATEGORY_IDS.items()}
    classes = sorted(
        {names[annotation["category_id"]] for annotation in stuff["annotations"] if annotation["category_id"] in names}
    )
    assert check(folder, [stuff], classes, [image["id"] for image in stuff["images"]]) > 8
