"""Images whose bytes are equal, by the digests that predictions carry: a copy in another split proves nothing."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.prediction.predictions import Predictions
from oochub.records.metadata import IMAGE_DIGEST


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
    found: NDArray[np.int64] = numbers.astype(np.int64)
    return found


def describe_copies(predictions: Predictions) -> Iterator[str]:
    """What to say of images that stand in two splits, a sentence for each pair of splits.

    Args:
        predictions: Predictions of several splits.
    """
    image = number_images(predictions)
    if image is None:
        return
    split = np.asarray(predictions.split)
    names = list(dict.fromkeys(split.tolist()))
    own = {name: image[(split == name) & (image >= 0)] for name in names}
    for place, name in enumerate(names):
        for other in names[place + 1 :]:
            copies = int(np.isin(own[other], own[name]).sum())
            if copies:
                rows = int((split == other).sum())
                yield (
                    f"the images of {copies:,} of {rows:,} rows of {other} also stand in {name}, byte for byte, so "
                    "they are not new to a model that saw these"
                )
