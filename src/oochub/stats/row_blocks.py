"""Goes through rows in blocks, so that memory does not grow with them."""

from collections.abc import Iterator

import numpy as np

from oochub.stats.array_checks import Array
from oochub.storage.tensor_file import release_pages

_FEW = 256  # rows that are worth a call of numpy


def row_blocks(rows: int, together: int, *, what: str = "") -> Iterator[slice]:
    """Slices of `together` rows that cover all; with `what`, a progress bar if it takes over two seconds.

    >>> list(row_blocks(5, 2, what="score"))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    from oochub.process.follow import follow

    starts = range(0, rows, together)
    for start in follow(starts, desc=what, delay=2, disable=None if what and len(starts) > 1 else True):
        yield slice(start, min(start + together, rows))


def fit_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices for a fit that remembers columns^2 numbers: a block takes twice as many, so the first costs what all do.

    >>> list(fit_blocks(1000, 300))
    [slice(0, 600, None), slice(600, 1000, None)]
    """
    return row_blocks(rows, max(_FEW, 2 * columns), what="fit")


def shift_blocks(rows: Array, origin: Array) -> Iterator[tuple[slice, Array]]:
    """The same slices with their rows less `origin` in float64, each in the memory of the one before.

    >>> [(part.start, block.tolist()) for part, block in shift_blocks(np.array([[1.0], [2.0]]), np.array([1.0]))]
    [(0, [[0.0], [1.0]])]
    """
    memory = np.empty((max(_FEW, 2 * rows.shape[1]), rows.shape[1]))
    for part in fit_blocks(*rows.shape):
        block = memory[: part.stop - part.start]
        block[:] = rows[part]
        block -= origin
        release_pages(rows)
        yield part, block
