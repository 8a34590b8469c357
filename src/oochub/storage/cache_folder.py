"""The place of the hub's caches: what can be made again and is kept to be had at once, all under one folder."""

import os
import sys
from pathlib import Path

from oochub.errors import OochubError


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
