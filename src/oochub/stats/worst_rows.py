"""The rows that a model got most wrong, a few of each kind."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT_PER_GROUP = 12
"""How many rows of each split and group keep a small picture: enough for any choice of a report's twelve among them."""


def worst_of_each(loss: NDArray[Any], *keys: NDArray[Any], most: int = KEPT_PER_GROUP) -> NDArray[np.int64]:
    """Row numbers of the `most` highest losses within each combination of `keys`, in order of the rows.

    >>> import numpy as np
    >>> worst_of_each(np.array([0.1, 2.0, 3.0]), np.array(["a", "a", "b"]), most=1).tolist()
    [1, 2]
    """
    order = np.lexsort((np.arange(len(loss)), -loss))
    taken: dict[tuple[Any, ...], int] = {}
    rows = []
    for row in order:
        key = tuple(column[row] for column in keys)
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= most:
            rows.append(row)
    return np.sort(np.array(rows, dtype=np.int64))
