"""Predictions on a disk: one sealed Parquet file, or a folder of such files, its parts, with a manifest.

A folder is read by pandas and pyarrow as one table; they pass over names that begin with an underscore.

The answers stand in a file as columns, for other programs that read it; oochub reads the logits alone. Answer,
confidence and loss follow from the logits, so a column of them is a copy that somebody may have left behind when the
logits changed: none is ever read for a number. Their names begin with `oochub_`, and rows that are given with such
columns lose them; `prediction`, `confidence` and `loss` are names of the user's own columns.

The last layer of a model is kept with its predictions: detectors make logits of changed features with it.

In a folder a sealed JSON file lists each part with its seal. Small images and lines stand in a file of their own, for
most rows have none.
"""

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from oochub.errors import OochubError, OochubWarning
from oochub.prediction.stored_columns import LazyColumns, StoredRows, join_text, list_repeated_text
from oochub.records.metadata import WIDE, Metadata
from oochub.records.schema import check_version, from_json, optional, to_json
from oochub.records.typed_values import Count
from oochub.stats.logits import SoftmaxSummary
from oochub.storage.artifacts import HEAD, PREDICTIONS, Integrity
from oochub.storage.files import STREAMS, check_writable, write_whole, write_whole_folder
from oochub.storage.parquet_file import read_parquet, read_seal, write_parquet, write_tables
from oochub.storage.reading import parse_json, read_json
from oochub.storage.tensor_file import load_tensors, save_tensors

MANIFEST = "_manifest.json"
"""The file of a folder of parts that lists them."""
_VERSION = 1
_SHOWN = 80  # letters of a name


_COLUMNS = {"thumbnail": pa.types.is_binary, "thumbnail_text": pa.types.is_string}
_FILE = "_thumbnails.parquet"


_KEY, _SUMS, _PART = b"oochub", b"oochub_sums", b"oochub_part"
_ONE_FILE = 1 << 28  # numbers, a gigabyte: more are a folder of parts
_PART_BYTES = 1 << 26


SUMMARY = tuple(f"oochub_{name}" for name in SoftmaxSummary._fields)
"""The columns of a file that hold it."""
_NAMES_OF_BEFORE = SoftmaxSummary._fields
_ROUNDING = 1e-6  # between two versions of numpy


