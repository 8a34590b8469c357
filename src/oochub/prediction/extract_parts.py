"""The rows of predictions, part by part: what a model says of each example, beside the columns of the data set."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import pad

from oochub.input import BrokenRow, InputBatch
from oochub.models.mode import Mode
from oochub.prediction.prediction_data import select_rows
from oochub.process.follow import follow
from oochub.records.output_columns import ALSO_RIGHT, drop_right_classes, make_vectors


class ExtractedPart(NamedTuple):
    """A part of a split.

    Attributes:
        number: Number of the part within the split.
        table: Rows of the part; None if none can be read.
        rows: Numbers of its rows in the split.
        broken: Rows that were left out.
    """

    number: int
    table: pa.Table | None
    rows: list[int]
    broken: list[BrokenRow]


def extract_parts(
    name: str,
    part: Any,
    read: Callable[..., Iterator[InputBatch]],
    extraction: Callable[[InputBatch], Mapping[str, torch.Tensor]],
    mode: Mode,
    *,
    unit: str,
    part_rows: int,
    wanted: Sequence[int] | None = None,
    skip_broken: bool = False,
    is_quiet: bool = False,
) -> Iterator[ExtractedPart]:
    """Parts of one split, each when it is complete; a bar in a terminal shows speed, time left, and the wait for data.

    Args:
        name: Name of the split.
        part: A Dataset or IterableDataset.
        read: `read(part, broken=None)` gives its batches in order, see `Input.batches`.
        extraction: Gives the model's columns of a batch.
        mode: Says the kind of output and the classes.
        unit: What the progress bar calls a row.
        part_rows: Rows of a part, whole batches: what stands beside a row in its batch is then the same,
            whichever parts are wanted.
        wanted: Numbers of the parts, in order; None takes all. A stream always gives all.
        skip_broken: Leave rows out that cannot be read.
        is_quiet: Show no bar.

    Raises:
        OochubError: A row that cannot be read.
    """
    total = len(part) if isinstance(part, datasets.Dataset) else None
    origin = None
    if wanted is not None and total is not None and len(wanted) < -(-total // part_rows):
        ranges = [np.arange(k * part_rows, min((k + 1) * part_rows, total)) for k in wanted]
        origin = np.concatenate(ranges)
        part, total = select_rows(part, origin.tolist()), len(origin)
    broken: list[BrokenRow] = []
    held = _Held()
    done: set[int] = set()
    seen = 0
    with follow(total=total, desc=f"Predicting {name}", unit=f" {unit}s", disable=True if is_quiet else None) as bar:
        for batch in _time_batches(read(part, broken=broken if skip_broken else None), bar):
            outputs = extraction(batch)
            count = len(outputs["logits"])
            places = range(seen, seen + count) if batch.rows is None else batch.rows
            seen = places[-1] + 1
            numbers = list(places) if origin is None else origin[list(places)].tolist()
            if held.rows and numbers[0] // part_rows != held.rows[0] // part_rows:
                yield held.part(name, part, mode, part_rows, broken, origin)
                done.add(held.rows[0] // part_rows)
                held = _Held()
            held.take(outputs, batch.columns, numbers)
            bar.update(count)
    if held.rows:
        yield held.part(name, part, mode, part_rows, broken, origin)
        done.add(held.rows[0] // part_rows)
    lost = {_find_origin(row, origin) // part_rows for row in broken} - done
    for number in sorted(lost):
        yield ExtractedPart(number, None, [], _select_broken(number, part_rows, broken, origin))


class _Held:
    """The rows of a part that is not complete."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self._vectors: dict[str, list[torch.Tensor]] = {}
        self._columns: dict[str, list[Any]] = {}

    def take(self, outputs: Mapping[str, torch.Tensor], columns: Mapping[str, Sequence[Any]], rows: list[int]) -> None:
        for key, values in outputs.items():
            self._vectors.setdefault(key, []).append(values)
        for key, column in columns.items():
            self._columns.setdefault(key, []).extend(column)
        self.rows += rows

    def part(
        self, split: str, part: Any, mode: Mode, part_rows: int, broken: list[BrokenRow], origin: Any
    ) -> ExtractedPart:
        number = self.rows[0] // part_rows
        matrices = {key: _join_batches(self._vectors.pop(key)) for key in list(self._vectors)}  # none twice
        table = _build_table(split, part, self._columns, matrices, mode, self.rows)
        return ExtractedPart(number, table, self.rows, _select_broken(number, part_rows, broken, origin))


def _join_batches(vectors: list[torch.Tensor]) -> np.ndarray[Any, Any]:
    """Batches (b, k) after each other; after the end of narrower ones stands -1."""
    width = max(each.shape[1] for each in vectors)
    wide = [each if each.shape[1] == width else pad(each, (0, width - each.shape[1]), value=-1) for each in vectors]
    together: np.ndarray[Any, Any] = torch.cat(wide).numpy()
    return together


def _find_origin(row: BrokenRow, origin: Any) -> int:
    return row.row if origin is None else int(origin[row.row])


def _select_broken(number: int, part_rows: int, broken: list[BrokenRow], origin: Any) -> list[BrokenRow]:
    """The broken rows of a part; those of the next may have been seen already."""
    rows = [row._replace(row=_find_origin(row, origin)) for row in broken]
    return [row for row in rows if row.row // part_rows == number]


def _time_batches(batches: Iterator[InputBatch], bar: Any) -> Iterator[InputBatch]:
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


def _build_table(
    split: str,
    part: Any,
    columns: dict[str, list[Any]],
    vectors: Mapping[str, np.ndarray[Any, Any]],
    mode: Mode,
    rows: list[int],
) -> pa.Table:
    n, known, kind = len(rows), part.features or {}, mode.kind
    ids = columns.pop("example_id", []) or rows
    added = mode.make_columns(vectors["logits"], columns)
    if mode.left_out and ALSO_RIGHT in columns:
        columns[ALSO_RIGHT] = [drop_right_classes(names, mode.left_out) for names in columns[ALSO_RIGHT]]
    arrays: dict[str, Any] = {
        "example_id": pa.array([str(name) for name in ids]),
        "split": pa.array([split] * n),
        kind.label_column: kind.truth(
            _read_truth(columns.pop(kind.label_column, None), part, mode), n, mode.class_names
        ),
        **kind.store(mode.finish(vectors["logits"], columns)),
        **{key: make_vectors(matrix) for key, matrix in vectors.items() if key != "logits"},
    }
    arrays |= {key: pa.array(values) for key, values in added.items()}
    for key, values in columns.items():
        feature = known.get(key)
        if isinstance(feature, datasets.ClassLabel):
            arrays[key] = pa.array([None if v is None or v < 0 else feature.names[v] for v in values], pa.string())
        else:
            schema = datasets.Features({key: feature}).arrow_schema if feature is not None else None
            arrays[key] = pa.array(values, schema.field(key).type if schema is not None else None)
    return pa.table(arrays)


def _read_truth(values: list[Any] | None, part: Any, mode: Mode) -> list[Any] | None:
    """The truth of rows; where classes are left out, in the numbers of those that are answered for."""
    if values is None or not mode.left_out:
        return values
    names, number = part.features[mode.kind.label_column].names, {n: k for k, n in enumerate(mode.class_names)}
    return [value if value is None or value < 0 else number[names[value]] for value in values]
