"""A name for a set of examples, whatever their order: equal where the same examples have the same labels."""

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.prediction.predictions import Predictions
from oochub.stats.row_blocks import row_blocks

_TOGETHER = 1 << 13  # examples written out at once


class ExampleDigest:
    r"""The first 16 digits of the SHA-256 of the sorted lines "LABEL EXAMPLE_ID" of some rows.

    Rows are sorted once, for any number of sets.

    >>> digest = ExampleDigest(Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], example_id=["b", "a"]))
    >>> digest.of(np.array([True, True])) == hashlib.sha256(b"0 b\n1 a").hexdigest()[:16]
    True
    """

    def __init__(self, predictions: Predictions) -> None:
        self._ids = predictions.rows.column("example_id").cast(pa.string())
        self._label = predictions.label
        self._is_class = self._label.dtype.kind in "iu" and self._label.ndim == 1

    def of(self, rows: NDArray[np.bool_]) -> str:
        """The name of the rows where the mask (n,) is true."""
        digest = hashlib.sha256()
        order = self._order[rows[self._order]]
        for part in row_blocks(len(order), _TOGETHER):
            lines = self._lines(order[part])
            joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")
            digest.update(b"\n" * (part.start > 0))
            digest.update(joined[0].as_buffer())
        return digest.hexdigest()[:16]

    def _lines(self, rows: Any) -> pa.Array:
        label = self._label[rows]
        text = pa.array(label).cast(pa.string()) if self._is_class else pa.array(map(str, label.tolist()))
        lines = pc.binary_join_element_wise(text, self._ids.take(pa.array(rows)).combine_chunks(), " ")
        return lines

    @cached_property
    def _order(self) -> NDArray[np.uint32]:
        """The rows in the order of their lines."""
        if not self._is_class:
            lines = self._lines(np.arange(len(self._label)))
            return _sorted(lines)
        by_id = _sorted(self._ids)
        order, blocks, size = np.empty_like(by_id), [*row_blocks(len(by_id), _TOGETHER)], int(self._label.max()) + 2
        counts = np.zeros(size, np.int64)  # of the labels -1, 0, 1, ...
        for part in blocks:
            counts += np.bincount(self._label[part] + 1, minlength=size)
        by_name = np.array(sorted(range(size), key=lambda place: f"{place - 1} "))
        first = np.empty(size, np.int64)  # where the next row of a label goes: a stable sort in little memory
        first[by_name] = np.cumsum(counts[by_name]) - counts[by_name]
        for part in blocks:
            rows = by_id[part][np.argsort(self._label[by_id[part]], kind="stable")]
            label = self._label[rows] + 1
            order[first[label] + np.arange(len(rows)) - np.searchsorted(label, label)] = rows
            first += np.bincount(label, minlength=size)
        return order


def _sorted(values: Any) -> NDArray[np.uint32]:
    order: NDArray[np.uint32] = pc.sort_indices(values).to_numpy().astype(np.uint32)
    return order
