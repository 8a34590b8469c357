"""Opens a model with its processor, and matches its outputs to the classes of a data set."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from oochub.errors import OochubError
from oochub.input import Input, check_changes, check_config, kind_of_processor, kinds_of
from oochub.models.model_config import model_config
from oochub.models.opening import opening
from oochub.models.pretrained import pretrained
from oochub.models.training_record import training_record
from oochub.output import Output
from oochub.prediction.metadata import PredictedBy, Training


class LoadedModel(NamedTuple):
    """A model, how its inputs are made, what is known of its origin, and the weights of its file that were left out."""

    model: Any
    inputs: Input
    about: PredictedBy
    training: Training | None
    unexpected: tuple[str, ...] = ()


def load_model(
    model: Any, dataset: Any, *, processor: Any = None, preprocessing: str = "fused", **changes: Any
) -> LoadedModel:
    """The model of a folder, a Hub id or an object, with how it reads the rows of a data set.

    The kind of input is that of the processor, where one is given; else the data set has a column of it, and where it
    has columns of several, the model's architecture tells which.

    Args:
        model: Folder, Hub id, or a model of transformers.
        dataset: A split that the model is to read.
        processor: Its image processor, tokenizer or ArrayProcessor; None takes the one beside the model.
        preprocessing: See `Input.of`.
        changes: Settings that not every kind of input knows, see `oochub.input.check_changes`.

    Raises:
        OochubError: The folder or id holds no model of such inputs, weights that do not fit, or a recipe that is none;
            a model object comes without its processor, or a change is for inputs of another kind.
    """
    import transformers

    source = str(Path(model).expanduser()) if isinstance(model, str | Path) else None
    kind = kind_of_processor(processor) if processor is not None else input_of(dataset, source)
    check_changes(kind, **changes)
    if source is None:
        own = kind.load_processor(None, dataset) if processor is None else processor
        about = PredictedBy(id=type(model).__name__, revision=_weights_digest(model.state_dict()), mode="head")
        inputs = kind.of(own, preprocessing=preprocessing)
        check_config(inputs, model.config)
        return LoadedModel(model, inputs, about, None)
    folder = Path(source)
    training = training_record(folder / "recipe.json")
    words = f"a model of {kind.words()}"
    config = model_config(source, words=words)
    if processor is None:
        with opening(source, words=words):
            processor = kind.load_processor(source, dataset)
    inputs = kind.of(processor, preprocessing=preprocessing)
    check_config(inputs, config)
    loaded, unexpected = pretrained(getattr(transformers, kind.auto_model), source, probe=inputs.probe, words=words)
    weights = folder / "model.safetensors"
    local_revision = hashlib.sha256(weights.read_bytes()).hexdigest()[:40] if weights.is_file() else None
    revision = local_revision if folder.is_dir() else getattr(loaded.config, "_commit_hash", None)
    name = folder.name if folder.is_absolute() else str(model)  # a report holds no path of a machine
    about = PredictedBy(id=name, revision=revision, mode="head")
    return LoadedModel(loaded, inputs, about, training, unexpected)


def input_of(dataset: Any, model: str | None) -> type[Input]:
    """The kind of input of a data set; where it has columns of several, the first that a model reads.

    Args:
        dataset: A split.
        model: Its folder or Hub id; None for a model that is still to be made.

    Raises:
        OochubError: A data set without a column of any kind.
    """
    import transformers

    kinds = kinds_of(dataset)
    if len(kinds) == 1 or model is None:
        return kinds[0]
    try:
        config = type(model_config(model))
    except OochubError:  # said with more words when the model is loaded
        return kinds[0]
    suitable = [kind for kind in kinds if config in getattr(transformers, kind.auto_model)._model_mapping]
    return suitable[0] if suitable else kinds[0]


def class_order(model: Any, part: Any, kind: Output) -> tuple[list[int], list[str]]:
    """For each class or label of the data set its output of the model, and their names.

    Args:
        model: A classifier or regressor; its `config.id2label` names its outputs.
        part: A data set; its truth names the classes, where it has names.
        kind: Of output.

    Returns:
        (order, names): class k of the data set is output `order[k]` of the model. Of a number, the name of its column.

    Raises:
        OochubError: The model's outputs are not those of the data set.
    """
    own = [str(model.config.id2label[k]) for k in range(model.config.num_labels)]
    if kind.problem_type == "regression":
        if len(own) != 1:
            raise OochubError(
                f"A number needs one output, and the model has {len(own)}. Train one with `oochub train`."
            )
        return [0], [kind.label_column]
    features = part.features or {}
    has_truth = kind.label_column in features and kind.is_truth(features[kind.label_column])
    names = (kind.class_names(part) if has_truth else None) or own
    if names == own or (len(names) == len(own) and all(name.startswith("LABEL_") for name in own)):
        return list(range(len(own))), names
    if sorted(names) == sorted(own):
        return [own.index(name) for name in names], names
    raise OochubError(
        f"The model tells {len(own)} classes apart ({', '.join(own[:6])}{', ...' if len(own) > 6 else ''}), the data "
        f"set has {len(names)} ({', '.join(names[:6])}). Train a head with `oochub train --model MODEL`, or set "
        "model.config.id2label when the classes are the same under other names."
    )


def _weights_digest(state: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() if tensor.ndim else b"")
    return digest.hexdigest()[:40]
