"""What lies in a folder of parts of predictions: a sealed JSON file beside them lists each part with its seal.

Small images and lines stand in a file of their own, for most rows have none.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.schema import Count, check_version, from_json, optional, to_json
from oochub.storage.parquet_file import read_parquet, read_seal, write_parquet
from oochub.storage.reading import read_json

MANIFEST = "_manifest.json"
"""The file of a folder of parts that lists them."""
_VERSION = 1
_SHOWN = 80  # letters of a name


_COLUMNS = {"thumbnail": pa.types.is_binary, "thumbnail_text": pa.types.is_string}
_FILE = "_thumbnails.parquet"


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
                f"The folder {folder} has no {MANIFEST}, so it holds no predictions. Give the right path."
            )
        content = read_json(file)
        check_version(content, _VERSION, what=str(file))
        if content.pop("seal", None) != _compute_seal(content):
            raise OochubError(f"{file} was damaged after it was written: it does not match its seal. Predict again.")
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


def load_thumbnails(folder: Path, rows: int, *, seal: str | None) -> dict[str, pa.ChunkedArray]:
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
        raise OochubError(f"{file} holds the small images of other predictions. Copy the folder again, or delete it.")
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
    found: NDArray[np.integer] = column.to_numpy()
    if not pa.types.is_integer(column.type) or column.null_count:
        raise OochubError(f"{file} must give the row number of each image, got {column.type}. Delete the file.")
    wrong = (found < 0) | (found >= rows)
    if wrong.any():
        raise OochubError(f"{file} has an image for row {found[wrong][0]}, but there are {rows} rows. Delete the file.")
    if len(np.unique(found)) < len(found):
        raise OochubError(f"{file} has two images for one row. Delete the file.")
    return found