@dataclass(frozen=True, kw_only=True)
class ListedPart:
    """A part of a folder: the name of its `file`, its `rows`, and the digest of its `seal`."""

    file: str
    rows: Count
    seal: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What lies in a folder of parts.

    Attributes:
        schema_version: Version of the JSON's schema.
        parts: Parts in the order of the rows.
        metadata: Metadata of all rows.
        digest: Digest of all answers.
        thumbnails: The seal of the file of small images; None if there is no such file, and in older manifests.
    """

    schema_version: int = _VERSION
    parts: tuple[ListedPart, ...]
    metadata: Mapping[str, Any]
    digest: str
    thumbnails: str | None = optional()

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """The manifest of a folder of parts.

        Raises:
            OochubError: There is none, or it is broken.
        """
        file = folder / MANIFEST
        if not file.is_file():
            raise OochubError(
                f"The folder {folder} has no {MANIFEST}, so it is not a predictions folder. Check the path."
            )
        content = read_json(file)
        check_version(content, _VERSION, what=str(file))
        if content.pop("seal", None) != _compute_seal(content):
            raise OochubError(f"{file} is corrupted: its checksum does not match. Run the prediction again.")
        listed, there = content.get("parts"), sum(1 for _ in folder.iterdir())
        if isinstance(listed, list) and len(listed) > there:  # before each is looked at
            counts = f"{len(listed):,} parts, but {there:,} files are there"
            raise OochubError(f"{folder} is incomplete: {MANIFEST} lists {counts}. Copy it again, or predict again.")
        manifest: Manifest = from_json(cls, content, what=str(file))
        return manifest

    def save(self, folder: Path) -> None:
        """Writes it, sealed, into a folder that nobody else reads."""
        content: dict[str, Any] = to_json(self)
        (folder / MANIFEST).write_text(json.dumps({**content, "seal": _compute_seal(content)}, indent=1), "utf-8")

    def check_parts(self, folder: Path) -> None:
        """Checks that each part is in the folder, and listed once, before the first is opened.

        Raises:
            OochubError: No part, one that is not there, or one that is listed twice.
        """
        if not self.parts:
            raise OochubError(f"{folder / MANIFEST} lists no parts. Predict again.")
        names, seen = {entry.name for entry in folder.iterdir()}, set[str]()
        for part in self.parts:
            if part.file not in names or not (folder / part.file).is_file():
                raise OochubError(
                    f"{folder} is incomplete: its part {_shorten_name(part.file)} is missing. Copy it again, or "
                    "predict again."
                )
            if part.file in seen:
                raise OochubError(
                    f"{folder / MANIFEST} lists the part {_shorten_name(part.file)} twice. Predict again."
                )
            seen.add(part.file)


def _compute_seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _shorten_name(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."


def save_thumbnails(folder: Path, pictures: pa.Table) -> str | None:
    """Writes the small images and lines of a folder of parts.

    Args:
        folder: Folder of the parts.
        pictures: Columns with one value per row, null where there is none.

    Returns:
        The seal of the file.
    """
    kept = np.flatnonzero(np.logical_or.reduce([np.asarray(column.is_valid()) for column in pictures.columns]))
    return read_seal(write_parquet(pictures.take(pa.array(kept)).append_column("row", pa.array(kept)), folder / _FILE))


def _load_thumbnails(folder: Path, rows: int, *, seal: str | None) -> dict[str, pa.ChunkedArray]:
    """The small images and lines of a folder of parts as columns of all its rows, null where there is none.

    Args:
        folder: Folder of the parts.
        rows: Number of rows of the parts.
        seal: Seal that the file must have; None, as in an older manifest, takes any.

    Raises:
        OochubError: The file is damaged or of other predictions, or a row is none of theirs or has two.
    """
    file = folder / _FILE
    if not file.is_file():
        if seal is None:
            return {}
        raise OochubError(f"{folder} is incomplete: {_FILE} is missing. Copy it again, or predict again.")
    some = read_parquet(file).table
    if seal is not None and read_seal(file) != seal:
        raise OochubError(
            f"{file} contains the small images of other predictions. Copy the folder again, or delete it."
        )
    columns = {name: some.column(name) for name in _COLUMNS if name in some.column_names}
    strange = [name for name, column in columns.items() if not _COLUMNS[name](column.type)]
    if strange:
        raise OochubError(f"{file}: {strange[0]} must not hold {columns[strange[0]].type}. Delete the file.")
    place = np.full(rows, -1)
    place[_find_rows(file, some, rows)] = np.arange(len(some))
    spread = pa.array(place, mask=place < 0)
    return {name: column.take(spread) for name, column in columns.items()}


def _find_rows(file: Path, some: pa.Table, rows: int) -> NDArray[np.integer]:
    """The number of the row (k,) that each image is of."""
    names = some.column_names
    column = some.column("row") if names.count("row") == 1 else pa.chunked_array([pa.nulls(len(some))])
    numbers: NDArray[np.integer] = column.to_numpy()
    if not pa.types.is_integer(column.type) or column.null_count:
        raise OochubError(f"{file} must give the row number of each image, got {column.type}. Delete the file.")
    wrong = (numbers < 0) | (numbers >= rows)
    if wrong.any():
        raise OochubError(
            f"{file} has an image for row {numbers[wrong][0]}, but there are {rows} rows. Delete the file."
        )
    if len(np.unique(numbers)) < len(numbers):
        raise OochubError(f"{file} has two images for one row. Delete the file.")
    return numbers


@dataclass(frozen=True, kw_only=True)
class PartRecord:
    """What a part of a prediction that is being made says of itself.

    Attributes:
        split: Split that the rows belong to.
        rows: Their numbers in the split: the first of each unbroken run and the one after its last.
        broken: The rows that were left out, each the fields of a `BrokenRow`.
    """

    split: str
    rows: tuple[tuple[Count, Count], ...]
    broken: tuple[tuple[str, str, Count], ...]


@dataclass(frozen=True, kw_only=True)
class _Sums:
    """What a file says of its answers, JSON: their `digest`; `version` 2 since the summary has names of its own."""

    digest: str
    version: Count = optional(1)


class OpenedPredictions(NamedTuple):
    """What a file or folder holds.

    Attributes:
        rows: Columns of the rows, but the summary.
        metadata: JSON.
        integrity: Whether every file was compared with its seal.
        digest: What sealed files say that the digest of their answers is; None where they do not.
        of_before: Whether the summary may stand under the names that earlier versions gave it.
        part: What a part says of itself; None for what is whole.
    """

    rows: StoredRows
    metadata: bytes
    integrity: Integrity
    digest: str | None
    of_before: bool
    part: PartRecord | None = None


def open_predictions(path: Path) -> OpenedPredictions:
    """Opens what `Predictions.save` or `oochub predict` wrote, or any Parquet file with the same columns and metadata.

    Raises:
        OochubError: The file is missing, damaged, or without metadata.
    """
    if path.is_dir():
        return _open_folder(path)
    if not path.is_file():
        raise OochubError(
            f"Prediction file not found: {path}. Run `oochub predict MODEL BENCHMARK/CONFIG --out {path}` to create it."
        )
    return _open_file(path)


def save_predictions(
    path: str | Path,
    rows: StoredRows,
    metadata: Metadata,
    *,
    summary: SoftmaxSummary | None,
    digest: str,
    part: PartRecord | None = None,
) -> Path:
    """Writes predictions, whole or not at all: one file, or a folder of parts where they are very large.

    Args:
        path: File or folder to write.
        rows: The rows.
        metadata: What they say of themselves.
        summary: Summary of the answers; None if their kind has none.
        digest: Digest of the answers.
        part: What they say of themselves as a part; None for what is whole.

    Raises:
        OochubError: The predictions cannot be written.
    """
    tables = _iterate_sealed(rows, metadata, summary=summary, digest=digest, part=part)
    if part is not None or is_one_file(rows) or str(path) in STREAMS:
        return write_tables(tables, path, kind=PREDICTIONS)
    path = check_writable(path, kind=PREDICTIONS)
    with write_whole_folder(path) as folder:
        listed = []
        for number, some in enumerate(_iterate_parts(tables)):
            file = write_tables(some, folder / f"part-{number:05d}.parquet")
            count = pq.read_metadata(file).num_rows
            listed.append(ListedPart(file=file.name, rows=count, seal=str(read_seal(file))))
        Manifest(parts=tuple(listed), metadata=to_json(metadata), digest=digest).save(folder)
    return path


def is_one_file(rows: StoredRows) -> bool:
    """Whether predictions are few enough for one file."""
    return len(rows) * max(1, rows.width) <= _ONE_FILE


def _iterate_parts(tables: Iterator[pa.Table]) -> Iterator[Iterator[pa.Table]]:
    """The blocks of each part."""
    for first in tables:
        yield chain([first], islice(tables, _PART_BYTES // max(1, first.nbytes)))


def _iterate_sealed(
    rows: StoredRows, metadata: Metadata, *, summary: SoftmaxSummary | None, digest: str, part: PartRecord | None
) -> Iterator[pa.Table]:
    """What a file holds, a block of rows at a time: the columns in their order, then the summary of the answers."""
    content = {_KEY: json.dumps(to_json(metadata), sort_keys=True).encode()}
    content[_SUMS] = json.dumps(to_json(_Sums(digest=digest, version=2))).encode()
    if part is not None:
        content[_PART] = json.dumps(to_json(part)).encode()
    added, start = {} if summary is None else make_summary_columns(summary), 0
    for block in rows.blocks(rows.column_names):
        for name, values in added.items():
            block = block.append_column(name, values.slice(start, len(block)))
        yield block.replace_schema_metadata(content)
        start += len(block)


def _open_file(path: Path) -> OpenedPredictions:
    stored = read_parquet(path, without=(*WIDE, *SUMMARY), joined=join_text, coded=list_repeated_text)
    content, light = stored.schema.metadata or {}, stored.table.replace_schema_metadata(None)
    if _KEY not in content:
        raise OochubError(
            f"{path} is Parquet without oochub's metadata, so benchmark and class names are unknown. "
            "Write it with Predictions.from_pandas(frame, class_names=[...]).save(path)."
        )
    names = [name for name in stored.schema.names if name not in SUMMARY]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OochubError(f"{path} has the column {twice[0]} twice. Drop or rename one.")
    wide = pa.schema([field for field in stored.schema if field.name in WIDE])
    sums = _parse_metadata(_Sums, content.get(_SUMS), f"{path}: what it says of its answers")
    part = _parse_metadata(PartRecord, content.get(_PART), f"{path}: what it says of itself as a part")
    return OpenedPredictions(
        rows=StoredRows(light, LazyColumns.of(path, wide, len(light)), names),
        metadata=content[_KEY],
        integrity=stored.integrity,
        digest=sums.digest if sums is not None and stored.integrity == "checked" else None,
        of_before=sums is not None and sums.version == 1,
        part=part,
    )


def _parse_metadata(kind: type[Any], text: bytes | None, what: str) -> Any:
    """A record of JSON in the metadata of a file; None where there is none."""
    return None if text is None else from_json(kind, parse_json(text, name=what), what=what)


def _open_folder(folder: Path) -> OpenedPredictions:
    manifest = Manifest.load(folder)
    manifest.check_parts(folder)
    opened = []
    for part in manifest.parts:
        file = folder / part.file
        if read_seal(file) != part.seal:
            raise OochubError(
                f"{file} is not the part that {MANIFEST} lists: it was truncated, changed, or is of another "
                "prediction. Copy the folder again, or predict again."
            )
        opened_part = _open_file(file)
        if len(opened_part.rows) != part.rows:
            raise OochubError(
                f"{file} has {len(opened_part.rows)} rows, but {MANIFEST} says {part.rows}. Predict again."
            )
        opened.append(opened_part)
    rows = StoredRows.joined([part_opened.rows for part_opened in opened])
    for name, column in _load_thumbnails(folder, len(rows), seal=manifest.thumbnails).items():
        rows = rows.with_column(name, column)
    return OpenedPredictions(
        rows=rows,
        metadata=json.dumps(manifest.metadata).encode(),
        integrity="checked",  # a part without a seal is not the one that is listed
        digest=manifest.digest,
        of_before=any(part_opened.of_before for part_opened in opened),
    )


def make_summary_columns(summary: SoftmaxSummary) -> dict[str, pa.Array]:
    """The columns of a summary, each (n,), by name; the loss is null where no class is true.

    >>> columns = make_summary_columns(SoftmaxSummary(np.array([1]), np.array([0.75]), np.array([np.nan])))
    >>> {name: column.to_pylist() for name, column in columns.items()}
    {'oochub_prediction': [1], 'oochub_confidence': [0.75], 'oochub_loss': [None]}
    """
    types = (pa.int32(), pa.float64(), pa.float64())
    arrays = zip(SUMMARY, summary, types, strict=True)
    return {name: pa.array(values, kind, from_pandas=True) for name, values, kind in arrays}


def drop_copies(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The columns of a table but those of `SUMMARY`, and these."""
    copies = [name in SUMMARY for name in table.column_names]
    return tuple(table.select([k for k, is_copy in enumerate(copies) if is_copy is which]) for which in (False, True))


