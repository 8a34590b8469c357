"""Where the processes of a build talk to each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import multiprocess

from oochub.files import scratch_folder

_LONGEST_FOLDER = 88  # bytes: a socket's whole path may have 107


@contextmanager
def swept_sockets() -> Iterator[None]:
    """Puts the socket of `num_proc=` not into TMPDIR/pymp-* but into a folder that a later build sweeps."""
    settings = multiprocess.current_process()._config
    earlier = settings.get("tempdir")
    with scratch_folder() as folder:
        if len(os.fsencode(folder)) <= _LONGEST_FOLDER:
            settings["tempdir"] = str(folder)
        try:
            yield
        finally:
            settings["tempdir"] = earlier
