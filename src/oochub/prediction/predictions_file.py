"""Predictions on a disk: one sealed Parquet file, or a folder of such files, its parts, with a manifest.

A folder is read by pandas and pyarrow as one table; they pass over names that begin with an underscore.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oochub.artifacts import PREDICTIONS
from oochub.errors import OochubError
from oochub.files import STREAMS, check_writable, folder_written_whole
from oochub.parquet_file import Integrity, read_parquet, seal_of, write_parquet, write_tables
from oochub.prediction.coded_text import joined_text
from oochub.prediction.lazy_columns import LazyColumns
from oochub.prediction.metadata import VECTORS, Metadata
from oochub.prediction.stored_rows import StoredRows
from oochub.reading import read_json
from oochub.schema import Count, check_version, from_json, to_json
from oochub.stats.answer_summary import SUMMARY
from oochub.stats.softmax_summary import SoftmaxSummary

MANIFEST = "_manifest.json"
"""The file of a folder of parts that lists them."""
THUMBNAILS = "_thumbnails.parquet"
"""The file of a folder of parts with the small pictures and lines, by row number."""
_SHOWN = ("thumbnail", "thumbnail_text")
_KEY, _SUMS, _PART = b"oochub", b"oochub_sums", b"oochub_part"
_VERSION = 1
_ONE_FILE = 1 << 28  # numbers, a gigabyte: more are a folder of parts
_PART_BYTES = 1 << 26


class OpenedPredictions(NamedTuple):
    """What a file or folder holds.

    Attributes:
        rows: Its columns, but the summary.
        metadata: JSON.
        integrity: Whether every file was compared with its seal.
        summary: Of the answers, where sealed files have it.
        digest: Of the answers, where sealed files have it.
        part: What a part says of itself, JSON types; None for what is whole.
    """

    rows: StoredRows
    metadata: bytes
    integrity: Integrity
    summary: SoftmaxSummary | None
    digest: str | None
    part: Any = None


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
        schema_version: Of the JSON.
        parts: In the order of the rows.
        metadata: Of all rows.
        digest: Of all answers.
    """

    schema_version: int = _VERSION
    parts: tuple[ListedPart, ...]
    metadata: Mapping[str, Any]
    digest: str

    def save(self, folder: Path) -> None:
        """Writes it, sealed, into a folder that nobody else reads."""
        content: dict[str, Any] = to_json(self)
        (folder / MANIFEST).write_text(json.dumps({**content, "seal": _seal_of(content)}, indent=1), "utf-8")


