"""What the tests of the trainer share: tiny splits, tiny models, trainers of them, and a step outside a trainer."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Image as ImageFeature
from PIL import Image
from torch import nn
from transformers import (
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
)

import oochub
from oochub.records.origin_records import drop_when_and_where
from oochub.storage.ownership import MANIFEST
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.batch import Batch
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.training_step import TrainingStep

torch.set_num_threads(1)
SIZE = 16
CLASSES = ["no car", "car"]
ENVIRONMENTS = ["road", "grass", "test"]


def made_split(rows: int, seed: int, **columns: Any) -> Dataset:
    """Images whose color goes with the class and whose brightness goes with the environment, with noise.

    `columns` are (feature, values) by name: others to have, or None to leave out one of the usual.
    """
    rng = np.random.default_rng(seed)
    label, environment = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    pictures = []
    for y, e in zip(label, environment, strict=True):
        picture = rng.normal(100 + 60 * e, 30, (SIZE, SIZE, 3))
        picture[..., 0] += 50 * y
        file = io.BytesIO()
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(file, "PNG")
        pictures.append({"bytes": file.getvalue(), "path": None})
    found: dict[str, Any] = {
        "example_id": (Value("string"), [f"{seed}/{i}" for i in range(rows)]),
        "image": (ImageFeature(), pictures),
        "label": (ClassLabel(names=CLASSES), label),
        "environment": (ClassLabel(names=ENVIRONMENTS), environment),
        **columns,
    }
    kept = {name: column for name, column in found.items() if column is not None}
    features = Features({name: feature for name, (feature, _) in kept.items()})
    return Dataset.from_dict({name: values for name, (_, values) in kept.items()}, features)


def arguments(out: Path, **changed: Any) -> RobustTrainingArguments:
    settings = {"num_train_epochs": 2, "per_device_train_batch_size": 16, "cache_dir": out.parent / "pixels"}
    return RobustTrainingArguments(output_dir=out, **(settings | changed))


def with_dropout(probability: float = 0.2, *, outputs: int = 2) -> tuple[Any, Any]:
    """A model that draws random numbers in training, and has no BatchNorm."""
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = ViTConfig(image_size=SIZE, patch_size=8, hidden_dropout_prob=probability, num_labels=outputs, **shape)
    return ViTForImageClassification(config), ViTImageProcessorPil(size={"height": SIZE, "width": SIZE})


def with_group_norm(*, outputs: int = 2) -> tuple[Any, Any]:
    """A small ResNet whose BatchNorm layers are GroupNorm: the output of a row does not depend on its batch."""
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=outputs)
    model = ResNetForImageClassification(config)
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(parent, name, nn.GroupNorm(4, child.num_features))
    return model, ViTImageProcessorPil(size={"height": SIZE, "width": SIZE})


def trainer_of(
    out: Path,
    train: Any,
    validation: Any = None,
    *,
    objective: str = "erm",
    hyperparameters: Mapping[str, Any] | None = None,
    model: Any = None,
    **changed: Any,
) -> RobustTrainer:
    names = ("metrics", "environment_column", "compute_metrics", "callbacks", "processing_class")
    own = {key: changed.pop(key) for key in names if key in changed}
    network, processor = model or open_backbone("resnet-tiny", class_names=CLASSES, image_size=SIZE)
    return RobustTrainer(
        network,
        arguments(out, **changed),
        train_dataset=train,
        eval_dataset=validation,
        objective=oochub.get("objective", objective)(**(hyperparameters or {})),
        **({} if "processing_class" in own else {"image_processor": processor}),
        **own,
    )


def bytes_of(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()


def artifacts(out: Path) -> dict[str, Any]:
    """Every file of a finished run but its manifest; the recipe without what may differ between two equal runs."""
    files = {file.name: file.read_bytes() for file in out.iterdir() if file.name != MANIFEST}
    return files | {"recipe.json": drop_when_and_where(json.loads(files["recipe.json"]))}


class Stop(BaseException):
    """Ends a run from within, as a signal would."""


def stopped_after(steps: int, monkeypatch: Any) -> list[list[int]]:
    """Makes the loop stop before its batch number `steps`; the list fills with the rows of the batches before it."""
    seen: list[list[int]] = []

    def made(inputs: Any, label: Any, environment: Any, row: Any) -> Batch:
        if len(seen) == steps:
            raise Stop
        seen.append(row.tolist())
        return Batch(inputs, label, environment, row)

    monkeypatch.setattr("oochub.trainers.fine_tuning.loop.Batch", made)
    return seen


class Output:
    """What a model of transformers answers."""

    def __init__(self, logits: torch.Tensor) -> None:
        self.logits = logits


class Linear(nn.Module):
    """A linear classifier of pixel values (n, d), in the form of a model of transformers."""

    def __init__(self, weight: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.as_tensor(weight).clone())

    def forward(self, pixel_values: torch.Tensor) -> Output:
        return Output(pixel_values @ self.weight)


def training_step_of(model: nn.Module, optimizer: torch.optim.Optimizer, **options: Any) -> TrainingStep:
    """A training of one process, as a trainer makes it."""
    accelerator = Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    return TrainingStep(accelerator, model, optimizer, **options)


def batch_of(pixels: Any, label: Any, environment: Any = None) -> Batch:
    """A batch of pixel values (n, ...) with rows numbered from 0."""
    values, label = torch.as_tensor(pixels), torch.as_tensor(label)
    environment = torch.zeros(len(values), dtype=torch.int64) if environment is None else torch.as_tensor(environment)
    return Batch({"pixel_values": values}, label, environment, torch.arange(len(values)))
