"""What is looked at of an entry's files before any is read: that they lie in its folder, and how large they are."""

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from oochub.errors import OochubError

_MOST = {"entry.json": 1 << 20, "report.json": 1 << 24}  # bytes
_COMMIT = 40  # letters of its name
_VALUES_A_BYTE, _FREE = 256, 10_000_000  # of a Parquet file; more is made to fill the memory of who reads it


def check_entry_files(folder: Path, predictions: Sequence[str] = ()) -> None:
    """Refuses files that are not there, lead out of the folder, or would fill the memory.

    Args:
        folder: Of the entry.
        predictions: The names of its files of predictions, or of folders of parts.

    Raises:
        OochubError: What is wrong, without the folder's own path.
    """
    inside = _inside(folder)
    _check_place(folder, inside, "its folder")
    for name, most in _MOST.items():
        file = folder / name
        _check_place(file, inside, f"its file {name}")
        if file.is_file() and file.stat().st_size > most:
            raise OochubError(f"its {name} has {file.stat().st_size:,} bytes, and at most {most:,} are read")
    for name in predictions:
        if not (folder / name).exists():
            raise OochubError(f"its file {name} is missing")
        for file in [folder / name, *(folder / name).rglob("*")]:
            _check_place(file, inside, f"its file {file.relative_to(folder)}")
            _check_values(file, str(file.relative_to(folder)))


def _inside(folder: Path) -> list[Path]:
    """Where an entry's files may lie: in its folder; of a snapshot of the Hub beside it, among what was fetched."""
    results = _real(folder.parent)
    is_snapshot = results.parent.name == "snapshots" and len(results.name) == _COMMIT
    return [results / folder.name, *([results.parent.parent / "blobs"] if is_snapshot else [])]


def _check_place(path: Path, inside: Sequence[Path], what: str) -> None:
    if not any(_real(path).is_relative_to(place) for place in inside):
        raise OochubError(f"{what} is a link that leads out of it")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises where links lead in a loop


def _check_values(file: Path, name: str) -> None:
    """That a Parquet file does not say of a few bytes that they are billions of values."""
    if not (name.endswith(".parquet") and file.is_file()):
        return
    try:
        about = pq.read_metadata(file)
    except (pa.ArrowException, OSError, ValueError):  # reading says what is wrong
        return
    size = file.stat().st_size
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    values = sum(group.column(number).num_values for group in groups for number in range(group.num_columns))
    if values > _VALUES_A_BYTE * size + _FREE:
        raise OochubError(f"its file {name} says that {size:,} bytes hold {values:,} values, which is not read")
