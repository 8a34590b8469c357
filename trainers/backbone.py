"""The network to train: a built-in one from scratch, or any classifier of transformers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from oochub import catalog
from oochub.errors import OochubError
from oochub.input import Input, check_changes
from oochub.models.built_in_model import BuiltInModel, choose_built_in, find_built_in
from oochub.models.extraction import check_whole_images
from oochub.models.open_model import model_load_errors, open_pretrained, read_model_config
from oochub.trainers.rows.targets import BOXES, CLASSES, TOKENS

_LARGEST = 4096  # pixels


def open_backbone(
    name: str | None,
    *,
    class_names: Sequence[str],
    problem_type: str = CLASSES,
    image_size: int | None = None,
    pretrained: bool = True,
    kind: type[Input] | None = None,
    dataset: Any = None,
    seed: int = 0,
) -> tuple[Any, Any]:
    """A model with a fresh head for these classes, and its processor.

    Args:
        name: A built-in model of `oochub list model`, from scratch, such as "resnet-tiny"; else a folder or Hub id of
            a classifier or of what one is made from. None takes the small built-in model for such rows.
        class_names: Names of the classes or labels in order; one name for a number.
        problem_type: Type in the model's config: "single_label_classification", "multi_label_classification" or
            "regression"; "boxes" makes a detector; "next_token" for tokens, of which a config says nothing.
        image_size: Height and width in pixels to which whole images are squeezed; None is what a built-in model
            says (48 for "resnet-tiny"), and what the model's own image processor does for others.
        pretrained: Load the weights; False takes the architecture alone.
        kind: Kind of input that the model reads; None is images.
        dataset: The training set; a model of arrays has its number of bands, and normalizes by its mean and deviation
            unless the folder of `name` has an `arrays.json` of that shape.
        seed: Random seed for the weights that are not loaded.

    Returns:
        (model, processor): an image processor, a tokenizer or an ArrayProcessor; the model's config carries the names.

    Raises:
        OochubError: Fewer than two classes, an image_size that the model cannot take, a built-in model of other rows,
            or a name that is neither a folder nor can be fetched.

    >>> model, processor = open_backbone("resnet-tiny", class_names=["cat", "dog"])
    >>> model.config.id2label[1], processor.size["height"]
    ('dog', 48)
    """
    if len(class_names) < (2 if problem_type == CLASSES else 1):
        raise OochubError(f"A classifier needs two classes or more, got {list(class_names)}.")
    kind = kind or catalog.get("input", "pictures")
    check_changes(kind, image_size=image_size)
    if image_size is not None and not (type(image_size) is int and 16 <= image_size <= _LARGEST):
        raise OochubError(f"image_size must be a whole number of pixels from 16 to {_LARGEST}, got {image_size!r}.")
    labels: dict[str, Any] = {
        "id2label": dict(enumerate(class_names)),
        "label2id": {name_of: number for number, name_of in enumerate(class_names)},
        "problem_type": None if problem_type == BOXES else problem_type,
    }
    if problem_type == TOKENS:
        labels = {}
    boxes = problem_type == BOXES
    name = choose_built_in(name, kind, boxes=boxes)
    built_in = find_built_in(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if built_in is not None:
            return _make_from_scratch(built_in, labels, kind, dataset, image_size)
        plain = partial(_make_whole_processor, size=image_size) if boxes else None
        model, processor = _load_pretrained(name, labels, kind, dataset, plain=plain, pretrained=pretrained)
    return model, processor if image_size is None else _make_squeezing_processor(model, processor, image_size)


def _make_from_scratch(
    made: type[BuiltInModel], labels: dict[str, Any], kind: type[Input], dataset: Any, image_size: int | None
) -> tuple[Any, Any]:
    import transformers

    processor = made.processor(kind, dataset, image_size=image_size)
    shape: tuple[int, ...] = getattr(processor, "shape", ())
    if len(shape) == 1:
        raise OochubError(f"Built-in models read (bands, height, width), got vectors of {shape[0]}. Choose another.")
    config = made.config(kind.config(processor) | labels, processor=processor, dataset=dataset)
    auto = "AutoModelForObjectDetection" if made.is_detector else kind.auto_model
    return getattr(transformers, auto).from_config(config), processor


def _load_pretrained(
    name: str,
    labels: dict[str, Any],
    kind: type[Input],
    dataset: Any,
    *,
    plain: Callable[[Any], Any] | None,
    pretrained: bool,
) -> tuple[Any, Any]:
    """The model and its processor; of a detector, for which `plain` is given, what it makes of the processor."""
    import transformers

    auto_model = getattr(transformers, kind.auto_model if plain is None else "AutoModelForObjectDetection")
    small = choose_built_in(None, kind, boxes=plain is not None)
    words, hint = "a classifier", f"Check the name, the connection, or take {small!r}."
    config = read_model_config(name, words=words, hint=hint)
    with model_load_errors(name, words=words, hint=hint):
        processor = kind.load_processor(name, dataset, training=True)
    if plain is not None:
        processor = plain(processor)
    _check_input(auto_model._model_mapping.get(type(config), None), name, kind.of(processor))
    changes = labels | kind.config(processor)
    if pretrained:
        probe = kind.of(processor).probe
        model = open_pretrained(auto_model, name, probe=probe, words=words, hint=hint, changes=changes).model
        model.is_pretrained = True  # for the recipe: a model from the config of the same name does not say
        return model, processor
    config = read_model_config(name, words=words, hint=hint, changes=changes)
    config.name_or_path = ""  # nothing of it was loaded
    with model_load_errors(name, words=words, hint=hint):
        return auto_model.from_config(config), processor


def _check_input(network: Any, name: str, inputs: Input) -> None:
    """Refuses a network that is called with something else than the rows hold, such as one of texts for graphs."""
    networks = network if isinstance(network, tuple) else (network,)
    read, given = {network.main_input_name for network in networks if network}, [*inputs.probe()]
    if read and not read.intersection(given):
        of_these = choose_built_in(None, type(inputs), boxes=False)
        raise OochubError(
            f"{name} is a network that reads {', '.join(sorted(read))}, but the rows are {inputs.words()}, "
            f"{', '.join(given)}. Use a network for these, such as {of_these!r}."
        )


def _make_squeezing_processor(model: Any, processor: Any, size: int) -> Any:
    """An image processor that squeezes whole images to a square and then does as the model's own."""
    own = getattr(model.config, "image_size", size)
    if own not in (size, [size, size], (size, size)):
        raise OochubError(f"{type(model).__name__} only takes images of {own} pixels. Remove image_size.")
    return _make_plain_processor(processor, {"height": size, "width": size})


def _make_whole_processor(processor: Any, *, size: int | None) -> Any:
    """The image processor of a detector without padding: it squeezes whole images to its size, or `size`."""
    if size is None:
        check_whole_images(processor)
    return _make_plain_processor(processor, {side: size or processor.size[side] for side in ("height", "width")})


def _make_plain_processor(processor: Any, size: dict[str, int]) -> Any:
    from transformers import ViTImageProcessorPil

    return ViTImageProcessorPil(
        size=size,
        resample=processor.resample,
        image_mean=processor.image_mean,
        image_std=processor.image_std,
        do_normalize=processor.do_normalize,
        do_rescale=processor.do_rescale,
        rescale_factor=processor.rescale_factor,
    )
