"""Images of two splits whose bytes are equal: a model that is trained on one is not judged by the other."""

import datasets

from oochub.inputs.pictures.image_threads import map_images
from oochub.records.metadata import IMAGE_DIGEST

_TOGETHER = 256
_known: dict[str, tuple[str, ...]] = {}  # of data that were read in this process: a sweep trains on them many times


def count_copies(first: datasets.Dataset, second: datasets.Dataset, *, num_workers: int | None = None) -> int:
    """How many rows of the second split hold an image whose bytes stand in the first one; nothing is decoded.

    Args:
        first: A `datasets.Dataset` with a column `image`.
        second: Another one.
        num_workers: Threads that read; None for as many as there are cores.
    """
    own, others = (_read_digests(part, num_workers) for part in (first, second))
    there = set(own)
    return sum(each in there for each in others)


def _read_digests(part: datasets.Dataset, num_workers: int | None) -> tuple[str, ...]:
    """The digest of each image that can be read."""
    key = str(part._fingerprint)
    if key not in _known:
        read = map_images(
            part.select_columns(["image"]),
            lambda data, where: None,
            batch_size=_TOGETHER,
            num_workers=num_workers,
            broken=[],  # the first step that reads it says so
            is_digested=True,
        )
        _known[key] = tuple(digest for batch in read for digest in batch.columns[IMAGE_DIGEST])
    return _known[key]
