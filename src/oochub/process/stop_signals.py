"""Ctrl-C and SIGTERM as an orderly end: the first one raises SystemExit, so every `finally` removes its drafts."""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

_PATIENCE = 5.0  # seconds of clearing up after which the stop is raised once more
_AT_ONCE = 0.01
_BETWEEN_LOOKS = 0.2  # seconds between two looks of a forked process for its parent
_ASKING = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Takes SIGINT and SIGTERM for a process and what it forks.

    A forked process (of a pool, its manager, a loader of pictures) leaves Ctrl-C to its parent, ends at once on
    SIGTERM, without a traceback, and never outlives its parent, even one that was killed. A process that torchrun
    started stops as on SIGTERM when torchrun was killed.

    Further signals of both kinds are ignored while the process clears up: terminals and `timeout` send several. A stop
    that fell into a destructor, where Python drops exceptions, is raised again at once, and one that a library
    swallowed, or whose clearing up hangs, after 5 seconds.

    Attributes:
        code: The exit code that was asked for, 128 and the number of the signal; None before a signal.

    >>> signals = StopSignals()
    >>> signals.take()
    >>> try:
    ...     signal.raise_signal(signal.SIGTERM)
    ... except SystemExit as stopped:
    ...     print(stopped.code)
    143
    >>> signals.leave()
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self._hook = sys.unraisablehook
        self._process = 0
        self._is_forked = False

    def take(self) -> None:
        """Installs the handlers."""
        for number in _ASKING:
            signal.signal(number, self._stop)
        sys.unraisablehook = self._dropped
        self._process = os.getpid()
        os.register_at_fork(after_in_child=self._forked)
        if "TORCHELASTIC_RUN_ID" in os.environ:
            threading.Thread(target=_stop_with, args=(os.getppid(),), daemon=True).start()

    def leave(self) -> None:
        """The work is over and nothing is left to clear up: from now on a signal ends the process at once.

        After a stop it ends with the exit code of the stop: terminals and `timeout` send several signals.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number in _ASKING:
            signal.signal(number, signal.SIG_DFL if self.code is None else self._end)
        sys.unraisablehook = self._hook if self.code is None else _silent
        self._process = 0

    def _forked(self) -> None:
        if self._process and not self._is_forked:
            self._is_forked = True
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.unraisablehook = _silent  # of what its parent takes away when it stops
            threading.Thread(target=_end_with, args=(self._process,), daemon=True).start()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            self.code = 128 + number
        for each in _ASKING:
            signal.signal(each, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self._stop)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _PATIENCE)
        raise SystemExit(self.code)

    def _end(self, number: int, frame: FrameType | None) -> None:
        os._exit(self.code or 128 + number)

    def _dropped(self, unraisable: Any) -> None:
        if self.code is None:
            self._hook(unraisable)
        elif isinstance(unraisable.exc_value, SystemExit):  # any other follows from the stop
            signal.setitimer(signal.ITIMER_REAL, _AT_ONCE, _PATIENCE)


def _silent(unraisable: Any) -> None:
    pass


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_BETWEEN_LOOKS)
    os._exit(1)


def _stop_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(2 * _PATIENCE)  # the others of its run are gone too: it may wait for them, deaf to signals
    os._exit(128 + signal.SIGTERM)
