"""The rows of predictions: what a model says of each example of a split, beside the columns of the data set."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.input import Input, InputBatch
from oochub.models.extraction import Extraction
from oochub.models.mode import Mode
from oochub.output_columns import vector_array
from oochub.prediction.predictions import Predictions
from oochub.stats.worst_rows import kept_rows


def extracted_table(
    name: str, part: Any, read: Callable[[Any], Iterator[InputBatch]], extraction: Extraction, mode: Mode, *, unit: str
) -> pa.Table:
    """One split as a table of predictions.

    Args:
        name: Of the split.
        part: A Dataset or IterableDataset.
        read: Gives its batches in order.
        extraction: Gives the model's columns of a batch.
        mode: Says the kind of output and the classes.
        unit: What the progress bar calls a row.

    Raises:
        OochubError: A split without a row, or a row that cannot be read.
    """
    columns: dict[str, list[Any]] = {}
    vectors: dict[str, list[torch.Tensor]] = {}
    total = len(part) if isinstance(part, datasets.Dataset) else None
    with tqdm(total=total, desc=f"Predicting {name}", unit=unit, disable=None) as bar:
        for batch in read(part):
            outputs = extraction(batch)
            for key, values in outputs.items():
                vectors.setdefault(key, []).append(values)
            for key, values in batch.columns.items():
                columns.setdefault(key, []).extend(values)
            bar.update(len(outputs["logits"]))
    if not vectors:
        raise OochubError(f"The split {name} has no example.")
    return _table(name, part, columns, {key: torch.cat(batches).numpy() for key, batches in vectors.items()}, mode)


def thumbnails(predictions: Predictions, parts: Mapping[str, Any], inputs: Input) -> pa.Array:
    """A small JPEG for the worst mistakes of each split and group, null elsewhere.

    Args:
        predictions: Of the splits, in their order.
        parts: The splits by name; those of a stream get none.
        inputs: Makes the small pictures.
    """
    kind, label, split = predictions.output, predictions.label, predictions.split
    is_wrong = kind.known(label) & kind.wrong({"label": label, "prediction": predictions.prediction})
    pictures: list[bytes | None] = [None] * len(label)
    if is_wrong.any():
        wrong = predictions.select(is_wrong)
        arrays = kind.arrays(wrong)
        mistake = kind.mistake_keys(arrays)
        group = wrong.column("group") if "group" in wrong.table.column_names else mistake
        first = {name: int(np.argmax(split == name)) for name in parts}
        worst = kept_rows(arrays["loss"], mistake, wrong.split, group)
        for row in np.flatnonzero(is_wrong)[worst].tolist():
            part = parts[split[row]]
            if isinstance(part, datasets.Dataset):
                pictures[row] = inputs.thumbnail(part, row - first[split[row]])
    return pa.array(pictures, pa.binary())


def _table(
    split: str,
    part: Any,
    columns: dict[str, list[Any]],
    vectors: Mapping[str, np.ndarray[Any, Any]],
    mode: Mode,
) -> pa.Table:
    n, known, kind = len(vectors["logits"]), part.features or {}, mode.kind
    ids = columns.pop("example_id", []) or range(n)
    arrays: dict[str, Any] = {
        "example_id": pa.array([str(name) for name in ids]),
        "split": pa.array([split] * n),
        kind.label_column: kind.truth(_truth(columns.pop(kind.label_column, None), part, mode), n, mode.class_names),
        **kind.store(vectors["logits"]),
        **{key: vector_array(matrix) for key, matrix in vectors.items() if key != "logits"},
    }
    for key, values in columns.items():
        feature = known.get(key)
        if isinstance(feature, datasets.ClassLabel):
            arrays[key] = pa.array([None if v is None or v < 0 else feature.names[v] for v in values], pa.string())
        else:
            schema = datasets.Features({key: feature}).arrow_schema if feature is not None else None
            arrays[key] = pa.array(values, schema.field(key).type if schema is not None else None)
    return pa.table(arrays)


def _truth(values: list[Any] | None, part: Any, mode: Mode) -> list[Any] | None:
    """The truth of rows; where classes are left out, in the numbers of those that are answered for."""
    if values is None or not mode.left_out:
        return values
    names, number = part.features[mode.kind.label_column].names, {n: k for k, n in enumerate(mode.class_names)}
    return [value if value is None or value < 0 else number[names[value]] for value in values]
