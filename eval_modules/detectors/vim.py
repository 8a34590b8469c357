"""ViM: an additional logit from the part of the features that the training set hardly uses."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from oochub.eval_modules.detectors._moments import CenteredGram, with_gram
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.eval_modules.detectors.residual import Residual
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import shift_blocks

_SAMPLED = 4096  # training rows that alpha is the ratio of, at the least
_SAMPLED_VALUES = 1 << 21  # of narrow features more rows, up to this many numbers
_SEED = 20220321


class Vim(Residual):
    """s(x) = -alpha ||R'(f - u)|| + log sum_c exp(l_c), u = -W^+ b, alpha = sum_i max_c l_ic / sum_i ||R'(f_i - u)||.

    R are the d - dim eigenvectors of (1/N) sum_i (f_i - u)(f_i - u)' with the smallest eigenvalues, from a float64
    Gram matrix and `eigh`: the smallest directions are the ones that float32 gets wrong. The score is any real number.

    The fit is one pass, in memory of d^2 numbers. alpha needs R and rows at once: it is taken over all training rows
    if there are at most max(4096, 2,097,152 // d), else over that many of them, chosen by a hash of their features, so
    that batches, processes and one call choose the same.

    Args:
        dim: Directions that count as used, 1 to d - 1. None: 1000 if d >= 2048, 512 if d >= 768, else d // 2. The
            paper's text puts the first cut at 1500, its code at 2048; below 768 both leave it open.

    Attributes:
        origin: u, float64 (d,).
        residual: R, float64 (d, d - dim).
        alpha: float.
        alpha_rows: Number of training rows that alpha is taken over.

    Raises:
        OochubError: dim out of range, or so large that the training set has nothing outside: the largest allowed is
            given; something missing or unfit.

    Source: Wang, Li, Feng and Zhang 2022 (arXiv 2203.10807), Section 4; ImageNet-OOD, Section 4.

    >>> W, b = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2)
    >>> features = np.array([[2.0, 0.1], [-2.0, 0.1], [3.0, 0.1], [-3.0, 0.1]])
    >>> detector = Vim(dim=1).fit(features=features, logits=features @ W.T, weight=W, bias=b)
    >>> x = np.array([[2.0, 0.0], [2.0, 1.0]])  # alpha = 10 / 0.4; the second row lies 1 off the axis
    >>> detector.score(features=x, logits=x @ W.T).round(2).tolist()
    [2.02, -22.98]
    """

    fit_needs = ("features", "logits", "weight", "bias")
    score_needs = ("features", "logits")
    fitted = ("origin float64 d", "residual float64 d r", "alpha float64", "alpha_rows int64")
    alpha: float
    alpha_rows: int

    def _empty(self) -> "_Gathered":
        return _Gathered(super()._empty().origin)

    def _finish(self, gathered: Any) -> None:
        super()._finish(gathered)
        rows, total = gathered.sample.rows, 0.0
        for _, block in shift_blocks(rows, self.origin):
            total += float(self._measure(block).sum())
        self.alpha = float(gathered.sample.largest.sum()) / total
        self.alpha_rows = gathered.sample.count

    def _score(self, rows: dict[str, Array]) -> Array:
        return log_partition(rows["logits"]) + self.alpha * super()._score(rows)


class _Gathered(CenteredGram):
    """The Gram matrix of features about u, and a sample of features with their largest logits."""

    def __init__(self, origin: Array) -> None:
        super().__init__(origin)
        self.sample = _RowSample(max(_SAMPLED, _SAMPLED_VALUES // len(origin)))

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        features, logits = rows["features"], rows["logits"]
        for part, block in shift_blocks(features, self.origin):
            self.sample.update(features[part], logits[part])
            self.gram = with_gram(self.gram, block)
        self.count += len(features)

    def merge(self, other: Any) -> None:
        super().merge(other)
        self.sample.merge(other.sample)


class _RowSample:
    """At most `capacity` rows, each with its largest logit: those whose bytes have the smallest hash values.

    So it depends on the rows alone: not on their order, batches or processes.

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

        >>> sample = _RowSample(2)
        >>> sample.update(np.eye(3), np.array([[0.0], [1.0], [2.0]]))
        >>> sample.count, sample.seen
        (2, 3)
        """
        self._add(rows, logits, _hash_rows(rows), len(rows))

    def merge(self, other: "_RowSample") -> None:
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
