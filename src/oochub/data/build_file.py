"""What `build.json` beside a repository's card says of its configurations: their build records and files.

For the files as they were written, it holds their digests (of every byte, and of all but those of images, which take a
moment) and the columns of their rows.

A repository that oochub wrote, of this disk or the Hub: its files are compared with the digests in `build.json`.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import IO, Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import Features
from datasets.data_files import DataFilesList
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard, metadata_load
from yaml import YAMLError

from oochub.data.shards import INDEX, read_features
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.records.schema import from_json, optional, to_json
from oochub.records.typed_values import Count
from oochub.remote.hub_errors import retry
from oochub.remote.remote_repository import fetch_file
from oochub.storage.cache import describe_state, keep_bytes, make_key, read_kept_bytes
from oochub.storage.files import write_whole
from oochub.storage.reading import read_json

RECORDS = "build.json"
_KEY = "oochub_builds"  # in the card, where earlier versions wrote it
_WRITTEN = "written"  # of a configuration
_READ = 1 << 20  # bytes that are digested at once
_WORTH = 1 << 13  # bytes a part: more are skipped sooner than read
_BLOCK = 512  # bytes of a tar archive
_BROKEN = (pa.ArrowException, OSError, ValueError, IndexError, OverflowError)


NOTE = "not checked: the files were not compared with digests of their build"
"""For a repository without digests, as an earlier version wrote it, or when nothing was to be compared."""
_CARD = "README.md"
_OWN = ("data_files", "data_dir")  # options that say which files are read


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
                f"{shard} has {size:,} bytes, and build.json says {self.size:,}: it is truncated or belongs to "
                f"another build. {again}"
            )
        digest, expected = "", self.without_pictures
        if whole or expected is None or read_kept_bytes("shards", self._name_mark(file)) is None:
            digest, expected = _hash_file(file), self.sha256
        else:
            digest, _ = _hash_without_pictures(file)
        if digest != expected:
            raise OochubError(
                f"{shard} is corrupted, or belongs to another build: the SHA-256 of its bytes begins with "
                f"{digest[:12] or 'nothing'}, and build.json says {expected[:12]}. {again}"
            )
        self.note_compared(folder)

    def note_compared(self, folder: Path) -> None:
        """Notes in the cache that every byte of the file was compared; where it cannot be written, nothing is lost."""
        name = self._name_mark(folder / self.path)
        if read_kept_bytes("shards", name) is None:
            keep_bytes("shards", name, b"")

    def _name_mark(self, file: Path) -> str:
        """The name in the cache that stands for this file with its size, times and digest."""
        return f"{make_key(str(file.absolute()), file.stat().st_ino, describe_state(file), self.sha256)}.compared"


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
        build = cls(
            splits={split: tuple(FileDigest.of(folder, path) for path in paths) for split, paths in splits.items()},
            columns=features.to_dict(),
            beside=tuple(FileDigest.of(folder, path) for path in beside if (folder / path).is_file()),
        )
        return replace(build, digest=build._compute_digest())

    def check(self, *, what: str) -> None:
        """Looks at its own digest.

        Raises:
            OochubError: A field that was changed, a path that leads elsewhere.
        """
        paths = [PurePosixPath(file.path) for file in self.files]
        if self.digest != self._compute_digest() or any(path.is_absolute() or ".." in path.parts for path in paths):
            raise OochubError(
                f"{what} were changed by hand, or come from another build: their digest is not {self.digest[:12]!r}. "
                "Copy the file again, or build again."
            )

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """All files, those of the splits first."""
        return (*(file for split in self.splits.values() for file in split), *self.beside)

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


@dataclass(frozen=True)
class BuildFile:
    """`build.json` of a folder, read once.

    Attributes:
        file: Its path.
        content: What stands in it, by configuration; empty where there is none.
    """

    file: Path
    content: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> "BuildFile":
        """The file of a folder.

        Raises:
            OochubError: It is no JSON, or no object.
        """
        file = folder / RECORDS
        return cls(file, _index_by_config(read_json(file), str(file)) if file.is_file() else {})

    @property
    def configs(self) -> list[str]:
        """The configurations with digests; other entries may be of somebody else's file of that name."""
        return [name for name, build in self.content.items() if isinstance(build, dict) and _WRITTEN in build]

    def record(self, config: str) -> BuildRecord:
        """The record of a configuration that is there.

        Raises:
            OochubError: A field that is missing or of another type; it is named.
        """
        record: BuildRecord = from_json(BuildRecord, self.content[config], what=f"the build record in {self.file}")
        return record

    def files(self, config: str) -> ConfigFiles:
        """The files of a configuration with digests, as they were written.

        Raises:
            OochubError: A field that is missing or of another type; it is named.
        """
        written: ConfigFiles = from_json(ConfigFiles, self.content[config][_WRITTEN], what=self.name_digests(config))
        return written

    def name_digests(self, config: str) -> str:
        """What an error calls the digests of a configuration."""
        return f"the digests of {config} in {self.file}"


