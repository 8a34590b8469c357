"""Images without labels, opened for `oochub repair --collect`: their ids and their paths."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from oochub.data.load import load_columns
from oochub.errors import OochubError, choose_wording
from oochub.prediction.predict import predict_splits
from oochub.prediction.predictions import Predictions
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings


@dataclass(frozen=True, eq=False)
class UnlabeledImages:
    """Images whose classes nobody has said, or whose classes are not looked at.

    Attributes:
        splits: Their rows by split, with the columns `example_id` and `image` alone.
        paths: The path of each image by split and id, as it stands in the source; the id where it has none.
    """

    splits: datasets.DatasetDict
    paths: dict[tuple[str, str], str]

    @classmethod
    def open(cls, source: str) -> "UnlabeledImages":
        """Opens a folder of images, or files that hold some; folders of classes are read as folders alone.

        Args:
            source: What `oochub.load` takes.

        Raises:
            OochubError: Nothing is there, it cannot be read, or it has no images.
        """
        loaded = load_columns(source, DataSettings())
        first = next(iter(loaded.values()))
        columns = [name for name, kind in (first.features or {}).items() if isinstance(kind, datasets.Image)]
        if len(columns) != 1:
            option = choose_wording("unlabeled=", "--unlabeled")
            raise OochubError(
                f"{option} needs images to rank, in one column, but {source} has {len(columns)} columns of images: "
                f"{', '.join(first.column_names)}. Name a folder of images."
            )
        splits, paths = datasets.DatasetDict(), {}
        for split, part in loaded.items():
            name = "unlabeled" if len(loaded) == 1 else f"unlabeled_{split}"
            splits[name] = part.select_columns(["example_id", columns[0]])
            found = _find_paths(part, columns[0], Path(source))
            for row, path in zip(part["example_id"][:], found, strict=True):
                paths[name, str(row)] = path or str(row)
        return cls(splits, paths)


def predict_unlabeled(
    model: object,
    images: UnlabeledImages,
    how: ModelSettings,
    asked: PredictionSettings,
    *,
    labeled: Mapping[str, datasets.Dataset],
    out: Path | None,
) -> Predictions:
    """Predictions of the images with features, by the same model; what is complete after a stop is not made again.

    Args:
        model: The model.
        images: What it sees.
        how: How it answers.
        asked: How it predicts the labeled rows.
        labeled: The labeled splits, on which a linear probe is fitted.
        out: File of the predictions.

    Raises:
        OochubError: See `oochub.predict`; an image that cannot be read, unless these are left out.
    """
    own = replace(asked, features=True, splits=tuple(images.splits), images=False, limit=None)
    every = {**labeled, **images.splits} if how.mode == "linear_probe" else images.splits
    return predict_splits(model, datasets.DatasetDict(every), how, own, out=out)


def _find_paths(part: datasets.Dataset, column: str, folder: Path) -> list[str | None]:
    """The path of each row's image, inside the folder if it lies there; None if it has none."""
    if part._indices is not None:
        part = part.flatten_indices()
    stored = part.data.column(column)
    if not pa.types.is_struct(stored.type):
        return [None] * len(part)
    root = str(folder.expanduser().absolute())
    paths = pc.struct_field(stored, "path").to_pylist()
    return [os.path.relpath(path, root) if path and path.startswith(root + os.sep) else path for path in paths]
