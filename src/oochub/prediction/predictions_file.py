"""Predictions on a disk: one sealed Parquet file, or a folder of such files, its parts, with a manifest.

A folder is read by pandas and pyarrow as one table; they pass over names that begin with an underscore.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from oochub.errors import OochubError
from oochub.prediction.coded_text import joined_text
from oochub.prediction.lazy_columns import LazyColumns
from oochub.prediction.manifest import MANIFEST, ListedPart, Manifest
from oochub.prediction.stored_rows import StoredRows
from oochub.prediction.stored_summary import SUMMARY, summary_columns
from oochub.prediction.stored_thumbnails import load_thumbnails
from oochub.records.metadata import VECTORS, Metadata
from oochub.records.schema import Count, from_json, optional, to_json
from oochub.stats.logits import SoftmaxSummary
from oochub.storage.artifacts import PREDICTIONS
from oochub.storage.files import STREAMS, check_writable, folder_written_whole
from oochub.storage.parquet_file import Integrity, read_parquet, seal_of, write_tables
from oochub.storage.reading import parse_json

_KEY, _SUMS, _PART = b"oochub", b"oochub_sums", b"oochub_part"
_ONE_FILE = 1 << 28  # numbers, a gigabyte: more are a folder of parts
_PART_BYTES = 1 << 26


@dataclass(frozen=True, kw_only=True)
class PartRecord:
    """What a part of a prediction that is being made says of itself.

    Attributes:
        split: Of its rows.
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
        rows: Its columns, but the summary.
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
        OochubError: It is not there, damaged, or without metadata.
    """
    if path.is_dir():
        return _open_folder(path)
    if not path.is_file():
        raise OochubError(f"No predictions at {path}. `oochub predict MODEL BENCHMARK/CONFIG --out {path}` makes them.")
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
        path: Where.
        rows: The rows.
        metadata: What they say of themselves.
        summary: Of the answers; None where their kind has none.
        digest: Of the answers.
        part: What they say of themselves as a part; None for what is whole.

    Raises:
        OochubError: It cannot be written.
    """
    tables = _sealed_tables(rows, metadata, summary=summary, digest=digest, part=part)
    if part is not None or is_one_file(rows) or str(path) in STREAMS:
        return write_tables(tables, path, kind=PREDICTIONS)
    path = check_writable(path, kind=PREDICTIONS)
    with folder_written_whole(path) as folder:
        listed = []
        for number, some in enumerate(_in_parts(tables)):
            file = write_tables(some, folder / f"part-{number:05d}.parquet")
            count = pq.read_metadata(file).num_rows
            listed.append(ListedPart(file=file.name, rows=count, seal=str(seal_of(file))))
        Manifest(parts=tuple(listed), metadata=to_json(metadata), digest=digest).save(folder)
    return path


def is_one_file(rows: StoredRows) -> bool:
    """Whether predictions are few enough for one file."""
    return len(rows) * max(1, rows.width) <= _ONE_FILE


def _in_parts(tables: Iterator[pa.Table]) -> Iterator[Iterator[pa.Table]]:
    """The blocks of each part."""
    for first in tables:
        yield chain([first], islice(tables, _PART_BYTES // max(1, first.nbytes)))


def _sealed_tables(
    rows: StoredRows, metadata: Metadata, *, summary: SoftmaxSummary | None, digest: str, part: PartRecord | None
) -> Iterator[pa.Table]:
    """What a file holds, a block of rows at a time: the columns in their order, then the summary of the answers."""
    said = {_KEY: json.dumps(to_json(metadata), sort_keys=True).encode()}
    said[_SUMS] = json.dumps(to_json(_Sums(digest=digest, version=2))).encode()
    if part is not None:
        said[_PART] = json.dumps(to_json(part)).encode()
    added, start = {} if summary is None else summary_columns(summary), 0
    for block in rows.blocks(rows.column_names):
        for name, values in added.items():
            block = block.append_column(name, values.slice(start, len(block)))
        yield block.replace_schema_metadata(said)
        start += len(block)


def _open_file(path: Path) -> OpenedPredictions:
    stored = read_parquet(path, without=(*VECTORS, *SUMMARY), joined=joined_text)
    said, light = stored.schema.metadata or {}, stored.table.replace_schema_metadata(None)
    if _KEY not in said:
        raise OochubError(
            f"{path} is Parquet without oochub's metadata, so benchmark and class names are unknown. "
            "Write it with Predictions.from_pandas(frame, class_names=[...]).save(path)."
        )
    names = [name for name in stored.schema.names if name not in SUMMARY]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OochubError(f"{path} has the column {twice[0]} twice. Drop or rename one.")
    wide = pa.schema([field for field in stored.schema if field.name in VECTORS])
    sums = _said(_Sums, said.get(_SUMS), f"{path}: what it says of its answers")
    part = _said(PartRecord, said.get(_PART), f"{path}: what it says of itself as a part")
    return OpenedPredictions(
        rows=StoredRows(light, LazyColumns.of(path, wide, len(light)), names),
        metadata=said[_KEY],
        integrity=stored.integrity,
        digest=sums.digest if sums is not None and stored.integrity == "checked" else None,
        of_before=sums is not None and sums.version == 1,
        part=part,
    )


def _said(kind: type[Any], text: bytes | None, what: str) -> Any:
    """A record of JSON in the metadata of a file; None where there is none."""
    return None if text is None else from_json(kind, parse_json(text, name=what), what=what)


def _open_folder(folder: Path) -> OpenedPredictions:
    manifest = Manifest.load(folder)
    manifest.check_parts(folder)
    opened = []
    for part in manifest.parts:
        file = folder / part.file
        if seal_of(file) != part.seal:
            raise OochubError(
                f"{file} is not the part that {MANIFEST} lists: it was cut short, changed, or is of another "
                "prediction. Copy the folder again, or predict again."
            )
        each = _open_file(file)
        if len(each.rows) != part.rows:
            raise OochubError(f"{file} has {len(each.rows)} rows, and {MANIFEST} says {part.rows}. Predict again.")
        opened.append(each)
    rows = StoredRows.joined([each.rows for each in opened])
    for name, column in load_thumbnails(folder, len(rows), seal=manifest.thumbnails).items():
        rows = rows.with_column(name, column)
    return OpenedPredictions(
        rows=rows,
        metadata=json.dumps(manifest.metadata).encode(),
        integrity="checked",  # a part without a seal is not the one that is listed
        digest=manifest.digest,
        of_before=any(each.of_before for each in opened),
    )
