"""Writes a module of the user's own file with a new last layer, and opens it again by the same door, `--model-file`.

For a module, the folder holds the new layer as safetensors and a Python file that asks the user's file for the module
and puts the layer in the place of its last one. The user's file stays where it is; nothing is pickled. An ONNX file
becomes an ONNX file that ends in the new layer.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from oochub.errors import OochubError
from oochub.input import Input
from oochub.models.callable_model import digest_module, make_model, split_model_file
from oochub.models.extraction import find_head
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions_file import StoredHead
from oochub.records.schema import from_json, to_json
from oochub.repairs.model_folder import REPAIRED_FILE, REPAIRED_ONNX, make_layer
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.tensor_file import load_tensors, save_tensors

_HEAD, _PROCESSOR = "head.safetensors", "processor"
_CODE = '''"""A module with a new last layer. Use it as --model-file {name}. It runs {typed}, which makes the module."""

from oochub.repairs.repaired_module import open_repaired_module


def load():
    return open_repaired_module(__file__, {typed!r})
'''


@dataclass(frozen=True, kw_only=True)
class _Repaired:
    """What the new layer is of: the names of its outputs, the layers whose place it takes, a digest of the module."""

    class_names: tuple[str, ...]
    layers: tuple[str, ...]
    revision: str | None = None


def write_repaired_module(
    draft: Path, source: ModelSource, inputs: Input, how: ModelSettings, head: StoredHead, class_names: Sequence[str]
) -> None:
    """Writes `repaired.py`, the new layer, and a processor that was typed, into a folder.

    Args:
        draft: The folder; it stands beside the one whose place it takes.
        source: The module that is repaired.
        inputs: How its rows are read.
        how: How it answers; `model_file` makes it.
        head: The new layer.
        class_names: Names of its outputs.
    """
    module, file = source.given.function, str(how.model_file)
    last = find_head(source.given, inputs.probe())
    names = {layer: name.removeprefix("function").removeprefix(".") for name, layer in source.given.named_modules()}
    layers: tuple[Any, ...] = last.layers
    widths = [int(layer.weight.shape[1]) for layer in layers]
    weights = np.split(np.asarray(head.weight) * len(widths), np.cumsum(widths)[:-1], axis=1)
    places = tuple(names[layer] for layer in layers)
    about = _Repaired(class_names=tuple(class_names), layers=places, revision=digest_module(module))
    arrays = {f"weight.{k}": np.ascontiguousarray(weight) for k, weight in enumerate(weights)}
    save_tensors({**arrays, "bias": np.asarray(head.bias)}, draft / _HEAD, about=to_json(about))
    if how.image_processor is not None and "image_processor" not in how.said_by_file:
        inputs.processor.save_pretrained(draft / _PROCESSOR)
    path, name = split_model_file(file)
    typed = f"{os.path.relpath(path.resolve(), draft.resolve())}:{name}"
    (draft / REPAIRED_FILE).write_text(_CODE.format(name=REPAIRED_FILE, typed=typed), "utf-8")


def write_repaired_onnx(
    draft: Path, source: ModelSource, inputs: Input, head: StoredHead, class_names: Sequence[str]
) -> None:
    """Writes an ONNX file with the new last layer and the names of its outputs, and its processor beside it.

    Args:
        draft: The folder.
        source: The ONNX file that is repaired.
        inputs: How its rows are read.
        head: The new layer.
        class_names: Names of its outputs.
    """
    content = source.given.function.replace_head(head.weight, head.bias, class_names)
    (draft / REPAIRED_ONNX).write_bytes(content)
    inputs.processor.save_pretrained(draft)


def open_repaired_module(file: str, typed: str) -> Mapping[str, Any]:
    """What `load` of a `repaired.py` returns: the module with its new layer, its class names, and what reads images.

    Args:
        file: The `repaired.py`.
        typed: The user's file and its function, relative to the folder of `file`.

    Raises:
        OochubError: The user's file is not there, or makes another module than the one that was repaired.
    """
    folder = Path(file).resolve().parent
    stored = load_tensors(folder / _HEAD)
    own_model = make_model(str(folder / typed), ModelSettings(), PredictionSettings())
    module, about = own_model.model, from_json(_Repaired, stored.about, what=str(folder / _HEAD))
    if not isinstance(module, nn.Module) or about.revision not in (None, digest_module(module)):
        raise OochubError(f"{typed} makes another model than the one that was repaired. Repair it again.")
    for k, name in enumerate(about.layers):
        layer = make_layer(module.get_submodule(name), stored.arrays[f"weight.{k}"], stored.arrays["bias"])
        parent, _, own = name.rpartition(".")
        if not name:
            module = layer
        else:
            setattr(module.get_submodule(parent), own, layer)
    how = replace(own_model.how, label_map=None, restrict=False, class_names=about.class_names)
    if (folder / _PROCESSOR).is_dir():
        how = replace(how, image_processor=str(folder / _PROCESSOR))
    return {"model": module, **how.given(), **own_model.asked.given()}
