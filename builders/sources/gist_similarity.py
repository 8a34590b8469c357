"""How near each image's captions are to those of the training images that show a class."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError

_BLOCK = 8192  # rows that are in memory as float64 at a time


def gist_similarity(embedding: ArrayLike, present: ArrayLike, train: ArrayLike) -> NDArray[np.float64]:
    """Cosine of each image's embedding with the mean embedding of the training images that show the class.

    Args:
        embedding: (n, d) one row per image: the mean of its captions' raw embeddings (`image_embeddings`).
        present: (n,) or (n, k) truth values: is the class, or each of k classes, annotated in the image?
        train: (n,) truth values: is the image in the training split?

    Returns:
        float64 (n,) or (n, k), in [-1, 1]; higher is nearer to the usual scene. A class without training positives,
        or whose positives' mean is zero, has no usual scene: nan in its whole column.

    Raises:
        OochubError: Shapes that do not go together; images whose embedding is zero, nan or infinite, which have no
            direction.

    Source: Madras and Zemel, NOOCH, Section 3.2.2.

    >>> gist_similarity([[1, 0], [3, 4], [0, 2]], present=[True, True, False], train=[True, False, False]).tolist()
    [1.0, 0.6, 0.0]
    """
    rows, shown, training = np.asarray(embedding), np.asarray(present, bool), np.asarray(train, bool)
    n = len(rows)
    if rows.ndim != 2 or shown.ndim not in (1, 2) or len(shown) != n or training.shape != (n,):
        raise OochubError(
            "gist_similarity takes embedding (n, d), present (n,) or (n, k) and train (n,), got "
            f"{rows.shape}, {shown.shape} and {training.shape}."
        )
    length = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
    undirected = np.flatnonzero(~((length > 0) & np.isfinite(length)))
    if len(undirected):
        raise OochubError(
            f"{len(undirected)} of {n} images have an embedding that is zero, nan or infinite, first row "
            f"{undirected[0]}, so their similarity is undefined. Leave images without captions out, or use another "
            "encoder."
        )
    classes = shown if shown.ndim == 2 else shown[:, None]
    usual = np.zeros((classes.shape[1], rows.shape[1]))  # (k, d) sums: a cosine does not see a length
    for part, block in _split_into_blocks(rows):
        usual += (classes[part] & training[part, None]).T.astype(np.float64) @ block
    with np.errstate(invalid="ignore"):
        usual /= np.linalg.norm(usual, axis=1, keepdims=True)
    similarity = np.empty(classes.shape)
    for part, block in _split_into_blocks(rows):
        similarity[part] = (block / length[part, None]) @ usual.T
    return similarity.clip(-1, 1).reshape(shown.shape)


def _split_into_blocks(rows: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        yield part, rows[part].astype(np.float64)
