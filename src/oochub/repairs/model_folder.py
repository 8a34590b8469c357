"""Writes a model with a new last layer, in the folder form that transformers opens by itself."""

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from oochub.errors import OochubError, OochubWarning
from oochub.input import Input
from oochub.models.callable_model import make_model, wrap_callable
from oochub.models.encoder import Encoder
from oochub.models.encoder_classifier import EncoderClassifier, EncoderClassifierConfig
from oochub.models.extraction import find_head, record_calls, take_features
from oochub.models.model_source import ModelSource
from oochub.models.open_model import open_pretrained
from oochub.prediction.predict import predict_splits
from oochub.prediction.predictions_file import StoredHead
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.files import write_whole_folder

REPAIRED_FILE = "repaired.py"
"""The file in the folder of a repaired module of the user's own, see `oochub.repairs.repaired_module`."""
REPAIRED_ONNX = "model.onnx"
"""The file in the folder of a repaired ONNX file."""
_CLOSE = 1e-3  # of the largest logit


class RepairedNetwork(NamedTuple):
    """A model in memory with its new last layer.

    Attributes:
        model: Model of transformers; the given one stays as it was.
        is_wrapper: Whether it is an `EncoderClassifier`, which transformers opens after `import oochub` alone.
    """

    model: Any
    is_wrapper: bool


def open_inputs(source: ModelSource, how: ModelSettings, asked: PredictionSettings, data: Mapping[str, Any]) -> Input:
    """How the rows of the data become what the model is called with.

    Args:
        source: The model.
        how: How it answers.
        asked: How it predicts.
        data: The splits.
    """
    processor = how.image_processor if how.processor is None else how.processor
    return source.inputs(next(iter(data.values())), processor=processor, preprocessing=asked.preprocessing)


def find_pooling(how: ModelSettings, *, is_probe: bool) -> str | None:
    """The pooling that the features of an encoder are of; None for a classifier's own head."""
    return str(how.of_mode.get("pooling", "auto")) if is_probe else None


def find_places(part: datasets.Dataset | None, ids: Iterable[object]) -> list[int]:
    """Numbers of the rows of a split with these ids; none if the split has no ids, or not all of these.

    Args:
        part: The split.
        ids: The ids.

    >>> find_places(datasets.Dataset.from_dict({"example_id": ["a", "b"]}), ["b", "a"])
    [1, 0]
    """
    if part is None or "example_id" not in part.column_names:
        return []
    place, wanted = {str(name): number for number, name in enumerate(part["example_id"][:])}, list(map(str, ids))
    return [place[name] for name in wanted] if all(name in place for name in wanted) else []


def ask_folder(
    folder: Path, part: datasets.Dataset, places: Sequence[int], asked: PredictionSettings
) -> NDArray[np.float32]:
    """The logits (k, c) of a model that stands in a folder, of some rows of a split.

    Args:
        folder: The folder, of transformers or with a `repaired.py` or a `model.onnx`.
        part: The split.
        places: Numbers of its rows (k,).
        asked: How the given model predicts.
    """
    own = replace(asked, features=False, splits=None, images=False, cache=False, limit=None)
    own = replace(own, engine="local", ray_address=None, actors=None)  # for few rows no cluster is started
    source, how = ModelSource(folder), ModelSettings(mode="head")
    if (folder / REPAIRED_FILE).is_file():
        own_model = make_model(str(folder / REPAIRED_FILE), ModelSettings(), own)
        source, how, own = (
            ModelSource(wrap_callable(own_model.model, own_model.how, own_model.asked)),
            own_model.how,
            own_model.asked,
        )
    elif (folder / REPAIRED_ONNX).is_file():
        source = ModelSource(wrap_callable(folder / REPAIRED_ONNX, how))
    logits: NDArray[np.float32] = predict_splits(source, part.select(places), how, own).logits
    return logits


def open_fine_tuned_network(folder: Path, inputs: Input, *, temperature: float) -> RepairedNetwork:
    """A network that was fine-tuned, with its logits divided by a temperature.

    Args:
        folder: Folder of its run.
        inputs: How its rows are read.
        temperature: What its logits are divided by.
    """
    model = ModelSource(folder).open(inputs.auto_model, inputs).model
    layers: tuple[Any, ...] = find_head(model, inputs.probe()).layers
    with torch.no_grad():
        for layer in layers:
            layer.weight /= temperature
            layer.bias /= temperature
    return RepairedNetwork(model, isinstance(model, EncoderClassifier))


def make_repaired_network(
    source: ModelSource, inputs: Input, head: StoredHead, *, class_names: Sequence[str], pooling: str | None
) -> RepairedNetwork:
    """The model with one output for each class, by the new head.

    A classifier keeps its architecture. An encoder becomes the classifier of its type if that has the same vectors
    before its last layer; else a linear layer is put on the encoder, see `EncoderClassifier`.

    Args:
        source: The model.
        inputs: How its rows are read.
        head: The new head.
        class_names: Names of its outputs.
        pooling: For the features of an encoder, the pooling that they are of; None for a classifier's own head.

    Raises:
        OochubError: A last layer that cannot be replaced.
    """
    if pooling is None:
        return RepairedNetwork(_renew_classifier(_open_copy(source, inputs), inputs.probe(), head, class_names), False)
    encoder = Encoder.open(source, inputs, pooling=pooling)
    if encoder.way == "head":
        model = copy.deepcopy(encoder.model) if source.path is None else encoder.model
        return RepairedNetwork(_renew_classifier(model, inputs.probe(), head, class_names), False)
    classifier = _open_as_classifier(source, inputs, encoder, class_names)
    if classifier is not None:
        return RepairedNetwork(_renew_classifier(classifier, inputs.probe(), head, class_names), False)
    config = EncoderClassifierConfig(
        encoder=encoder.model.config.to_dict(),
        pooling=encoder.way,
        width=head.weight.shape[1],
        id2label=dict(enumerate(class_names)),
        label2id={name: number for number, name in enumerate(class_names)},
    )
    wrapper: Any = EncoderClassifier(config)
    wrapper.encoder.load_state_dict(encoder.model.state_dict())
    wrapper.head = make_layer(wrapper.head, head.weight, head.bias)
    return RepairedNetwork(wrapper.eval(), True)


