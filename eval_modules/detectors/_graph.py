"""An index of rows, faiss' navigable graph (HNSW): finds most of the nearest rows without looking at all."""

from collections.abc import Callable
from typing import Any

import numpy as np

from oochub.errors import check_installed, choose_wording
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import row_blocks

_LINKS = 32  # of each row; memory of 8 bytes each
_WIDTH = 8192  # rows added together
_LOOK = 2, 200  # candidates looked at: so many times those asked for, and so many more


def check_faiss() -> Any:
    """The module faiss.

    Raises:
        OochubError: It is not installed.

    >>> check_faiss().__name__
    'faiss'
    """
    exact = choose_wording("index='exact'", "knn, which searches all rows")
    check_installed("faiss", "faiss", "index=faiss", f"Or use {exact}.")
    import faiss

    return faiss


class Graph:
    """Rows (n, d) of norms up to 1 in float32, with their links: 4 d + 272 bytes each, in memory.

    Among indices that find nine of ten, the graph looks at the fewest rows: inverted lists, at 50,000 x 256, take as
    long as the exact product.

    Args:
        take: Rows by a slice of numbers, float64 (m, d).
        shape: (n, d).

    Raises:
        OochubError: faiss is not installed.
    """

    def __init__(self, take: Callable[[slice], Array], shape: tuple[int, ...]) -> None:
        self._index = check_faiss().IndexHNSWFlat(shape[1], _LINKS)
        for part in row_blocks(shape[0], _WIDTH, what="index"):
            self._index.add(np.ascontiguousarray(take(part), np.float32))

    def candidates(self, queries: Array, count: int) -> tuple[Array, Array]:
        """Rows near each query, with minus half the squared distance, float32 (q, count), -inf for none.

        Args:
            queries: float64 (q, d).
            count: Number of rows to find.
        """
        settings = check_faiss().SearchParametersHNSW(efSearch=_LOOK[0] * count + _LOOK[1])
        squared, index = self._index.search(np.ascontiguousarray(queries, np.float32), count, params=settings)
        return np.where(index < 0, -np.inf, -squared / 2).astype(np.float32), np.maximum(index, 0)
