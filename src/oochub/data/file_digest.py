"""The digests of a file of a repository: of every byte, and of all but those of pictures, which take a moment."""

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from oochub.errors import OochubError
from oochub.records.schema import Count, optional
from oochub.storage.cache_folder import cache_folder

_READ = 1 << 20  # bytes that are digested at once
_WORTH = 1 << 13  # bytes a part: more are skipped sooner than read
_BLOCK = 512  # bytes of a tar archive
_BROKEN = (pa.ArrowException, OSError, ValueError, IndexError, OverflowError)


@dataclass(frozen=True, kw_only=True)
class FileDigest:
    """What a file of a repository held when it was written.

    Attributes:
        path: In the repository.
        size: Bytes.
        sha256: Of every byte.
        without_pictures: SHA-256 of all bytes but those of pictures: of labels, contexts, and where all of it lies.
            None where pictures are so small, or there are none, that every byte is read as soon.
    """

    path: str
    size: Count
    sha256: str
    without_pictures: str | None = optional()

    @classmethod
    def of(cls, folder: Path, path: str) -> "FileDigest":
        """The digests of a file that was just written.

        Args:
            folder: The repository, or a draft of it.
            path: In it; .parquet, .tar, or a file without pictures.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "index.json").write_text("{}")
        >>> digest = FileDigest.of(folder, "index.json")
        >>> digest.size, digest.sha256[:12]
        (2, '44136fa355b3')
        """
        file = folder / path
        size = file.stat().st_size
        without, parts = _without_pictures(file)
        return cls(
            path=path, size=size, sha256=_sha256(file), without_pictures=without if size > parts * _WORTH else None
        )

    def check(self, folder: Path, *, again: str, whole: bool) -> None:
        """Compares the file with its digests.

        Labels and contexts are compared always. Every byte is, where the cache does not know the file with this size
        and these times as one that was compared before.

        Args:
            folder: The repository.
            again: What to do where it is another file, for the error.
            whole: Compare every byte in any case.

        Raises:
            OochubError: It is not there, or not the file that was written.
        """
        file = folder / self.path
        shard = f"The {'index' if file.suffix == '.json' else 'shard'} {file}"
        if not file.exists() and file.suffix == ".json":
            return  # shards without their index, as those of the Hub, are read by the card
        if not file.is_file():
            raise OochubError(f"{shard} is missing, and build.json lists it. {again}")
        if (size := file.stat().st_size) != self.size:
            raise OochubError(
                f"{shard} has {size:,} bytes, and build.json says {self.size:,}: it is cut short, or of another build. "
                f"{again}"
            )
        found, expected = "", self.without_pictures
        if whole or expected is None or not self._mark(file).is_file():
            found, expected = _sha256(file), self.sha256
        else:
            found, _ = _without_pictures(file)
        if found != expected:
            raise OochubError(
                f"{shard} was damaged, or is of another build: the SHA-256 of its bytes begins with "
                f"{found[:12] or 'nothing'}, and build.json says {expected[:12]}. {again}"
            )
        self.note_compared(folder)

    def note_compared(self, folder: Path) -> None:
        """Notes in the cache that every byte of the file was compared; where it cannot be written, nothing is lost."""
        try:
            mark = self._mark(folder / self.path)
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        except OSError:
            return

    def _mark(self, file: Path) -> Path:
        """The empty file in the cache whose name stands for this file with its size, times and digest."""
        state = file.stat()
        known = [file.absolute(), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns, self.sha256]
        return cache_folder("shards") / f"{hashlib.sha256(repr(known).encode()).hexdigest()[:32]}.compared"


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _without_pictures(file: Path) -> tuple[str, int]:
    """The digest, empty where what tells where the pictures lie is damaged, and the parts that were read."""
    digest, parts = hashlib.sha256(), 0
    try:
        with file.open("rb") as content:
            for part in _PARTS.get(file.suffix, _rest)(content):
                digest.update(part)
                parts += 1
    except _BROKEN:
        return "", parts
    return digest.hexdigest(), parts


def _rest(content: IO[bytes], *, end: float = math.inf) -> Iterator[bytes]:
    """The bytes from where a file is read up to a place."""
    while part := content.read(int(min(_READ, max(0, end - content.tell())))):
        yield part


def _of_parquet(content: IO[bytes]) -> Iterator[bytes]:
    """All but the chunks of columns that hold bytes, not text or numbers."""
    about = pq.read_metadata(content)
    kinds = [about.schema.column(number) for number in range(about.num_columns)]
    blobs = [
        number
        for number, kind in enumerate(kinds)
        if kind.physical_type == "BYTE_ARRAY" and kind.logical_type.type == "NONE"
    ]
    content.seek(0)
    for group in range(about.num_row_groups):
        chunks = about.row_group(group)
        for chunk in map(chunks.column, blobs):
            start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            yield from _rest(content, end=start)
            content.seek(start + chunk.total_compressed_size)
    yield from _rest(content)


def _of_tar(content: IO[bytes]) -> Iterator[bytes]:
    """All but the members that are no JSON, of a shard as `write_webdataset` lays it out."""
    while (header := content.read(_BLOCK)) and header[0]:
        size = int(header[124:135], 8)
        whole = -(-size // _BLOCK) * _BLOCK
        if b".json\0" not in header[:101]:
            content.seek(whole, os.SEEK_CUR)
            yield header
        elif whole <= _READ:
            yield header + content.read(whole)
        else:
            yield header
            yield from _rest(content, end=content.tell() + whole)
    yield header
    yield from _rest(content)


_PARTS: Mapping[str, Callable[[IO[bytes]], Iterator[bytes]]] = {".parquet": _of_parquet, ".tar": _of_tar}
