"""A network that has seen the world, audited on real pictures: the report says what so few pictures allow."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.special import softmax

import oochub
from oochub.builders.sources.imagenet_names import IMAGENET_1K_NAMES
from oochub.report.verdict import verdict

CARS = "ambulance beach_wagon cab convertible jeep limousine minibus minivan pickup police_van racer sports_car"
STREET = {"bicycle", "bus", "motorcycle", "stop sign", "traffic light", "truck"}


@pytest.fixture(scope="module")
def objects(real_data: Path) -> dict[str, set[str]]:
    """The objects that COCO annotates in each of the 76 pictures, by file name."""
    content = json.loads((real_data / "coco" / "permissive_subset" / "instances.json").read_text())
    names = {category["id"]: category["name"] for category in content["categories"]}
    files = {image["id"]: image["file_name"] for image in content["images"]}
    objects: dict[str, set[str]] = {file: set() for file in files.values()}
    for each in content["annotations"]:
        objects[files[each["image_id"]]].add(names[each["category_id"]])
    return objects


@pytest.fixture
def pictures(objects: dict[str, set[str]], real_data: Path, tmp_path: Path) -> Path:
    """A folder of pictures: is there a car, and is it a street, by what else is in it."""
    folder = tmp_path / "pictures"
    shutil.copytree(real_data / "coco" / "permissive_subset" / "images", folder)
    rows = ["file_name,thing,place"]
    for file, names in objects.items():
        thing, place = "car" if "car" in names else "no_car", "street" if names & STREET else "elsewhere"
        rows.append(f"{file},{thing},{place}")
    (folder / "metadata.csv").write_text("\n".join(rows))
    return folder


def test_ten_pictures_out_of_context_are_too_few_to_say(
    pictures: Path, objects: dict[str, set[str]], real_classifier: Path, tmp_path: Path
) -> None:
    """The accuracies by hand: the bare network on all ImageNet classes, a car where its classes of cars sum to half.

    Planted faults seen: the contexts of the two classes exchanged by `usual=`; a class less in the label map's car.
    """
    import torch
    from real_classifier import real_network
    from transformers import AutoImageProcessor

    cars = [name for name in IMAGENET_1K_NAMES if name.split(",")[0].replace(" ", "_") in CARS.split()]
    rest = [name for name in IMAGENET_1K_NAMES if name not in cars]
    report = oochub.audit(
        real_classifier,
        pictures,
        label="thing",
        context="place",
        mode="head",
        label_map={"car": cars, "no_car": rest},
        preprocessing="processor",
        out=tmp_path / "audit",
    )
    processor = AutoImageProcessor.from_pretrained(real_classifier)
    images = [Image.open(pictures / file).convert("RGB") for file in objects]
    with torch.inference_mode():
        logits = real_network()(processor(images, return_tensors="pt")["pixel_values"]).numpy()
    says_car = softmax(logits, axis=1)[:, [IMAGENET_1K_NAMES.index(name) for name in cars]].sum(1) > 0.5
    is_car = np.array(["car" in names for names in objects.values()])
    is_street = np.array([bool(names & STREET) for names in objects.values()])
    assert is_street[is_car].mean() > is_street[~is_car].mean()  # so a street is the usual place of a car
    for side, usual in (("in_context", is_car == is_street), ("out_of_context", is_car != is_street)):
        assert report.slice(side).n == usual.sum()
        assert float(report.slice(side).metrics["accuracy"]) == pytest.approx((says_car == is_car)[usual].mean())
    said = verdict(report)
    assert said.headline == "Too few examples in unusual contexts to say."
    assert "3 in the smallest set in unusual contexts, 50 are needed" in said.how_sure.answer + said.how_sure.detail
    page = (tmp_path / "audit" / "report.html").read_text()
    assert said.headline in page and "There is no sign" not in page
    assert report["gap"].low < 0 < report["gap"].high
