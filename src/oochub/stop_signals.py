"""Ctrl-C and SIGTERM as an orderly end: the first one raises SystemExit, so every `finally` removes its drafts."""

import signal
import sys
from types import FrameType
from typing import Any

_PATIENCE = 5.0  # seconds of clearing up after which the stop is raised once more
_AT_ONCE = 0.01
_ASKING = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Takes SIGINT and SIGTERM for a process and what it forks.

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

    def take(self) -> None:
        """Installs the handlers."""
        for number in _ASKING:
            signal.signal(number, self._stop)
        sys.unraisablehook = self._dropped

    def leave(self) -> None:
        """The work is over and nothing is left to clear up: from now on a signal ends the process at once."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in (*_ASKING, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        sys.unraisablehook = self._hook

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            self.code = 128 + number
        for each in _ASKING:
            signal.signal(each, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self._stop)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _PATIENCE)
        raise SystemExit(self.code)

    def _dropped(self, unraisable: Any) -> None:
        if self.code is None or not isinstance(unraisable.exc_value, SystemExit):
            self._hook(unraisable)
        else:
            signal.setitimer(signal.ITIMER_REAL, _AT_ONCE, _PATIENCE)
