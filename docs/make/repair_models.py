"""The models of docs/repair.md: three kinds, trained in full in a world, as folders that `transformers` opens."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from repair_worlds import FAMILIES, World, draw_cell, names_of
from sklearn.linear_model import LogisticRegression

import oochub
from oochub.storage.files import write_whole_folder

_SIDE = 48
_ENCODER_ROWS = 600  # of each class and context of each family
_ENCODER_SEED = 9_000
_ENCODER_EPOCHS = {"probe": 6, "vit": 16}
_EPOCHS = {"resnet": 8, "vit": 8}


def train_model(world: World, images: Path, folder: Path, *, encoder: Path) -> Path:
    """Trains the model of a world with the plain mean loss; one that is there is left as it is.

    Args:
        world: The world and the kind of model.
        images: Its images, see `repair_worlds.write_world`.
        folder: The folder of the run.
        encoder: A folder of `train_encoder`: the Vision Transformer goes on from it, the probe stands on it as it is.

    Returns:
        The folder of the model.
    """
    if world.kind == "probe":
        return folder if folder.exists() else _fit_probe(world, images, folder, encoder)
    oochub.train(
        str(images),
        folder,
        label="label",
        context="context",
        model=str(encoder) if world.kind == "vit" else None,
        arguments={
            "seed": world.seed,
            "num_train_epochs": _EPOCHS[world.kind],
            "cache_dir": folder.parent / "pixels",
            **({"learning_rate": 1e-3} if world.kind == "vit" else {}),
        },
    )
    return folder


def train_encoder(kind: str, folder: Path) -> Path:
    """A small network that tells every class in every context of all families, 16 in all, on images of its own.

    Args:
        kind: "vit", a Vision Transformer; else a ResNet.
        folder: Gets `images` and a folder for each kind; what is there is left as it is.
    """
    if (folder / kind / "model.safetensors").exists():
        return folder / kind
    with _write_once(folder / "images") as draft:
        for split, rows in (("train", _ENCODER_ROWS), ("validation", _ENCODER_ROWS // 10)) if draft else ():
            _write_cells(draft / split, rows, seed=_ENCODER_SEED + len(split))
    start = str(_write_small_vit(folder / "vit_untrained")) if kind == "vit" else None
    oochub.train(
        str(folder / "images"),
        folder / kind,
        model=start,
        pretrained=False,
        arguments={
            "num_train_epochs": _ENCODER_EPOCHS[kind],
            "cache_dir": folder / "pixels",
            **({"learning_rate": 1e-3} if kind == "vit" else {}),
        },
    )
    return folder / kind


def _write_cells(target: Path, rows: int, *, seed: int) -> None:
    for place, family in enumerate(FAMILIES):
        classes, contexts = names_of(family)
        for label in (0, 1):
            for context in (0, 1):
                own = target / f"{classes[label]}_{contexts[context]}"
                own.mkdir(parents=True)
                for number in range(rows):
                    rng = np.random.default_rng([seed, place, label, context, number])
                    picture = draw_cell(family, rng, label=label, context=context, contrast=rng.uniform(0.4, 1.0))
                    picture.save(own / f"{number:04}.png")


def _write_small_vit(folder: Path) -> Path:
    """A Vision Transformer of three layers with weights that nobody trained, and its processor."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

    with _write_once(folder) as draft:
        if draft:
            torch.manual_seed(_ENCODER_SEED)
            sizes = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128}
            config = ViTConfig(image_size=_SIDE, patch_size=8, num_labels=2, **sizes)
            ViTForImageClassification(config).save_pretrained(draft)
            ViTImageProcessorPil(size={"height": _SIDE, "width": _SIDE}).save_pretrained(draft)
    return folder


def _fit_probe(world: World, images: Path, folder: Path, encoder: Path) -> Path:
    """The encoder as it is, under a logistic regression of scikit-learn on its features of the training rows."""
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    classes, _ = names_of(world.family)
    processor = AutoImageProcessor.from_pretrained(encoder)
    model = AutoModelForImageClassification.from_pretrained(
        encoder,
        num_labels=2,
        ignore_mismatched_sizes=True,
        id2label=dict(enumerate(classes)),
        label2id={name: number for number, name in enumerate(classes)},
    ).eval()
    features, label = [], []
    for number, name in enumerate(classes):
        paths = sorted((images / "train").glob(f"{name}_*.png"))
        for first in range(0, len(paths), 256):
            pixels = processor([Image.open(path) for path in paths[first : first + 256]], return_tensors="pt")
            with torch.inference_mode():
                features.append(model.base_model(**pixels).pooler_output.flatten(1).numpy())
        label += [number] * len(paths)
    fitted = LogisticRegression(max_iter=5000).fit(np.concatenate(features), label)
    head = model.classifier[-1]
    with torch.no_grad():  # the softmax of two outputs is the logistic function of their difference
        weight = torch.tensor(fitted.coef_, dtype=torch.float32) / 2
        head.weight.copy_(torch.cat([-weight, weight]))
        head.bias.copy_(torch.tensor([-1.0, 1.0]) * float(fitted.intercept_[0]) / 2)
    with write_whole_folder(folder) as draft:
        model.save_pretrained(draft)
        processor.save_pretrained(draft)
    return folder


@contextmanager
def _write_once(folder: Path) -> Iterator[Path | None]:
    """A draft of the folder; None if the folder is there."""
    if folder.exists():
        yield None
        return
    with write_whole_folder(folder) as draft:
        yield draft
