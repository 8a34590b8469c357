"""Features of pictures by a backbone, extracted once: what several tasks and runs show is seen once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oochub.prediction.predict import predict
from oochub.prediction.predictions import Predictions


class FeatureCache:
    """What a model's head sees of each picture, by `example_id`, kept in a folder.

    Pictures count by their id: the tasks of a benchmark that show the same pictures share a cache. An extraction that
    was killed is done again; those before it stay.

    Args:
        folder: Of this backbone and this benchmark alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._row: dict[str, int] = {}
        self._parts: list[NDArray[np.float32]] = []
        for file in sorted(folder.glob("[!.]*.parquet"), key=lambda file: int(file.stem)):
            self._take(Predictions.load(file))

    def features(self, model: Any, image_processor: Any, data: Mapping[str, Any]) -> dict[str, Tensor]:
        """The features of each split, float32 (n, d), in the order of its rows.

        Args:
            model: An image classifier; its head is not used.
            image_processor: Of the model.
            data: The splits, with `example_id` and `image`.

        Raises:
            OochubError: A picture that cannot be read, or a model whose features cannot be found.
        """
        ids = {split: [str(name) for name in part["example_id"]] for split, part in data.items()}
        missing = {
            split: [row for row, name in enumerate(names) if name not in self._row] for split, names in ids.items()
        }
        new = {split: data[split].select(rows) for split, rows in missing.items() if rows}
        if new:
            out = self._folder / f"{len(self._parts)}.parquet"
            splits = datasets.DatasetDict(new)
            predictions = predict(
                model, splits, image_processor=image_processor, features=True, out=out, splits=list(new), images=False
            )
            self._take(predictions)
        rows = np.concatenate(self._parts)
        return {split: torch.from_numpy(rows[[self._row[name] for name in names]]) for split, names in ids.items()}

    def _take(self, predictions: Predictions) -> None:
        start, features = sum(map(len, self._parts)), predictions.features
        assert features is not None  # noqa: S101  predict stores them
        self._row |= {str(name): start + row for row, name in enumerate(predictions.column("example_id"))}
        self._parts.append(features)
