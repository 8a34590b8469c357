"""Presence from detectors against transformers' pipeline, from segmenters against a loop over pixels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_detectors
import torch
from datasets import ClassLabel, Dataset, DatasetInfo, Features, List
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from model_folders import changed, resnet
from PIL import Image
from scipy.special import expit, logit, softmax
from transformers import pipeline

import oochub
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts, BuildRecord

SIZES = ((40, 32), (32, 44), (36, 36), (40, 32))
NAMES = tiny_detectors.NAMES


def pictures() -> list[Image.Image]:
    return [photograph(*size, seed) for seed, size in enumerate(SIZES)]


def rows(label: Any = None, values: Any = (0, 1, 0, 1), **info: Any) -> Dataset:
    label = ClassLabel(names=["no_car", "car"]) if label is None else label
    column = "labels" if isinstance(label, List) else "label"
    features = Features({"image": ImageFeature(), column: label})
    files = [{"bytes": encoded(each), "path": None} for each in pictures()]
    described = DatasetInfo(features=features, **info)
    return Dataset.from_dict({"image": files, column: list(values)}, features, info=described)


def predicted(model: Any, data: Any = None, **settings: Any) -> Any:
    data = rows() if data is None else data
    given = {"preprocessing": "processor", "images": False, "cache": False, "batch_size": 3} | settings
    return oochub.predict(model, data, **given)


def outputs(kind: str, field: str = "logits") -> list[Any]:
    """Of the model, image by image."""
    model, processor = tiny_detectors.model(kind), tiny_detectors.processor(kind)
    with torch.no_grad():
        own = [model(**processor(each, return_tensors="pt")) for each in pictures()]
    return [getattr(each, field)[0].double().numpy() for each in own]


@pytest.mark.slow
@pytest.mark.parametrize("kind", tiny_detectors.DETECTORS)
def test_a_detector_gives_the_largest_score_of_the_pipeline(kind: str, tmp_path: Path) -> None:
    """Pipelines leave out the worst proposals, DETR's all but the best class of each; then the formula alone holds."""
    folder = tiny_detectors.folder(tmp_path, kind)
    processor = tiny_detectors.processor(kind)
    detect = pipeline("object-detection", model=tiny_detectors.model(kind), image_processor=processor)
    labels = predicted(folder, rows(List(ClassLabel(names=list(NAMES))), [[0], [1], [], [2]]))
    ours = expit(labels.logits.astype(np.float64))
    compared = 0
    for scores, picture, own in zip(ours, pictures(), outputs(kind), strict=True):
        found = detect(picture, threshold=0.0)
        for number, name in enumerate(NAMES):
            theirs = max((each["score"] for each in found if each["label"] == name), default=0.0)
            others = softmax(own, -1) if own.shape[1] == len(NAMES) + 1 else expit(own)
            np.testing.assert_allclose(scores[number], others[:, number].max(), atol=1e-5)
            best = others[:, number].argmax()
            is_named = others.shape[1] == len(NAMES) or others[best, : len(NAMES)].argmax() == number
            if theirs and is_named:
                np.testing.assert_allclose(scores[number], theirs, atol=1e-5)
                compared += 1
    assert compared >= 4
    car = predicted(folder)
    assert car.metadata.class_names == ("no_car", "car")
    assert car.metadata.model.mode == "presence"
    np.testing.assert_allclose(car.logits[:, 1], labels.logits[:, NAMES.index("car")], atol=1e-4)
    assert not car.logits[:, 0].any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", tiny_detectors.SEGMENTERS)
