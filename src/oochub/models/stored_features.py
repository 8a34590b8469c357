"""Features of a labelled split, kept in a cache: the second probe on them is trained in seconds."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from oochub.errors import OochubError, OochubWarning
from oochub.input import BrokenRow, Input
from oochub.models.cache_key import cache_key
from oochub.models.encoder import Encoder
from oochub.models.mode import PredictedData
from oochub.models.model_source import ModelSource
from oochub.storage.cache_folder import cache_folder
from oochub.storage.files import written_whole
from oochub.storage.tensor_file import load_tensors, save_tensors


class LabelledFeatures(NamedTuple):
    """Features float32 (n, d) and classes int64 (n,) of the rows of a split that have a class."""

    features: NDArray[np.float32]
    label: NDArray[np.int64]


def stored_features(
    encoder: Encoder, source: ModelSource, inputs: Input, data: PredictedData, split: str
) -> LabelledFeatures:
    """What an encoder sees of a split, from the cache where it was seen before.

    Args:
        encoder: On the device of the data.
        source: The model that it is of.
        inputs: How rows are read.
        data: Whose split it is.
        split: Its name.

    Raises:
        OochubError: A row that cannot be read, or features that are not finite.

    Warns:
        OochubWarning: The cache cannot be written.
    """
    part = data.splits[split]
    part = part.select_columns([name for name in (inputs.column, "label", "example_id") if name in part.column_names])
    settings = {"pooling": encoder.pooling, "batch_size": data.batch_size, "device": data.device.type}
    settings["skip_broken"] = data.skip_broken
    key = cache_key(source, inputs, {split: part}, mode=Encoder, settings=settings) if data.cache else None
    file = None if key is None else cache_folder("features") / f"{key}.safetensors"
    if file is not None:
        try:
            stored = load_tensors(file)
            if stored.about.get("key") == key:  # one without a digest says nothing of itself
                file.touch()
                return LabelledFeatures(**stored.arrays)
        except (OSError, OochubError):  # none, or one that is not whole: it is made again
            pass
    made = _extracted(encoder, inputs, data, part, split)
    if file is not None:
        try:
            with written_whole(file) as draft:
                save_tensors(made._asdict(), draft, about={"key": key})
        except OochubError as error:
            warnings.warn(
                f"The features of {split} are not kept for the next time. {error}", OochubWarning, stacklevel=2
            )
    return made


def _extracted(encoder: Encoder, inputs: Input, data: PredictedData, part: Any, split: str) -> LabelledFeatures:
    features, labels = [], []
    broken: list[BrokenRow] | None = [] if data.skip_broken else None
    total = len(part) if hasattr(part, "__len__") else None
    with tqdm(total=total, desc=f"Extracting {split}", unit=inputs.unit, disable=None) as bar:
        for batch in inputs.batches(part, batch_size=data.batch_size, device=data.device, broken=broken):
            with torch.inference_mode():
                features.append(encoder(**batch.inputs).cpu().numpy())
            labels += [-1 if label is None else label for label in batch.columns["label"]]
            bar.update(len(features[-1]))
    if not features:
        raise OochubError(f"The split {split} has no example that can be read, and the linear probe learns from it.")
    values, label = np.concatenate(features), np.asarray(labels, dtype=np.int64)
    if not np.isfinite(values).all():
        raise OochubError(f"The model gives features of {split} that are not finite. Its weights are damaged.")
    return LabelledFeatures(np.ascontiguousarray(values[label >= 0]), label[label >= 0])
