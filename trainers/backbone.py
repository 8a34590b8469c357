"""The network to train: a small one from scratch for a CPU, or any classifier of transformers."""

from collections.abc import Sequence
from typing import Any

import torch

from oochub.errors import OochubError
from oochub.trainers.rows.labels import CLASSES

_TINY = "resnet-tiny"
_TINY_SIZE = 48  # pixels


def backbone(
    name: str,
    *,
    class_names: Sequence[str],
    problem_type: str = CLASSES,
    image_size: int | None = None,
    pretrained: bool = True,
    text: bool = False,
    seed: int = 0,
) -> tuple[Any, Any]:
    """A model with a fresh head for these classes, and its image processor or tokenizer.

    Args:
        name: "resnet-tiny", a ResNet of three basic blocks (0.3 million parameters) from scratch that sees the whole
            picture squeezed to a square; else a folder or Hub id of a classifier or of what one is made from.
        class_names: Names of the classes or labels in order; one name for a number.
        problem_type: Of the model's config: "single_label_classification", "multi_label_classification" or
            "regression".
        image_size: Height and width in pixels to which whole pictures are squeezed; None is 48 for "resnet-tiny", and
            what the model's own image processor does for others.
        pretrained: Load the weights; False takes the architecture alone.
        text: The model reads texts, and the second result is its tokenizer.
        seed: Of the weights that are not loaded.

    Returns:
        (model, image_processor), or (model, tokenizer); the model's config carries the names.

    Raises:
        OochubError: Fewer than two classes, an image_size that the model cannot take, or a name that is neither a
            folder nor can be fetched.

    >>> model, processor = backbone("resnet-tiny", class_names=["cat", "dog"])
    >>> model.config.id2label[1], processor.size["height"]
    ('dog', 48)
    """
    if len(class_names) < (2 if problem_type == CLASSES else 1):
        raise OochubError(f"A classifier needs two classes or more, got {list(class_names)}.")
    if image_size is not None and (text or image_size < 16):
        raise OochubError(f"image_size must be 16 pixels or more, of pictures, got {image_size}.")
    labels = {
        "id2label": dict(enumerate(class_names)),
        "label2id": {each: number for number, each in enumerate(class_names)},
        "problem_type": problem_type,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name == _TINY and not text:
            return _tiny(labels, image_size or _TINY_SIZE)
        model, processor = _loaded(name, labels, pretrained=pretrained, text=text)
    return model, processor if image_size is None else _squeezing(model, processor, image_size)


def _tiny(labels: dict[str, Any], size: int) -> tuple[Any, Any]:
    from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

    config = ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 128], depths=[1, 1, 1], layer_type="basic", **labels)
    # exact size, no crop: a center crop would cut off context at the sides
    processor = ViTImageProcessorPil(size={"height": size, "width": size})
    return ResNetForImageClassification(config), processor


def _loaded(name: str, labels: dict[str, Any], *, pretrained: bool, text: bool) -> tuple[Any, Any]:
    import transformers

    import oochub.models.affine_resnet  # noqa: F401  makes its type known to the Auto classes

    made = transformers.AutoModelForSequenceClassification if text else transformers.AutoModelForImageClassification
    processors = transformers.AutoTokenizer if text else transformers.AutoImageProcessor
    try:
        if pretrained:
            model = made.from_pretrained(name, ignore_mismatched_sizes=True, trust_remote_code=False, **labels)
        else:
            model = made.from_config(transformers.AutoConfig.from_pretrained(name, trust_remote_code=False, **labels))
        return model, processors.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        what = "not" if text else f"neither {_TINY!r} nor"
        raise OochubError(
            f"{name!r} is {what} a folder or Hub id of a classifier that can be loaded ({str(error).splitlines()[0]}). "
            f"Check the name, the connection{'' if text else f', or take {_TINY!r}'}."
        ) from error


def _squeezing(model: Any, processor: Any, size: int) -> Any:
    """An image processor that squeezes whole pictures to a square and then does as the model's own."""
    from transformers import ViTImageProcessorPil

    own = getattr(model.config, "image_size", size)
    if own not in (size, [size, size], (size, size)):
        raise OochubError(f"{type(model).__name__} takes pictures of {own} pixels and no other. Leave image_size out.")
    return ViTImageProcessorPil(
        size={"height": size, "width": size},
        resample=processor.resample,
        image_mean=processor.image_mean,
        image_std=processor.image_std,
        do_normalize=processor.do_normalize,
        do_rescale=processor.do_rescale,
        rescale_factor=processor.rescale_factor,
    )
