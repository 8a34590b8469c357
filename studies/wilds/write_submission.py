"""Writes predictions as WILDS' prediction files: one line per row of the split, in the order of the raw table."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from oochub.data.load import load
from oochub.errors import OochubError, choose_wording
from oochub.prediction.predictions import Predictions
from oochub.storage.files import lock_target, write_whole
from oochub.studies.file_kinds import SUBMISSION


def write_submission(
    predictions: Iterable[Predictions], folder: Path, *, replicate: str, data_dir: str | None = None
) -> list[Path]:
    """Writes a file for each split of predictions of WILDS' data sets.

    Args:
        predictions: Predictions of the official splits, with every row of them, in any order.
        folder: Gets a folder for each data set.
        replicate: "seed:0", ...; of PovertyMap the fold says it.
        data_dir: The folder with the raw folders; None takes `$OOCHUB_DATA/wilds`.

    Returns:
        The files.

    Raises:
        OochubError: Predictions of other data, or not of every row of a split; another replicate.
    """
    if not re.fullmatch(r"seed:[0-9]{1,9}", replicate):
        name = choose_wording("replicate=")
        raise OochubError(f"{name} must be seed:0, seed:1, ..., got {replicate!r}.")
    checked = [(prediction, *_check_predictions(prediction, replicate)) for prediction in predictions]
    written = []
    with lock_target(folder, kind=SUBMISSION):
        for answers, data_set, run in checked:
            data = load(f"wilds/{answers.metadata.config}", data_dir=data_dir)
            for split in dict.fromkeys(answers.split.tolist()):
                rows = _order_officially(answers, split, data[split])
                suffix = "jsonl" if answers.metadata.kind == "boxes" else "csv"
                path = folder / data_set / f"{data_set}_split:{split}_{run}_epoch:best_pred.{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                with write_whole(path) as draft:
                    draft.write_text("".join(f"{line}\n" for line in _format_lines(answers, rows)), "utf-8")
                written.append(path)
    return written


def _check_predictions(predictions: Predictions, replicate: str) -> tuple[str, str]:
    """The name of the data set, and the replicate, as WILDS has them."""
    config = str(predictions.metadata.config)
    name, is_fold, fold = config.partition("_fold_")
    if predictions.metadata.benchmark != "wilds" or "mixed" in name:
        raise OochubError(
            f"These predictions are for {predictions.metadata.benchmark}/{config}, but prediction files are for the "
            "official splits of wilds. Predict on wilds/iwildcam, for example."
        )
    return name.replace("_", "-"), f"fold:{fold.upper()}" if is_fold else replicate


def _order_officially(predictions: Predictions, split: str, rows: Any) -> np.ndarray:
    """The row numbers of the predictions in the order of the split."""
    ids = rows.select_columns(["example_id"]).with_format("arrow")[:]["example_id"].to_pylist()
    of_split = np.flatnonzero(predictions.split == split)
    place = dict(zip(predictions.column("example_id")[of_split].tolist(), of_split.tolist(), strict=True))
    missing = [example_id for example_id in ids if example_id not in place]
    if missing:
        raise OochubError(
            f"The split {split} of {predictions.metadata.config} has {len(ids):,} rows, but the predictions lack "
            f"{len(missing):,} of them, first row {missing[0]} of the raw table. Predict all of it, without --limit."
        )
    return np.array([place[example_id] for example_id in ids])


def _format_lines(predictions: Predictions, rows: np.ndarray) -> Iterator[str]:
    kind = predictions.metadata.kind
    if kind == "boxes":
        boxes, scores = (predictions.rows.column(name).to_pylist() for name in ("detected_boxes", "scores"))
        for row in rows.tolist():
            yield json.dumps({"boxes": boxes[row], "scores": scores[row]})
        return
    answers: Any = predictions.logits if kind == "labels" else predictions.prediction
    for row in rows.tolist():
        yield ",".join(map(str, np.atleast_1d(answers[row]).tolist()))
