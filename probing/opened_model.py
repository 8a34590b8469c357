"""A model that is opened as its predictions were made, to answer for other pictures."""

from collections.abc import Callable, Mapping
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.models.acceleration import DTYPES, Autocast, choose_device, fold_batch_norm
from oochub.models.mode import PredictedData, choose_mode
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions import Predictions


def opened_model(
    model: Any,
    part: datasets.Dataset,
    splits: Mapping[str, Any],
    predictions: Predictions,
    *,
    mode: str = "auto",
    processor: Any = None,
    image_processor: Any = None,
    device: Any = "auto",
    dtype: str = "auto",
    batch_size: int | None = None,
    num_workers: int | None = None,
    cache: bool = True,
    skip_broken: bool = False,
    settings: Mapping[str, Any],
) -> Callable[[datasets.Dataset], NDArray[np.float32]]:
    """The logits (n, c) of a data set's pictures, as a function; preprocessing is that of the predictions.

    Args:
        model: See `oochub.predict`; so are all options.
        part: The split that was predicted.
        splits: All splits.
        predictions: Of the model.
        mode: See there.
        processor: See there.
        image_processor: See there.
        device: See there.
        dtype: See there.
        batch_size: See there.
        num_workers: See there.
        cache: See there.
        skip_broken: See there.
        settings: Of the mode.
    """
    import torch

    source, place = ModelSource(model), choose_device(device)
    way = str(predictions.metadata.provenance.get("preprocessing", "auto"))
    inputs = source.inputs(part, processor=image_processor if processor is None else processor, preprocessing=way)
    inputs.num_workers = num_workers
    size = batch_size or (128 if place.type == "cuda" else 16)
    data = PredictedData(part, splits, place, size, cache, skip_broken)
    opened = choose_mode(source, mode, settings)(source, inputs, data, **settings)
    network = opened.network if DTYPES[dtype] == torch.float32 else Autocast(opened.network, DTYPES[dtype])
    probe = {name: values.to(place) for name, values in inputs.probe().items()}

    def answer(pictures: datasets.Dataset) -> NDArray[np.float32]:
        with torch.inference_mode(), fold_batch_norm(opened.network, probe):
            batches = inputs.batches(pictures, batch_size=size, device=place)
            logits = [network(**batch.inputs).logits.float().cpu().numpy() for batch in batches]
        return opened.finished(np.concatenate(logits), {})

    return answer
