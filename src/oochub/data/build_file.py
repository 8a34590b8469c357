"""What `build.json` beside a repository's card says of its configurations: their build records and files.

For the files as they were written, it holds their digests (of every byte, and of all but those of images, which take a
moment) and the columns of their rows.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features
from huggingface_hub import metadata_load
from yaml import YAMLError

from oochub.data.shards import INDEX, read_features
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.records.schema import Count, from_json, optional, to_json
from oochub.storage.cache_folder import cache_folder
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json

RECORDS = "build.json"
_KEY = "oochub_builds"  # in the card, where earlier versions wrote it
_WRITTEN = "written"  # of a configuration
_READ = 1 << 20  # bytes that are digested at once
_WORTH = 1 << 13  # bytes a part: more are skipped sooner than read
_BLOCK = 512  # bytes of a tar archive
_BROKEN = (pa.ArrowException, OSError, ValueError, IndexError, OverflowError)


@dataclass(frozen=True, kw_only=True)
class FileDigest:
    """What a file of a repository held when it was written.

    Attributes:
        path: Path in the repository.
        size: Size in bytes.
        sha256: SHA-256 of all bytes.
        without_pictures: SHA-256 of all bytes but those of images: those of labels, contexts, and where all of it lies.
            None where images are so small, or there are none, that every byte is read as soon.
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
            path: Path in it of a .parquet or .tar file, or of a file without images.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "index.json").write_text("{}")
        >>> digest = FileDigest.of(folder, "index.json")
        >>> digest.size, digest.sha256[:12]
        (2, '44136fa355b3')
        """
        file = folder / path
        size = file.stat().st_size
        without, parts = _hash_without_pictures(file)
        return cls(
            path=path, size=size, sha256=_hash_file(file), without_pictures=without if size > parts * _WORTH else None
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
            OochubError: The file is missing, or is not the file that was written.
        """
        file = folder / self.path
        shard = f"The {'index' if file.suffix == '.json' else 'shard'} {file}"
        if not file.exists() and file.suffix == ".json":
            return  # shards without their index, as those of the Hub, are read by the card
        if not file.is_file():
            raise OochubError(f"{shard} is missing, but build.json lists it. {again}")
        if (size := file.stat().st_size) != self.size:
            raise OochubError(
                f"{shard} has {size:,} bytes, and build.json says {self.size:,}: it is cut short, or of another build. "
                f"{again}"
            )
        found, expected = "", self.without_pictures
        if whole or expected is None or not self._mark(file).is_file():
            found, expected = _hash_file(file), self.sha256
        else:
            found, _ = _hash_without_pictures(file)
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
            if mark.exists():
                mark.touch()
            else:
                with write_whole(mark):
                    pass
        except (OSError, OochubError):
            return

    def _mark(self, file: Path) -> Path:
        """The empty file in the cache whose name stands for this file with its size, times and digest."""
        state = file.stat()
        known = [file.absolute(), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns, self.sha256]
        return cache_folder("shards") / f"{hashlib.sha256(repr(known).encode()).hexdigest()[:32]}.compared"


