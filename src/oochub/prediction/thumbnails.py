"""What a report shows of the worst mistakes: small pictures, or lines of text."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from oochub.input import Input
from oochub.prediction.predictions import Predictions
from oochub.stats.worst_rows import kept_rows


def thumbnails(
    predictions: Predictions, parts: Mapping[str, Any], rows: Mapping[str, Sequence[Sequence[int]]], inputs: Input
) -> pa.Table:
    """The column `thumbnail`, a small JPEG for the worst mistakes of each split and group, null elsewhere.

    Where rows are no pictures but have lines of text, a column `thumbnail_text` holds those of the same rows.

    Args:
        predictions: Of the splits, in their order.
        parts: The splits by name; those of a stream get none.
        rows: Of each split, the numbers of the rows that were predicted, part by part.
        inputs: Makes pictures and lines.
    """
    kind, label, split = predictions.output, predictions.label, predictions.split
    is_wrong = kind.known(label) & kind.wrong({"label": label, "prediction": predictions.prediction})
    pictures: list[bytes | None] = [None] * len(label)
    lines: list[str | None] = [None] * len(label)
    if is_wrong.any():
        wrong = predictions.select(is_wrong)
        arrays = kind.arrays(wrong)
        mistake = kind.mistake_keys(arrays)
        group = wrong.column("group") if "group" in wrong.column_names else mistake
        kept = kept_rows(arrays["loss"], mistake, wrong.split, group)
        worst = np.flatnonzero(is_wrong)[kept]
        for name, part in parts.items():
            if isinstance(part, datasets.Dataset):
                own, first = split[worst] == name, int(np.argmax(split == name))
                numbers = np.concatenate([np.asarray(several, np.int64) for several in rows[name]])
                read = numbers[worst[own] - first].tolist()
                made = zip(worst[own], kept[own], inputs.thumbnails(part, read), inputs.lines(part, read), strict=True)
                for place, row, picture, line in made:
                    pictures[place] = picture
                    lines[place] = line or kind.line(arrays, int(row), inputs.vocabulary)
    shown = pa.table({"thumbnail": pa.array(pictures, pa.binary())})
    has_lines = any(line is not None for line in lines)
    return shown.append_column("thumbnail_text", pa.array(lines, pa.string())) if has_lines else shown
