"""Rows that a fit reads a second time or a score reads: where they are, or in a temporary file."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, NamedTuple

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks
from oochub.storage import tensor_file
from oochub.storage.tensor_file import map_file, release_pages

WIDTH = 4096
"""Rows of a bank that are looked at together."""


class _Filed(NamedTuple):
    """Rows in a file, from a byte on."""

    file: IO[bytes]
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class KeptRows:
    """Rows of all batches, to be read in blocks as often as needed.

    Those of `fit` are read where they are. Those of `partial_fit`, which may be gone by then, go to an unnamed file in
    the folder for temporary files ($TMPDIR), which the system removes with the process, also a killed one: n d numbers
    in their type. Pickling carries the rows.

    Args:
        in_memory: Maximum number of bytes of them that stay in memory.
    """

    def __init__(self, *, in_memory: int = 0) -> None:
        self._parts: list[Array | _Filed] = []
        self._file: IO[bytes] | None = None
        self._in_memory = self._room = in_memory

    def append(self, rows: Array, *, lasting: bool) -> None:
        """Keeps rows (n, ...); `lasting` says that the array stays as it is.

        Raises:
            OochubError: The temporary file cannot be written.

        >>> kept = KeptRows()
        >>> kept.append(np.arange(4).reshape(2, 2), lasting=False)
        >>> [block.tolist() for block in kept.blocks()]
        [[[0, 1], [2, 3]]]
        """
        if lasting:
            self._parts.append(rows)
        elif rows.nbytes <= self._room:
            self._parts.append(rows.copy())
            self._room -= rows.nbytes
        else:
            before, self._parts, self._room = self._parts, [], 0
            for part in (*before, rows):
                if isinstance(part, _Filed):
                    self._parts.append(part)
                else:
                    self._write(part)

    def extend(self, other: "KeptRows") -> None:
        """Keeps the other's rows too; those in a file are not copied."""
        for part in other._parts:
            if isinstance(part, _Filed):
                self._parts.append(part)
            else:
                self.append(part, lasting=False)

    def __len__(self) -> int:
        return sum(part.shape[0] for part in self._parts)

    @property
    def size(self) -> int:
        """How many numbers are kept."""
        return sum(int(np.prod(part.shape)) for part in self._parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """A type that holds all numbers."""
        return np.result_type(*{part.dtype for part in self._parts})

    def blocks(self) -> Iterator[Array]:
        """All rows in one type, a block at a time."""
        for part in self._parts:
            for some in fit_blocks(part.shape[0], int(np.prod(part.shape[1:]))):
                rows = _read(part, some) if isinstance(part, _Filed) else part[some]
                yield rows.astype(self.dtype, copy=False)
                release_pages(rows)

    def joined(self) -> Array:
        """All rows in one array: in memory, or where there are more than may stay there, a map of their file."""
        if len(self._parts) > 1 and self.size * self.dtype.itemsize <= self._in_memory:
            return np.concatenate([_count_rows(part) for part in self._parts], dtype=self.dtype)
        if len(self._parts) == 1:
            return _count_rows(self._parts[0])
        whole = KeptRows()
        for block in self.blocks():
            whole.append(block, lasting=False)
        return whole.joined()

    def __getstate__(self) -> tuple[int, list[Array]]:
        return self._in_memory, [np.array(_count_rows(part)) for part in self._parts]

    def __setstate__(self, state: tuple[int, list[Array]]) -> None:
        in_memory, parts = state
        KeptRows.__init__(self, in_memory=in_memory)
        for part in parts:
            self.append(part, lasting=False)

    def _write(self, rows: Array) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="oochub-")
            start = self._file.seek(0, os.SEEK_END)
            for part in fit_blocks(len(rows), rows[:1].size):
                self._file.write(np.ascontiguousarray(rows[part]).tobytes())
            self._file.flush()
        except OSError as error:
            raise OochubError(
                f"Could not store {rows.nbytes:,} bytes of training rows in {tempfile.gettempdir()}: "
                f"{error.strerror or error}. Set TMPDIR to a folder with enough space, or call fit on memory-mapped "
                "arrays."
            ) from error
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Filed) and _end(last) == (self._file, start, rows.shape[1:], rows.dtype):
            self._parts[-1] = last._replace(shape=(last.shape[0] + len(rows), *last.shape[1:]))
        else:
            self._parts.append(_Filed(self._file, start, rows.shape, rows.dtype))


class KeptFeatures(KeptRows):
    """The features of all batches, which a fit reads again."""

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d)."""
        self.append(rows["features"], lasting=lasting)

    merge = KeptRows.extend


class BankFeatures(KeptFeatures):
    """The features of all batches as they came, which a score reads again; those that can change are copied."""

    def __init__(self) -> None:
        super().__init__(in_memory=tensor_file.LARGE)

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d)."""
        super().update(rows, lasting=lasting and not rows["features"].flags.writeable)


class BankRows:
    """The features of all batches as they came, and what a function makes of the logits of each.

    Args:
        of_logits: Function from logits (m, c) float64, which it may use up, to (m, r); r is the same for all.
    """

    def __init__(self, of_logits: Callable[[Array], Array]) -> None:
        self._of_logits = of_logits
        self.features = BankFeatures()
        self.beside = KeptRows(in_memory=tensor_file.LARGE)

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d) with logits (n, c)."""
        self.features.update(rows, lasting=lasting)
        logits = rows["logits"]
        for part in fit_blocks(*logits.shape):
            self.beside.append(self._of_logits(logits[part].astype(np.float64)), lasting=False)

    def merge(self, other: "BankRows") -> None:
        """Takes in the rows of another."""
        self.features.extend(other.features)
        self.beside.extend(other.beside)


def _end(part: _Filed) -> tuple[IO[bytes], int, tuple[int, ...], np.dtype[Any]]:
    size = int(np.prod(part.shape)) * part.dtype.itemsize
    return part.file, part.start + size, part.shape[1:], part.dtype


def _count_rows(part: Array | _Filed) -> Array:
    if not isinstance(part, _Filed):
        return part
    return map_file(part.file, start=part.start, shape=part.shape, dtype=part.dtype)


def _read(part: _Filed, rows: slice) -> Array:
    width = int(np.prod(part.shape[1:]))
    part.file.seek(part.start + rows.start * width * part.dtype.itemsize)
    data = part.file.read((rows.stop - rows.start) * width * part.dtype.itemsize)
    return np.frombuffer(data, part.dtype).reshape(-1, *part.shape[1:])
