"""Tiny models of transformers in folders, and changes of them, to see what a damaged one does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import ClassLabel, Dataset, Features
from datasets import Image as ImageFeature
from PIL import Image
from safetensors.torch import load_file, save_file

SIZE = 16
HEAD = "classifier.1.weight"
STEM = "resnet.embedder.embedder.convolution.weight"


def resnet(folder: Path, *, classes: int = 2) -> Path:
    """A ResNet of 16 channels with its image processor."""
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=classes
    )
    torch.manual_seed(0)
    transformers.ResNetForImageClassification(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": SIZE, "width": SIZE}).save_pretrained(folder)
    return folder


def changed(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> Path:
    """The same folder after a change of its weights by name."""
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def pictures(rows: int = 3) -> Dataset:
    features = Features({"image": ImageFeature(), "label": ClassLabel(names=["LABEL_0", "LABEL_1"])})
    images = [Image.new("RGB", (20, 20), (40 * k, 90, 200 - 40 * k)) for k in range(rows)]
    return Dataset.from_dict({"image": images, "label": [k % 2 for k in range(rows)]}, features)


def edited(folder: Path, name: str, **changes: Any) -> Path:
    """The same folder after a change of one of its JSON files; `...` takes a field away."""
    content = {**json.loads((folder / name).read_text()), **changes}
    (folder / name).write_text(json.dumps({key: value for key, value in content.items() if value is not ...}))
    return folder
