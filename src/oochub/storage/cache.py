"""The one cache: what takes long and can be made again, each kind in a folder of its own, under a key.

The key is a digest of all that the content depends on (`make_key`), such as the state of a file (`describe_state`) or
oochub's own code (`digest_code`). An entry is written whole or not at all and listed in the manifest of its folder.
One that is damaged is made again. Its users name what they keep and what that depends on.
"""

import functools
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from oochub.errors import OochubError, OochubWarning, unknown_name
from oochub.storage.files import check_writable, write_whole
from oochub.storage.ownership import MANIFEST, FolderManifest, is_draft, make_cache, remove
from oochub.storage.reading import read_json

Content = TypeVar("Content")
_DAY = 24 * 60 * 60
_BUILDS = "builds"


class CacheKind(NamedTuple):
    """What a cache holds, in words, and the patterns of its files."""

    what: str
    patterns: tuple[str, ...] = ()


CACHES = {
    "predictions": CacheKind("predictions, by split", ("*.parquet", "*.head.safetensors", "asked/*.json")),
    "features": CacheKind("features of training splits, for linear probes", ("*.safetensors",)),
    "pixels": CacheKind("decoded training images", ("*-*.npy",)),
    "embeddings": CacheKind("caption embeddings", ("*/*.npy",)),
    "contexts": CacheKind("image measurements for finding contexts", ("*.parquet",)),
    "checks": CacheKind("recomputed leaderboard metrics and their pages", ("*.json", "*.values", "*.mark", "*.page")),
    "pushes": CacheKind("benchmark files for pushing to the Hub", ("*-*/*/*.parquet",)),
    "shards": CacheKind("checksum results of repository files", ("*.compared",)),
    "compiled": CacheKind("networks compiled with torch.compile", ("**/*",)),
    "passes": CacheKind("what checks before a prediction measured of a network", ("*.json", "*.safetensors")),
    "runtimes": CacheKind("networks exported for other runtimes", ("*.onnx",)),
    "models": CacheKind("models that a package brings, as folders", ("*/*/*",)),
    _BUILDS: CacheKind("benchmarks built by `datasets`"),
}
"""Every cache by its kind; "builds" is the one of `datasets`."""


def cache_folder(kind: str) -> Path:
    """The folder of a cache: in $OOCHUB_CACHE, else in `oochub` in the cache folder of `datasets`.

    Args:
        kind: One of `CACHES`.

    Raises:
        OochubError: $OOCHUB_CACHE can be no path.

    >>> cache_folder("pixels").name
    'pixels'
    """
    given = os.environ.get("OOCHUB_CACHE")
    if not given:
        return datasets_folder() / "oochub" / kind
    try:
        place = Path(given).expanduser()
        place.exists()  # no name of a file is an error of the system
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise OochubError(
            f"OOCHUB_CACHE names no folder that can be: {given[:80]!r} ({why}). Choose another one, or unset it."
        ) from None
    return place / kind


def datasets_folder() -> Path:
    """The folder in which `datasets` keeps its own builds, by the variables that it reads when it is imported."""
    config = sys.modules.get("datasets.config")
    if config is not None:
        return Path(config.HF_DATASETS_CACHE)
    shared = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    home = Path(os.environ.get("HF_HOME", shared)).expanduser()
    return Path(os.environ.get("HF_DATASETS_CACHE", home / "datasets"))


def make_key(*made_of: object) -> str:
    """A digest of all that an entry is made of, 40 hexadecimal digits.

    Args:
        made_of: JSON types.

    Raises:
        TypeError: Another type.

    >>> make_key("a", {"b": 1, "c": 2}) == make_key("a", {"c": 2, "b": 1}), make_key("a") == make_key("b")
    (True, False)
    """
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:40]


def describe_state(path: str | Path) -> str:
    """Size and times of a file, of what a link leads to; "" if there is none, or none can be looked at.

    The time of change, the last number, cannot be set by who writes the file, in nanoseconds.

    Args:
        path: The file, or a folder.

    >>> describe_state("nowhere")
    ''
    >>> len(describe_state(__file__).split())
    3
    """
    try:
        about = os.stat(path)  # noqa: PTH116  # there may be many
    except (OSError, ValueError):
        return ""
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def digest_files(files: Iterable[Path]) -> str:
    """A digest of the bytes of files, in their order.

    >>> digest_files([Path(__file__)]) == digest_files([])
    False
    """
    return make_key(*(hashlib.sha256(file.read_bytes()).hexdigest() for file in files))


