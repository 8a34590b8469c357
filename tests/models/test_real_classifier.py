"""A network that has seen the world, on real images: what it says is what is there, and detectors run on it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset, Features, Value
from datasets import Image as ImageFeature
from PIL import Image
from scipy.special import logsumexp, softmax
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

import oochub

pytestmark = pytest.mark.slow

IN_IMAGENET = {
    "airplane": "airliner",
    "banana": "banana",
    "bus": "trolleybus, trolley coach, trackless trolley",
    "keyboard": "computer keyboard, keypad",
    "laptop": "laptop, laptop computer",
    "microwave": "microwave, microwave oven",
    "mouse": "mouse, computer mouse",
    "oven": "stove",
    "pizza": "pizza, pizza pie",
    "sink": "washbasin, handbasin, washbowl, lavabo, wash-hand basin",
    "tennis racket": "racket, racquet",
    "toilet": "toilet seat",
}
"""Objects of COCO that ImageNet has a class of."""


@pytest.fixture(scope="module")
def photographs(real_data: Path) -> Dataset:
    folder = real_data / "coco" / "permissive_subset" / "images"
    rows = {"example_id": [], "image": []}
    for file in sorted(folder.glob("*.jpg")):
        rows["example_id"].append(file.stem)
        rows["image"].append(str(file))
    return Dataset.from_dict(rows, Features({"example_id": Value("string"), "image": ImageFeature()}))


@pytest.fixture(scope="module")
def seen(real_classifier: Path, photographs: Dataset) -> Any:
    return oochub.predict(real_classifier, photographs, preprocessing="processor", features=True, images=False)


def pixels_by_hand(picture: Image.Image) -> np.ndarray:
    """float32 (3, 224, 224): the short side 256 pixels, bicubic, the center square of 224, (x - 127) / 128."""
    width, height = picture.size
    short = min(width, height)
    picture = picture.convert("RGB").resize((256 * width // short, 256 * height // short), Image.Resampling.BICUBIC)
    left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
    square = np.asarray(picture.crop((left, top, left + 224, top + 224)), np.float32)
    return ((square - 127) / 128).transpose(2, 0, 1)


def test_it_names_what_coco_annotates(seen: Any, real_data: Path) -> None:
    """Images with an object have a larger logit of its class than those without, for each object of `IN_IMAGENET`."""
    content = json.loads((real_data / "coco" / "permissive_subset" / "instances.json").read_text())
    names = {category["id"]: category["name"] for category in content["categories"]}
    present = {(names[each["category_id"]], f"{each['image_id']:012}") for each in content["annotations"]}
    ids = seen.column("example_id").tolist()
    for name, imagenet in IN_IMAGENET.items():
        is_there = [(name, example) in present for example in ids]
        assert roc_auc_score(is_there, seen.logits[:, seen.class_names.index(imagenet)]) > 0.9, name


def test_logits_are_those_of_the_network_by_hand(real_classifier: Path, photographs: Dataset, seen: Any) -> None:
    """The network of its own package on pixels by Pillow and numpy alone; the fused pixels are within 1% of the range.

    Planted faults seen: the deviation of the processor 127 / 255; bilinear.
    """
    from real_classifier import real_network

    few = photographs.select(range(0, 76, 9))
    with torch.inference_mode():
        expected = real_network()(torch.tensor(np.stack([pixels_by_hand(each) for each in few["image"]]))).numpy()
    np.testing.assert_allclose(seen.logits[::9], expected, rtol=0, atol=1e-5 * np.ptp(expected))
    fused = oochub.predict(real_classifier, few, preprocessing="fused", images=False)
    np.testing.assert_allclose(fused.logits, expected, rtol=0, atol=0.01 * np.ptp(expected))


def test_the_head_is_the_classifier(seen: Any) -> None:
    from real_classifier import real_network

    layer = real_network()._fc
    np.testing.assert_array_equal(seen.head.weight, layer.weight.detach().numpy())
    np.testing.assert_array_equal(seen.head.bias, layer.bias.detach().numpy())
    np.testing.assert_allclose(seen.features @ seen.head.weight.T + seen.head.bias, seen.logits, atol=1e-4)


@pytest.fixture(scope="module")
def scattered(real_classifier: Path, photographs: Dataset) -> Any:
    """Photographs whose pixels lie in another order: their colors, and nothing to see."""
    rng, pictures = np.random.default_rng(0), []
    for photograph in photographs.select(range(24))["image"]:
        pixels = np.asarray(photograph.convert("RGB").resize((256, 256)))
        pictures.append(Image.fromarray(rng.permutation(pixels.reshape(-1, 3)).reshape(pixels.shape)))
    data = Dataset.from_dict({"image": pictures}, Features({"image": ImageFeature()}))
    return oochub.predict(real_classifier, data, preprocessing="processor", features=True, images=False)


def by_hand(name: str, fitted: np.ndarray, rows: Any) -> np.ndarray | None:
    """The score by SciPy and scikit-learn; None where the detector's own test has the reference."""
    if name == "msp":
        return softmax(rows.logits.astype(np.float64), axis=1).max(1)
    if name == "energy":
        return logsumexp(rows.logits.astype(np.float64), axis=1)
    if name == "knn":
        unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (fitted, rows.features)]
        return -NearestNeighbors(n_neighbors=3).fit(unit[0]).kneighbors(unit[1])[0][:, -1]
    return None


@pytest.mark.parametrize(("name", "settings"), [("msp", {}), ("energy", {}), ("vim", {"dim": 20}), ("knn", {"k": 3})])
def test_detectors_tell_photographs_from_scattered_pixels(
    name: str, settings: dict[str, int], seen: Any, scattered: Any
) -> None:
    """Fitted on one half of the photographs, scored on the other; planted fault seen: the residual of vim added."""
    first, second = (seen.select(np.arange(len(seen)) % 2 == half) for half in (0, 1))
    detector = oochub.get("detector", name)(**settings)
    detector.fit(
        features=first.features,
        logits=first.logits,
        label=first.prediction,
        weight=seen.head.weight,
        bias=seen.head.bias,
    )
    scores = [detector.score(features=rows.features, logits=rows.logits) for rows in (second, scattered)]
    for score, rows in zip(scores, (second, scattered), strict=True):
        expected = by_hand(name, first.features, rows)
        if expected is not None:
            np.testing.assert_allclose(score, expected, rtol=1e-4, atol=1e-5)
    is_photograph = np.repeat([1, 0], [len(second), len(scattered)])
    assert roc_auc_score(is_photograph, np.concatenate(scores)) > 0.9
