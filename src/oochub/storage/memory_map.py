"""Arrays that stay in a file: the system reads the parts that are looked at, and this process need not keep them."""

import mmap
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

LARGE = 64 << 20
"""From so many bytes on, an array that can stay in a file does."""


def mapped(file: IO[bytes], *, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of an open file from the byte `start` on, read-only; they stay when the file is closed or unlinked.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(np.arange(3.0).tobytes())
    ...     array = mapped(file, start=8, shape=(2,), dtype=np.dtype(float))
    >>> array.tolist()
    [1.0, 2.0]
    """
    file.flush()
    array: NDArray[Any] = np.memmap(file, dtype, "r", start, shape)
    return array


def let_go(array: NDArray[Any]) -> None:
    """Takes what was read of a read-only memory map out of this process; where it is looked at again, it is read again.

    Any other array is left alone.

    >>> let_go(np.zeros(3))
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:  # also of mode "c", whose changes are in memory alone
            return
        owner = owner.base
    if isinstance(owner, mmap.mmap):
        owner.madvise(mmap.MADV_DONTNEED)
