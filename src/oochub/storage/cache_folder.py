"""The place of the hub's caches: what can be made again and is kept to be had at once, all under one folder.

This module also says where torch keeps what it compiles: in our cache, and never in a folder of TMPDIR that outlives
the program.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oochub.errors import OochubError
from oochub.storage.files import name_scratch_folder


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


def datasets_folder() -> Path:
    """The folder in which `datasets` keeps its own builds, by the variables that it reads when it is imported."""
    config = sys.modules.get("datasets.config")
    if config is not None:
        return Path(config.HF_DATASETS_CACHE)
    shared = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    home = Path(os.environ.get("HF_HOME", shared)).expanduser()
    return Path(os.environ.get("HF_DATASETS_CACHE", home / "datasets"))


_PLACE = "TORCHINDUCTOR_CACHE_DIR"


@contextmanager
def torch_files() -> Iterator[None]:
    """Gives torch a folder that goes with this program; the processes that it starts share it.

    torch makes one as soon as `transformers` is imported: TMPDIR/torchinductor_<user>, for good. In a TMPDIR of several
    users, the first one to make it says what code runs. One that the user named in TORCHINDUCTOR_CACHE_DIR stays.
    """
    if _PLACE in os.environ:
        yield
        return
    try:
        folder = name_scratch_folder("torch")
    except OSError:  # nothing temporary can be written; who needs to says so
        yield
        return
    os.environ[_PLACE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(_PLACE, None)
        shutil.rmtree(folder, ignore_errors=True)


def keep_compiled(folder: Path) -> None:
    """From here on torch keeps what it compiles in a folder, where the next run finds it, unless the user named one.

    Args:
        folder: Made when something is compiled.
    """
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    given = os.environ.get(_PLACE)
    if given in (None, default_cache_dir(), str(name_scratch_folder("torch"))):  # torch itself notes its default there
        os.environ[_PLACE] = str(folder)