def test_a_segmenter_gives_the_largest_probability_of_a_pixel(kind: str, tmp_path: Path) -> None:
    """Planted: a softmax over pixels instead of classes."""
    found = predicted(tiny_detectors.folder(tmp_path, kind), rows(ClassLabel(names=["polar_bear", "no_polar_bear"])))
    expected = [softmax(each, 0)[NAMES.index("polar bear")].max() for each in outputs(kind)]
    np.testing.assert_allclose(found.logits[:, 0], logit(np.clip(expected, 1e-7, 1 - 1e-7)), atol=1e-4)
    assert not found.logits[:, 1].any()
    assert np.ptp(found.logits[:, 0]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", tiny_detectors.MASK_MODELS)
def test_a_model_of_masks_gives_the_largest_score_of_a_mask(kind: str, tmp_path: Path) -> None:
    """Planted: the class of "no object" instead of the thing's."""
    found = predicted(tiny_detectors.folder(tmp_path, kind))
    expected = [softmax(each, -1)[:, 1].max() for each in outputs(kind, "class_queries_logits")]
    np.testing.assert_allclose(found.logits[:, 1], logit(np.clip(expected, 1e-7, 1 - 1e-7)), atol=1e-4)


@pytest.fixture(scope="module")
def detr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_detectors.folder(tmp_path_factory.mktemp("models") / "detr", "detr")


def test_a_score_of_one_stays_finite(tmp_path: Path) -> None:
    """Planted: no clipping, which gives infinity."""
    folder = changed(
        tiny_detectors.folder(tmp_path, "conditional_detr"),
        lambda weights: weights["class_labels_classifier.bias"].add_(torch.tensor([-900.0, 900.0, 0.0])),
    )
    found = predicted(folder, rows(List(ClassLabel(names=["boat", "car"])), [[0], [1], [], [1]]))
    np.testing.assert_allclose(found.logits, [[-logit(1 - 1e-7), logit(1 - 1e-7)]] * len(SIZES), rtol=1e-6)


@pytest.mark.slow
def test_a_label_map_names_the_classes_of_the_thing(detr: Path) -> None:
    """Planted: the first of the classes alone."""
    data = rows(ClassLabel(names=["no_vehicle", "vehicle"]))
    with pytest.raises(OochubError, match="does not know 1 of these: vehicle"):
        predicted(detr, data)
    found = predicted(detr, data, label_map={"vehicle": ["car", "polar bear"]})
    expected = [softmax(each, -1)[:, 1:3].max() for each in outputs("detr")]
    np.testing.assert_allclose(found.logits[:, 1], logit(expected), atol=1e-4)
    assert found.metadata.provenance["scores"] == {"vehicle": ["car", "polar bear"]}


def test_the_benchmark_says_what_is_asked_for(detr: Path) -> None:
    """Planted: the names of the classes alone."""
    record = BuildRecord(benchmark="nooch", config="ce_car", version="1", facts=BuildFacts(object="car"))
    found = predicted(detr, rows(ClassLabel(names=["absent", "present"]), description=record.describe("Cars.")))
    assert np.array_equal(found.logits, predicted(detr).logits)


@pytest.mark.parametrize("name", ["bbox_predictor.layers.0.weight", "class_labels_classifier.weight"])
def test_no_weight_may_miss(name: str, tmp_path: Path) -> None:
    """Planted: weights judged by the gradient of the logits, which refined boxes cut."""
    folder = changed(tiny_detectors.folder(tmp_path, "detr"), lambda weights: weights.pop(name))
    with pytest.raises(OochubError, match=rf"1 weight \({name}\) missing"):
        predicted(folder)


def test_what_a_detector_cannot_answer_is_refused(detr: Path, tmp_path: Path) -> None:
    with pytest.raises(OochubError, match="there are no features and no head"):
        predicted(detr, features=True)
    with pytest.raises(OochubError, match="it has land, water"):
        predicted(detr, rows(ClassLabel(names=["land", "water"])))
    with pytest.raises(OochubError, match="it has no classes"):
        predicted(detr, rows().remove_columns("label"))
    with pytest.raises(OochubError, match="does not know 1 of these: yeti") as unknown:
        predicted(detr, rows(List(ClassLabel(names=["car", "boat", "yeti"])), [[0], [1], [], [2]]))
    assert "restrict" not in str(unknown.value)  # of several labels, no row can be left out
    with pytest.raises(OochubError, match=r"near: polar bear"):
        predicted(detr, rows(ClassLabel(names=["no_bear", "bear"])))
    with pytest.raises(OochubError, match=r"The mode presence serves models of .*detr.* is a ResNetFor"):
        predicted(resnet(tmp_path), mode="presence")
