"""Arrays in a safetensors file, with a digest that tells when a bit of it has changed.

Large arrays stay in their file (`map_file`): the system reads the parts that are looked at, and this process need not
keep them.
"""

import hashlib
import json
import math
import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.storage.reading import read_bytes

_DIGEST = "sha256"
_ENTRY = "oochub"
_FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
_LONGEST = 10**7  # bytes of a header: 100,000 arrays have one of so many
_TOGETHER = 1 << 22  # numbers that the digest takes in together


LARGE = 64 << 20
"""From so many bytes on, an array that can stay in a file does."""


def map_file(file: IO[bytes], *, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of an open file from the byte `start` on, read-only; they stay when the file is closed or unlinked.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(np.arange(3.0).tobytes())
    ...     array = map_file(file, start=8, shape=(2,), dtype=np.dtype(float))
    >>> array.tolist()
    [1.0, 2.0]
    """
    file.flush()
    array: NDArray[Any] = np.memmap(file, dtype, "r", start, shape)
    return array


def release_pages(array: NDArray[Any]) -> None:
    """Takes what was read of a read-only memory map out of this process; where it is looked at again, it is read again.

    Any other array is left alone.

    >>> release_pages(np.zeros(3))
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:  # also of mode "c", whose changes are in memory alone
            return
        owner = owner.base
    if isinstance(owner, mmap.mmap):
        owner.madvise(mmap.MADV_DONTNEED)


class Tensors(NamedTuple):
    """What a file holds: arrays by name, what it says of them, and whether it has a digest, which was then checked."""

    arrays: dict[str, NDArray[Any]]
    about: dict[str, Any]
    checked: bool


def save_tensors(
    arrays: Mapping[str, NDArray[Any]], file: Path, *, entry: str = _ENTRY, about: Mapping[str, Any] | None = None
) -> None:
    """Writes arrays with a digest of their names, types, shapes and bytes.

    Args:
        arrays: Arrays by name.
        file: Usually the draft of `files.write_whole`.
        entry: Entry of the file's metadata that has the digest and `about`, as JSON; it is the only one, since
            safetensors orders several at random.
        about: What else is to be kept, JSON types.

    Raises:
        OSError: The file cannot be written.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "head.safetensors")
    >>> save_tensors({"bias": np.zeros(2)}, file)
    >>> load_tensors(file).arrays["bias"].tolist(), load_tensors(file).checked
    ([0.0, 0.0], True)
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about = dict(about or {})
    content = json.dumps({**about, _DIGEST: _digest_arrays(whole, about)})
    try:
        save_file(whole, file, metadata={entry: content})
    except SafetensorError as error:  # a full disk
        raise OSError(str(error)) from error


def load_tensors(file: Path | str, *, entry: str = _ENTRY, in_memory: float = math.inf) -> Tensors:
    """Reads what `save_tensors` wrote; a file without metadata of ours opens and is not checked.

    Args:
        file: A safetensors file.
        entry: See `save_tensors`.
        in_memory: Larger arrays of floats, in bytes, are read-only maps of the file, which may be replaced meanwhile,
            as `oochub.storage.files` does, but not written to.

    Raises:
        OochubError: No such file, one that is cut off or no safetensors, or one that has changed since it was written.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(file).expanduser()
    if not path.is_file():
        read_bytes(path)  # says what it is
    with path.open("rb") as start:
        length = int.from_bytes(start.read(8), "little")
    if _LONGEST < length < path.stat().st_size:
        raise OochubError(f"{path} is not read: its header has {length:,} of {_LONGEST:,} bytes. Create it again.")
    try:
        with safe_open(path, "np") as opened:
            metadata = opened.metadata() or {}
            large = {name: array for name, array in _map_arrays(path) if array.nbytes > in_memory}
            arrays = {name: large[name] if name in large else opened.get_tensor(name) for name in opened.keys()}
        if strange := {str(array.dtype) for array in arrays.values() if array.dtype.kind not in "biufc"}:
            raise TypeError(f"numpy has no {', '.join(strange)}")  # but where ml_dtypes is imported, it reads it
    except (OSError, SafetensorError, TypeError, ValueError) as error:  # TypeError: a type that numpy does not know
        raise OochubError(f"{path} is not a complete safetensors file ({error}). Create it again.") from error
    if not metadata.keys() - {"format"}:  # of an earlier version, or of somebody else
        return Tensors(arrays, {}, checked=False)
    try:
        about = json.loads(metadata[entry])
        whole = about.pop(_DIGEST) == _digest_arrays(arrays, about)
    except (AttributeError, KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise OochubError(f"{path} has changed since it was written: its checksum does not match. Create it again.")
    return Tensors(arrays, about, checked=True)


def _digest_arrays(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        numbers = array.reshape(-1)
        for start in range(0, numbers.size, _TOGETHER):
            digest.update(numbers[start : start + _TOGETHER].data)
            release_pages(array)
    return digest.hexdigest()


def _map_arrays(path: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of floats in a file that was found to be whole, each map_file."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        for name, entry in json.loads(file.read(size)).items():
            if name != "__metadata__" and entry["dtype"] in _FLOATS and 0 not in entry["shape"]:
                start, shape = 8 + size + entry["data_offsets"][0], tuple(entry["shape"])
                yield name, map_file(file, start=start, shape=shape, dtype=np.dtype(_FLOATS[entry["dtype"]]))
