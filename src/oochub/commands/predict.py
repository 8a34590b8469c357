"""The command `oochub predict`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import (
    AsJson,
    ModelOrFile,
    Source,
    check_models,
    open_model_file,
    print_result,
    without_weight_bars,
    writes,
)
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.artifacts import PREDICTIONS

PANEL = "Predict and score"


def predict(
    model: ModelOrFile,
    source: Source,
    out: Annotated[
        Path,
        typer.Option(callback=writes(PREDICTIONS), help="Parquet file for the predictions.", rich_help_panel="Output"),
    ],
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    as_json: AsJson = False,
) -> None:
    """Run a model on every example of the splits and write the predictions to a Parquet file."""
    check_models(model, how=how, device=asked.device)
    from oochub.data.load import open_data
    from oochub.models.callable_model import wrap_callable
    from oochub.models.model_source import ModelSource
    from oochub.prediction.predict import predict_splits
    from oochub.process.ranks import Ranks

    without_weight_bars()
    own_model = open_model_file(model, how, asked)
    opened = ModelSource(
        wrap_callable(own_model.model, own_model.how, own_model.asked)
    )  # says what is wrong before the data are built
    loaded = open_data(source, data, in_place=True).splits
    predictions = predict_splits(opened, loaded, own_model.how, own_model.asked, out=out)
    if not Ranks.here().is_first:
        return
    cached = predictions.metadata.provenance["when"].get("cached")
    if cached is not None:
        typer.echo(f"Reusing cached predictions from {cached}. Pass --no-cache to run the model again.", err=True)
    if predictions.metadata.no_class_words:
        typer.echo(f"{predictions.metadata.no_class_words}: they count as wrong.", err=True)
    print_result({"predictions": str(out), "rows": len(predictions), "cached": cached is not None}, as_json)
