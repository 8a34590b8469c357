"""Draws docs/figures of where errors go: a toy world of Spawrious, and a linear model on mean colors of images."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset, load_dataset
from matplotlib import pyplot
from sklearn.linear_model import LogisticRegression

import oochub
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.figures.misclassified_pictures import misclassified_pictures
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildRecord

NAMES = ("confusion_by_context", "misclassified_pictures")
"""The figures."""
_FIGURES = Path(__file__).parents[1] / "figures"
_FOLDER, _PARTS = 60, 3


def colors(data: Dataset) -> np.ndarray[Any, Any]:
    """(n, 27) the mean color of nine parts of each image, in [0, 1]."""
    small = [np.asarray(picture.convert("RGB").resize((_PARTS, _PARTS))) for picture in data["image"]]
    return np.stack(small).reshape(len(small), -1) / 255


def predictions(data: Dataset, logits: np.ndarray[Any, Any]) -> Predictions:
    """The logits with the columns of the test split."""
    record = BuildRecord.of(data.info)
    columns = data.select_columns(["example_id", "label", "group", "background"]).to_dict()
    for column in ("group", "background"):
        columns[column] = data.features[column].int2str(columns[column])
    columns |= {"split": ["test"] * len(data), "logits": logits.astype(np.float32).tolist()}
    told = {"benchmark": "spawrious", "config": "o2o_hard", "version": record.version, "facts": record.facts}
    told |= {"model": {"id": "linear"}, "class_names": data.features["label"].names, "rows": {"test": len(data)}}
    return Predictions(pa.table(columns), told)


def main() -> None:
    """Writes both."""
    with tempfile.TemporaryDirectory() as folder:
        world = toy_spawrious(Path(folder) / "spawrious", size=_FOLDER)
        data: Any = load_dataset("spawrious", "o2o_hard", data_dir=str(world), cache_dir=folder)
        model = LogisticRegression(C=100, max_iter=5000).fit(colors(data["train"]), data["train"]["label"])
        answers = predictions(data["test"], model.decision_function(colors(data["test"])))
        drawings = {
            "confusion_by_context": oochub.evaluate(answers, resamples=100).plot("confusion_by_context"),
            "misclassified_pictures": misclassified_pictures(answers, datasets={"o2o_hard": data}, columns=3),
        }
    for name, ax in drawings.items():
        figure: Any = ax.figure.canvas.figure
        figure.savefig(_FIGURES / f"{name}.png", dpi=110, metadata={"Software": None})
    pyplot.close("all")


if __name__ == "__main__":
    main()
