"""The distance to the k-th nearest of many rows: found by blocks in float32, measured in float64."""

from typing import Any

import numpy as np

from oochub.eval_modules.detectors._graph import Graph
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks, row_blocks
from oochub.storage.tensor_file import release_pages

_WIDTH = 8192  # rows of the bank looked at together
_VALUES = 1 << 22  # products looked at together: 16 MiB
_SPARE = 16  # candidates kept beyond k, for those that float32 cannot tell from the k-th
_PAIRS = 32  # pairs measured together: of a map, each may take in half a megabyte around its row
_LARGE = 1e30  # a factor that float32 may not hold
_NUMBER = (1 << 29) - 1  # the bits of a float64 that a float32 leaves free: they hold the number of a row


class Bank:
    """Rows to search, not copied, each optionally times a factor.

    Args:
        rows: (n, d) of any float type, for example a read-only memory map.
        scale: The factor of each row, float64 (n,); None is 1.

    Attributes:
        half: Half the squared norm of each row, float64 (n,).
        reach: The largest norm, 1 if all are 0.
    """

    def __init__(self, rows: Array, scale: Array | None = None) -> None:
        self.rows = rows
        self.scale = np.ones(len(rows)) if scale is None else scale
        self.half = np.empty(len(rows))
        for part in fit_blocks(*rows.shape):
            block = self.take(part)
            self.half[part] = np.einsum("ij,ij->i", block, block) / 2
            release_pages(rows)
        self.reach = float(np.sqrt(2 * self.half.max())) or 1.0

    def take(self, which: Any) -> Array:
        """Rows by number, times their factors, float64 (m, d)."""
        taken: Array = np.multiply(self.rows[which], self.scale[which, None], dtype=np.float64)
        return taken

    def write(self, which: slice, out: Array) -> None:
        """Rows over `reach`, and half their squared norm over reach^2 behind, into float32 (m, d + 1)."""
        scale = self.scale[which, None] / self.reach
        wide = self.rows.dtype == np.float64 or scale.max() > _LARGE
        np.multiply(self.rows[which], scale if wide else scale.astype(np.float32), out=out[:, :-1], casting="same_kind")
        out[:, -1] = self.half[which] / self.reach**2


def kth_nearest(queries: Array, bank: Bank, k: int, *, graph: Graph | None = None) -> Array:
    """The squared Euclidean distance of each query to its k-th nearest row of the bank.

    Per query q, the rows b of the bank rank by q'b - |b|^2 / 2, which comes from a product in float32. Rows nearer
    than the k-th by more than its rounding are counted; those about as near are measured in float64 from differences.
    So the result is that of float64, also of near-duplicates; memory is that of a block, not of the bank.

    Args:
        queries: float64 (q, d).
        bank: n rows.
        k: 1 to n.
        graph: Looks among the rows that it finds instead of among all, unless those are fewer than k.

    Returns:
        float64 (q,), 0 or more.

    >>> bank = Bank(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]))
    >>> kth_nearest(np.array([[0.0, 0.0]]), bank, 2).tolist()
    [25.0]
    """
    if graph is None:
        return _search_by_blocks(queries, bank, k, _SPARE)
    near, index = graph.candidates(queries, min(k + _SPARE, len(bank.rows)))
    kth, unsure = _find_uncertain(near, k, queries.shape[1])
    distances = _measure_kth(queries, bank, k, index, np.where(near > kth, -np.inf, np.inf), unsure)
    few = np.isinf(distances)
    if few.any():
        distances[few] = _search_by_blocks(queries[few], bank, k, _SPARE)
    return distances


