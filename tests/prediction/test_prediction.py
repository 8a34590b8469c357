"""Prediction against the model called by hand; heads of several architectures; what is refused before the work."""

import copy
import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict, Image, load_dataset
from safetensors.numpy import load_file
from transformers import (
    AutoModelForImageClassification,
    ConvNextConfig,
    Dinov2Config,
    ResNetConfig,
    SwiftFormerConfig,
    ViTConfig,
    ViTImageProcessor,
)

import oochub
from oochub.loading_scripts.build_repository import build_parquet
from oochub.models.extraction import find_head
from oochub.prediction.predictions_file import head_file
from oochub.records.schema import to_json

_TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_CONFIGS = {
    "resnet": ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"),
    "vit": ViTConfig(**_TINY, image_size=32, patch_size=16),
    "dinov2": Dinov2Config(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14),
    "convnext": ConvNextConfig(hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1]),
    "swiftformer": SwiftFormerConfig(depths=[1, 1, 1, 1], embed_dims=[8, 8, 16, 16]),  # a head and a distillation head
}


def _model(kind="resnet", classes=2):
    torch.manual_seed(0)
    config = copy.deepcopy(_CONFIGS[kind])
    config.num_labels = classes
    return AutoModelForImageClassification.from_config(config).eval()


def _processor(size=32):
    return ViTImageProcessor(size={"height": size, "width": size})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("model")
    _model().save_pretrained(target)
    _processor().save_pretrained(target)
    return target


@pytest.fixture(scope="module")
def data(coco):
    return load_dataset("nooch", "ce_car", data_dir=coco)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("predictions") / "p.parquet"


@pytest.fixture(scope="module")
def predictions(folder, data, file):
    return oochub.predict(folder, data, out=file)


def test_logits_are_the_models_own(folder, data, predictions, file):
    """The model and its processor called by hand, image by image."""
    model, processor = _model(), _processor()
    expected = []
    for split in ("validation", "test"):
        for row in data[split]:
            with torch.no_grad():
                inputs = processor(row["image"].convert("RGB"), return_tensors="pt")
                expected.append(model(**inputs).logits[0].numpy())
    assert predictions.split.tolist() == ["validation"] * len(data["validation"]) + ["test"] * len(data["test"])
    np.testing.assert_allclose(predictions.logits, np.stack(expected), atol=1e-5)
    own = oochub.predict(folder, data, preprocessing="processor")
    np.testing.assert_allclose(own.logits, np.stack(expected), atol=1e-6)
    assert oochub.Predictions.load(file).table.equals(predictions.table)


def test_every_column_is_carried(data, predictions):
    is_test, names = predictions.split == "test", data["test"].features["challenge"]
    assert predictions.column("challenge")[is_test].tolist() == [names.int2str(c) for c in data["test"]["challenge"]]
    assert predictions.label[is_test].tolist() == data["test"]["label"]
    areas = np.concatenate(predictions.column("context_area")[is_test])
    np.testing.assert_allclose(areas, np.ravel(data["test"]["context_area"]))
    assert predictions.metadata.benchmark == "nooch" and "partial" in " ".join(predictions.metadata.notes)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["ce_car", "all"])
def test_a_plainly_loaded_repository_is_the_benchmark(config, raw, tmp_path):
    """Built, renamed, loaded by `datasets` alone: predictions and report say what those of the benchmark say."""
    data = load_dataset("nooch", config, data_dir=raw(f"nooch/{config}"))
    built = build_parquet(f"nooch/{config}", tmp_path / "nooch", data_dir=str(raw(f"nooch/{config}")))
    plain = load_dataset(str(built.rename(tmp_path / "other")), config)
    assert plain["test"].column_names == data["test"].column_names
    names = (
        data["test"].features["label"].names if config == "ce_car" else data["test"].features["labels"].feature.names
    )
    model, processor = _model(classes=len(names)), _processor()
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: number for number, name in enumerate(names)}
    one, other = (oochub.predict(model, part, image_processor=processor) for part in (data, plain))
    assert one.table.equals(other.table)
    assert replace(one.metadata, provenance=other.metadata.provenance) == other.metadata
    tasks = [oochub.task(each, "ce_car") if config == "all" else each for each in (one, other)]
    reports = [oochub.evaluate(each, resamples=100) for each in tasks]
    assert "a drawn toy world" in " ".join(reports[1].notes)
    assert to_json(reports[0]) == to_json(replace(reports[1], provenance=reports[0].provenance))


@pytest.mark.parametrize("kind", list(_CONFIGS))
def test_features_times_head_are_the_logits(kind, tmp_path):
    """The head is found by what it computes: logits = features @ W.T + b on every example, with and without a file."""
    rng = np.random.default_rng(0)
    part = _dataset([rng.integers(0, 255, (40, 40, 3), dtype=np.uint8) for _ in range(9)])
    size = 28 if kind == "dinov2" else 32
    out = tmp_path / "p.parquet"
    model, options = _model(kind, 5), {"features": True, "image_processor": _processor(size), "batch_size": 4}
    made, kept = oochub.predict(model, part, out=out, **options), oochub.predict(model, part, **options)
    head = load_file(head_file(out))
    np.testing.assert_allclose(made.features @ head["weight"].T + head["bias"], made.logits, atol=1e-5)
    np.testing.assert_allclose(kept.features @ kept.head.weight.T + kept.head.bias, made.logits, atol=1e-5)


