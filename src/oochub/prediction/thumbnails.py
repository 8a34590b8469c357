"""What a report shows of rows: small pictures, or lines of text."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.input import Input
from oochub.prediction.predictions import Predictions
from oochub.prediction.rows_with_contexts import RowsWithContexts
from oochub.stats.worst_rows import choose_shown_rows


def thumbnails(
    predictions: Predictions, parts: Mapping[str, Any], rows: Mapping[str, Sequence[Sequence[int]]], inputs: Input
) -> pa.Table:
    """The column `thumbnail`, a small JPEG for the worst mistakes of each split and group, null elsewhere.

    Of data with found contexts also for a few rows as usual and against each (`RowsWithContexts.shown`). Where rows are
    no pictures but have lines of text, a column `thumbnail_text` holds those of the mistakes.

    Args:
        predictions: Of the splits, in their order.
        parts: The splits by name; those of a stream get none.
        rows: Of each split, the numbers of the rows that were predicted, part by part.
        inputs: Makes pictures and lines.
    """
    kind, split, count = predictions.output, predictions.split, len(predictions)
    pictures: list[bytes | None] = [None] * count
    lines: list[str | None] = [None] * count
    mistakes = _worst_mistakes(predictions)
    shown = np.union1d(mistakes, _of_contexts(predictions))
    for name, part in parts.items():
        own = shown[split[shown] == name]
        if isinstance(part, datasets.Dataset) and len(own):
            numbers = np.concatenate([np.asarray(several, np.int64) for several in rows[name]])
            first, is_wrong = int(np.argmax(split == name)), np.isin(own, mistakes)
            for row, picture in zip(own, inputs.thumbnails(part, numbers[own - first].tolist()), strict=True):
                pictures[row] = picture
            if is_wrong.any():
                wrong = own[is_wrong]
                arrays = kind.arrays(predictions.take(wrong))
                for place, line in enumerate(inputs.lines(part, numbers[wrong - first].tolist())):
                    lines[wrong[place]] = line or kind.line(arrays, place, inputs.vocabulary)
    table = pa.table({"thumbnail": pa.array(pictures, pa.binary())})
    has_lines = any(line is not None for line in lines)
    return table.append_column("thumbnail_text", pa.array(lines, pa.string())) if has_lines else table


def _worst_mistakes(predictions: Predictions) -> NDArray[np.int64]:
    """The numbers of the rows with the highest loss, a few of each split and group."""
    kind, label = predictions.output, predictions.label
    is_wrong = kind.known(label) & kind.wrong({"label": label, "prediction": predictions.prediction})
    if not is_wrong.any():
        return np.empty(0, np.int64)
    wrong = predictions.select(is_wrong)
    arrays = kind.arrays(wrong)
    mistake = kind.mistake_keys(arrays)
    group = wrong.column("group") if "group" in wrong.column_names else mistake
    return np.flatnonzero(is_wrong)[choose_shown_rows(arrays["loss"], mistake, wrong.split, group)]


def _of_contexts(predictions: Predictions) -> NDArray[np.int64]:
    """The numbers of the rows that a page shows beside findings about contexts."""
    tested = RowsWithContexts.of(predictions)
    several = [] if tested is None else [row for k in range(len(tested.facts.names)) for row in tested.shown(k)]
    return np.unique(np.concatenate([np.empty(0, np.int64), *several]))