def _search_by_blocks(queries: Array, bank: Bank, k: int, spare: int) -> Array:
    distances = np.empty(len(queries))
    for part in row_blocks(len(queries), max(1, _VALUES // max(_WIDTH, k + spare, queries.shape[1]))):
        distances[part] = _find_kth(queries[part], bank, k, spare)
    return distances


def _find_kth(queries: Array, bank: Bank, k: int, spare: int) -> Array:
    near, index = _find_candidates(queries, bank, min(k + spare, len(bank.rows)))
    kth, unsure = _find_uncertain(near, k, queries.shape[1])
    crowded = np.zeros(len(queries), bool)
    if near.shape[1] < len(bank.rows):  # a row that was not kept may be as near
        crowded = near.min(axis=1) >= kth[:, 0] - 2 * _bound_rounding(queries.shape[1])
        unsure[crowded] = False
    distances = _measure_kth(queries, bank, k, index, np.where(near > kth, -np.inf, np.inf), unsure)
    if crowded.any():
        distances[crowded] = _search_by_blocks(queries[crowded], bank, k, 16 * spare)
    return distances


def _bound_rounding(d: int) -> float:
    # Errors of a product of d terms grow as sqrt(d) (Higham and Mary 2019): four of their deviations, norms below 1.5.
    return float(np.finfo(np.float32).eps * (4 * np.sqrt(d) + 8))


def _find_uncertain(near: Array, k: int, d: int) -> tuple[Array, Array]:
    """The k-th largest of each row (q, 1), and which candidates float32 cannot tell from it."""
    kth = np.partition(near, -k, axis=1)[:, -k, None]
    with np.errstate(invalid="ignore"):  # no candidate less no candidate
        return kth, np.abs(near - kth) <= 2 * _bound_rounding(d)


def _measure_kth(queries: Array, bank: Bank, k: int, index: Array, squared: Array, unsure: Array) -> Array:
    """The k-th smallest of `squared` in each row, after those that are unsure were measured."""
    row, column = np.nonzero(unsure)
    for at in range(0, len(row), _PAIRS):
        some = row[at : at + _PAIRS], column[at : at + _PAIRS]
        apart = queries[some[0]] - bank.take(index[some])
        squared[some] = np.einsum("ij,ij->i", apart, apart)
        release_pages(bank.rows)
    distances: Array = np.partition(squared, k - 1, axis=1)[:, k - 1]
    return distances


def _find_candidates(queries: Array, bank: Bank, kept: int) -> tuple[Array, Array]:
    """The `kept` largest (q'b - |b|^2 / 2) / (reach max(|q|, reach)) of each query, and their rows: (q, kept) each.

    They are kept as float64 numbers that end in the number of the row, so that sorting values alone is enough.
    """
    (q, d), n = queries.shape, len(bank.rows)
    size = np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), bank.reach)
    directions = np.hstack([queries / size, -bank.reach / size]).astype(np.float32)
    rows, products = np.empty((min(n, _WIDTH), d + 1), np.float32), np.empty((q, min(n, _WIDTH)), np.float32)
    keys = np.empty((q, 0))
    for start in range(0, n, _WIDTH):
        part = slice(start, min(start + _WIDTH, n))
        block, estimates = rows[: part.stop - start], products[:, : part.stop - start]
        bank.write(part, block)
        release_pages(bank.rows)
        np.matmul(directions, block.T, out=estimates)
        # Most rows are below those kept so far: only what passes is sorted.
        held = keys.shape[1]
        if held == kept:
            bar = keys.min(axis=1).astype(np.float32)
        elif len(block) > kept:
            bar = np.partition(estimates, -kept, axis=1)[:, -kept]
        else:
            bar = np.full(q, -np.inf, np.float32)
        passes = estimates >= bar[:, None]
        count = np.count_nonzero(passes, axis=1)
        row = np.repeat(np.arange(q), count)
        column = np.flatnonzero(passes) - row * len(block)
        new = estimates[row, column].astype(np.float64)
        new.view(np.int64)[:] |= start + column
        wide = np.full((q, held + count.max()), -np.inf)
        wide[:, :held] = keys
        wide[:, held:][np.arange(count.max()) < count[:, None]] = new
        if wide.shape[1] > kept:
            wide.partition(-kept, axis=1)
        keys = wide[:, -kept:]
    bits = np.ascontiguousarray(keys).view(np.int64)
    return (bits & ~_NUMBER).view(np.float64).astype(np.float32), bits & _NUMBER
