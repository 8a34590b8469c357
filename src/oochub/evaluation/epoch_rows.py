"""Which rows of a report chose the epoch of the model, as its recipe says; where only half did, the others remain."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.benchmark import Benchmark
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import HeldOut

_ON_VALIDATION = "on the validation split"


class EpochRows(NamedTuple):
    """Rows that chose the epoch whose weights were kept.

    Attributes:
        left_out: (n,) True where a row chose and a held-out half remains, so that no number of a report is of it.
        note: What a report says of these rows; "" where none of its rows chose.
    """

    left_out: NDArray[np.bool_]
    note: str


def epoch_rows(predictions: Predictions, benchmark: Benchmark) -> EpochRows:
    """The rows of predictions that chose the epoch, and what is to be said of them.

    Args:
        predictions: Of a model that may have been trained on the same data.
        benchmark: The declaration of their config.
    """
    metadata, training = predictions.metadata, predictions.metadata.training
    nothing = EpochRows(np.zeros(len(predictions), np.bool_), "")
    trained_on = (training.data if training else None) or {}
    is_same = (trained_on.get("benchmark"), trained_on.get("config")) == (metadata.benchmark, metadata.config)
    if training is None or not is_same or metadata.benchmark is None:
        return nothing
    held_out, inside = training.held_out, benchmark.in_context
    if held_out is not None and held_out.split in metadata.rows and held_out.by in predictions.column_names:
        in_split = np.asarray(predictions.split == held_out.split)
        chose = np.zeros(len(predictions), np.bool_)
        chose[in_split] = HeldOut.choosing(predictions.column(held_out.by)[in_split])
        rest = int((in_split & ~chose).sum())
        return EpochRows(
            chose,
            f"of split {held_out.split} {int(chose.sum()):,} rows, by a hash of {held_out.by}, chose the epoch whose "
            f"weights were kept; the numbers are of the other {rest:,}, which were held out",
        )
    is_there = inside.split == benchmark.validation_split and inside.split in metadata.rows
    if not is_there or _ON_VALIDATION not in (training.selection or ""):
        return nothing
    return nothing._replace(
        note=f"the rows of split {inside.split} chose the epoch whose weights were kept, so the number on them may be "
        "somewhat too good, and the gap too large; with oochub train --hold-out half of them are kept for the report"
    )
