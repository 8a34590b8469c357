"""Divides COCO's images as NOOCH does: by the official file where it lies, else by a hash of the image id."""

import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.sources.coco import CocoTable
from oochub.builders.sources.nooch.id_arrays import id_arrays
from oochub.errors import OochubError

FULL = 123_287
"""Images of COCO 2017's train and val sets together: the complete benchmark."""

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
        "train", "validation" and "test" to row numbers, in the order of the official file or by image id; and notes:
        when images are in none of its splits, and when the split is not the official one. Then it is sha256 of the
        image id in decimal, modulo 10, with 0 to 6 for training, 7 for validation, 8 and 9 for test.

    Raises:
        OochubError: A file that is not there, is not one of whole numbers, or names an id twice; an id without an
            image where all of COCO is there; a split without images.

    Source: Madras and Zemel, NOOCH, Appendix B.1 (86,302 / 12,328 / 24,657 images).
    """
    file = Path(given).expanduser() if given is not None else folder / _FILE
    if given is not None or os.path.lexists(file):
        rows_of, notes = _read_official(file, table)
    else:
        rows_of, notes = _hash_ids(table), ["not the official NOOCH split"]
    for split, rows in rows_of.items():
        if not len(rows):
            raise OochubError(f"None of the {len(table.image_id):,} images is in the split {split}: add images.")
    return rows_of, notes


def _hash_ids(table: CocoTable) -> dict[str, NDArray[np.int64]]:
    digests = (hashlib.sha256(str(image_id).encode()).hexdigest() for image_id in table.image_id.tolist())
    bucket = np.array([int(digest, 16) % 10 for digest in digests], dtype=np.int64)
    return {split: np.flatnonzero(np.isin(bucket, list(numbers))) for split, numbers in _BUCKETS.items()}


def _read_official(file: Path, table: CocoTable) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    rows_of, is_listed = {}, np.zeros(len(table.image_id), dtype=bool)
    for split, ids in zip(_KEYS, id_arrays(file, list(_KEYS.values())), strict=True):
        row = np.searchsorted(table.image_id, ids).clip(max=len(table.image_id) - 1)
        is_there = table.image_id[row] == ids
        if len(table.image_id) == FULL and not is_there.all():
            raise OochubError(
                f"{file} names {(~is_there).sum():,} ids in {split} that no image has, first {ids[~is_there][0]}, "
                "although all of COCO 2017 is there. Use the original file of the NOOCH repository."
            )
        rows_of[split] = row[is_there]
        is_listed[rows_of[split]] = True
    left = int((~is_listed).sum())
    return rows_of, [f"{left:,} of {len(is_listed):,} images are in no split of {file.name}"] if left else []
