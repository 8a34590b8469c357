"""Every type of image classifier that transformers has gives the logits of transformers' own pipeline."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset, Features, Value
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from model_folders import edited
from PIL import Image
from tiny_classifiers import CLASSES, TINY, architectures, tiny_classifier

import oochub
from oochub.errors import OochubError

_EVERYDAY = ("convnext", "deit", "dinov2", "siglip2", "resnet", "textnet", "vit")
"""The types that are compared every day: each planted fault fails one of them. The others are a campaign."""


def files() -> dict[str, bytes]:
    """Images of every form by what is special about them."""
    rotated = Image.Exif()
    rotated[0x0112] = 6  # a quarter turn
    gray, clear = photograph(52, 40, 1).convert("L"), photograph(45, 45, 2).convert("RGBA")
    clear.putalpha(gray.resize(clear.size))
    deep = Image.fromarray(np.asarray(gray).astype(np.uint16) * 257)
    return {
        "usual": encoded(photograph(60, 45)),
        "gray": encoded(gray),
        "transparent": encoded(clear),
        "palette": encoded(photograph(50, 45, 3).quantize(16)),
        "sixteen bits": encoded(deep),
        "turned": encoded(photograph(60, 40, 4), "JPEG", exif=rotated),
        "wide": encoded(photograph(90, 20, 5)),
        "tall": encoded(photograph(20, 90, 6)),
        "tiny": encoded(photograph(5, 3, 7)),
    }


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def data() -> Dataset:
    features = Features({"example_id": Value("string"), "image": ImageFeature()})
    images = [{"bytes": each, "path": None} for each in files().values()]
    return Dataset.from_dict({"example_id": list(files()), "image": images}, features)


def pipeline_logits(folder: Path) -> np.ndarray:
    """What transformers says of each image by itself; 16 bits are scaled to 8 first, where it cuts them off."""
    classify, logits = transformers.pipeline("image-classification", model=str(folder)), []
    for name, data in files().items():
        picture = Image.open(io.BytesIO(data))
        if name == "sixteen bits":
            picture = Image.fromarray((np.asarray(picture) // 257).astype(np.uint8))
        scores = classify(picture, top_k=CLASSES, function_to_apply="none")
        by_name = {score["label"]: score["score"] for score in scores}
        logits.append([by_name[f"class {k}"] for k in range(CLASSES)])
    return np.array(logits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        pytest.param(name, each, marks=() if name in _EVERYDAY else pytest.mark.campaign)
        for name in TINY
        for each in architectures(name)
    ],
)
def test_logits_are_those_of_the_pipeline(model_type: str, architecture: str, data: Dataset, tmp_path: Path) -> None:
    """In float32 on one thread to 1e-5 of their range, for batches of 1, 3 and 8 and in reverse; the head too."""
    folder = tiny_classifier(model_type, tmp_path / "model", architecture=architecture)
    expected = pipeline_logits(folder)
    assert expected.std(0).max() > 0.01, "the tiny model says the same of every image"
    tolerance = 1e-5 * max(1.0, float(np.ptp(expected)))
    given = {"preprocessing": "processor", "images": False}
    predictions = oochub.predict(folder, data, features=True, batch_size=8, **given)
    np.testing.assert_allclose(predictions.logits, expected, rtol=0, atol=tolerance)
    assert predictions.class_names == [f"class {k}" for k in range(CLASSES)]
    rebuilt = predictions.features @ predictions.head.weight.T + predictions.head.bias
    np.testing.assert_allclose(rebuilt, expected, rtol=0, atol=10 * tolerance)
    for batch_size in (1, 3):
        again = oochub.predict(folder, data, batch_size=batch_size, **given)
        np.testing.assert_allclose(again.logits, predictions.logits, rtol=0, atol=tolerance)
    turned = data.select(range(len(data) - 1, -1, -1))
    again = oochub.predict(folder, turned, batch_size=3, **given)
    assert again.column("example_id").tolist() == list(files())[::-1]
    np.testing.assert_allclose(again.logits[::-1], predictions.logits, rtol=0, atol=tolerance)


@pytest.mark.parametrize("model_type", ["resnet", "vit"])
def test_workers_change_nothing(model_type: str, data: Dataset, tmp_path: Path) -> None:
    folder = tiny_classifier(model_type, tmp_path / "model")
    alone, by_workers = (
        oochub.predict(folder, data, images=False, batch_size=3, cache=False, num_workers=count) for count in (0, 3)
    )
    np.testing.assert_allclose(by_workers.logits, alone.logits, rtol=0, atol=1e-5)
    assert by_workers.column("example_id").tolist() == list(files())


def test_odin_is_for_models_that_read_pixels(data: Dataset, tmp_path: Path) -> None:
    folder = tiny_classifier("siglip2", tmp_path / "model")
    with pytest.raises(OochubError, match=r"Siglip2ForImageClassification .* Remove odin"):
        oochub.predict(folder, data, preprocessing="processor", odin=0.0014)


@pytest.mark.parametrize(("value", "words"), [(..., "does not say patch_size"), (0, "patch_size .* 1 to 16384, got 0")])
def test_the_patches_of_a_processor_are_not_guessed(value: object, words: str, data: Dataset, tmp_path: Path) -> None:
    folder = edited(tiny_classifier("siglip2", tmp_path / "model"), "preprocessor_config.json", patch_size=value)
    with pytest.raises(OochubError, match=words):
        oochub.predict(folder, data, preprocessing="processor")


def test_classes_without_names_are_numbered(data: Dataset, tmp_path: Path) -> None:
    """PvtConfig of transformers 5.23 makes no names of its own, and its own pipeline fails then."""
    folder = edited(tiny_classifier("pvt", tmp_path / "model"), "config.json", id2label=..., label2id=...)
    assert oochub.predict(folder, data, images=False).class_names == [f"LABEL_{k}" for k in range(CLASSES)]