def _seal_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
    part: Mapping[str, Any] | None = None,
) -> Path:
    """Writes predictions, whole or not at all: one file, or a folder of parts where they are very large.

    Args:
        path: Where.
        rows: The rows.
        metadata: What they say of themselves.
        summary: Of the answers; None where their kind has none.
        digest: Of the answers.
        part: What they say of themselves as a part, JSON types; None for what is whole.

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


def save_thumbnails(folder: Path, pictures: pa.Table) -> None:
    """Writes the small pictures and lines of a folder of parts.

    Args:
        folder: Of the parts.
        pictures: Columns with one a row, null where there is none.
    """
    kept = np.flatnonzero(np.logical_or.reduce([np.asarray(column.is_valid()) for column in pictures.columns]))
    write_parquet(pictures.take(pa.array(kept)).append_column("row", pa.array(kept)), folder / THUMBNAILS)


def _in_parts(tables: Iterator[pa.Table]) -> Iterator[Iterator[pa.Table]]:
    """The blocks of each part."""
    for first in tables:
        yield chain([first], islice(tables, _PART_BYTES // max(1, first.nbytes)))


def _sealed_tables(
    rows: StoredRows, metadata: Metadata, *, summary: SoftmaxSummary | None, digest: str, part: Mapping[str, Any] | None
) -> Iterator[pa.Table]:
    """What a file holds, a block of rows at a time: the columns in their order, then the summary of the answers.

    Where a column has the name of one of the summary's, no summary is written.
    """
    said = {_KEY: json.dumps(to_json(metadata), sort_keys=True).encode()}
    said[_SUMS] = json.dumps({"digest": digest}).encode()
    if part is not None:
        said[_PART] = json.dumps(part).encode()
    added: dict[str, Any] = {}
    if summary is not None and not {*SUMMARY} & {*rows.column_names}:
        added = {"prediction": pa.array(summary.prediction, pa.int32())}
        added |= {name: pa.array(getattr(summary, name), from_pandas=True) for name in SUMMARY[1:]}
    start = 0
    for block in rows.blocks(rows.column_names):
        for name, values in added.items():
            block = block.append_column(name, values.slice(start, len(block)))
        yield block.replace_schema_metadata(said)
        start += len(block)


def _open_file(path: Path) -> OpenedPredictions:
    stored = read_parquet(path, without=VECTORS, joined=joined_text)
    said, light = stored.schema.metadata or {}, stored.table.replace_schema_metadata(None)
    if _KEY not in said:
        raise OochubError(
            f"{path} is Parquet without oochub's metadata, so benchmark and class names are unknown. "
            "Write it with Predictions.from_pandas(frame, class_names=[...]).save(path)."
        )
    twice = sorted({name for name in stored.schema.names if stored.schema.names.count(name) > 1})
    if twice:
        raise OochubError(f"{path} has the column {twice[0]} twice. Drop or rename one.")
    wide = pa.schema([field for field in stored.schema if field.name in VECTORS])
    names, summary, digest = list(stored.schema.names), None, None
    if _SUMS in said:
        if stored.integrity == "checked":  # without a seal the columns may be anybody's
            digest, summary = json.loads(said[_SUMS])["digest"], _summary(light)
        if {*SUMMARY} <= {*names}:
            light, names = light.drop_columns(list(SUMMARY)), [name for name in names if name not in SUMMARY]
    rows = StoredRows(light, LazyColumns.of(path, wide, len(light)), names)
    part = json.loads(said[_PART]) if _PART in said else None
    return OpenedPredictions(rows, said[_KEY], stored.integrity, summary, digest, part)


def _summary(table: pa.Table) -> SoftmaxSummary | None:
    if not {*SUMMARY} <= {*table.column_names}:
        return None
    arrays = [table.column(name).to_numpy() for name in SUMMARY]
    return SoftmaxSummary(*arrays)


def _spread(some: pa.Table, rows: int) -> dict[str, pa.ChunkedArray]:
    """The small pictures and lines of some rows as columns of all, null elsewhere."""
    place = np.full(rows, -1)
    place[some.column("row").to_numpy()] = np.arange(len(some))
    spread = pa.array(place, mask=place < 0)
    return {name: some.column(name).take(spread) for name in _SHOWN if name in some.column_names}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder of parts.

    Raises:
        OochubError: There is none, or it is broken.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise OochubError(f"The folder {folder} has no {MANIFEST}, so it holds no predictions. Give the right path.")
    content = read_json(file)
    check_version(content, _VERSION, what=str(file))
    if content.pop("seal", None) != _seal_of(content):
        raise OochubError(f"{file} was damaged after it was written: it does not fit its seal. Predict again.")
    manifest: Manifest = from_json(Manifest, content, what=str(file))
    return manifest


def _open_folder(folder: Path) -> OpenedPredictions:
    manifest = read_manifest(folder)
    if not manifest.parts:
        raise OochubError(f"{folder / MANIFEST} lists no part. Predict again.")
    opened = []
    for part in manifest.parts:
        file = folder / part.file
        if Path(part.file).name != part.file or not file.is_file():
            raise OochubError(
                f"{folder} is not whole: its part {part.file} is missing. Copy it again, or predict again."
            )
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
    if (small := folder / THUMBNAILS).is_file():
        for name, column in _spread(read_parquet(small).table, len(rows)).items():
            rows = rows.with_column(name, column)
    summaries = [each.summary for each in opened if each.summary is not None]
    whole = len(summaries) == len(opened)
    summary = SoftmaxSummary(*map(np.concatenate, zip(*summaries, strict=True))) if whole else None
    integrity: Integrity = "checked" if all(each.integrity == "checked" for each in opened) else "not checked"
    return OpenedPredictions(rows, json.dumps(manifest.metadata).encode(), integrity, summary, manifest.digest)
