"""COCO's caption files with one thing wrong: the sentences of each image are refused, or the same."""

import copy
from pathlib import Path

import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from fuzz_coco import captions, write_coco
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import edited, json_cases, json_text_cases, place_cases

from oochub.builders.sources.coco_captions import read_captions


def _use(folder: Path, out: Path) -> Used:
    return Used(numbers={str(number): sentences for number, sentences in read_captions(folder).items()})


CAPTIONS = Format(name="captions", make=write_coco, use=_use)
_TRAIN, _VAL = "annotations/captions_train2017.json", "annotations/captions_val2017.json"
_WHOLE = {
    str(item["image_id"]): [f"A car on road {item['image_id']}, {k}." for k in range(2)]
    for year in ("train2017", "val2017")
    for item in captions(year)["annotations"]
}


def _expected(place: str, change: str) -> frozenset[str]:
    if place.startswith(("info", "images", "annotations[0].id")) and not place.startswith("annotations[0].image_id"):
        return frozenset({SAME, REFUSED})
    if place == "annotations[0]" and change in ("deleted", "doubled"):
        return frozenset({CHANGED, REFUSED})
    if place == "annotations[0].caption" and change == "an empty text":
        return frozenset({CHANGED, REFUSED})  # a caption that says nothing is one
    if place == "annotations" and change == "a list":
        return frozenset({CHANGED, REFUSED})  # a file without captions: the images without one are named later
    if place == "annotations[0].image_id" and change in ("negative", "huge"):
        return frozenset({CHANGED, REFUSED})  # no image has that id, which is said where the captions are needed
    return frozenset({REFUSED})


CASES = [
    *json_cases(_VAL, captions("val2017"), _expected),
    *json_text_cases(_VAL),
    *json_text_cases(_TRAIN),
    *place_cases(_TRAIN, missing=frozenset({CHANGED, REFUSED})),  # one half is enough: its images alone have keys
    *place_cases(_VAL, missing=frozenset({CHANGED, REFUSED})),
    Case(
        name="an image in both files",
        mutate=edited(_TRAIN, lambda content: content["annotations"][0].update(image_id=21)),
        names=("21",),
    ),
    Case(
        name="the instances under the name of the captions",
        mutate=lambda folder: (folder / "annotations/instances_val2017.json").replace(folder / _VAL),
    ),
    Case(
        name="another year's order",
        mutate=edited(_TRAIN, lambda content: content["annotations"].reverse()),
        expect=frozenset({CHANGED}),
        numbers={key: lines[::-1] if int(key) < 21 else lines for key, lines in _WHOLE.items()},
    ),
]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_captions(campaign, case):
    campaign.run(CAPTIONS, case)


@pytest.mark.campaign
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(text=st.text(max_size=40))
def test_any_text_comes_back_as_it_was_typed(campaign, text):
    numbers = copy.deepcopy(_WHOLE)
    numbers["21"][0] = text
    case = Case(
        name=f"the caption {text!r}",
        mutate=edited(_VAL, lambda content: content["annotations"][0].update(caption=text)),
        expect=frozenset({CHANGED}),
        numbers=numbers,
    )
    campaign.run(CAPTIONS, case)
