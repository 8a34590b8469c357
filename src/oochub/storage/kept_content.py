"""Content that is made once and kept in the cache, by a key of all that it is made of."""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress

from oochub.errors import OochubError, OochubWarning
from oochub.storage.cache_folder import cache_folder
from oochub.storage.files import write_whole


def digest_content(content: bytes) -> str:
    """A name for some bytes, 40 letters.

    >>> digest_content(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()[:40]


def make_once(key: str | None, make: Callable[[], bytes]) -> Iterator[bytes]:
    """The content of an exported network: what the cache has by a key, if it is whole, then made anew and kept.

    A caller takes the first, and the next one if that is of no use.

    Args:
        key: A digest of all that it is made of; None keeps nothing.
        make: Makes it.

    Warns:
        OochubWarning: The cache cannot be written.

    >>> next(make_once(None, lambda: b"network"))
    b'network'
    """
    folder = cache_folder("runtimes")
    for file in sorted(folder.glob(f"{key}-*.onnx")) if key else ():
        with suppress(OSError):
            content = file.read_bytes()
            if file.stem.partition("-")[2] == digest_content(content):
                file.touch()
                yield content
    content = make()
    if key:
        try:
            with write_whole(folder / f"{key}-{digest_content(content)}.onnx") as draft:
                draft.write_bytes(content)
        except OochubError as error:
            warnings.warn(f"The exported network could not be cached. {error}", OochubWarning, stacklevel=2)
    yield content
