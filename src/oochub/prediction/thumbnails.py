"""Small pictures of the worst mistakes, for the report."""

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
) -> pa.Array:
    """A small JPEG for the worst mistakes of each split and group, null elsewhere.

    Args:
        predictions: Of the splits, in their order.
        parts: The splits by name; those of a stream get none.
        rows: Of each split, the numbers of the rows that were predicted, part by part.
        inputs: Makes the small pictures.
    """
    kind, label, split = predictions.output, predictions.label, predictions.split
    is_wrong = kind.known(label) & kind.wrong({"label": label, "prediction": predictions.prediction})
    pictures: list[bytes | None] = [None] * len(label)
    if is_wrong.any():
        wrong = predictions.select(is_wrong)
        arrays = kind.arrays(wrong)
        mistake = kind.mistake_keys(arrays)
        group = wrong.column("group") if "group" in wrong.column_names else mistake
        worst = np.flatnonzero(is_wrong)[kept_rows(arrays["loss"], mistake, wrong.split, group)]
        for name, part in parts.items():
            if isinstance(part, datasets.Dataset):
                own, first = worst[split[worst] == name], int(np.argmax(split == name))
                numbers = np.concatenate([np.asarray(several, np.int64) for several in rows[name]])
                shown = inputs.thumbnails(part, numbers[own - first].tolist())
                for place, picture in zip(own, shown, strict=True):
                    pictures[place] = picture
    return pa.array(pictures, pa.binary())
