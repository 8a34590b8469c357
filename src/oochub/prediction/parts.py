"""The parts of a prediction that is being made: a run that was killed goes on after the last that is complete.

They lie in a hidden folder beside the file that they are for, `.<name>.parts`. A part is a whole, sealed Parquet file
of predictions from the moment when it has its name.

A part holds what a model says of each example, beside the columns of the data set.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import pad

from oochub.errors import OochubError, OochubWarning
from oochub.input import BrokenRow, InputBatch
from oochub.models.mode import Mode
from oochub.prediction.prediction_data import select_rows
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import ListedPart, Manifest, PartRecord, save_thumbnails
from oochub.prediction.stored_columns import StoredRows
from oochub.process.follow import follow
from oochub.records.metadata import Metadata
from oochub.records.output_columns import ALSO_RIGHT, drop_right_classes, make_vectors
from oochub.records.schema import from_json, to_json
from oochub.stats.logits import SoftmaxSummary
from oochub.storage.artifacts import PREDICTIONS
from oochub.storage.files import take_place, write_whole
from oochub.storage.parquet_file import read_seal
from oochub.storage.reading import read_json

_LAYOUT = "_layout.json"
_NUMBERS = 1 << 24  # of a part, 64 MB
_ROWS = 1 << 13  # of a part, however narrow: a kill loses no more


def count_part_rows(width: int, batch_size: int) -> int:
    """How many rows a part has: whole batches.

    Args:
        width: Numbers that a row holds.
        batch_size: Rows per forward pass.

    >>> count_part_rows(2, 32), count_part_rows(3048, 32)
    (8192, 5504)
    """
    rows = max(1, min(_ROWS, _NUMBERS // max(1, width)))
    return max(1, rows // batch_size) * batch_size


@dataclass(frozen=True)
class MadePart:
    """A complete part.

    Attributes:
        split: Split that the rows belong to.
        predictions: Rows of the part; None where none could be read, or once they are joined to those of the others.
        rows: Numbers of these rows in the split.
        broken: The rows that were left out.
    """

    split: str
    predictions: Predictions | None
    rows: Sequence[int]
    broken: Sequence[BrokenRow] = ()


class Parts:
    """The parts of one prediction, by number.

    Args:
        target: The file that they are for; None keeps them in memory.
        layout: What they are parts of, JSON types: if another run finds the same, its parts are these. None if that
            cannot be known, as of a model that is an object.
    """

    def __init__(self, target: Path | None, layout: Mapping[str, Any] | None) -> None:
        self._target, self._layout = target, layout
        self.folder = None if target is None else target.parent / f".{target.name}.parts"
        self._made: dict[int, MadePart] = {}

    def begin(self) -> None:
        """Finds what an earlier run left, or removes it.

        Warns:
            OochubWarning: The parts of another prediction are removed.
        """
        if self.folder is None or not self.folder.exists():
            return
        if self._layout is None or _read(self.folder / _LAYOUT) != json.loads(json.dumps(self._layout)):
            if (count := len(list(self.folder.glob("part-*.parquet")))) and self._layout is not None:
                warnings.warn(
                    f"{count} parts of another, stopped prediction are removed from {self.folder}.",
                    OochubWarning,
                    stacklevel=3,
                )
            self.end()

    def share(self) -> None:
        """Makes the folder, for several processes that put parts into it."""
        assert self.folder is not None  # noqa: S101
        if not (self.folder / _LAYOUT).exists():
            with write_whole(self.folder / _LAYOUT) as draft:
                draft.write_text(json.dumps(self._layout), "utf-8")

    def check_shared(self) -> None:
        """Checks that another process made the folder where this one looks for it.

        Raises:
            OochubError: The folder is not there.
        """
        if self.folder is None or not (self.folder / _LAYOUT).exists():
            raise OochubError(
                f"This process cannot see {self.folder} of the first process. All machines of torchrun write into "
                "one folder: choose an output path on a disk that they share."
            )

    def check_complete(self, numbers: set[int]) -> None:
        """Checks that the parts that all processes made are seen by this one.

        Raises:
            OochubError: A part is not there.
        """
        if missing := sorted(numbers - self.complete()):
            raise OochubError(
                f"The part {missing[0]} of {self.folder}, made by another process, is missing or incomplete. Run the "
                "same command again: finished parts are kept. All machines must write to a disk that they share."
            )

    def complete(self) -> set[int]:
        """The numbers of the parts that are there; one that is not whole is not there."""
        if self.folder is not None:
            for file in (*self.folder.glob("part-*.parquet"), *self.folder.glob("_empty-*.json")):
                number = int(file.stem.rpartition("-")[2])
                if number not in self._made and (part := _open_part(file)) is not None:
                    self._made[number] = part
        return set(self._made)

    def put(self, number: int, made: MadePart) -> None:
        """Keeps a part: on the disk, where there is a folder."""
        if self.folder is None:
            self._made[number] = made
            return
        self.share()
        broken = tuple((row.example, row.fault, row.row) for row in made.broken)
        about = PartRecord(split=made.split, rows=_find_spans(made.rows), broken=broken)
        if made.predictions is not None:
            replace(made.predictions, part=about).save(self._name_file(number))
            return
        with write_whole(self._name_file(number).with_name(f"_empty-{number:05d}.json")) as draft:
            draft.write_text(json.dumps(to_json(about)), "utf-8")

    def made(self) -> list[MadePart]:
        """The parts that are there, in order."""
        self.complete()
        return [self._made[number] for number in sorted(self._made)]

    def joined(self) -> tuple[list[MadePart], StoredRows, SoftmaxSummary | None]:
        """All parts in order, and their rows together, which the parts then hold no more."""
        filled = [part.predictions for part in self.made() if part.predictions is not None]
        self._made = {number: replace(part, predictions=None) for number, part in self._made.items()}
        summaries = [predictions.summary for predictions in filled if predictions.output.has_confidence]
        summary = SoftmaxSummary(*map(np.concatenate, zip(*summaries, strict=True))) if summaries else None
        return self.made(), StoredRows.joined([predictions.rows for predictions in filled]), summary

    def become(self, predictions: Predictions, pictures: pa.Table | None) -> None:
        """Makes the folder itself the predictions, in the place of the target.

        Args:
            predictions: All rows.
            pictures: Small images and lines of some of the rows, one row each.
        """
        assert self.folder is not None and self._target is not None  # noqa: S101
        listed = []
        for number in sorted(self._made):
            if count := len(self._made[number].rows):
                file = self._name_file(number)
                listed.append(ListedPart(file=file.name, rows=count, seal=str(read_seal(file))))
        Manifest(
            parts=tuple(listed),
            metadata=to_json(predictions.metadata),
            digest=predictions.digest,
            thumbnails=None if pictures is None else save_thumbnails(self.folder, pictures),
        ).save(self.folder)
        for file in self.folder.glob(_LAYOUT):
            file.unlink()
        take_place(self.folder, self._target, kind=PREDICTIONS)

    def end(self) -> None:
        """Removes the parts, and their folder unless it holds something else; it is hidden, and its names are ours."""
        if self.folder is None or self.folder.is_symlink() or not self.folder.is_dir():
            return
        for pattern in (_LAYOUT, "part-*.parquet", "part-*.head.safetensors", "_empty-*.json", "_thumbnails.parquet"):
            for file in self.folder.glob(pattern):
                file.unlink(missing_ok=True)
        for file in self.folder.glob(".*.draft-*"):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _name_file(self, number: int) -> Path:
        assert self.folder is not None  # noqa: S101
        return self.folder / f"part-{number:05d}.parquet"


def _find_spans(rows: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Row numbers in order, as the first of each unbroken run and the one after its last."""
    runs = np.split(np.asarray(rows, np.int64), np.flatnonzero(np.diff(rows) != 1) + 1)
    return tuple((int(run[0]), int(run[-1]) + 1) for run in runs if len(run))


