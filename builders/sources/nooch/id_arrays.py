"""Reads lists of image ids from a NumPy file, .npy or .npz."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.storage.reading import NUMPY_FAULTS, read_bytes

_LARGEST = 2**30  # bytes; an archive may promise any number


def id_arrays(file: Path, names: Sequence[str] = ()) -> list[NDArray[np.int64]]:
    """The arrays of ids in a file, nothing unpickled.

    Args:
        file: A .npz file; without `names` a .npy file.
        names: Names of the arrays to read.

    Returns:
        An array (n,) of int64 for each name, or the one of the .npy file.

    Raises:
        OochubError: A file that is missing, cut off or no NumPy file; an array that is missing or no list of whole
            numbers from 0 on; an id that stands in the file twice.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "ids.npy"
    >>> np.save(file, np.array([7.0, 9.5]))
    >>> try:
    ...     id_arrays(file)
    ... except OochubError as error:
    ...     print(str(error).replace(str(file), file.name))
    ids.npy holds float64 of shape (2,), but must be a list of image ids, which are whole numbers. Download it again.
    """
    content = read_bytes(file)
    try:
        if names:
            arrays = _read_archive(content, names)
        else:
            arrays = [np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)]
    except NUMPY_FAULTS as error:
        wanted = f" with {', '.join(names)}" if names else ""
        raise OochubError(f"{file} is not a NumPy file of image ids{wanted} ({error}). Download it again.") from error
    for array in arrays:
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise OochubError(
                f"{file} holds {array.dtype} of shape {array.shape}, but must be a list of image ids, which are "
                "whole numbers. Download it again."
            )
        if len(array) and (array.min() < 0 or array.max() >= 2**63):
            raise OochubError(
                f"{file} holds {array.min()} to {array.max()}, but image ids are 0 or more. Download it again."
            )
    everywhere = np.sort(np.concatenate(arrays).astype(np.int64))
    if len(twice := everywhere[1:][everywhere[1:] == everywhere[:-1]]):
        raise OochubError(
            f"{file} has an image id twice, first {twice[0]}. Use the original file of the NOOCH repository."
        )
    return [array.astype(np.int64) for array in arrays]


def _read_archive(content: bytes, names: Sequence[str]) -> list[NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if (size := sum(archive.getinfo(f"{name}.npy").file_size for name in names)) > _LARGEST:
            raise ValueError(f"it promises {size:,} bytes")
        members = [io.BytesIO(archive.read(f"{name}.npy")) for name in names]
    return [np.lib.format.read_array(member, allow_pickle=False) for member in members]
