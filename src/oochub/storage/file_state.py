"""What tells one content of a file from a later one without reading it."""

import os
from collections.abc import Iterator
from pathlib import Path

FRESH = 0.05
"""Seconds in which a file may change twice with one time of change."""


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


def walk_entries(folder: str | Path) -> "Iterator[os.DirEntry[str]]":
    """All below a folder, hidden files and folders too; a link to a folder is not followed.

    Args:
        folder: The folder.

    Raises:
        OSError: It cannot be looked into.

    >>> file = Path(__file__)
    >>> file.name in {entry.name for entry in walk_entries(file.parent)}
    True
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from walk_entries(entry.path)
