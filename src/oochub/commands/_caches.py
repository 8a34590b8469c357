"""The caches of the hub: what can be made again and is kept to be had at once, all under one folder."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.storage.cache_folder import cache_folder, datasets_folder
from oochub.storage.reading import read_json

_WHAT = {
    "predictions": "what models said of splits",
    "features": "what encoders saw of training splits, for linear probes",
    "pixels": "decoded images of trainings",
    "embeddings": "captions as vectors",
    "contexts": "what was measured of images to find their contexts",
    "checks": "what entries of leaderboards gave when they were computed again",
    "pushes": "benchmarks as files for the Hub",
    "shards": "which files of repositories were compared with their digests",
    "compiled": "networks that torch compiled",
    "builds": "benchmarks as `datasets` built them",
}
_PATTERNS = {
    "predictions": ("*.parquet", "*.head.safetensors"),
    "features": ("*.safetensors",),
    "pixels": ("*-*.npy",),
    "embeddings": ("*/*.npy",),
    "contexts": ("*.parquet",),
    "checks": ("*.json",),
    "pushes": ("*-*/*/*.parquet",),
    "shards": ("*.compared",),
    "compiled": ("**/*",),
}
_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class CacheEntry:
    """One thing in a cache: a file, or the folder of a build.

    Attributes:
        path: Where it is.
        size: Bytes.
        age: Days since it was written or, of predictions and features, last used.
    """

    path: Path
    size: int
    age: float


@dataclass(frozen=True)
class Cache:
    """A cache and what is in it.

    Attributes:
        kind: "predictions", "features", "pixels", "embeddings", "contexts", "checks", "pushes", "shards",
            "compiled" or "builds".
        what: It holds, in words.
        folder: Where it is, present or not.
        entries: What of it is ours, oldest first.
    """

    kind: str
    what: str
    folder: Path
    entries: tuple[CacheEntry, ...]

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return sum(entry.size for entry in self.entries)


def list_caches(kind: str | None = None) -> list[Cache]:
    """The caches with what is in them; of others' files none is listed.

    Args:
        kind: One of them; None for all.

    Raises:
        OochubError: An unknown kind.

    >>> list(dict.fromkeys(cache.kind for cache in list_caches()))
    ['predictions', 'features', 'pixels', 'embeddings', 'contexts', 'checks', 'pushes', 'shards', 'compiled', 'builds']
    """
    if kind is not None and kind not in _WHAT:
        raise unknown_name("cache", kind, _WHAT)
    found = []
    for each in _WHAT if kind is None else (kind,):
        folders = [datasets_folder()] if each == "builds" else [cache_folder(each), datasets_folder() / "oochub" / each]
        for number, folder in enumerate(dict.fromkeys(folders)):
            paths = _find_builds(folder) if each == "builds" else _find_files(folder, _PATTERNS[each])
            entries = sorted(filter(_is_free, map(_describe_entry, paths)), key=lambda entry: -entry.age)
            if entries or number == 0:  # the second is where it lay before $OOCHUB_CACHE was set
                found.append(Cache(each, _WHAT[each], folder, tuple(entries)))
    return found


def remove(entries: list[CacheEntry]) -> None:
    """Removes entries; what another process has open stays readable to it.

    Args:
        entries: Of `list_caches`.
    """
    for entry in entries:
        if entry.path.is_dir():
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            entry.path.unlink(missing_ok=True)
            Path(f"{entry.path}.lock").unlink(missing_ok=True)


def _find_files(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in folder.glob(pattern) if path.is_file() and not path.is_symlink())


def _find_builds(folder: Path) -> Iterator[Path]:
    """The folders of builds by a builder of ours, as the record in each says; one that lacks it is not ours."""
    from datasets.naming import camelcase_to_snakecase

    names = {camelcase_to_snakecase(name) for name in catalog.names("benchmark")}  # celebA is celeb_a there
    for record in folder.glob("*/*/*/*/dataset_info.json"):
        try:
            about = read_json(record)
        except OochubError:
            continue
        if isinstance(about, dict) and about.get("builder_name") in names:
            yield record.parent


def _is_free(entry: CacheEntry) -> bool:
    """Whether nobody writes it: a hidden file is a draft, and of a killed process when it is a day old."""
    return not entry.path.name.startswith(".") or entry.age > 1


def _describe_entry(path: Path) -> CacheEntry:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    states = [file.stat() for file in files]
    last = max((state.st_mtime for state in states), default=path.stat().st_mtime)
    return CacheEntry(path, sum(state.st_size for state in states), max(0.0, (time.time() - last) / _DAY))