@functools.cache
def digest_code(*rooms: str, suffixes: tuple[str, ...] = (".py",)) -> str:
    """A digest of oochub's own code as it was when first asked for, which changes more often than its version.

    Args:
        rooms: Folders of the package that count besides the modules at its root; none for all.
        suffixes: Kinds of files that count.

    >>> digest_code("storage") == digest_code("storage", "records")
    False
    """
    root, files = Path(__file__).parents[1], list[Path]()
    for folder, folders, names in os.walk(root, followlinks=True):
        if rooms and folder == str(root):
            folders[:] = rooms
        files += [Path(folder, name) for name in names if name.endswith(suffixes)]
    return digest_files(sorted(files))


def read_kept(kind: str, name: str, read: Callable[[Path], Content]) -> Content | None:
    """What an entry holds; None if there is none, or it is not whole. Its time says that it was used.

    Args:
        kind: One of `CACHES`.
        name: Name of its file: the key and a suffix.
        read: Reads the file; raises a KeyError, TypeError or ValueError (or OochubError) if it is not whole.
    """
    file = cache_folder(kind) / name
    try:
        content = read(file)
    except (OSError, KeyError, TypeError, ValueError):
        return None
    with suppress(OSError):  # a folder that is shared for reading
        os.utime(file)
    return content


def keep(kind: str, name: str, write: Callable[[Path], object], *, what: str | None = None) -> None:
    """Keeps an entry. Two processes that write the same one write the same, one whole file after the other.

    Args:
        kind: One of `CACHES`.
        name: Name of its file: the key and a suffix.
        write: Writes the file, whole or not at all.
        what: What it is, for the warning; None warns of nothing, if it costs little to make again.

    Warns:
        OochubWarning: The cache cannot be written.
    """
    try:
        write(begin_cache(cache_folder(kind) / name))
    except OochubError as error:
        if what is not None:
            text = f"{what} could not be cached. {error} $OOCHUB_CACHE names another folder."
            warnings.warn(text, OochubWarning, stacklevel=3)


def begin_cache(file: Path) -> Path:
    """The path of a file that is about to be written; a cache that it lies in lists from now on what is written.

    Args:
        file: A file in one of our caches, or anywhere else.

    Raises:
        OochubError: It cannot be written.
    """
    check_writable(file)
    root, place = cache_folder("any").parent.absolute(), Path(os.path.abspath(file))  # noqa: PTH100  no link is followed
    if root in place.parents and place.parent != root:
        try:
            make_cache(root / place.relative_to(root).parts[0])
        except OSError as error:
            raise OochubError(f"Could not write {file}: {error.strerror}.") from error
    return file


def keep_bytes(kind: str, name: str, content: bytes, *, what: str | None = None) -> None:
    """Keeps bytes behind a digest of them; see `keep`."""

    def write(file: Path) -> None:
        with write_whole(file) as draft, draft.open("wb") as opened:
            opened.write(_seal(name, content))
            opened.write(content)

    keep(kind, name, write, what=what)


def read_kept_bytes(kind: str, name: str) -> bytes | None:
    """What `keep_bytes` kept, if it is whole; see `read_kept`."""

    def read(file: Path) -> bytes:
        with file.open("rb") as opened:
            seal, content = opened.readline(), opened.read()
        if seal != _seal(name, content):
            raise ValueError(file)
        return content

    return read_kept(kind, name, read)


def _seal(name: str, content: bytes) -> bytes:
    """The first line of a file: a digest of its name and content, so that no file is taken for another."""
    return hashlib.sha256(name.encode() + b"\n" + content).hexdigest()[:40].encode() + b"\n"


def make_once(kind: str, name: str | None, make: Callable[[], bytes], *, what: str | None = None) -> Iterator[bytes]:
    """Bytes from the cache, then bytes made anew and kept. A caller takes the first, and the next if that is of no use.

    Args:
        kind: One of `CACHES`.
        name: Name of the file: the key and a suffix; None keeps nothing.
        make: Makes them.
        what: See `keep`.

    >>> next(make_once("runtimes", None, lambda: b"network"))
    b'network'
    """
    if name is not None and (kept := read_kept_bytes(kind, name)) is not None:
        yield kept
    content = make()
    if name is not None:
        keep_bytes(kind, name, content, what=what)
    yield content


def make_file_once(file: Path, write: Callable[[Path], object]) -> Path:
    """A large file that stays where it is; a second process that wants it waits for the first.

    Args:
        file: Its path, in a cache or in a folder that the user named.
        write: Writes a draft of it.

    Raises:
        OochubError: It cannot be written.
    """
    from filelock import FileLock

    begin_cache(file).parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        if not file.exists():
            with write_whole(file) as draft:
                write(draft)
    return file


