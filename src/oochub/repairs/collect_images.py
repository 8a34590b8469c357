"""`oochub repair --collect`: which rows to collect, and which of some unlabeled images fill their cells best.

How likely each unlabeled image fills a cell: a logistic regression of the groups on the features of labeled rows.

Images without labels, opened for `oochub repair --collect`: their ids and their paths.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import softmax

from oochub.data.load import open_data
from oochub.errors import OochubError, choose_wording
from oochub.models.model_source import ModelSource
from oochub.prediction.predict import predict_splits
from oochub.prediction.predictions import Predictions
from oochub.repairs.collection import CellGain, Collection
from oochub.repairs.head_method import FeatureScale, balance_groups, fit_logistic
from oochub.repairs.learning_curves import draw_learning_curves, list_cells
from oochub.repairs.repair_data import RepairRows, RowParts, divide_rows, find_sides, find_trained_splits
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.repair_settings import RepairSettings
from oochub.storage.artifacts import format_csv
from oochub.storage.files import write_whole

_C = 0.01


_NO_CONTEXT = "Which rows to collect cannot be told: no context is shown to matter to the model."


def measure_cell_probabilities(
    rows: RepairRows, parts: RowParts, features: NDArray[np.float32], cells: Sequence[str]
) -> NDArray[np.float64]:
    """The probability (k, c) that each image belongs to each of some cells.

    The regression tells the groups of the rows that fit and choose apart: classes in contexts, else on sides. Each
    group counts the same in it, and a cell is as likely as its groups together. A probability is therefore that among
    images of which each group has its equal share: it ranks them, and does not count them.

    Args:
        rows: All labeled rows.
        parts: Their division.
        features: Features of the images (k, d), by the same model.
        cells: Names of the cells (c,), see `list_cells`.
    """
    body = np.union1d(parts.fit, parts.choose)
    contexts, group = np.unique(rows.groups.get("context", rows.groups["side"])[body], return_inverse=True)
    own = rows.features[body].astype(np.float64)
    scale = FeatureScale.of(own)
    weight, bias = fit_logistic(
        (own - scale.mean) / scale.deviation, group, balance_groups(group), classes=len(contexts), c=_C
    )
    probabilities = softmax((features - scale.mean) / scale.deviation @ weight.T + bias, axis=1)
    named = {cell.name: cell.has[body] for cell in list_cells(rows, body)}
    columns = []
    for name in cells:
        inside = np.bincount(group[named[name]], minlength=len(contexts)) * 2 > np.bincount(group)
        columns.append(probabilities[:, inside].sum(axis=1))
    return np.stack(columns, axis=1)


def check_collecting(settings: RepairSettings, *, has_out: bool) -> None:
    """Checks that the options of collecting are given together.

    Args:
        settings: How the model is repaired.
        has_out: Whether a folder is written.

    Raises:
        OochubError: An option of collecting without it, or a ranking that has nowhere to go.
    """
    given = [name for name in ("more_rows", "unlabeled") if name in settings.given()]
    if given and not settings.collect:
        flags = f"--{given[0].replace('_', '-')}"
        raise OochubError(
            f"{choose_wording(f'{given[0]}=', flags)} says what is collected: pass {choose_wording('collect=True')} "
            "too, or remove it."
        )
    if settings.unlabeled is not None and not has_out:
        raise OochubError(
            f"A ranking of unlabeled images is written into the folder of the repair: name one with "
            f"{choose_wording('out=')}."
        )


def collect_rows(predictions: Predictions, settings: RepairSettings) -> Collection:
    """What more rows of each cell should gain, by the rows that fit and choose in the first division.

    Args:
        predictions: Predictions of all rows, with features.
        settings: How the model is repaired.

    Raises:
        OochubError: Rows that say nothing of context, or too few of them for three parts.
    """
    divided = _divide(predictions, settings)
    if divided is None:
        return Collection(more=settings.more_rows, reason=_NO_CONTEXT)
    return draw_learning_curves(*divided, more=settings.more_rows, seed=settings.seed)


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
        loaded = open_data(source, DataSettings()).splits
        first = next(iter(loaded.values()))
        columns = [name for name, kind in (first.features or {}).items() if isinstance(kind, datasets.Image)]
        if len(columns) != 1:
            option = choose_wording("unlabeled=")
            raise OochubError(
                f"{option} needs images to rank, in one column, but {source} has {len(columns)} columns of images: "
                f"{', '.join(first.column_names)}. Pass a folder of images."
            )
        splits, paths = datasets.DatasetDict(), {}
        for split, part in loaded.items():
            name = "unlabeled" if len(loaded) == 1 else f"unlabeled_{split}"
            splits[name] = part.select_columns(["example_id", columns[0]])
            files = _find_paths(part, columns[0], Path(source))
            for row, path in zip(part["example_id"][:], files, strict=True):
                paths[name, str(row)] = path or str(row)
        return cls(splits, paths)


def rank_unlabeled(
    collection: Collection,
    predictions: Predictions,
    settings: RepairSettings,
    images: UnlabeledImages,
    answers: Predictions,
    target: Path,
) -> Collection:
    """Ranks images for each cell that is to be collected first, and writes the ranking as CSV.

    Args:
        collection: Which rows to collect.
        predictions: Predictions of the labeled rows, with features.
        settings: How the model is repaired.
        images: The images.
        answers: Predictions of the images that could be read, with features.
        target: The file, of the columns cell, rank, probability and path; without a cell to collect it has no rows.

    Returns:
        The same with the number of images, and what is to be said of them.
    """
    chosen, rows = collection.first, []
    divided = _divide(predictions, settings) if chosen else None
    if divided is not None:
        assert answers.features is not None  # noqa: S101  predict stores them
        probability = measure_cell_probabilities(*divided, answers.features, [cell.name for cell in chosen])
        keys = zip(answers.split.tolist(), map(str, answers.column("example_id").tolist()), strict=True)
        paths = [images.paths[key] for key in keys]
        for cell, own in zip(chosen, probability.T, strict=True):
            rows += _rank(cell, own, paths)
    with write_whole(target) as draft:
        draft.write_text(format_csv(pd.DataFrame(rows, columns=["cell", "rank", "probability", "path"])), "utf-8")
    notes = predictions.metadata.notes
    return replace(
        collection, ranked=len(answers), notes=tuple(note for note in answers.metadata.notes if note not in notes)
    )


def _rank(cell: CellGain, probability: np.ndarray, paths: list[str]) -> list[tuple[str, int, str, str]]:
    order = np.argsort(-probability, kind="stable").tolist()
    return [(cell.name, place, f"{probability[k]:.6f}", paths[k]) for place, k in enumerate(order, 1)]


def _divide(predictions: Predictions, settings: RepairSettings) -> tuple[RepairRows, RowParts] | None:
    """The rows with their sides and the first division; None if no found context matters."""
    trained = find_trained_splits(predictions.metadata)
    sides = find_sides(predictions, trained)
    if sides is not None and not sides.contexts:
        return None
    rows = RepairRows.of(predictions if sides is None else sides.predictions)
    return rows, divide_rows(rows, trained=trained, seed=settings.seed)


def predict_unlabeled(
    model: ModelSource,
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
