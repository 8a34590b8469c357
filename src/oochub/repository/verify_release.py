"""Compares what a user has with the release of a benchmark.

Archives, in a folder or in a repository on the Hub, are compared by size and digest; a raw folder by what a build of
each config finds, without an image read.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from oochub.benchmark import Archive, find_data_folder
from oochub.data.load import get_builder_class, get_declaration
from oochub.errors import OochubError
from oochub.process.follow import follow
from oochub.records.build_record import BuildRecord
from oochub.remote.remote_repository import RemoteRepository
from oochub.storage.cache import describe_state, keep_bytes, make_key, read_kept_bytes

_BLOCK = 1 << 22
_STARS = "*/"

State = Literal["as published", "differs", "not known", "not there"]


@dataclass(frozen=True, kw_only=True)
class VerifiedArchive:
    """An archive beside what was published of it.

    Attributes:
        name: Name of its file.
        state: Whether it is there, and as it was published; "not known" if it has the published size, but no digest of
            the published kind is at hand.
        path: Where it was found; "" if it was not.
        said: What differs, in words; "" if nothing does.
    """

    name: str
    state: State
    path: str = ""
    said: str = ""


def verify_archives(archives: Sequence[Archive], folder: Path) -> list[VerifiedArchive]:
    """Compares archives that lie in a folder, or in a folder in it, with what was published.

    A file of another size is not read. A digest is kept in the cache until the file changes.

    Args:
        archives: What was published.
        folder: A raw folder, or any folder that archives were fetched into.

    Raises:
        OochubError: An archive that cannot be read.

    >>> verify_archives([Archive(name="a.tar", size=3, digest="sha256:00", source="")], Path("nowhere"))[0].state
    'not there'
    """
    return [_verify_file(archive, _find(archive.name, folder)) for archive in archives]


def verify_repository(archives: Sequence[Archive], repository: RemoteRepository) -> list[VerifiedArchive]:
    """Compares the files of a repository on the Hub with what was published, without fetching one.

    The Hub knows the SHA-256 of a large file. A file counts as an archive by its digest, under whatever name, or by its
    name.

    Args:
        archives: What was published.
        repository: What the repository holds.
    """
    verified = []
    for archive in archives:
        kind, _, digest = archive.digest.partition(":")
        same = [path for path, file in repository.files.items() if (kind, file.digest) == ("sha256", digest)]
        named = [path for path in repository.files if path.rpartition("/")[2] == archive.name]
        if same:
            verified.append(VerifiedArchive(name=archive.name, state="as published", path=same[0]))
        elif named:
            file = repository.files[named[0]]
            is_known = file.size != archive.size or (file.is_large and kind == "sha256")
            problem = (
                _compare(archive, file.size, f"sha256:{file.digest}") if is_known else "the Hub says no such digest"
            )
            state: State = "differs" if is_known else "not known"
            verified.append(VerifiedArchive(name=archive.name, state=state, path=named[0], said=problem))
        else:
            verified.append(VerifiedArchive(name=archive.name, state="not there"))
    return verified


def _find(name: str, folder: Path) -> Path | None:
    places = (place for pattern in (name, _STARS + name) for place in sorted(folder.glob(pattern)))
    return next((place for place in places if place.is_file()), None)


def _verify_file(archive: Archive, file: Path | None) -> VerifiedArchive:
    if file is None:
        return VerifiedArchive(name=archive.name, state="not there")
    size = file.stat().st_size
    own = "" if size != archive.size else _digest_file(file, archive.digest.partition(":")[0])
    problem = "" if own == archive.digest else _compare(archive, size, own)
    state: State = "differs" if problem else "as published"
    return VerifiedArchive(name=archive.name, state=state, path=str(file), said=problem)


def _compare(archive: Archive, size: int, digest: str) -> str:
    if size != archive.size:
        return f"{size:,} bytes, but {archive.size:,} were published"
    return f"{digest}, but {archive.digest} was published"


def _digest_file(file: Path, kind: str) -> str:
    """The digest of a file with its kind, from the cache if the file has not changed since it was read."""
    state = describe_state(file)
    name = f"{make_key(kind, str(file.absolute()), state)}.compared"
    if (kept := read_kept_bytes("shards", name)) is not None:
        return kept.decode()
    digest = hashlib.new(kind, usedforsecurity=False)
    try:
        with (
            file.open("rb") as content,
            follow(total=file.stat().st_size, desc=f"Reading {file.name}", unit="B", unit_scale=True, delay=2,
                 disable=None) as bar,
        ):  # fmt: skip
            while block := content.read(_BLOCK):
                digest.update(block)
                bar.update(len(block))
    except OSError as error:
        raise OochubError(f"{file} cannot be read: {error.strerror}. Download it again.") from error
    digest_text = f"{kind}:{digest.hexdigest()}"
    if describe_state(file) == state:
        keep_bytes("shards", name, digest_text.encode())
    return digest_text


@dataclass(frozen=True, kw_only=True)
class VerifiedConfig:
    """What a build of one config would find.

    Attributes:
        config: Name of the config.
        rows: Rows of each split; empty if it cannot be built.
        notes: What the build notes of its rows, among it what is missing of the release.
        error: Why it cannot be built; "" if it can.
    """

    config: str
    rows: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it can be built and no note says that a part of the release is missing."""
        return not self.error and not any(note.startswith("partial") for note in self.notes)


def verify_raw(benchmark: str, config: str = "", *, data_dir: str | None = None) -> list[VerifiedConfig]:
    """Compares a raw folder with the release: files, tables, ids and counts, as the builder checks them.

    No image is read, so a broken one is found when the benchmark is built. The counts are those that the builder knows
    of the release; what it does not know is not compared.

    Args:
        benchmark: Name of the benchmark.
        config: Config to verify; "" takes all that the folder can give.
        data_dir: Raw data folder (default: $OOCHUB_DATA/<benchmark>).

    Returns:
        One outcome for each config.

    Raises:
        OochubError: No such benchmark, config or folder, or a folder that lacks files.

    >>> verify_raw("waterbirds", data_dir="nowhere")
    Traceback (most recent call last):
    ...
    oochub.errors.OochubError: data_dir is not a folder: nowhere. ...
    """
    kind, declared = get_builder_class(benchmark), get_declaration(f"{benchmark}/{config}" if config else benchmark)
    names = [kind.checked_config(config)] if config else list(kind.builder_configs) or ["default"]
    folder = find_data_folder(declared, data_dir)
    absent = declared.not_buildable(folder, {}) if declared.not_buildable is not None else {}
    return [_verify_config(benchmark, name, folder) for name in names if config or name not in absent]


def _verify_config(benchmark: str, config: str, folder: Path) -> VerifiedConfig:
    import datasets

    try:
        name = None if config == "default" else config
        parts = datasets.load_dataset(benchmark, name, data_dir=str(folder), streaming=True)
        record = BuildRecord.of(next(iter(parts.values())).info)
    except OochubError as error:
        return VerifiedConfig(config=config, error=str(error))
    assert record is not None  # noqa: S101  a builder writes one
    return VerifiedConfig(config=config, rows=dict(record.facts.rows or {}), notes=record.notes)