def write_repaired_model(
    folder: Path, network: RepairedNetwork, inputs: Input, *, card: str, check: Callable[[Path], None]
) -> Path:
    """Writes the model, its processor and its card, and opens the folder again before it takes its place.

    Args:
        folder: Folder to write, whole or not at all.
        network: The model with its new last layer.
        inputs: How its rows are read; its processor is written beside the weights.
        card: Text of its README.md.
        check: Function of the folder that raises an error if what it holds is not what was proven.

    Raises:
        OochubError: The folder cannot be written, or does not say the same when it is opened again.
    """
    model, probe = network.model, inputs.probe()
    with torch.inference_mode():
        wanted = model(**probe).logits
    with write_whole_folder(folder) as draft:
        model.save_pretrained(draft)
        inputs.processor.save_pretrained(draft)
        (draft / "README.md").write_text(card, "utf-8")
        opened = ModelSource(draft).open(inputs.auto_model, inputs).model
        with torch.inference_mode():
            logits = opened(**probe).logits
        most = _CLOSE * max(1.0, float(wanted.abs().max()))
        if logits.shape != wanted.shape or float((logits - wanted).abs().max()) > most:
            raise OochubError(
                f"{type(model).__name__} does not give the logits of its new last layer when it is opened again, so no "
                "model was written. Use another architecture."
            )
        check(draft)
    return folder


def _open_copy(source: ModelSource, inputs: Input) -> Any:
    model = source.open(inputs.auto_model, inputs).model
    return copy.deepcopy(model) if source.path is None else model


def _open_as_classifier(source: ModelSource, inputs: Input, encoder: Encoder, class_names: Sequence[str]) -> Any | None:
    """The classifier of the encoder's type, with a last layer of its own; None if it sees other vectors."""
    import transformers

    auto = getattr(transformers, inputs.auto_model)
    if source.path is None or type(source.config) not in auto._model_mapping:
        return None
    probe = inputs.probe()
    changes = {"id2label": dict(enumerate(class_names)), "label2id": {name: k for k, name in enumerate(class_names)}}
    try:
        with warnings.catch_warnings(), _silence_report():  # on weights that stand behind the vectors
            warnings.simplefilter("ignore", OochubWarning)
            model = open_pretrained(auto, source.path, probe=inputs.probe, changes=changes).model.eval()
        head = find_head(model, probe)
    except OochubError:  # a head of more than one layer, or one without weights for what stands before it
        return None
    with torch.inference_mode(), record_calls(model, head.layers) as calls:
        model(**probe)
        wanted, seen = encoder(**probe), take_features(calls, head.layers)
    return model if seen.shape == wanted.shape and torch.allclose(seen, wanted, atol=1e-4, rtol=1e-4) else None


@contextmanager
def _silence_report() -> Iterator[None]:
    """A block in which transformers does not report that the new last layer has no weights yet."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _renew_classifier(model: Any, probe: Mapping[str, Tensor], head: StoredHead, class_names: Sequence[str]) -> Any:
    """The model with the new layer in place of the last one, or of the last ones whose mean is the logits."""
    last = find_head(model, probe)
    layers: tuple[Any, ...] = last.layers
    widths = [int(layer.weight.shape[1]) for layer in layers]
    weights = np.split(np.asarray(head.weight) * len(last.layers), np.cumsum(widths)[:-1], axis=1)
    names = {module: name for name, module in model.named_modules()}
    for layer, weight in zip(layers, weights, strict=True):
        if layer.bias is None:
            raise OochubError(
                f"The last layer of {type(model).__name__} has no bias, which the new one needs, so it cannot be "
                "replaced. Use the mode linear_probe, or train another head with `oochub train --model MODEL`."
            )
        parent, _, own = names[layer].rpartition(".")
        setattr(model.get_submodule(parent), own, make_layer(layer, weight, head.bias))
    model.config.id2label = dict(enumerate(class_names))  # sets num_labels too
    model.config.label2id = {name: number for number, name in enumerate(class_names)}
    model.config.problem_type = "single_label_classification"
    if hasattr(model, "num_labels"):
        model.num_labels = len(class_names)
    return model


def make_layer(layer: Any, weight: NDArray[np.floating], bias: NDArray[np.floating]) -> nn.Module:
    """A layer of the same kind with this weight and bias."""
    sizes = weight.shape[1], len(weight)
    new: Any = nn.Conv2d(*sizes, 1) if isinstance(layer, nn.Conv2d) else nn.Linear(*sizes)
    with torch.no_grad():
        new.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)).view_as(new.weight))
        new.bias.copy_(torch.from_numpy(np.ascontiguousarray(bias)))
    module: nn.Module = new.to(layer.weight.device).eval()
    return module
