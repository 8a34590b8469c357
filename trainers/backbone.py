"""The network to train: a small one from scratch for a CPU, or any image classifier of transformers."""

from collections.abc import Sequence
from typing import Any

import torch

from oochub.errors import OochubError

_TINY = "resnet-tiny"
_TINY_SIZE = 48  # pixels


def backbone(name: str, *, class_names: Sequence[str], image_size: int | None = None, seed: int = 0) -> tuple[Any, Any]:
    """A model with a fresh head for these classes, and its image processor.

    Args:
        name: "resnet-tiny", a ResNet of three basic blocks (0.3 million parameters) from scratch that sees the whole
            picture squeezed to a square; else a folder or Hub id of an image classifier.
        class_names: Names of the classes in order.
        image_size: Height and width in pixels of the input of "resnet-tiny", 48 by default. Others have their own.
        seed: Of the weights that are not loaded.

    Returns:
        (model, image_processor); the model's config carries the class names.

    Raises:
        OochubError: Fewer than two classes, an image_size for a model that has its own, or a name that is neither a
            folder nor can be fetched.

    >>> model, processor = backbone("resnet-tiny", class_names=["cat", "dog"])
    >>> model.config.id2label[1], processor.size["height"]
    ('dog', 48)
    """
    if len(class_names) < 2:
        raise OochubError(f"A classifier needs two classes or more, got {list(class_names)}.")
    labels = {
        "id2label": dict(enumerate(class_names)),
        "label2id": {each: number for number, each in enumerate(class_names)},
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name == _TINY:
            return _tiny(labels, _TINY_SIZE if image_size is None else image_size)
        if image_size is not None:
            raise OochubError(f"image_size is for {_TINY}; {name} has the size of its image processor. Leave it out.")
        return _pretrained(name, labels)


def _tiny(labels: dict[str, Any], size: int) -> tuple[Any, Any]:
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

    if size < 16:
        raise OochubError(f"image_size must be 16 pixels or more, got {size}.")
    config = ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 128], depths=[1, 1, 1], layer_type="basic", **labels)
    # exact size, no crop: a center crop would cut off context at the sides
    processor = ViTImageProcessorPil(size={"height": size, "width": size})
    return ResNetForImageClassification(config), processor


def _pretrained(name: str, labels: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    try:
        model = AutoModelForImageClassification.from_pretrained(
            name, ignore_mismatched_sizes=True, trust_remote_code=False, **labels
        )
        processor = AutoImageProcessor.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise OochubError(
            f"{name!r} is neither {_TINY!r} nor a folder or Hub id of an image classifier that can be loaded "
            f"({str(error).splitlines()[0]}). Check the name, the connection, or take {_TINY!r}."
        ) from error
    return model, processor
