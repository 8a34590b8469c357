"""The rows of predictions: what a model says of each example of a split, beside the columns of the data set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import torch
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.input import BrokenRow, Input, InputBatch
from oochub.models.extraction import Extraction
from oochub.models.mode import Mode
from oochub.output_columns import vector_array
from oochub.prediction.predictions import Predictions
from oochub.stats.worst_rows import kept_rows


class ExtractedTable(NamedTuple):
    """The `table` of a split, the numbers of its `rows` there, and those `broken` that were left out."""

    table: pa.Table
    rows: list[int]
    broken: list[BrokenRow]


def extracted_table(
    name: str,
    part: Any,
    read: Callable[..., Iterator[InputBatch]],
    extraction: Extraction,
    mode: Mode,
    *,
    unit: str,
    skip_broken: bool = False,
) -> ExtractedTable:
    """One split as a table of predictions; a bar in a terminal shows speed, time left, and the wait for data.

    Args:
        name: Of the split.
        part: A Dataset or IterableDataset.
        read: `read(part, broken=None)` gives its batches in order, see `Input.batches`.
        extraction: Gives the model's columns of a batch.
        mode: Says the kind of output and the classes.
        unit: What the progress bar calls a row.
        skip_broken: Leave rows out that cannot be read.

    Raises:
        OochubError: A split without a row, or without one that can be read; a row that cannot be read.
    """
    columns: dict[str, list[Any]] = {}
    vectors: dict[str, list[torch.Tensor]] = {}
    rows: list[int] = []
    broken: list[BrokenRow] = []
    total = len(part) if isinstance(part, datasets.Dataset) else None
    with tqdm(total=total, desc=f"Predicting {name}", unit=f" {unit}s", disable=None) as bar:
        for batch in _timed(read(part, broken=broken if skip_broken else None), bar):
            outputs = extraction(batch)
            for key, values in outputs.items():
                vectors.setdefault(key, []).append(values)
            for key, values in batch.columns.items():
                columns.setdefault(key, []).extend(values)
            count = len(outputs["logits"])
            rows += range(len(rows), len(rows) + count) if batch.rows is None else batch.rows
            bar.update(count)
    if not vectors and broken:
        raise OochubError(
            f"None of the {len(broken)} {unit}s of the split {name} can be read. The first: {broken[0].fault}"
        )
    if not vectors:
        raise OochubError(f"The split {name} has no example.")
    matrices = {key: torch.cat(batches).numpy() for key, batches in vectors.items()}
    return ExtractedTable(_table(name, part, columns, matrices, mode, rows), rows, broken)


def _timed(batches: Iterator[InputBatch], bar: Any) -> Iterator[InputBatch]:
    """The batches; the bar says which share of the time went into waiting for them."""
    started, waited = perf_counter(), 0.0
    while True:
        asked = perf_counter()
        batch = next(batches, None)
        now = perf_counter()
        waited += now - asked
        if batch is None:
            return
        bar.set_postfix_str(f"{waited / (now - started):.0%} waiting for data", refresh=False)
        yield batch


def thumbnails(
    predictions: Predictions, parts: Mapping[str, Any], rows: Mapping[str, Sequence[int]], inputs: Input
) -> pa.Array:
    """A small JPEG for the worst mistakes of each split and group, null elsewhere.

    Args:
        predictions: Of the splits, in their order.
        parts: The splits by name; those of a stream get none.
        rows: Of each split, the numbers of the rows that were predicted.
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
        worst = np.flatnonzero(is_wrong)[kept_rows(arrays["loss"], mistake, wrong.split, group)]
        for name, part in parts.items():
            if isinstance(part, datasets.Dataset):
                own, first = worst[split[worst] == name], int(np.argmax(split == name))
                shown = inputs.thumbnails(part, [rows[name][place - first] for place in own])
                for place, picture in zip(own, shown, strict=True):
                    pictures[place] = picture
    return pa.array(pictures, pa.binary())


def _table(
    split: str,
    part: Any,
    columns: dict[str, list[Any]],
    vectors: Mapping[str, np.ndarray[Any, Any]],
    mode: Mode,
    rows: list[int],
) -> pa.Table:
    n, known, kind = len(rows), part.features or {}, mode.kind
    ids = columns.pop("example_id", []) or rows
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
