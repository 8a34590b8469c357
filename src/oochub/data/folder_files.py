"""What lies in a folder of the user's, looked at before `datasets` opens it: pipes, and metadata that changed."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from oochub.storage.reading import regular_file

_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


def check_regular_files(folder: Path) -> None:
    """Checks that everything in a folder is a file or a folder: whoever opens a pipe waits for ever.

    Args:
        folder: With what lies below it; hidden names are passed over, as `datasets` does.

    Raises:
        OochubError: A pipe, a socket or a device; it is named.
    """
    for entry in _entries(folder):
        if not (_is(entry.is_file) or _is(entry.is_dir)) and Path(entry.path).exists():
            regular_file(Path(entry.path))


def metadata_state(folder: Path) -> str | None:
    """A digest of the paths, sizes and times of a folder's metadata files; None where it has none.

    The cache of `datasets` goes by their names and times of change, which a copy may keep.

    Args:
        folder: With what lies below it.
    """
    digest, is_empty = hashlib.sha256(), True
    for entry in sorted(_entries(folder), key=lambda entry: entry.path):
        if entry.name in _METADATA and _is(entry.is_file):
            about, is_empty = entry.stat(), False
            said = f" {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}\n"
            digest.update(os.fsencode(entry.path) + said.encode())
    return None if is_empty else f"metadata of {digest.hexdigest()}"


def _is(kind: Callable[[], bool]) -> bool:
    """What an entry is asked for; a link that leads round in a circle is nothing."""
    try:
        return kind()
    except OSError:
        return False


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """All below a folder that is no folder itself."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path))
            else:
                yield entry
