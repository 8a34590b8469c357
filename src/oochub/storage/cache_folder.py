"""The folder of the hub's caches, and what their keys are made of.

A cached file is found by the state of what it was made of: `describe_state` tells one content of a file from a later
one without reading it, `digest_code` one state of oochub's own code from another.
"""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from oochub.errors import OochubError

FRESH = 0.05
"""Seconds in which a file may change twice with one time of change."""


def cache_folder(kind: str) -> Path:
    """The folder of a cache of the hub: in $OOCHUB_CACHE, else in `oochub` in the cache folder of `datasets`.

    Args:
        kind: "predictions", "features", "pixels", "embeddings", "contexts", "checks", "pushes", "shards",
            "compiled" or "runtimes".

    Raises:
        OochubError: $OOCHUB_CACHE can be no path.

    >>> cache_folder("pixels").name
    'pixels'
    """
    given = os.environ.get("OOCHUB_CACHE")
    return (_read_place(given) if given else datasets_folder() / "oochub") / kind


def _read_place(given: str) -> Path:
    """The folder that OOCHUB_CACHE names."""
    try:
        place = Path(given).expanduser()
        place.exists()  # no name of a file is an error of the system
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise OochubError(
            f"OOCHUB_CACHE names no folder that can be: {given[:80]!r} ({why}). Name another one, or unset it."
        ) from None
    return place


def find_cache(path: Path) -> Path | None:
    """The folder of the cache that a path lies in; None if it lies in none.

    >>> find_cache(cache_folder("pixels") / "a.npy") == cache_folder("pixels"), find_cache(Path("a.npy"))
    (True, None)
    """
    try:
        root = cache_folder("any").parent.absolute()
    except OochubError:  # OOCHUB_CACHE names none; a command that needs it says so
        return None
    place = Path(os.path.abspath(path))  # noqa: PTH100  no link is followed
    return root / place.relative_to(root).parts[0] if root in place.parents and place.parent != root else None


def datasets_folder() -> Path:
    """The folder in which `datasets` keeps its own builds, by the variables that it reads when it is imported."""
    config = sys.modules.get("datasets.config")
    if config is not None:
        return Path(config.HF_DATASETS_CACHE)
    shared = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    home = Path(os.environ.get("HF_HOME", shared)).expanduser()
    return Path(os.environ.get("HF_DATASETS_CACHE", home / "datasets"))


def digest_code(*suffixes: str) -> str:
    """A digest of the paths, sizes and times of all our code, which also changes while somebody works on it.

    Args:
        suffixes: Kinds of files that count besides Python's.

    >>> len(digest_code()), digest_code() == digest_code(".jinja")
    (64, False)
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(Path(__file__).parents[1], followlinks=True):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", *suffixes)):
                path = f"{folder}/{name}"
                digest.update(f"{path} {describe_state(path)}\n".encode())
    return digest.hexdigest()


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
