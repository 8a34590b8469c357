"""Runs a program's work and ends it in order: what the user can fix and what stops it are words and an exit code."""

import sys
from collections.abc import Callable

from oochub.errors import OochubError
from oochub.stop_signals import StopSignals

_STOPPED = {130: "Interrupted", 143: "Terminated"}


def program(work: Callable[[], object]) -> None:
    """Does the work of a process; it imports next to nothing itself, so a Ctrl-C is heard from the first moment on.

    Exit 0 fine, 2 what the user can fix, 130 interrupted, 143 terminated, 1 a bug (with its traceback). SIGINT and
    SIGTERM are taken and not given back.

    Args:
        work: All that the process does, its imports too.

    Raises:
        SystemExit: With the exit code, unless the work returns.
    """
    signals = StopSignals()
    try:
        signals.take()
        work()
    except BaseException as end:
        code = signals.code or (end.code if isinstance(end, SystemExit) else None)
        if code in _STOPPED:  # whatever a library made of the stop
            sys.stderr.write(f"{_STOPPED[code]}. Nothing is half-written; the same command starts or goes on again.\n")
            sys.exit(code)
        if isinstance(end, OochubError):
            sys.stderr.write(f"Error: {_shown(str(end))}\n")
            sys.exit(2)
        raise
    finally:
        signals.leave()


def _shown(text: str) -> str:
    """The text without what would steer a terminal: names in it come from files of others."""
    return "".join(sign if sign.isprintable() or sign in "\n\t\xa0" else "\ufffd" for sign in text)