@dataclass(frozen=True)
class CacheEntry:
    """One thing in a cache: a file, or the folder of a build.

    Attributes:
        path: Path of the file or folder.
        size: Bytes.
        age: Days since it was written or last used.
        is_old: Whether it is ours and in no list: a draft of a killed process, or what an earlier version left where
            nobody else writes.
    """

    path: Path
    size: int
    age: float
    is_old: bool = False


@dataclass(frozen=True)
class Cache:
    """A cache and what is in it.

    Attributes:
        kind: One of `CACHES`.
        folder: Folder of the cache, present or not.
        entries: Entries in it that are ours, oldest first.
    """

    kind: str
    folder: Path
    entries: tuple[CacheEntry, ...]

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return sum(entry.size for entry in self.entries)


def list_caches(kind: str | None = None, *, builders: Collection[str] = ()) -> list[Cache]:
    """The caches with what is in them; none of others' files is listed.

    Args:
        kind: Kind of the caches; None for all.
        builders: Names of our builders, as `datasets` writes them into its builds.

    Raises:
        OochubError: An unknown kind.

    >>> [cache.kind for cache in list_caches("builds")]
    ['builds']
    """
    if kind is not None and kind not in CACHES:
        raise unknown_name("cache", kind, CACHES)
    caches, shared = [], datasets_folder()
    for name in CACHES if kind is None else (kind,):
        folders = [shared] if name == _BUILDS else [cache_folder(name), shared / "oochub" / name]
        for number, folder in enumerate(dict.fromkeys(folders)):
            listed = _list_builds(folder, builders) if name == _BUILDS else _list_files(name, folder)
            entries = tuple(sorted(listed, key=lambda entry: -entry.age))
            if entries or number == 0:  # the second is where it lay before $OOCHUB_CACHE was set
                caches.append(Cache(name, folder, entries))
    return caches


def clear(entries: Iterable[CacheEntry]) -> list[CacheEntry]:
    """Removes entries; what another process has open stays readable to it.

    Args:
        entries: Entries that `list_caches` gives.

    Returns:
        Those that are gone; one that was changed after oochub wrote it stays.
    """
    gone = []
    for entry in entries:
        if entry.path.is_dir():
            for pattern in ("*.arrow", "*.parquet", "dataset_info.json", "LICENSE", "state.json"):
                for file in entry.path.glob(pattern):
                    _unlink(file)
            with suppress(OSError):  # it holds something else
                entry.path.rmdir()
        elif not (remove(entry.path) or (entry.is_old and _unlink(entry.path))):
            continue
        gone.append(entry)
        lock = Path(f"{entry.path}.lock")
        if lock.is_file() and not lock.stat().st_size:
            _unlink(lock)
    return gone


def _unlink(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    path.unlink()
    return True


def _list_files(kind: str, folder: Path) -> Iterator[CacheEntry]:
    """The files of a cache that a manifest lists, and drafts; where nobody else writes, also an earlier version's."""
    is_ours = folder == datasets_folder() / "oochub" / kind
    for path in (path for pattern in CACHES[kind].patterns for path in folder.glob(pattern)):
        if not path.is_file() or path.name == MANIFEST or _has_link(path, folder):
            continue
        above = FolderManifest.above(path)
        is_hidden = path.name.startswith(".")
        is_left = above is not None and above.is_cache and is_hidden and is_draft(Path(path.name))
        if is_ours or is_left or (above is not None and above.has_size(path)):
            is_old = is_left or (is_ours and not (above is not None and above.lists(path)))
            entry = _describe_entry(path, [path], is_old=is_old)
            if not is_hidden or entry.age > 1:  # a hidden file is a draft, and of a killed process when it is a day old
                yield entry


def _list_builds(folder: Path, builders: Collection[str]) -> Iterator[CacheEntry]:
    """The folders of builds by a builder of ours, as the record in each says; one that lacks it is not ours."""
    for record in folder.glob("*/*/*/*/dataset_info.json"):
        with suppress(OochubError):
            about = read_json(record)
            if isinstance(about, dict) and about.get("builder_name") in builders and not _has_link(record, folder):
                yield _describe_entry(record.parent, [file for file in record.parent.rglob("*") if file.is_file()])


def _has_link(path: Path, folder: Path) -> bool:
    """Whether a path leads through a link below a folder."""
    return any(part.is_symlink() for part in (path, *path.parents) if folder in part.parents)


def _describe_entry(path: Path, files: list[Path], *, is_old: bool = False) -> CacheEntry:
    states = [file.stat() for file in files]
    last = max(state.st_mtime for state in states)
    return CacheEntry(path, sum(state.st_size for state in states), max(0.0, (time.time() - last) / _DAY), is_old)
