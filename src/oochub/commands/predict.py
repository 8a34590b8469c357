"""The command `oochub predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from oochub.storage.files import STREAMS

if TYPE_CHECKING:
    from oochub.prediction.command_question import CommandQuestion
    from oochub.prediction.predictions import Predictions

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
    """Predicts every example of the splits; the file opens in pandas."""
    from oochub.prediction.command_question import CommandQuestion
    from oochub.prediction.prediction_cache import PredictionCache
    from oochub.process.ranks import Ranks

    recall = CommandQuestion("predict", model, source, how, asked, data)
    recalled = None if _has_no_place(out, asked) else recall.find()
    predictions = None if recalled is None else PredictionCache(recalled.key).found(out)
    if recalled is not None and predictions is not None:
        recalled.warn()
    else:
        with recall.answer():
            predictions = _predict(model, source, out, data, how, asked, recall)
    if not Ranks.here().is_first:
        return
    cached = predictions.metadata.provenance["when"].get("cached")
    if cached is not None:
        typer.echo(
            f"No model was run: the same predictions were made at {cached}. --no-cache predicts again.", err=True
        )
    if predictions.metadata.no_class_words:
        typer.echo(f"{predictions.metadata.no_class_words}: they count as wrong.", err=True)
    print_result({"predictions": str(out), "rows": len(predictions), "cached": cached is not None}, as_json)


def _predict(
    model: str,
    source: str,
    out: Path,
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    recall: "CommandQuestion",
) -> "Predictions":
    check_models(model, how=how, device=asked.device)
    from oochub.data.load import open_data
    from oochub.models.callable_model import wrap_callable
    from oochub.models.model_source import ModelSource
    from oochub.prediction.predict import predict_splits

    without_weight_bars()
    made = open_model_file(model, how, asked)
    opened = ModelSource(
        wrap_callable(made.model, made.how, made.asked)
    )  # what is wrong is said before the data are built
    loaded = open_data(source, data, in_place=True).splits
    return predict_splits(opened, loaded, made.how, made.asked, out=out, recall=recall)


def _has_no_place(out: Path, asked: PredictionSettings) -> bool:
    """Whether the predictions go into a stream, or their head has no file beside them, which is refused."""
    return str(out) in STREAMS or (asked.features is not False and out.suffix.lower() != ".parquet")
