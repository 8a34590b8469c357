"""`oochub repair --collect`: which rows to collect, and which of some unlabeled images fill their cells best."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from oochub.errors import OochubError, choose_wording
from oochub.head_repair.found_sides import find_sides
from oochub.head_repair.learning_curves import draw_learning_curves
from oochub.head_repair.rank_images import measure_cell_probabilities
from oochub.head_repair.repair_rows import RepairRows
from oochub.head_repair.row_parts import RowParts, divide_rows, find_trained_splits
from oochub.head_repair.unlabeled_images import UnlabeledImages
from oochub.prediction.predictions import Predictions
from oochub.report.collection import CellGain, Collection
from oochub.settings.repair_settings import RepairSettings
from oochub.storage.artifacts import format_csv
from oochub.storage.files import write_whole

_NO_CONTEXT = "Which rows to collect cannot be told: no context is shown to matter to the model."


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
            f"{choose_wording(f'{given[0]}=', flags)} says what is collected: give "
            f"{choose_wording('collect=True', '--collect')} too, or leave it out."
        )
    if settings.unlabeled is not None and not has_out:
        raise OochubError(
            f"A ranking of unlabeled images is written into the folder of the repair: name one with "
            f"{choose_wording('out=', '--out')}."
        )


def collect_rows(predictions: Predictions, settings: RepairSettings) -> Collection:
    """What more rows of each cell should gain, by the rows that fit and choose in the first division.

    Args:
        predictions: Predictions of all rows, with features.
        settings: How the model is repaired.

    Raises:
        OochubError: Rows that say nothing of context, or too few of them for three parts.
    """
    found = _divide(predictions, settings)
    if found is None:
        return Collection(more=settings.more_rows, reason=_NO_CONTEXT)
    return draw_learning_curves(*found, more=settings.more_rows, seed=settings.seed)


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
    found = _divide(predictions, settings) if chosen else None
    if found is not None:
        assert answers.features is not None  # noqa: S101  predict stores them
        probability = measure_cell_probabilities(*found, answers.features, [cell.name for cell in chosen])
        keys = zip(answers.split.tolist(), map(str, answers.column("example_id").tolist()), strict=True)
        paths = [images.paths[key] for key in keys]
        for cell, own in zip(chosen, probability.T, strict=True):
            rows += _rank(cell, own, paths)
    with write_whole(target) as draft:
        draft.write_text(format_csv(pd.DataFrame(rows, columns=["cell", "rank", "probability", "path"])), "utf-8")
    known = predictions.metadata.notes
    return replace(
        collection, ranked=len(answers), notes=tuple(note for note in answers.metadata.notes if note not in known)
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