def find_stale_note(given: pa.Table, summary: SoftmaxSummary | None) -> str | None:
    """What is said of columns of `SUMMARY` that came with rows: nothing where they are those of the logits.

    Args:
        given: The columns of `SUMMARY` that there are, of `drop_copies`.
        summary: Summary of the rows; None if their kind has none.

    >>> made = SoftmaxSummary(np.array([1, 0]), np.array([0.75, 0.5]), np.array([0.3, 0.7]))
    >>> find_stale_note(pa.table({"oochub_prediction": [1, 0]}), made)
    >>> find_stale_note(pa.table({"oochub_prediction": [0, 0]}), made)
    'the column oochub_prediction that came with the rows is left out: it is not what the logits give'
    """
    columns_made: dict[str, Any] = {} if summary is None else dict(zip(SUMMARY, summary, strict=True))
    columns = zip(given.column_names, given.columns, strict=True)
    stale = [name for name, column in columns if not _is_equal(column, columns_made.get(name))]
    if not stale:
        return None
    which, verb, pronoun = ("column", "is", "it is") if len(stale) == 1 else ("columns", "are", "they are")
    came = "came with the rows"
    return f"the {which} {', '.join(stale)} that {came} {verb} left out: {pronoun} not what the logits give"


def drop_earlier_summary(rows: StoredRows, summary: SoftmaxSummary | None) -> StoredRows:
    """Rows of a file of an earlier version, which wrote the summary under `prediction`, `confidence` and `loss`.

    Columns of these names that are not what the logits give are somebody's own, and stay.
    """
    if summary is None or not {*_NAMES_OF_BEFORE} <= {*rows.column_names}:
        return rows
    columns = zip(_NAMES_OF_BEFORE, summary, strict=True)
    return rows.without(_NAMES_OF_BEFORE) if all(_is_equal(rows.column(name), own) for name, own in columns) else rows