def _hash_file(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _hash_without_pictures(file: Path) -> tuple[str, int]:
    """The digest, empty where what tells where the images lie is damaged, and the parts that were read."""
    digest, parts = hashlib.sha256(), 0
    try:
        with file.open("rb") as content:
            for part in _PARTS.get(file.suffix, _read_rest)(content):
                digest.update(part)
                parts += 1
    except _BROKEN:
        return "", parts
    return digest.hexdigest(), parts


def _read_rest(content: IO[bytes], *, end: float = math.inf) -> Iterator[bytes]:
    """The bytes from where a file is read up to a place."""
    while part := content.read(int(min(_READ, max(0, end - content.tell())))):
        yield part


def _select_parquet_bytes(content: IO[bytes]) -> Iterator[bytes]:
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
            yield from _read_rest(content, end=start)
            content.seek(start + chunk.total_compressed_size)
    yield from _read_rest(content)


def _select_tar_bytes(content: IO[bytes]) -> Iterator[bytes]:
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
            yield from _read_rest(content, end=content.tell() + whole)
    yield header
    yield from _read_rest(content)


_PARTS: Mapping[str, Callable[[IO[bytes]], Iterator[bytes]]] = {
    ".parquet": _select_parquet_bytes,
    ".tar": _select_tar_bytes,
}


@dataclass(frozen=True, kw_only=True)
class ConfigFiles:
    """What `build.json` says of the files of a configuration, so that they are known again.

    Attributes:
        splits: The files of each split, in order.
        columns: The features of a row as the card has them, with the names of classes, as `Features.to_dict` gives
            them.
        beside: Index of the shards; empty for files without one.
        digest: Digest of all the other attributes.
    """

    splits: Mapping[str, tuple[FileDigest, ...]]
    columns: Mapping[str, Any]
    beside: tuple[FileDigest, ...] = optional(())
    digest: str = ""

    @classmethod
    def of(cls, folder: Path, splits: Mapping[str, Sequence[str]], features: Features) -> "ConfigFiles":
        """The digests of files that were just written, and of the index beside them.

        Args:
            folder: The repository, or a draft of it.
            splits: The paths in it of each split's files.
            features: Features of the rows.
        """
        beside = sorted({f"{PurePosixPath(path).parent}/{INDEX}" for paths in splits.values() for path in paths})
        made = cls(
            splits={split: tuple(FileDigest.of(folder, path) for path in paths) for split, paths in splits.items()},
            columns=features.to_dict(),
            beside=tuple(FileDigest.of(folder, path) for path in beside if (folder / path).is_file()),
        )
        return replace(made, digest=made._compute_digest())

    def check(self, *, what: str) -> None:
        """Looks at its own digest.

        Raises:
            OochubError: A field that was changed, a path that leads elsewhere.
        """
        paths = [PurePosixPath(each.path) for each in self.files]
        if self.digest != self._compute_digest() or any(path.is_absolute() or ".." in path.parts for path in paths):
            raise OochubError(
                f"{what} were changed by hand, or come from another build: their digest is not {self.digest[:12]!r}. "
                "Copy the file again, or build again."
            )

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """All files, those of the splits first."""
        return (*(each for split in self.splits.values() for each in split), *self.beside)

    @property
    def features(self) -> Features:
        """The features of the rows.

        Raises:
            OochubError: `columns` says something else.
        """
        return read_features(self.columns, name="build.json", again="Copy it again, or build again.")

    def _compute_digest(self) -> str:
        content = to_json(replace(self, digest=""))
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def store_record(folder: Path, config: str, record: BuildRecord, written: ConfigFiles) -> None:
    """Writes a record into `build.json`; those of other configurations stay, in whatever order they are built.

    Args:
        folder: The repository.
        config: The configuration's name.
        record: Record of its build.
        written: What is said of its files.
    """
    records = {**read_builds(folder), config: to_json(record) | {_WRITTEN: to_json(written)}}
    with write_whole(folder / RECORDS) as draft:
        draft.write_text(json.dumps(dict(sorted(records.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_builds(folder: Path) -> dict[str, Any]:
    """The content of `build.json`, by configuration; empty where there is none.

    Raises:
        OochubError: The file is no JSON, or no object.
    """
    file = folder / RECORDS
    return _index_by_config(read_json(file), str(file)) if file.is_file() else {}


def read_record(folder: Path, config: str) -> BuildRecord | None:
    """The record of a configuration of a repository; None where there is none.

    Args:
        folder: The repository.
        config: The configuration's name, as `datasets` has it.

    Raises:
        OochubError: A record with a field that is missing or of another type; it is named.
    """
    file = folder / RECORDS
    if file.is_file():
        records = read_builds(folder)
    else:
        file = folder / "README.md"
        try:
            content = (metadata_load(file) or {}) if file.is_file() else {}
        except (ValueError, YAMLError) as error:
            raise OochubError(f"The metadata of {file} are not valid YAML: {error}. Correct or remove them.") from error
        records = _index_by_config(content.get(_KEY, {}), f"{file}: {_KEY}")
    if config not in records:
        return None
    return from_json(BuildRecord, records[config], what=f"the build record in {file}")


def list_configs(builds: Mapping[str, Any]) -> list[str]:
    """The configurations with digests; other entries may be of somebody else's file of that name."""
    return [name for name, build in builds.items() if isinstance(build, dict) and _WRITTEN in build]


def read_all_builds(folder: Path) -> dict[str, tuple[BuildRecord, ConfigFiles]]:
    """The record of each configuration with digests, and its files as they were written.

    Raises:
        OochubError: `build.json` is broken.
    """
    builds, place = read_builds(folder), folder / RECORDS
    return {
        config: (
            from_json(BuildRecord, builds[config], what=f"the build record in {place}"),
            from_json(ConfigFiles, builds[config][_WRITTEN], what=f"the digests of {config} in {place}"),
        )
        for config in list_configs(builds)
    }


def read_files(folder: Path, config: str | None) -> tuple[str, ConfigFiles] | None:
    """The name of a configuration, and its files as they were written.

    Args:
        folder: A repository with `build.json`.
        config: The configuration; None takes the only one.

    Returns:
        None where an earlier version wrote it, without digests, or where there are several and none is named.

    Raises:
        OochubError: `build.json` is broken, or was changed by hand.
    """
    builds = read_builds(folder)
    known = list_configs(builds)
    if config is None and len(known) > 1:
        return None
    config = next(iter(known), "default") if config is None else config
    if config in builds:
        from_json(BuildRecord, builds[config], what=f"the build record in {folder / RECORDS}")  # an error where broken
    if config not in known:
        return None
    what = f"the digests of {config} in {folder / RECORDS}"
    written = from_json(ConfigFiles, builds[config][_WRITTEN], what=what)
    written.check(what=what)
    return config, written


def _index_by_config(records: Any, place: str) -> dict[str, Any]:
    if not isinstance(records, dict):
        raise OochubError(
            f"{place} must hold a record for each configuration, got {repr(records)[:60]}. Build it again."
        )
    return records
