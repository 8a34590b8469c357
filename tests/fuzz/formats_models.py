"""Model folders and images with one thing wrong, four rows predicted: refused, or the same logits."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_case import Format, Used
from PIL import Image

import oochub

_CONFIG, _PROCESSOR, _WEIGHTS, _RECIPE = "config.json", "preprocessor_config.json", "model.safetensors", "recipe.json"
_PICTURE = "picture.png"
_RUN: dict[str, Any] = {
    "objective": {"name": "erm", "hyperparameters": {"alpha": 1.0}},
    "data": {
        "benchmark": "spawrious",
        "config": "o2o_easy",
        "version": "1.0.0",
        "rows": {"train": 8},
        "environment_column": "group",
    },
    "arguments": {"seed": 0, "num_train_epochs": 2},
    "selection": {"rule": "validation loss"},
}


def _colored(seed: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (20, 24, 3), np.uint8))


def _encoded(picture: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def _make(folder: Path) -> None:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    shape = {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1], "layer_type": "basic"}
    labels = {"id2label": {0: "cat", 1: "dog", 2: "owl"}, "label2id": {"cat": 0, "dog": 1, "owl": 2}}
    ResNetForImageClassification(ResNetConfig(**shape, **labels)).eval().save_pretrained(folder)
    ViTImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)
    (folder / _RECIPE).write_text(json.dumps(_RUN))
    (folder / _PICTURE).write_bytes(_encoded(_colored(9)))


def _use(folder: Path, out: Path) -> Used:
    from datasets import ClassLabel, Dataset, Features, Value
    from datasets import Image as ImageFeature

    features = {
        "example_id": Value("string"),
        "image": ImageFeature(),
        "label": ClassLabel(names=["cat", "dog", "owl"]),
    }
    pictures = [_encoded(_colored(k)) for k in range(3)] + [(folder / _PICTURE).read_bytes()]
    rows = {
        "example_id": ["a", "b", "c", "picture"],
        "image": [{"bytes": data, "path": None} for data in pictures],
        "label": [0, 1, 2, 0],
    }
    data = Dataset.from_dict(rows, features=Features(features))
    predictions = oochub.predict(folder, data, features=True, out=out / "p.parquet", images=False)
    left = json.dumps(predictions.metadata.provenance.get("unexpected_weights"))
    return Used(numbers=[predictions.logits, predictions.features], notes=(left,))


_THINGS = ("image processor", "The processor", "ImageProcessor", "config", "LABEL_", "model")
MODELS = Format(name="model folders", make=_make, use=_use, names=_THINGS)
PICTURES = Format(name="pictures", make=_make, use=_use, names=("example image", "example picture"))