def _is_equal(column: pa.ChunkedArray, made: NDArray[Any] | None) -> bool:
    if made is None or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return False
    values = column.to_numpy().astype(np.float64)
    if made.dtype.kind == "i":
        return np.array_equal(values, made)
    return bool(np.allclose(values, made, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredHead:
    """`features @ weight.T + bias` are the logits.

    Attributes:
        weight: (c, d), in the order of the class names.
        bias: (c,).

    Raises:
        OochubError: Shapes that do not fit each other.

    >>> StoredHead(weight=np.zeros((2, 3)), bias=np.zeros(2)).weight.shape
    (2, 3)
    """

    weight: NDArray[np.floating]
    bias: NDArray[np.floating]

    def __post_init__(self) -> None:
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[:1]:
            shapes = f"weight {self.weight.shape} and bias {self.bias.shape}"
            raise OochubError(f"A head must be a weight (c, d) and a bias (c,), got {shapes}. Predict again.")

    @classmethod
    def load(cls, file: Path) -> "StoredHead":
        """Reads what `save` wrote.

        Raises:
            OochubError: No such file, or it is no head, or it has changed since it was written.

        Warns:
            OochubWarning: The file is of an earlier version, without a digest, and was not checked.
        """
        stored = load_tensors(file)
        if not stored.checked:
            warnings.warn(
                f"{file} was not checked for damage: it has no digest. Predict again to give it one.",
                OochubWarning,
                stacklevel=2,
            )
        if set(stored.arrays) != {"weight", "bias"}:
            names = ", ".join(sorted(stored.arrays)) or "nothing"
            raise OochubError(f"{file} contains {names}, but a head is weight and bias. Predict again.")
        try:
            return cls(**stored.arrays)
        except OochubError as error:
            raise OochubError(f"{file}: {error}") from None

    def save(self, file: Path) -> None:
        """Writes the arrays as safetensors with a digest, whole or not at all."""
        with write_whole(file, kind=HEAD) as draft:
            save_tensors({"weight": self.weight, "bias": self.bias}, draft)


def remove_head(predictions: str | Path) -> None:
    """Removes the head that lies beside predictions which have none, if it is ours."""
    file = head_file(predictions)
    if file.is_file() and not file.is_symlink() and HEAD.recognizes(file):
        file.unlink(missing_ok=True)


def head_file(predictions: str | Path) -> Path:
    """The path of the head of these predictions.

    >>> head_file("runs/preds.parquet").as_posix()
    'runs/preds.head.safetensors'
    """
    return Path(predictions).expanduser().with_suffix(".head.safetensors")
