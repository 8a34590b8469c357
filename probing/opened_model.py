"""A model that is opened as its predictions were made, to answer for other pictures."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.models.acceleration import DTYPES, Autocast, choose_device, fold_batch_norm
from oochub.models.mode import PredictedData, choose_mode
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions import Predictions
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings


def opened_model(
    model: Any,
    part: datasets.Dataset,
    splits: Mapping[str, Any],
    predictions: Predictions,
    how: ModelSettings,
    asked: PredictionSettings,
) -> Callable[[datasets.Dataset], NDArray[np.float32]]:
    """The logits (n, c) of a data set's pictures, as a function; preprocessing is that of the predictions.

    Args:
        model: See `oochub.predict`; so are all options.
        part: The split that was predicted.
        splits: All splits.
        predictions: Of the model.
        how: How it answers.
        asked: How the predictions were made.
    """
    import torch

    source, settings = ModelSource(model), how.of_mode
    asked = replace(asked, device=choose_device(asked.device))
    way = str(predictions.metadata.provenance.get("preprocessing", "auto"))
    processor = how.image_processor if how.processor is None else how.processor
    inputs = source.inputs(part, processor=processor, preprocessing=way)
    inputs.num_workers = asked.num_workers
    place, size = asked.device, asked.rows_a_pass
    data = PredictedData(part, splits, place, size, asked.cache, asked.skip_broken)
    opened = choose_mode(source, how.mode, settings)(source, inputs, data, **settings)
    network = opened.network if DTYPES[asked.dtype] == torch.float32 else Autocast(opened.network, DTYPES[asked.dtype])
    probe = {name: values.to(place) for name, values in inputs.probe().items()}

    def answer(pictures: datasets.Dataset) -> NDArray[np.float32]:
        with torch.inference_mode(), fold_batch_norm(opened.network, probe):
            batches = inputs.batches(pictures, batch_size=size, device=place)
            logits = [network(**batch.inputs).logits.float().cpu().numpy() for batch in batches]
        return opened.finished(np.concatenate(logits), {})

    return answer
