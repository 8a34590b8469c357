"""The parts of a prediction that is being made: a run that was killed goes on after the last that is complete.

They lie in a hidden folder beside the file that they are for, `.<name>.parts`. A part is a whole, sealed Parquet file
of predictions from the moment when it has its name.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from oochub.errors import OochubError, OochubWarning
from oochub.input import BrokenRow
from oochub.prediction.parts_folder import ListedPart, Manifest, save_thumbnails
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import PartRecord
from oochub.prediction.stored_rows import StoredRows
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
                if number not in self._made and (made := _open_part(file)) is not None:
                    self._made[number] = made
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
        with write_whole(self._make_empty(number)) as draft:
            draft.write_text(json.dumps(to_json(about)), "utf-8")

    def made(self) -> list[MadePart]:
        """The parts that are there, in order."""
        self.complete()
        return [self._made[number] for number in sorted(self._made)]

    def joined(self) -> tuple[list[MadePart], StoredRows, SoftmaxSummary | None]:
        """All parts in order, and their rows together, which the parts then hold no more."""
        filled = [each.predictions for each in self.made() if each.predictions is not None]
        self._made = {number: replace(each, predictions=None) for number, each in self._made.items()}
        summaries = [each.summary for each in filled if each.output.has_confidence]
        summary = SoftmaxSummary(*map(np.concatenate, zip(*summaries, strict=True))) if summaries else None
        return self.made(), StoredRows.joined([each.rows for each in filled]), summary

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

    def _make_empty(self, number: int) -> Path:
        return self._name_file(number).with_name(f"_empty-{number:05d}.json")


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
