"""Tiny models of transformers in folders, and changes of them, to see what a damaged one does."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, Features
from datasets import Image as ImageFeature
from PIL import Image
from safetensors.torch import load_file, save_file

SIZE = 16
HEAD = "classifier.1.weight"
STEM = "resnet.embedder.embedder.convolution.weight"
needs_peft = pytest.mark.skipif(
    importlib.util.find_spec("peft") is None, reason="Adapters open by peft: pip install 'oochub[peft]'"
)


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


def peft_adapter(folder: Path, **given: Any) -> tuple[Path, Any]:
    """An adapter that peft itself has saved, for a base of 2 classes beside it, with a head of 3; and peft's model."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.ViTConfig(image_size=SIZE, patch_size=SIZE // 4, num_labels=2, **shape)
    transformers.ViTForImageClassification(config).save_pretrained(folder / "base")
    transformers.ViTImageProcessorPil(size={"height": SIZE, "width": SIZE}).save_pretrained(folder / "base")
    base = transformers.ViTForImageClassification.from_pretrained(
        folder / "base", num_labels=3, ignore_mismatched_sizes=True
    )
    options = {"r": 4, "target_modules": ["q_proj", "v_proj"], "modules_to_save": ["classifier"]} | given
    model = get_peft_model(base, LoraConfig(**options)).eval()
    for weight in model.parameters():
        if weight.requires_grad:
            torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(folder / "adapter")
    return folder / "adapter", model
