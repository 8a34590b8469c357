"""The smallest COCO folder that has every field: twelve images of 10 x 10 pixels, cars on roads, captions."""

import json
from pathlib import Path
from typing import Any

from oochub.builders.sources.coco_categories import CATEGORY_IDS

FILES = [f"{kind}_{year}.json" for kind in ("instances", "stuff") for year in ("train2017", "val2017")]
SIZE = 10
"""Pixels of each side of an image."""

_IDS = {"train2017": range(1, 21), "val2017": range(21, 25)}
_CATEGORIES = {
    "instances": [(number, name) for name, number in CATEGORY_IDS.items() if number <= 90],
    "stuff": [*((number, name) for name, number in CATEGORY_IDS.items() if number > 91), (183, "other")],
}


def annotations(file: str) -> dict[str, Any]:
    """What one of the four files holds: in each image a car of 12 pixels, or a road of 40, 46 with its crowd."""
    kind, _, year = file.removesuffix(".json").partition("_")
    images = [
        {
            "id": number,
            "file_name": f"{number:012d}.jpg",
            "height": SIZE,
            "width": SIZE,
            "license": 1,
            "flickr_url": "http://farm1.staticflickr.com/1.jpg",
        }
        for number in _IDS[year]
    ]
    category = CATEGORY_IDS["car" if kind == "instances" else "road"]
    rows = 2 if kind == "instances" else 4
    found = [
        {
            "id": 1000 + number,
            "image_id": number,
            "category_id": category,
            "area": float(rows * 6),
            "iscrowd": 0,
            "bbox": [0.0, 0.0, 6.0, float(rows)],
            "segmentation": [[0.0, 0.0, 6.0, 0.0, 6.0, float(rows), 0.0, float(rows)]],
        }
        for number in _IDS[year]
    ]
    return {
        "info": {"year": 2017},
        "licenses": [{"id": 1, "name": "CC BY", "url": "http://creativecommons.org/licenses/by/2.0/"}],
        "images": images,
        "annotations": found,
        "categories": [
            {"supercategory": "thing", "id": number, "name": name.replace("_", " ")}
            for number, name in _CATEGORIES[kind]
        ],
    }


def captions(year: str) -> dict[str, Any]:
    """What a captions file holds: two sentences an image."""
    sentences = [
        {"id": 10 * number + k, "image_id": number, "caption": f"A car on road {number}, {k}."}
        for number in _IDS[year]
        for k in range(2)
    ]
    return {"info": {"year": 2017}, "images": [], "annotations": sentences}


def write_coco(folder: Path) -> None:
    """Writes the four annotation files and the two of captions below `annotations/`."""
    place = folder / "annotations"
    place.mkdir()
    for file in FILES:
        (place / file).write_text(json.dumps(annotations(file)), "utf-8")
    for year in _IDS:
        (place / f"captions_{year}.json").write_text(json.dumps(captions(year)), "utf-8")
