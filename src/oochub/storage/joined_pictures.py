"""Pictures of a table as one column, their bytes copied once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

_LARGEST = 2**31 - 1  # bytes that one array of Arrow's `binary` holds


def joined_pictures(pictures: Sequence[Any]) -> pa.StructArray | Sequence[Any]:
    """The pictures as an array of `datasets.Image`, without the copies of an array that grows while it is filled.

    Args:
        pictures: Of each its `bytes` and its `path`, a name or None.

    Returns:
        The array; the pictures as they were given where one has no bytes, or all have 2 GiB or more.

    >>> joined_pictures([{"bytes": b"one", "path": "1.jpg"}, {"bytes": b"two", "path": None}]).to_pylist()
    [{'bytes': b'one', 'path': '1.jpg'}, {'bytes': b'two', 'path': None}]
    """
    if not all(isinstance(picture, dict) and isinstance(picture.get("bytes"), bytes) for picture in pictures):
        return pictures
    contents = [picture["bytes"] for picture in pictures]
    ends = np.cumsum([0, *map(len, contents)], dtype=np.int64)
    if ends[-1] > _LARGEST:
        return pictures
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(contents))]
    content = pa.Array.from_buffers(pa.binary(), len(contents), buffers)
    names = pa.array([picture.get("path") for picture in pictures], pa.string())
    return pa.StructArray.from_arrays([content, names], ["bytes", "path"])