def test_a_model_without_linear_head_is_said():
    class Odd(torch.nn.Module):
        def forward(self, pixel_values):
            from types import SimpleNamespace

            return SimpleNamespace(logits=pixel_values.mean((2, 3)))

    with pytest.raises(oochub.OochubError, match="does not end in a linear layer that outputs the logits"):
        find_head(Odd(), {"pixel_values": torch.randn(2, 3, 8, 8)})


def _dataset(pictures, **columns):
    from PIL import Image as Pillow

    def png(array):
        file = io.BytesIO()
        Pillow.fromarray(array).save(file, "PNG")
        return {"bytes": file.getvalue(), "path": None}

    return Dataset.from_dict({"image": [png(p) for p in pictures], **columns}).cast_column("image", Image())


def test_streamed_equals_mapped(folder, coco, predictions):
    streamed = oochub.predict(folder, load_dataset("nooch", "ce_car", data_dir=coco, streaming=True))
    np.testing.assert_array_equal(predictions.logits, streamed.logits)
    assert predictions.table.drop_columns(["thumbnail"]).equals(streamed.table.drop_columns(["thumbnail"]))


def test_worst_mistakes_keep_a_small_picture_without_metadata(folder, data, predictions):
    kept = [t for t in predictions.column("thumbnail") if t is not None]
    wrong = (predictions.prediction != predictions.label).sum()
    assert 0 < len(kept) <= wrong
    from PIL import Image as Pillow

    for one in kept:
        picture = Pillow.open(io.BytesIO(one))
        assert max(picture.size) <= 224 and not picture.getexif()
    assert "thumbnail" not in oochub.predict(folder, data, images=False).table.column_names


def test_classes_are_matched_by_name(data, tmp_path):
    """A model with the same classes in another order: its outputs are put in the data set's order."""
    plain = _model()
    turned = _model()
    turned.config.id2label, turned.config.label2id = {0: "car", 1: "no_car"}, {"car": 0, "no_car": 1}
    first = oochub.predict(plain, data["test"], image_processor=_processor())
    second = oochub.predict(turned, data["test"], image_processor=_processor())
    np.testing.assert_array_equal(first.logits, second.logits[:, ::-1])
    turned.config.id2label = {0: "cat", 1: "dog"}
    with pytest.raises(oochub.OochubError, match=r"has 2 classes \(cat, dog\), the dataset has 2"):
        oochub.predict(turned, data["test"], image_processor=_processor())
    with pytest.raises(oochub.OochubError, match="The model has 5 classes"):
        oochub.predict(_model(classes=5), data["test"], image_processor=_processor())


def test_a_truncated_jpeg_is_named_and_nothing_is_written(folder, coco, tmp_path):
    import shutil

    raw = tmp_path / "raw"
    shutil.copytree(coco, raw)
    data = load_dataset("nooch", "ce_car", data_dir=raw)
    broken = raw / "images" / "train2017" / f"{data['test'][5]['example_id']}.jpg"
    broken = broken if broken.exists() else raw / "images" / "val2017" / broken.name
    broken.write_bytes(broken.read_bytes()[:-300])
    data = load_dataset("nooch", "ce_car", data_dir=raw, download_mode="force_redownload")
    with pytest.raises(oochub.OochubError, match=f"split test, example {broken.stem}"):
        oochub.predict(folder, data, out=tmp_path / "out" / "p.parquet")
    assert not (tmp_path / "out").exists()


def test_refused_before_the_work(folder, data, tmp_path):
    with pytest.raises(oochub.OochubError, match="No split named 'tset'"):
        oochub.predict(folder, data, splits=["tset"])
    with pytest.raises(oochub.OochubError, match="No mode named"):
        oochub.predict(folder, data, mode="zero")
    with pytest.raises(oochub.OochubError, match="No model at"):
        oochub.predict(tmp_path / "nowhere", data)
    (tmp_path / "empty").mkdir()
    with pytest.raises(oochub.OochubError, match="does not contain a finished model"):
        oochub.predict(tmp_path / "empty", data)
    with pytest.raises(oochub.OochubError, match="needs image_processor="):
        oochub.predict(_model(), data)
    with pytest.raises(oochub.OochubError, match=r"no column for any kind of input: .*'image' \(pictures\)"):
        oochub.predict(folder, DatasetDict({"test": data["test"].remove_columns("image")}))
    with pytest.raises(oochub.OochubError, match=r"out must be a \.parquet file"):
        oochub.predict(folder, data, features=True, out="/dev/stdout")


def test_rows_of_nooch_without_their_contexts_are_predicted(coco, tmp_path):
    """Image and label alone: a caption names no context. Fault planted: KeyError 'group', as it was."""
    data = oochub.load("nooch/ce_car", data_dir=str(coco))
    few = DatasetDict({"test": data["test"].select(range(12)).select_columns(["example_id", "image", "label"])})
    predictions = oochub.predict(_model(), few, image_processor=_processor(), out=tmp_path / "few.parquet")
    assert predictions.column_names[:1] == ["example_id"] and "group" not in predictions.column_names
    report = oochub.evaluate(predictions, metrics=["accuracy", "error_rate"], resamples=100)
    right = (predictions.prediction == predictions.label).mean()
    assert report["accuracy"].value == pytest.approx(right) and right < 1
    assert report.mistakes and {mistake.context for mistake in report.mistakes} == {""}
