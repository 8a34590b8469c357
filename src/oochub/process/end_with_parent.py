"""A process that another one started ends with it, even with one that was killed."""

import os
import threading
from multiprocessing import connection, parent_process


def end_with_parent() -> None:
    """Ends this process, one of `multiprocessing`, when its parent ends, whatever either is doing; call it first.

    The parent holds one end of a pipe that the system closes with it. Does nothing in a process without a parent.

    >>> end_with_parent()
    """
    if parent_process() is not None:
        threading.Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    parent = parent_process()
    assert parent is not None  # noqa: S101  asked before
    connection.wait([parent.sentinel])
    os._exit(1)