def store_record(folder: Path, config: str, record: BuildRecord, written: ConfigFiles) -> None:
    """Writes a record into `build.json`; those of other configurations stay, in whatever order they are built.

    Args:
        folder: The repository.
        config: The configuration's name.
        record: Record of its build.
        written: What is said of its files.
    """
    records = {**BuildFile.read(folder).content, config: to_json(record) | {_WRITTEN: to_json(written)}}
    with write_whole(folder / RECORDS) as draft:
        draft.write_text(json.dumps(dict(sorted(records.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_record(folder: Path, config: str) -> BuildRecord | None:
    """The record of a configuration of a repository; None where there is none.

    Args:
        folder: The repository.
        config: The configuration's name, as `datasets` has it.

    Raises:
        OochubError: A record with a field that is missing or of another type; it is named.
    """
    builds = BuildFile.read(folder)
    if not builds.file.is_file():
        file = folder / _CARD
        try:
            content = (metadata_load(file) or {}) if file.is_file() else {}
        except (ValueError, YAMLError) as error:
            raise OochubError(f"The metadata of {file} are not valid YAML: {error}. Correct or remove them.") from error
        builds = BuildFile(file, _index_by_config(content.get(_KEY, {}), f"{file}: {_KEY}"))
    return builds.record(config) if config in builds.content else None


def _index_by_config(records: Any, place: str) -> dict[str, Any]:
    if not isinstance(records, dict):
        raise OochubError(f"{place} must contain a record for each config, got {repr(records)[:60]}. Build it again.")
    return records


@dataclass(frozen=True, kw_only=True)
class RepositoryFiles:
    """One configuration of a repository, with what was noted of its files when they were written.

    Attributes:
        root: The folder with the card; for a repository on the Hub its snapshot in the cache.
        config: The configuration.
        written: What was noted of its files.
        hub: Id and token, of one on the Hub.
    """

    root: Path
    config: str
    written: ConfigFiles
    hub: tuple[str, Any] | None = None

    @classmethod
    def find(cls, place: Path, config: str | None) -> "RepositoryFiles | None":
        """The repository in a folder, or the one whose shards lie in it; None where there is none with digests.

        Args:
            place: A folder, or anything else.
            config: The configuration; None takes the only one.

        Raises:
            OochubError: `build.json` is broken, or was changed by hand.
        """
        if (place / RECORDS).is_file():
            return cls._of(BuildFile.read(place), config)
        try:
            beside = BuildFile.read(place.parent) if place.is_dir() else BuildFile(place, {})
        except OochubError:  # somebody else's file of that name
            return None
        for name in beside.configs:
            build = cls._of(beside, name) if config in (None, name) else None
            if build is not None and any(Path(file.path).parent.name == place.name for file in build.written.files):
                return build
        return None

    @classmethod
    def on_hub(cls, name: str, config: str | None, options: Mapping[str, Any]) -> "RepositoryFiles | None":
        """The repository of that id on the Hub, or in the Hub's cache; None where there is none with digests.

        Args:
            name: user/name.
            config: The configuration; None takes the only one.
            options: Options of `load_dataset`, which may name a revision and a token.

        Raises:
            Exception: What the Hub's client raises if the Hub is not reached.
        """
        token = options.get("token")
        file = fetch_file(name, RECORDS, revision=options.get("revision"), token=token)
        return None if file is None else cls._of(BuildFile.read(file.parent), config, hub=(name, token))

    @classmethod
    def _of(cls, builds: BuildFile, config: str | None, hub: tuple[str, Any] | None = None) -> "RepositoryFiles | None":
        """None where an earlier version wrote it, without digests, or where there are several and none is named."""
        configs = builds.configs
        if config is None and len(configs) > 1:
            return None
        config = next(iter(configs), "default") if config is None else config
        if config in builds.content:
            builds.record(config)  # an error where broken
        if config not in configs:
            return None
        written = builds.files(config)
        written.check(what=builds.name_digests(config))
        return cls(root=builds.file.parent, config=config, written=written, hub=hub)

    def builder(self, source: str, options: Mapping[str, Any]) -> datasets.DatasetBuilder:
        """The builder of `datasets`, whose cache goes by the digests too, and whose columns are those of the build.

        Args:
            source: The folder, or the id on the Hub.
            options: Other arguments of `load_dataset`, by name.

        Raises:
            OochubError: The card gives a split other files than it was written with.
        """
        given = {**options, "name": self.config, "description": f"written as {self.written.digest}"}
        if self.hub is not None:
            given["revision"] = self.root.name
        elif has_magic(str(self.root)):  # the patterns of the card would take the folder's name for one
            given["data_files"] = {
                split: DataFilesList([str(self.root / file.path) for file in files], [(file.path,) for file in files])
                for split, files in self.written.splits.items()
            }
        builder = retry(lambda: datasets.load_dataset_builder(source, **given))
        self._check_splits(builder)
        if "features" not in options:
            builder.info.features = self.written.features
        return builder

    def check(self, *, whole: bool, is_cached: bool = False) -> None:
        """Compares each file with its digests; those of the Hub that are not here are fetched first.

        Args:
            whole: Compare every byte, also where size and times of a file are those of one that was compared before.
            is_cached: The rows are here already, and files of the Hub that are not need not come.

        Raises:
            OochubError: A file that is missing, or not the one that was written.
        """
        for file in self.written.files:
            if self.hub is not None:
                name, token = self.hub
                if fetch_file(name, file.path, revision=self.root.name, token=token, fetch=not is_cached) is None:
                    continue
            file.check(self.root, again=self._again, whole=whole)

    def note_of_card(self) -> str | None:
        """A note, if the card describes columns differently from the build, whose description is taken; else None."""
        try:
            infos = DatasetInfosDict.from_dataset_card_data(DatasetCard.load(self.root / _CARD).data)
            of_card = infos[self.config].features or {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        others = sorted(_find_changes(self.written.features, of_card))
        if not others:
            return None
        return f"{_CARD} describes {', '.join(others)} differently from the build, whose names and types are used"

    def _check_splits(self, builder: datasets.DatasetBuilder) -> None:
        files = builder.config.data_files or {}
        present = {str(split): [_name(path) for path in paths] for split, paths in files.items()}
        for split in {**self.written.splits, **present}:
            expected = [_name(file.path) for file in self.written.splits.get(split, ())]
            if present and sorted(present.get(split, ())) != sorted(expected):
                raise OochubError(
                    f"{self.root / _CARD} and {RECORDS} beside it name different files for split {split}: "
                    f"{', '.join(present.get(split, ())) or 'none'}, not {', '.join(expected) or 'none'}. {self._again}"
                )

    @property
    def _again(self) -> str:
        if self.hub is not None:
            return "Remove it from the Hub's cache, so that it is fetched again; if that does not help, push again."
        return (
            "Copy it again, or build it again with `oochub build`. If you changed it on purpose, remove "
            f"{self.root / RECORDS}: the folder then counts as your own data, and `oochub build` with the options of "
            "its columns makes a repository of it."
        )


def chooses_files(options: Mapping[str, Any], data_dir: str | None) -> bool:
    """Whether files are read that a user chose, not those that the card names.

    >>> chooses_files({"data_files": "a.parquet"}, None), chooses_files({}, None)
    (True, False)
    """
    return data_dir is not None or any(name in options for name in _OWN)


def _name(path: str) -> str:
    """A file's folder and name: what paths of here and addresses of the Hub have in common."""
    return "/".join(Path(path).parts[-2:])


def _find_changes(built: Any, of_card: Any, name: str = "") -> set[str]:
    """The columns, those in a column of records too, that are described otherwise."""
    if isinstance(built, dict) and isinstance(of_card, dict):
        names = {*built, *of_card}
        return {change for key in names for change in _find_changes(built.get(key), of_card.get(key), key)}
    return set() if repr(built) == repr(of_card) else {name}  # without ids, which only files have
