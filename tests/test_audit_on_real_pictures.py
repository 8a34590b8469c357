"""A network that has seen the world, audited on real images: the report says what so few images allow."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oochub
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.report.verdict import verdict

pytestmark = pytest.mark.slow

CARS = "ambulance beach_wagon cab convertible jeep limousine minibus minivan pickup police_van racer sports_car"
INDOORS = {"bed", "dining table", "keyboard", "laptop", "microwave", "oven", "refrigerator", "sink", "toilet", "tv"}
STREET = {"bicycle", "bus", "motorcycle", "stop sign", "traffic light", "truck"}


@pytest.fixture(scope="module")
def objects(real_data: Path) -> dict[str, set[str]]:
    """The objects that COCO annotates in each of the 76 images, by file name."""
    content = json.loads((real_data / "coco" / "permissive_subset" / "instances.json").read_text())
    names = {category["id"]: category["name"] for category in content["categories"]}
    files = {image["id"]: image["file_name"] for image in content["images"]}
    objects: dict[str, set[str]] = {file: set() for file in files.values()}
    for each in content["annotations"]:
        objects[files[each["image_id"]]].add(names[each["category_id"]])
    return objects


@pytest.fixture(scope="module")
def seen(objects: dict[str, set[str]], real_data: Path, real_classifier: Path) -> tuple[np.ndarray, np.ndarray]:
    """What the bare network of its own package sees in each image, (76, 1280), and says of it, (76, 1000)."""
    import torch
    from real_classifier import real_network
    from transformers import AutoImageProcessor

    folder = real_data / "coco" / "permissive_subset" / "images"
    processor = AutoImageProcessor.from_pretrained(real_classifier)
    pixels = processor([Image.open(folder / file).convert("RGB") for file in objects], return_tensors="pt")
    network = real_network()
    with torch.inference_mode():
        features = network.extract_features(pixels["pixel_values"]).mean((2, 3))
        return features.numpy(), network._fc(features).numpy()


def check_sides(report: oochub.Report, *, is_right: np.ndarray, is_usual: np.ndarray) -> None:
    for side, rows in (("in_context", is_usual), ("out_of_context", ~is_usual)):
        assert report.slice(side).n == rows.sum()
        assert float(report.slice(side).metrics["accuracy"]) == pytest.approx(is_right[rows].mean())


def test_ten_pictures_out_of_context_are_too_few_to_say(
    objects: dict[str, set[str]],
    seen: tuple[np.ndarray, np.ndarray],
    real_data: Path,
    real_classifier: Path,
    tmp_path: Path,
) -> None:
    """Is there a car, on a street or not; the accuracies by hand: a car where ImageNet's cars sum to half."""
    shutil.copytree(real_data / "coco" / "permissive_subset" / "images", tmp_path / "pictures")
    rows = ["file_name,thing,place"]
    for file, names in objects.items():
        thing, place = "car" if "car" in names else "no_car", "street" if names & STREET else "elsewhere"
        rows.append(f"{file},{thing},{place}")
    (tmp_path / "pictures" / "metadata.csv").write_text("\n".join(rows))
    cars = [name for name in IMAGENET_1K_NAMES if name.split(",")[0].replace(" ", "_") in CARS.split()]
    report = oochub.audit(
        real_classifier,
        tmp_path / "pictures",
        label="thing",
        context="place",
        mode="head",
        label_map={"car": cars, "no_car": [name for name in IMAGENET_1K_NAMES if name not in cars]},
        preprocessing="processor",
        out=tmp_path / "audit",
    )
    says_car = softmax(seen[1], axis=1)[:, [IMAGENET_1K_NAMES.index(name) for name in cars]].sum(1) > 0.5
    is_car = np.array(["car" in names for names in objects.values()])
    is_street = np.array([bool(names & STREET) for names in objects.values()])
    assert is_street[is_car].mean() > is_street[~is_car].mean()  # so a street is the usual place of a car
    check_sides(report, is_right=says_car == is_car, is_usual=is_car == is_street)
    said = verdict(report)
    assert said.headline == "There are too few examples in unusual contexts to tell."
    assert said.how_sure.answer == "3 examples in unusual contexts in the smaller set; at least 50 are needed."
    page = (tmp_path / "audit" / "report.html").read_text()
    assert said.headline in page and "There is no sign" not in page
    assert report["gap"].low < 0 < report["gap"].high


def test_a_probe_on_38_pictures_is_no_evidence(
    objects: dict[str, set[str]],
    seen: tuple[np.ndarray, np.ndarray],
    real_data: Path,
    real_classifier: Path,
    tmp_path: Path,
) -> None:
    """Is there a person, indoors or not: every second image trains, by scikit-learn too, at the C that was chosen."""
    is_person = np.array(["person" in names for names in objects.values()])
    is_indoors = np.array([bool(names & INDOORS) for names in objects.values()])
    trains = np.arange(len(objects)) % 2 == 0
    for split, chosen in (("train", trains), ("test", ~trains)):
        rows = ["file_name,thing,place"]
        (tmp_path / "pictures" / split).mkdir(parents=True)
        for file, person, indoors in zip(
            np.array(list(objects))[chosen], is_person[chosen], is_indoors[chosen], strict=True
        ):
            shutil.copy(real_data / "coco" / "permissive_subset" / "images" / file, tmp_path / "pictures" / split)
            rows.append(f"{file},{'person' if person else 'nobody'},{'indoors' if indoors else 'outdoors'}")
        (tmp_path / "pictures" / split / "metadata.csv").write_text("\n".join(rows))
    report = oochub.audit(
        real_classifier,
        tmp_path / "pictures",
        label="thing",
        context="place",
        mode="linear_probe",
        preprocessing="processor",
        out=tmp_path / "audit",
    )
    metadata = oochub.Predictions.load(tmp_path / "audit" / "predictions.parquet").metadata
    features, penalty = seen[0], metadata.provenance["linear_probe"]["c"]
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=penalty, max_iter=5000))
    probe.fit(features[trains], is_person[trains])
    is_right = probe.predict(features[~trains]) == is_person[~trains]
    assert is_indoors[trains & is_person].mean() < is_indoors[trains & ~is_person].mean()
    check_sides(report, is_right=is_right, is_usual=(is_person != is_indoors)[~trains])
    said = verdict(report)
    assert said.headline == "There are too few examples in unusual contexts to tell."
    page = (tmp_path / "audit" / "report.html").read_text()
    assert said.headline in page and "A linear probe trained on 38 rows of train" in page
