"""Starts a process that leaves Ctrl-C to its parent."""

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess


def start_process(process: BaseProcess) -> None:
    """Starts a process that hears no Ctrl-C from its first import on; the parent does, and ends it.

    Args:
        process: A process of `multiprocessing` that is not started yet.

    >>> from multiprocessing import get_context
    >>> process = get_context("spawn").Process(target=print)
    >>> start_process(process)
    >>> process.join()
    >>> process.exitcode
    0
    """
    resource_tracker.ensure_running()  # starting it would lift the block
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()  # it inherits the block
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
