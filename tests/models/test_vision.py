"""What torchvision and timm change, if they are installed: `make vision` runs this file with both.

transformers takes torchvision's backend for images wherever it is installed. The operators of torchvision are schemas
alone here, see `torchvision_schemas`; its transforms and networks, and timm's, are their own.
"""

import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, Features, Image
from guide_fences import fences
from input_rows import encoded, photograph
from model_folders import edited
from safetensors.torch import save_file
from tiny_classifiers import CLASSES, tiny_classifier
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures import image_processor
from oochub.inputs.pictures.image_processor import FloatProcessor
from oochub.models.supported_models import list_supported_models

if find_spec("torchvision") is None or find_spec("timm") is None:
    pytest.skip("`make vision` installs torchvision and timm", allow_module_level=True)

import timm

SHAPES = [(90, 70), (64, 64), (47, 61), (33, 120)]


@pytest.fixture(scope="module")
def data() -> Dataset:
    images = [{"bytes": encoded(photograph(*shape, seed)), "path": None} for seed, shape in enumerate(SHAPES)]
    return Dataset.from_dict({"image": images}, Features(image=Image()))


def test_show_models_says_what_this_environment_serves() -> None:
    """The types that wait for the extra elsewhere; planted fault: timm said to be missing."""
    served = {each.model_type: each for each in list_supported_models()}
    for name in ("timm_wrapper", "timm_backbone", "pp_lcnet", "dinov3_vit", "rf_detr"):
        assert served[name].modes, name
    assert not [each for each in served.values() if "oochub[vision]" in each.reason]


@pytest.mark.parametrize("model_type", ["vit", "convnext", "clip", "bit"])
def test_predictions_are_those_of_the_pipeline(model_type: str, data: Dataset, tmp_path: Path) -> None:
    """With torchvision's backend; what is fused is within one gray level of it, else the processor answers."""
    folder = tiny_classifier(model_type, tmp_path / "model")
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    assert processor.backend == "torchvision"
    classify = transformers.pipeline("image-classification", model=str(folder))
    expected = []
    for row in data:
        scores = classify(row["image"], top_k=CLASSES, function_to_apply="none")
        expected.append([{each["label"]: each["score"] for each in scores}[f"class {k}"] for k in range(CLASSES)])
    made = oochub.predict(folder, data, preprocessing="processor", cache=False)
    np.testing.assert_allclose(made.logits, expected, rtol=0, atol=1e-5 * max(1.0, np.ptp(expected)))
    quick = oochub.predict(folder, data, cache=False)
    np.testing.assert_allclose(quick.logits, expected, rtol=0, atol=0.02 * np.ptp(expected))


