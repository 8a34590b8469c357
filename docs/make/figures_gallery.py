"""Draws docs/figures/gallery*.png: a toy world, and two models that are formulas instead of networks."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset, load_dataset
from matplotlib import pyplot

from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.figures.gallery import gallery
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import BuildRecord

_FIGURES = Path(__file__).parents[1] / "figures"


def predictions(data: Dataset, name: str, *, context: float, thing: float) -> Predictions:
    """What a model would say that looks this much at the area of the context and of the object, with noise."""
    columns = data.remove_columns(["image"]).to_dict()
    rng = np.random.default_rng(0)
    road, car = np.array(columns["context_area"])[:, 0], np.array(columns["area"])
    score = context * (road - 0.2) + thing * (car - 0.01) + 0.3 * rng.normal(size=len(data))
    for column in ("challenge", "group", "environment"):
        columns[column] = data.features[column].int2str(columns[column])
    table = pa.table(columns | {"split": ["test"] * len(data), "logits": [[0.0, score] for score in score.tolist()]})
    record = BuildRecord.of(data.info)
    return Predictions(
        table,
        {
            "benchmark": "nooch",
            "config": record.config,
            "version": record.version,
            "facts": record.facts,
            "model": {"id": name},
            "class_names": data.features["label"].names,
            "rows": {"test": len(data)},
        },
    )


def main() -> None:
    """Writes docs/figures/gallery.png and docs/figures/gallery_than.png."""
    with tempfile.TemporaryDirectory() as folder:
        coco = toy_coco(Path(folder) / "coco", size=2000, focus="car")
        data: Any = load_dataset("nooch", "ce_car", data_dir=str(coco), split="test", cache_dir=folder)
        by_road = predictions(data, "road model", context=10, thing=10)
        by_car = predictions(data, "car model", context=3, thing=30)
        drawings = {
            "gallery": gallery(by_road, data, coco=coco),
            "gallery_than": gallery(by_car, data, than=by_road, coco=coco),
        }
    for name, ax in drawings.items():
        ax.figure.canvas.figure.savefig(_FIGURES / f"{name}.png", dpi=120, metadata={"Software": None})
    pyplot.close("all")


if __name__ == "__main__":
    main()
