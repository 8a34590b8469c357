"""A sample of rows of a fixed size that depends on the rows alone: not on their order, batches or processes."""

from functools import cache

import numpy as np

from oochub.stats.array_checks import Array

_SEED = 20220321


class RowSample:
    """At most `capacity` rows, each with its largest logit: those whose bytes have the smallest hash values.

    Memory is taken whole with the first rows.

    Args:
        capacity: Number of rows to keep; if there are fewer, all are kept.

    Attributes:
        count: Number of rows that are kept.
        seen: Number of rows that were seen.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.count = self.seen = 0
        self._rows = np.empty((0, 0), np.float16)
        self._largest, self._hash = np.empty(capacity), np.empty(capacity, np.uint64)

    @property
    def rows(self) -> Array:
        """The rows (count, d), in no order."""
        return self._rows[: self.count]

    @property
    def largest(self) -> Array:
        """The largest logit of each row, float64 (count,)."""
        return self._largest[: self.count]

    def update(self, rows: Array, logits: Array) -> None:
        """Takes in rows (n, d) with their logits (n, c).

        >>> sample = RowSample(2)
        >>> sample.update(np.eye(3), np.array([[0.0], [1.0], [2.0]]))
        >>> sample.count, sample.seen
        (2, 3)
        """
        self._add(rows, logits, _hash_rows(rows), len(rows))

    def merge(self, other: "RowSample") -> None:
        """Takes in the sample of other rows."""
        self._add(other.rows, other.largest[:, None], other._hash[: other.count], other.seen)

    def _add(self, rows: Array, logits: Array, hashes: Array, seen: int) -> None:
        self.seen += seen
        if not self._rows.size:
            self._rows = np.empty((self.capacity, rows.shape[1]), rows.dtype)
        elif self._rows.dtype != np.result_type(self._rows, rows):
            self._rows = self._rows.astype(rows.dtype)
        fit = min(self.capacity - self.count, len(rows))
        self._put(np.arange(self.count, self.count + fit), np.arange(fit), rows, logits, hashes)
        self.count += fit
        if fit < len(rows):
            both = np.concatenate([self._hash, hashes[fit:]])
            smallest = np.argpartition(both, self.capacity - 1)[: self.capacity]
            leaving = np.ones(self.capacity, bool)
            leaving[smallest[smallest < self.capacity]] = False
            entering = smallest[smallest >= self.capacity] - self.capacity + fit
            self._put(np.flatnonzero(leaving), entering, rows, logits, hashes)

    def _put(self, where: Array, which: Array, rows: Array, logits: Array, hashes: Array) -> None:
        if len(which):
            self._rows[where], self._hash[where] = rows[which], hashes[which]
            self._largest[where] = logits[which].max(axis=1)


def _hash_rows(rows: Array) -> Array:
    """A sum of the row's words, each times a random odd number, modulo 2^64: any two rows tie with chance 2^-63."""
    data = np.ascontiguousarray(rows)
    width = data.shape[1] * data.itemsize
    words = data.view(f"u{next(size for size in (8, 4, 2) if width % size == 0)}")
    hashes: Array = np.einsum("ij,j->i", words, _draw_factors(words.shape[1]), dtype=np.uint64, casting="same_kind")
    return hashes


@cache
def _draw_factors(words: int) -> Array:
    return np.random.default_rng(_SEED).integers(0, 2**64, words, np.uint64) | np.uint64(1)
