"""Goes through rows in blocks, so that memory does not grow with them.

So are the rows found that a model got most wrong, a few of each kind.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.stats.array_checks import Array
from oochub.storage.tensor_file import release_pages

_FEW = 256  # rows that are worth a call of numpy


KEPT_PER_GROUP = 12
"""How many rows of each split and group keep a small image, as many as a report shows."""
PER_KIND = 6
"""How many rows of one kind of mistake are kept, so that it never hides another; a report shows some of each group."""

_TOGETHER = 1 << 13  # rows looked at together, beside the worst of those before


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


def find_worst_rows(
    loss: NDArray[Any], *keys: NDArray[Any], most: int = KEPT_PER_GROUP, rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Row numbers of the `most` highest losses within each combination of `keys`, in order of the rows.

    Args:
        loss: Loss of each row (n,).
        keys: Keys of each row (n,).
        most: Maximum number of rows for each combination.
        rows: Numbers of the rows to look at, in order; None takes all.

    >>> import numpy as np
    >>> find_worst_rows(np.array([0.1, 2.0, 3.0]), np.array(["a", "a", "b"]), most=1).tolist()
    [1, 2]
    """
    kept = np.empty(0, np.int64)
    for part in row_blocks(len(loss) if rows is None else len(rows), _TOGETHER):
        some = np.concatenate([kept, np.arange(part.start, part.stop) if rows is None else rows[part]])
        kept = some[_find_worst(loss[some], [column[some] for column in keys], most)]
    return kept


def _find_worst(loss: NDArray[Any], keys: Sequence[NDArray[Any]], most: int) -> NDArray[np.int64]:
    """`find_worst_rows` of a few rows."""
    import pandas as pd  # detectors are imported without it

    together = np.zeros(len(loss), np.int64)
    for column in keys:
        codes, names = pd.factorize(column, use_na_sentinel=False)
        together = pd.factorize(together * len(names) + codes)[0]
    order = np.lexsort((-loss, together))
    starts = np.flatnonzero(np.diff(together[order], prepend=-1))
    place = np.arange(len(loss)) - np.repeat(starts, np.diff(starts, append=len(loss)))
    rows: NDArray[np.int64] = np.sort(order[place < most])
    return rows


def choose_shown_rows(loss: NDArray[Any], mistake: NDArray[Any], *groups: NDArray[Any]) -> NDArray[np.int64]:
    """Row numbers of what a report may show of any of the groups together: in each the worst, a few of a kind.

    >>> import numpy as np
    >>> loss, late = np.arange(20.0), np.arange(20) < 1
    >>> choose_shown_rows(loss, late, np.zeros(20)).tolist()
    [0, 14, 15, 16, 17, 18, 19]
    """
    some = find_worst_rows(loss, mistake, *groups, most=PER_KIND)
    return some[find_worst_rows(loss[some], *(column[some] for column in groups))]
