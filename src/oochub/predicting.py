"""`oochub.predict`: a model over the rows of data that are named, or that are in memory."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import torch

from oochub.data.load import open_data
from oochub.errors import OochubError
from oochub.models.callable_model import wrap_callable
from oochub.models.mode import list_mode_options
from oochub.models.model_source import ModelSource
from oochub.prediction.predict import predict_splits
from oochub.prediction.predictions import Predictions
from oochub.settings import with_options, without
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings


@with_options("predict", others=list_mode_options, device=str | torch.device)
def predict(
    model: Any,
    dataset: Any,
    *,
    data: Annotated[DataSettings, without("revision")],
    how: ModelSettings,
    asked: PredictionSettings,
    out: str | Path | None = None,
    **settings: Any,
) -> Predictions:
    """Predicts every example of the splits.

    Args:
        model: Folder or Hub id of a model of transformers for images, texts, arrays or graphs, or the model itself; or
            any function or `torch.nn.Module` from a batch of images float32 (n, c, h, w) to logits (n, k), with
            `class_names` and `transform`. A module is left in the mode and on the device that it had.
        dataset: A benchmark ("spawrious/o2o_hard"), a folder of images, files or an id on the Hub, as `oochub.load`
            opens them; or a Dataset, IterableDataset or DatasetDict with a column `image`, `text` or `array`. `label`,
            `example_id` and any other columns are carried into the predictions, texts too.
        data: The options of `DataSettings`, for data that are named.
        how: The options of `ModelSettings`.
        asked: The options of `PredictionSettings`.
        out: Parquet file to write, whole or not at all; for more than 2^28 numbers a folder of Parquet files with a
            manifest. What is complete when a run is killed lies in a hidden folder beside it, and the same call goes
            on from there; a stream and a model object begin anew.
        **settings: Settings of the mode; see its class, `oochub.get("mode", "head")`.

    Returns:
        The Predictions; also written to `out`.

    Raises:
        OochubError: An unknown split, mode or setting, a model whose classes are not those of the data set, an output
            that cannot be written, a row that cannot be read (its split and id are named), an odin or zoom out of range
            or for a model that does not read images, a device that is not here, a dtype whose logits overflow.
    """
    how = replace(how, mode_options=settings)
    source = ModelSource(wrap_callable(model, how, asked))  # says what is wrong before the data are built
    if isinstance(dataset, str | PathLike):
        dataset = open_data(dataset, data, in_place=True).splits
    elif data.given():
        given = ", ".join(f"{name}=" for name in data.given())
        raise OochubError(f"These options need a dataset that is named, not one in memory: {given}. Remove them.")
    return predict_splits(source, dataset, how, asked, out=out)
