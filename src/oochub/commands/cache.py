"""The command `oochub cache`.

The caches of the hub are what can be made again and is kept to be had at once, all under one folder.
"""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from oochub import catalog
from oochub.commands._options import AsJson, out_console
from oochub.errors import OochubError, unknown_name
from oochub.storage.cache_folder import cache_folder, datasets_folder
from oochub.storage.ownership import MANIFEST, FolderManifest, is_draft, remove
from oochub.storage.reading import read_json

PANEL = "Data"


def cache(
    action: Annotated[
        str | None, typer.Argument(metavar="clear", help="clear removes entries; without it the cache is listed.")
    ] = None,
    kind: Annotated[str | None, typer.Argument(metavar="CACHE", help="Kind of entry, as listed; default all.")] = None,
    older_than: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Clear only what was not made or used for this long.", min=0)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be cleared.")] = False,
    as_json: AsJson = False,
) -> None:
    """Lists what is kept to be had at once, or clears it: predictions, features, pixels, captions, builds."""
    from oochub.errors import OochubError, unknown_name

    if action not in (None, "clear"):
        raise unknown_name("action", action, ["clear"], "`oochub cache` without an action lists the caches.")
    if action is None and (older_than is not None or dry_run):
        option = "--dry-run" if dry_run else "--older-than"
        raise OochubError(f"{option} needs clear: oochub cache clear {option} ...")
    found = _list_caches(kind)
    if action is None:
        rows = [
            {
                "cache": each.kind,
                "holds": each.what,
                "entries": len(each.entries),
                "bytes": each.size,
                "oldest_days": each.entries[0].age if each.entries else None,
                "path": str(each.folder),
            }
            for each in found
        ]
        if as_json:
            out_console.print_json(json.dumps(rows))
            return
        lines = [("cache", "holds", "entries", "MB", "oldest, days", "path")]
        for each in found:
            age = f"{each.entries[0].age:.1f}" if each.entries else "-"
            lines.append(
                (each.kind, each.what, str(len(each.entries)), _format_megabytes(each.size), age, str(each.folder))
            )
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for *cells, path in lines:  # no table of rich: it cuts a path, which is to be copied whole
            words = [cell.ljust(width) for cell, width in zip(cells[:2], widths, strict=False)]
            numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=False)]
            typer.echo("  ".join([*words, *numbers, path]))
        return
    entries = [entry for each in found for entry in each.entries if entry.age >= (older_than or 0)]
    if not dry_run:
        entries = _remove(entries)
    size = sum(entry.size for entry in entries)
    if as_json:
        paths = [str(entry.path) for entry in entries]
        out_console.print_json(json.dumps({"cleared": not dry_run, "bytes": size, "paths": paths}))
        return
    for entry in entries if dry_run else ():
        out_console.print(entry.path, markup=False)
    verb = "would be freed" if dry_run else "freed"
    out_console.print(f"{_format_megabytes(size)} MB {verb}, {len(entries)} entries.")


def _format_megabytes(size: int) -> str:
    return f"{size / 10**6:.1f}"


_WHAT = {
    "predictions": "predictions, by split",
    "features": "features of training splits, for linear probes",
    "pixels": "decoded training images",
    "embeddings": "captions as vectors",
    "contexts": "measurements of images, to find contexts",
    "checks": "numbers of leaderboard entries, computed again, and their pages",
    "pushes": "benchmarks as files for the Hub",
    "shards": "results of comparing repository files with their digests",
    "compiled": "networks compiled by torch",
    "runtimes": "networks exported for other runtimes",
    "builds": "benchmarks as `datasets` built them",
}
_PATTERNS = {
    "predictions": ("*.parquet", "*.head.safetensors", "asked/*.json"),
    "features": ("*.safetensors",),
    "pixels": ("*-*.npy",),
    "embeddings": ("*/*.npy",),
    "contexts": ("*.parquet",),
    "checks": ("*.json", "*.mark", "*.page"),
    "pushes": ("*-*/*/*.parquet",),
    "shards": ("*.compared",),
    "compiled": ("**/*",),
    "runtimes": ("*-*.onnx",),
}
_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class _CacheEntry:
    """One thing in a cache: a file, or the folder of a build.

    Attributes:
        path: Path of the file or folder.
        size: Bytes.
        age: Days since it was written or, of predictions and features, last used.
        is_old: Whether it is ours and in no list: a draft of a killed process, or what an earlier version left where
            nobody else writes.
    """

    path: Path
    size: int
    age: float
    is_old: bool = False


