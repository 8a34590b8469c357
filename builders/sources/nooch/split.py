"""Divides COCO's images as NOOCH does: by the official file where it lies, else by a hash of the image id."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco import CocoTable
from oochub.errors import OochubError

_FILE = "cocostuff_split_image_ids.npz"
_KEYS = {"train": "train_ids", "validation": "valid_ids", "test": "test_ids"}
_BUCKETS = {"train": range(0, 7), "validation": range(7, 8), "test": range(8, 10)}


def nooch_split(
    folder: Path, table: CocoTable, *, given: str | None = None
) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    """Row numbers of the table by split, and the notes that the split deserves.

    Args:
        folder: The raw folder; the official file is used when it lies here.
        table: What `read_coco` returns.
        given: The official file when it lies elsewhere.

    Returns:
        "train", "validation" and "test" to row numbers, in the order of the official file or by image id; and a note
        when the split is not the official one: then it is sha256 of the image id in decimal, modulo 10, with 0 to 6
        for training, 7 for validation, 8 and 9 for test.

    Raises:
        OochubError: A file that is not there, is not the official one, or names an id twice; a split without images.

    Source: Madras and Zemel, NOOCH, Appendix B.1 (86,302 / 12,328 / 24,657 images).
    """
    if given is not None and not Path(given).expanduser().is_file():
        raise OochubError(f"splits={given!r} is not a file. Give the path of NOOCH's {_FILE}, or leave splits= out.")
    file = Path(given).expanduser() if given is not None else folder / _FILE
    if file.is_file():
        rows_of, notes = _official(file, table), []
    else:
        rows_of, notes = _hashed(table), ["not the official NOOCH split"]
    for split, rows in rows_of.items():
        if not len(rows):
            raise OochubError(f"None of the {len(table.image_id):,} images falls in the split {split}: add images.")
    return rows_of, notes


def _hashed(table: CocoTable) -> dict[str, NDArray[np.int64]]:
    digests = (hashlib.sha256(str(image_id).encode()).hexdigest() for image_id in table.image_id.tolist())
    bucket = np.array([int(digest, 16) % 10 for digest in digests], dtype=np.int64)
    return {split: np.flatnonzero(np.isin(bucket, list(numbers))) for split, numbers in _BUCKETS.items()}


def _official(file: Path, table: CocoTable) -> dict[str, NDArray[np.int64]]:
    try:
        with np.load(file, allow_pickle=False) as content:
            ids_of = {split: content[key].astype(np.int64) for split, key in _KEYS.items()}
    except (OSError, ValueError, KeyError) as error:
        raise OochubError(f"{file} is not NOOCH's {_FILE}, with {', '.join(_KEYS.values())}: {error}.") from error
    everywhere = np.concatenate(list(ids_of.values()))
    if len(np.unique(everywhere)) != len(everywhere):
        raise OochubError(f"{file} names an image id twice. Use the original file of the NOOCH repository.")
    rows_of = {}
    for split, ids in ids_of.items():
        row = np.searchsorted(table.image_id, ids).clip(max=len(table.image_id) - 1)
        rows_of[split] = row[table.image_id[row] == ids]
    return rows_of
