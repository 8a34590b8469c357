"""The folder of what torch compiles: in our cache, and never one in TMPDIR that outlives the program."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oochub.errors import OochubError
from oochub.storage.files import name_scratch_folder
from oochub.storage.ownership import make_cache

COMPILED = "torch"
"""The folder in the cache "compiled" that torch fills: it is ours if it was not there before."""
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
        os.environ[_PLACE] = str(own := folder / COMPILED)
        with suppress(OSError, OochubError):  # torch says what it cannot write
            make_cache(folder).add_folder(own)