@dataclass(frozen=True)
class _Cache:
    """A cache and what is in it.

    Attributes:
        kind: "predictions", "features", "pixels", "embeddings", "contexts", "checks", "pushes", "shards",
            "compiled", "runtimes" or "builds".
        what: What it holds, in words.
        folder: Folder of the cache, present or not.
        entries: Entries in it that are ours, oldest first.
    """

    kind: str
    what: str
    folder: Path
    entries: tuple[_CacheEntry, ...]

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return sum(entry.size for entry in self.entries)


def _list_caches(kind: str | None = None) -> list[_Cache]:
    """The caches with what is in them; none of others' files is listed.

    Args:
        kind: Kind of the caches; None for all.

    Raises:
        OochubError: An unknown kind.

    >>> list(dict.fromkeys(cache.kind for cache in _list_caches()))
    ['predictions', 'features', 'pixels', 'embeddings', 'contexts', 'checks', 'pushes', 'shards', 'compiled', \
'runtimes', 'builds']
    """
    if kind is not None and kind not in _WHAT:
        raise unknown_name("cache", kind, _WHAT)
    found = []
    for each in _WHAT if kind is None else (kind,):
        folders = [datasets_folder()] if each == "builds" else [cache_folder(each), datasets_folder() / "oochub" / each]
        for number, folder in enumerate(dict.fromkeys(folders)):
            is_ours = folder == datasets_folder() / "oochub" / each  # also what an earlier version left there
            paths = _find_builds(folder) if each == "builds" else _find_files(folder, _PATTERNS[each], is_ours)
            entries = sorted(filter(_is_free, map(_describe_entry, paths)), key=lambda entry: -entry.age)
            if entries or number == 0:  # the second is where it lay before $OOCHUB_CACHE was set
                found.append(_Cache(each, _WHAT[each], folder, tuple(entries)))
    return found


def _remove(entries: list[_CacheEntry]) -> list[_CacheEntry]:
    """Removes entries; what another process has open stays readable to it.

    Args:
        entries: Entries that `_list_caches` gives.

    Returns:
        Those that are gone; one that was changed after oochub wrote it stays.
    """
    gone = []
    for entry in entries:
        if entry.path.is_dir():
            _remove_build(entry.path)
            gone.append(entry)
        elif remove(entry.path) or (entry.is_old and _unlink(entry.path)):
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


def _remove_build(folder: Path) -> None:
    """Removes what `datasets` writes into the folder of a build, and the folder if nothing else is in it."""
    for pattern in ("*.arrow", "*.parquet", "dataset_info.json", "LICENSE", "state.json"):
        for file in folder.glob(pattern):
            _unlink(file)
    with suppress(OSError):  # it holds something else
        folder.rmdir()


def _find_files(folder: Path, patterns: tuple[str, ...], is_ours: bool) -> Iterator[Path]:
    """The files of a cache that a manifest lists, and drafts; where nobody else writes, also an earlier version's."""
    for path in (path for pattern in patterns for path in folder.glob(pattern)):
        ways = [each for each in (path, *path.parents) if folder in each.parents]
        if path.is_file() and path.name != MANIFEST and not any(each.is_symlink() for each in ways):
            manifest = FolderManifest.above(path)
            if is_ours or (manifest is not None and (manifest.has_size(path) or _is_draft_of(path, manifest))):
                yield path


def _is_draft_of(path: Path, manifest: FolderManifest) -> bool:
    """Whether a file is one that oochub writes, or was killed in writing, into the cache of a manifest."""
    return manifest.is_cache and path.name.startswith(".") and is_draft(Path(path.name))


def _find_builds(folder: Path) -> Iterator[Path]:
    """The folders of builds by a builder of ours, as the record in each says; one that lacks it is not ours."""
    from datasets.naming import camelcase_to_snakecase

    names = {camelcase_to_snakecase(name) for name in catalog.names("benchmark")}  # celebA is celeb_a there
    for record in folder.glob("*/*/*/*/dataset_info.json"):
        try:
            about = read_json(record)
        except OochubError:
            continue
        ways = [each for each in (record, *record.parents) if folder in each.parents]
        if isinstance(about, dict) and about.get("builder_name") in names and not any(map(Path.is_symlink, ways)):
            yield record.parent


def _is_free(entry: _CacheEntry) -> bool:
    """Whether nobody writes it: a hidden file is a draft, and of a killed process when it is a day old."""
    return not entry.path.name.startswith(".") or entry.age > 1


def _describe_entry(path: Path) -> _CacheEntry:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    states = [file.stat() for file in files]
    last = max((state.st_mtime for state in states), default=path.stat().st_mtime)
    above = FolderManifest.above(path)
    is_listed = above is not None and above.lists(path)
    is_draft_of_ours = above is not None and _is_draft_of(path, above)
    is_old = is_draft_of_ours or (datasets_folder() / "oochub" in path.parents and not is_listed)
    return _CacheEntry(path, sum(state.st_size for state in states), max(0.0, (time.time() - last) / _DAY), is_old)