def test_provenance_names_the_backend_and_the_cache_knows_it(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted fault: the backend left out, so that predictions by another one are taken from the cache."""
    folder = tiny_classifier("vit", tmp_path / "model")
    first = oochub.predict(folder, data).metadata.provenance
    assert first["processor_backend"] == f"torchvision {version('torchvision')}"
    again = oochub.predict(folder, data).metadata.provenance
    assert again["when"].get("cached") and again["key"] == first["key"]
    monkeypatch.setattr("oochub.inputs.pictures.describe_backend", lambda processor: "pillow 13.0.0")
    assert oochub.predict(folder, data).metadata.provenance["key"] != first["key"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"size": {"height": 48, "width": 32}, "resample": 3},
        {"do_center_crop": True, "crop_size": {"height": 24, "width": 24}, "size": {"height": 32, "width": 32}},
        {"do_rescale": False, "do_normalize": False, "size": {"height": 40, "width": 40}},
        {"do_resize": False, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.6, 0.7]},
    ],
)
def test_the_processor_of_dinov3_without_torchvision_is_exact(given: dict[str, object]) -> None:
    """Ours, against the class of transformers that needs torchvision. Planted fault: scaled after the resize."""
    theirs, ours = (
        transformers.DINOv3ViTImageProcessor(**given),
        FloatProcessor(**{"size": {"height": 224, "width": 224}, **given}),
    )
    for seed, shape in enumerate([*SHAPES, (500, 375), (301, 1200)]):
        picture = photograph(*shape, seed)
        values = [each(picture, return_tensors="pt")["pixel_values"] for each in (theirs, ours)]
        assert values[0].shape == values[1].shape and (values[0] - values[1]).abs().max() < 2e-6 * (
            255 if given.get("do_rescale") is False else 1
        )


def test_a_folder_of_dinov3_gives_the_same_with_and_without_torchvision(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers.DINOv3ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    picture = data[0]["image"]
    processor = image_processor.load_image_processor(str(tmp_path))
    assert type(processor).__name__ == "DINOv3ViTImageProcessor"
    theirs = processor(picture, return_tensors="pt")["pixel_values"]
    monkeypatch.setattr("transformers.utils.is_torchvision_available", lambda: False)
    processor = image_processor.load_image_processor(str(tmp_path))
    assert type(processor) is FloatProcessor
    assert (processor(picture, return_tensors="pt")["pixel_values"] - theirs).abs().max() < 2e-6


def timm_repository(folder: Path, **model_args: object) -> tuple[Path, torch.nn.Module]:
    """A repository as timm writes it: config.json, model.safetensors and nothing else."""
    torch.manual_seed(0)
    net = timm.create_model("resnet10t", num_classes=3, **model_args).eval()
    with torch.no_grad():
        net.fc.weight *= 20  # far apart
    config = {
        "architecture": "resnet10t",
        "num_classes": 3,
        "label_names": ["corgi", "labrador", "bulldog"],
        **({"model_args": {**model_args, "num_classes": 3}} if model_args else {}),
        "pretrained_cfg": {
            "input_size": [3, 48, 48],
            "interpolation": "bicubic",
            "crop_pct": 0.9,
            "crop_mode": "center",
            "mean": [0.485, 0.456, 0.406],
            "std": [0.229, 0.224, 0.225],
            "num_classes": 3,
            "first_conv": "conv1",
            "classifier": "fc",
        },
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file({key: value.contiguous() for key, value in net.state_dict().items()}, folder / "model.safetensors")
    return folder, net


@pytest.mark.parametrize("model_args", [{}, {"drop_rate": 0.2, "output_stride": 16}])
def test_a_timm_repository_gives_the_logits_of_timm(
    model_args: dict[str, object], data: Dataset, tmp_path: Path
) -> None:
    """By timm's own network and transform; features and linear probe too."""
    folder, net = timm_repository(tmp_path / "timm", **model_args)
    config = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
    transform = timm.data.create_transform(**timm.data.resolve_data_config(pretrained_cfg=config))
    with torch.no_grad():
        expected = net(torch.stack([transform(row["image"]) for row in data])).numpy()
    assert np.ptp(expected) > 0.1
    made = oochub.predict(folder, data, features=True, cache=False)
    np.testing.assert_allclose(made.logits, expected, rtol=0, atol=1e-5)
    assert list(made.class_names) == ["corgi", "labrador", "bulldog"] and made.features.shape == (4, 512)
    assert made.metadata.provenance["processor_backend"] == f"timm {version('timm')}"
    wrong = edited(folder, "config.json", model_args={"num_classes": 4})
    with pytest.raises(OochubError, match="num_classes says 3, but model_args says 4"):
        oochub.predict(wrong, data, cache=False)


def test_a_classifier_whose_output_has_no_logits(data: Dataset, tmp_path: Path) -> None:
    """PP-LCNet calls them last_hidden_state."""
    names = {0: "a", 1: "b", 2: "c"}
    config = transformers.CONFIG_MAPPING["pp_lcnet"](scale=0.25, class_expand=32, id2label=names)
    torch.manual_seed(0)
    model = getattr(transformers, MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES["pp_lcnet"])(config).eval()
    model.save_pretrained(tmp_path)
    processor = transformers.PPLCNetImageProcessor()
    processor.save_pretrained(tmp_path)
    with torch.no_grad():
        expected = torch.cat(
            [model(**processor(row["image"], return_tensors="pt")).last_hidden_state for row in data]
        ).numpy()
    made = oochub.predict(tmp_path, data, features=True, preprocessing="processor", cache=False)
    np.testing.assert_allclose(made.logits, expected, rtol=0, atol=1e-5)
    rebuilt = made.features @ made.head.weight.T + made.head.bias
    np.testing.assert_allclose(rebuilt, expected, rtol=0, atol=1e-4)


def test_the_lines_of_the_guide_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of docs/models.md that need torchvision or timm, after the lines above them."""
    monkeypatch.chdir(tmp_path)
    blocks = [each for each in fences(Path(__file__).parents[2] / "docs" / "models.md") if each.language == "python"]
    first = next(each for each in blocks if "example(" in each.code)
    own = [each for each in blocks if "make vision" in each.reason]
    assert len(own) == 2
    namespace: dict[str, object] = {}
    for block in (first, *own):
        exec(compile(block.code, "docs/models.md", "exec"), namespace)  # noqa: S102  the guides are ours
    assert isinstance(namespace["report"], oochub.Report)


@pytest.mark.parametrize("model_type", ["pp_ocrv5_mobile_det"])  # the others have no config that is small
def test_a_detector_of_text_says_whether_there_is_text(model_type: str, data: Dataset, tmp_path: Path) -> None:
    """The largest probability of a pixel, as its own post-processing reads its output."""
    torch.manual_seed(0)
    model = transformers.AutoModelForObjectDetection.from_config(transformers.CONFIG_MAPPING[model_type]()).eval()
    model.save_pretrained(tmp_path)
    processor = transformers.PPOCRV5ServerDetImageProcessor()
    processor.save_pretrained(tmp_path)
    with torch.no_grad():
        maps = [model(processor(row["image"], return_tensors="pt")["pixel_values"]).last_hidden_state for row in data]
    expected = np.array([float(each.max()) for each in maps])
    rows = data.add_column("label", [0, 1, 0, 1], feature=ClassLabel(names=["no_text", "text"]))
    made = oochub.predict(tmp_path, rows, cache=False)
    assert made.metadata.model.mode == "presence"
    np.testing.assert_allclose(1 / (1 + np.exp(-(made.logits[:, 1] - made.logits[:, 0]))), expected, rtol=1e-4)


def test_every_type_is_served_or_has_a_reason() -> None:
    types = list_supported_models()
    print(f"{sum(bool(each.modes) for each in types)} of {len(types)} types are served")  # noqa: T201
    assert all(each.modes or each.reason for each in types)
