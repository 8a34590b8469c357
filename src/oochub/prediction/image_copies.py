"""Images whose bytes are equal: a copy in another split proves nothing to a model that saw the first one."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.prediction.predictions import Predictions
from oochub.records.metadata import IMAGE_DIGEST

if TYPE_CHECKING:
    import datasets

_TOGETHER = 256
_known: dict[str, tuple[str, ...]] = {}  # of data that were read in this process: a sweep trains on them many times


def find_copies(images: Mapping[str, NDArray[np.int64]]) -> Iterator[tuple[str, str, int]]:
    """Each two splits that hold the same image, and how many rows of the second one hold an image of the first.

    Args:
        images: The numbers of the images of each split (n,), equal for equal images.

    >>> list(find_copies(number_digests({"train": ["ab", "cd"], "test": ["ab", "ab", "ef"]})))
    [('train', 'test', 2)]
    """
    for name, other in combinations(images, 2):
        if copies := int(np.isin(images[other], images[name]).sum()):
            yield name, other, copies


def number_digests(digests: Mapping[str, Iterable[object]]) -> dict[str, NDArray[np.int64]]:
    """Numbers for the digests of each split (n,), equal for equal digests.

    Args:
        digests: Digest of each image, by split.
    """
    numbers = dict[object, int]()
    return {
        split: np.fromiter((numbers.setdefault(digest, len(numbers)) for digest in own), np.int64)
        for split, own in digests.items()
    }


def read_digests(part: "datasets.Dataset") -> tuple[str, ...]:
    """The digest of the bytes of each image that can be read; nothing is decoded.

    Args:
        part: A split with a column `image`.
    """
    from oochub.inputs.pictures.image_threads import map_images  # imports torch

    key = str(part._fingerprint)
    if key not in _known:
        read = map_images(
            part.select_columns(["image"]),
            lambda data, where: None,
            batch_size=_TOGETHER,
            broken=[],  # the first step that reads it says so
            is_digested=True,
        )
        _known[key] = tuple(digest for batch in read for digest in batch.columns[IMAGE_DIGEST])
    return _known[key]


def number_images(predictions: Predictions) -> NDArray[np.int64] | None:
    """A number for the image of each row (n,), equal for equal bytes; -1 where no digest is known, None without any.

    >>> rows = {"logits": np.zeros((3, 2)), "label": [0, 1, 1], "image_digest": ["ab", "cd", "ab"]}
    >>> number_images(Predictions.from_arrays(**rows)).tolist()
    [0, 1, 0]
    """
    if IMAGE_DIGEST not in predictions.column_names:
        return None
    column = predictions.rows.light.column(IMAGE_DIGEST).combine_chunks()
    numbers = pc.fill_null(column.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)
    codes: NDArray[np.int64] = numbers.astype(np.int64)
    return codes


def describe_copies(predictions: Predictions) -> Iterator[str]:
    """What to say of images that stand in two splits, a sentence for each pair of splits.

    Args:
        predictions: Predictions of several splits.
    """
    image = number_images(predictions)
    if image is None:
        return
    split = np.asarray(predictions.split)
    names = dict.fromkeys(split.tolist())
    for name, other, copies in find_copies({name_of: image[(split == name_of) & (image >= 0)] for name_of in names}):
        yield (
            f"the images of {copies:,} of {int((split == other).sum()):,} rows of {other} also stand in {name}, byte "
            "for byte, so they are not new to a model that saw these"
        )
