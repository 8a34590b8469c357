"""Rows of predictions of what a user has: arrays, or a data frame."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from oochub.errors import OochubError
from oochub.output import output_of, output_of_columns
from oochub.output_columns import class_numbers, column_of, text_column
from oochub.prediction.metadata import Metadata, PredictedBy, row_counts

_ROW = ("example_id", "split")


def rows_of_arrays(
    given: Mapping[str, Any],
    *,
    class_names: Sequence[str] | None,
    example_id: Sequence[Any] | None,
    split: str | Sequence[str],
    benchmark: str | None,
    config: str | None,
    model: str | None,
    kind: str | None,
) -> tuple[pa.Table, Metadata]:
    """The table and the metadata of predictions; `Predictions.from_arrays` says what is taken.

    Raises:
        OochubError: Arrays of different lengths, or none.
    """
    given = {name: values for name, values in given.items() if values is not None}
    arrays = {name: column_of(name, values) for name, values in given.items()}
    n = len(next(iter(arrays.values()))) if arrays else 0
    ids = text_column("example_id", range(n) if example_id is None else example_id)
    rows = {"example_id": ids, "split": text_column("split", [split] * n if isinstance(split, str) else split)}
    rows |= arrays
    lengths = {name: len(values) for name, values in rows.items()}
    if not arrays or len(set(lengths.values())) != 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items()) if arrays else "no array"
        raise OochubError(f"Arrays of predictions have one length, a row an example; got {shown}.")
    kind, table = kind or output_of_columns(list(given)), pa.table(rows)
    if class_names is None:
        class_names = output_of(kind).numbered_names(table)
    metadata = Metadata(
        kind=kind,
        benchmark=benchmark,
        config=config or "default",
        model=PredictedBy(id=model),
        class_names=class_names if isinstance(class_names, str) else tuple(class_names),  # type: ignore[arg-type]
        rows=row_counts(table.column("split")),
    )
    return table, metadata


def rows_of_frame(
    frame: pd.DataFrame, *, logits: str | Sequence[str], class_names: Sequence[str] | None, **named: Any
) -> tuple[pa.Table, Metadata]:
    """The table and the metadata of predictions; `Predictions.from_pandas` says what is taken.

    Raises:
        OochubError: A column twice or missing, a label of text that is no class, as `rows_of_arrays`.
    """
    several = [] if isinstance(logits, str) else list(logits)
    twice = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if twice or (several and "logits" in frame and "logits" not in several):
        found = f"the column {twice[0]} twice" if twice else "a column logits beside those named by logits=[...]"
        raise OochubError(f"The frame has {found}. Rename or drop one.")
    missing = [name for name in several if name not in frame]
    if missing:
        raise OochubError(f"The frame has no column {', '.join(missing)}, only {', '.join(map(str, frame))}.")
    columns: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame if name not in (*several, *_ROW)}
    if several:
        columns["logits"] = frame[several].to_numpy()
    elif logits in columns:
        columns["logits"] = list(columns.pop(logits))
    names = list(class_names or map(str, several)) or None
    label = columns.get("label")
    if label is not None and label.dtype.kind in "OUT" and names is not None:
        columns["label"] = class_numbers(list(map(str, label)), names)
    return rows_of_arrays(
        columns,
        example_id=frame["example_id"].tolist() if "example_id" in frame else None,
        split=frame["split"].tolist() if "split" in frame else "test",
        class_names=names,
        **named,
    )
