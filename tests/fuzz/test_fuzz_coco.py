"""COCO's four annotation files with one thing wrong: the table of areas is refused, or the same."""

from pathlib import Path

import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from fuzz_coco import FILES, annotations, write_coco
from mutations import edited, json_cases, json_text_cases, place_cases

from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.nooch.split import nooch_split

_UNREAD = (
    *(f"annotations[0].{name}" for name in ("id", "iscrowd", "bbox", "segmentation")),
    *("categories[0].supercategory", "info", "licenses", "images[0].license", "images[0].flickr_url"),
)


def _use(folder: Path, out: Path) -> Used:
    table = read_coco(folder)
    rows, notes = nooch_split(folder, table)
    return Used(
        numbers=[table.image_id, table.area.sum(0), table.area.sum(1), table.count.sum(0), rows], notes=(*notes,)
    )


COCO = Format(name="COCO JSON", make=write_coco, use=_use)


def _of_instances(place: str, change: str) -> frozenset[str]:
    if place.startswith(_UNREAD) or (change in ("deleted", "doubled") and place == "categories[0]"):
        return frozenset({SAME, REFUSED})
    if place == "annotations[0]" and change in ("deleted", "doubled"):
        return frozenset({CHANGED, REFUSED})  # other annotations, each of them as it may be
    return frozenset({REFUSED})


def _of_stuff(place: str, change: str) -> frozenset[str]:
    return frozenset({SAME, REFUSED}) if place.startswith("images") else _of_instances(place, change)


CASES = [
    *json_cases("annotations/instances_train2017.json", annotations("instances_train2017.json"), _of_instances),
    *json_cases("annotations/stuff_val2017.json", annotations("stuff_val2017.json"), _of_stuff),
]
for file in FILES:
    CASES += [*json_text_cases(f"annotations/{file}"), *place_cases(f"annotations/{file}")]
CASES += [
    Case(
        name=f"{kind}_train2017.json {what}",
        mutate=edited(f"annotations/{kind}_train2017.json", change),
        names=("139", "1000"),
    )
    for kind in ("instances", "stuff")
    for what, change in {
        "of an unknown image": lambda content: content["annotations"][0].update(image_id=424242),
        "of an unknown category": lambda content: content["annotations"][0].update(category_id=12),
        "with an area above the image's": lambda content: content["annotations"][0].update(area=101.0),
        "with a fractional image id": lambda content: content["annotations"][0].update(image_id=1.5),
        "without annotations": lambda content: content["annotations"].clear(),
        "without categories": lambda content: content["categories"].clear(),
        "of other names": lambda content: content["categories"][0].update(name="dragon"),
    }.items()
    if not (kind == "stuff" and what == "without annotations")
]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_coco(campaign, case):
    campaign.run(COCO, case)
