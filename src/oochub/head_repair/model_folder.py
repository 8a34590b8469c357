"""Writes a model with a new last layer, in the folder form that transformers opens by itself."""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from oochub.errors import OochubError
from oochub.input import Input
from oochub.models.extraction import find_head
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions_file import StoredHead
from oochub.storage.files import write_whole_folder

_CLOSE = 1e-3  # of the largest logit: the features were read in another batch


def write_repaired_model(
    folder: Path, source: ModelSource, inputs: Input, head: StoredHead, *, class_names: Sequence[str], card: str
) -> Path:
    """Writes the model with its new last layer, its processor and its card; the given model stays as it is.

    The new layer has one output for each class of the data. The folder is opened again by transformers, and its logits
    are compared with those of the head on the model's features, before it takes its place.

    Args:
        folder: Folder to write, whole or not at all.
        source: The model.
        inputs: How its rows are read; its processor is written beside the weights.
        head: The new head.
        class_names: Names of its outputs.
        card: Text of its README.md.

    Raises:
        OochubError: A last layer that cannot be replaced, or a folder that does not say the same when opened again.
    """
    model = source.open(inputs.auto_model, inputs).model
    if source.path is None:
        model = copy.deepcopy(model)
    probe = inputs.probe()
    wanted = _replace_head(model, probe, head, class_names)
    with write_whole_folder(folder) as draft:
        model.save_pretrained(draft)
        inputs.processor.save_pretrained(draft)
        (draft / "README.md").write_text(card, "utf-8")
        _check_config(draft, len(class_names))
        opened = ModelSource(draft).open(inputs.auto_model, inputs).model
        with torch.inference_mode():
            said = opened(**probe).logits
        error = float((said - wanted).abs().max())
        if said.shape != wanted.shape or error > _CLOSE * max(1.0, float(wanted.abs().max())):
            raise OochubError(
                f"{type(model).__name__} does not give the logits of its new last layer when it is opened again, so "
                "nothing was written. Its last layer cannot be replaced."
            )
    return folder


def _replace_head(model: Any, probe: Mapping[str, Tensor], head: StoredHead, class_names: Sequence[str]) -> Tensor:
    """Puts the new layer in place of the last one, or of the last ones whose mean is the logits; its logits."""
    found = find_head(model, probe)
    widths = [_count_inputs(layer) for layer in found.layers]
    weights = np.split(np.asarray(head.weight) * len(found.layers), np.cumsum(widths)[:-1], axis=1)
    names = {module: name for name, module in model.named_modules()}
    for layer, weight in zip(found.layers, weights, strict=True):
        if layer.bias is None:
            raise OochubError(
                f"The last layer of {type(model).__name__} has no bias, which the new one needs, so it cannot be "
                "replaced. Train another head with `oochub train --model MODEL`."
            )
        _put_module(model, names[layer], _make_layer(layer, weight, head.bias))
    model.config.num_labels = len(class_names)
    model.config.id2label = dict(enumerate(class_names))
    model.config.label2id = {name: number for number, name in enumerate(class_names)}
    model.config.problem_type = "single_label_classification"
    if hasattr(model, "num_labels"):
        model.num_labels = len(class_names)
    with torch.inference_mode():
        logits: Tensor = model(**probe).logits
    return logits


def _count_inputs(layer: Any) -> int:
    return int(layer.weight.shape[1])


def _make_layer(layer: Any, weight: np.ndarray, bias: np.ndarray) -> nn.Module:
    """A layer of the same kind with this weight and bias."""
    if isinstance(layer, nn.Conv2d):
        new: Any = nn.Conv2d(weight.shape[1], len(weight), 1)
    else:
        new = nn.Linear(weight.shape[1], len(weight))
    with torch.no_grad():
        new.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)).view_as(new.weight))
        new.bias.copy_(torch.from_numpy(np.asarray(bias)))
    made: nn.Module = new.to(layer.weight.device).eval()
    return made


def _put_module(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, module)


def _check_config(folder: Path, classes: int) -> None:
    content = json.loads((folder / "config.json").read_text("utf-8"))
    if len(content.get("id2label", {})) not in (0, classes):
        raise OochubError("The config of the repaired model does not name its classes, so nothing was written.")