def _expand_spans(spans: Sequence[tuple[int, int]]) -> Sequence[int]:
    """What `_find_spans` was given; a range where it can be, for a list takes 36 bytes per row."""
    runs = [range(first, stop) for first, stop in spans]
    return runs[0] if len(runs) == 1 else list(chain.from_iterable(runs))


def _open_part(file: Path) -> MadePart | None:
    """A part that is whole; None where it is cut short, of other rows or of an earlier form: it is made again."""
    try:
        predictions = None if file.suffix == ".json" else Predictions.load(file)
        about = from_json(PartRecord, read_json(file), what=str(file)) if predictions is None else predictions.part
    except OochubError:
        return None
    count = 0 if predictions is None else len(predictions)
    if about is None or sum(max(0, stop - first) for first, stop in about.rows) != count:
        return None
    return MadePart(about.split, predictions, _expand_spans(about.rows), [BrokenRow(*row) for row in about.broken])


def _read(file: Path) -> Any:
    """JSON of ours; None where it is not there or not whole."""
    try:
        return read_json(file)
    except OochubError:
        return None


def extract_parts(
    name: str,
    part: Any,
    read: Callable[..., Iterator[InputBatch]],
    extraction: Callable[[InputBatch], Mapping[str, torch.Tensor]],
    mode: Mode,
    *,
    said: Callable[[StoredRows], Metadata],
    unit: str,
    part_rows: int,
    wanted: Sequence[int] | None = None,
    skip_broken: bool = False,
    is_quiet: bool = False,
) -> Iterator[tuple[int, MadePart]]:
    """Parts of one split with their numbers in it, each when it is complete.

    A bar in a terminal shows speed, time left, and the wait for data.

    Args:
        name: Name of the split.
        part: A Dataset or IterableDataset.
        read: `read(part, broken=None)` gives its batches in order, see `Input.batches`.
        extraction: Gives the model's columns of a batch.
        mode: Says the kind of output and the classes.
        said: What predictions say of rows.
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
                done.add(held.rows[0] // part_rows)
                yield held.rows[0] // part_rows, held.part(name, part, mode, said, part_rows, broken, origin)
                held = _Held()
            held.take(outputs, batch.columns, numbers)
            bar.update(count)
    if held.rows:
        done.add(held.rows[0] // part_rows)
        yield held.rows[0] // part_rows, held.part(name, part, mode, said, part_rows, broken, origin)
    lost = {_find_origin(row, origin) // part_rows for row in broken} - done
    for number in sorted(lost):
        yield number, MadePart(name, None, [], _select_broken(number, part_rows, broken, origin))


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
        self,
        split: str,
        part: Any,
        mode: Mode,
        said: Callable[[StoredRows], Metadata],
        part_rows: int,
        broken: list[BrokenRow],
        origin: Any,
    ) -> MadePart:
        matrices = {key: _join_batches(self._vectors.pop(key)) for key in list(self._vectors)}  # none twice
        table = _build_table(split, part, self._columns, matrices, mode, self.rows)
        own = _select_broken(self.rows[0] // part_rows, part_rows, broken, origin)
        return MadePart(split, Predictions(table, said(StoredRows.of(table))), self.rows, own)


def _join_batches(vectors: list[torch.Tensor]) -> np.ndarray[Any, Any]:
    """Batches (b, k) after each other; after the end of narrower ones stands -1."""
    width = max(vector.shape[1] for vector in vectors)
    wide = [
        vector if vector.shape[1] == width else pad(vector, (0, width - vector.shape[1]), value=-1)
        for vector in vectors
    ]
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
        start = perf_counter()
        batch = next(batches, None)
        now = perf_counter()
        waited += now - start
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
