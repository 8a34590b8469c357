"""Runs a program's work and ends it in order: what the user can fix and what stops it are words and an exit code."""

import errno
import sys
from collections.abc import Callable

from oochub.errors import OochubError, causes
from oochub.process.stop_signals import StopSignals

_STOPPED = {130: "Interrupted", 143: "Terminated"}
_FULL = (errno.ENOSPC, errno.EDQUOT)
_WORDS = ("(os error 28)", "OSError: [Errno 28]")


def program(work: Callable[[], object]) -> None:
    """Does the work of a process; it imports next to nothing itself, so a Ctrl-C is heard from the first moment on.

    Exit 0 fine, 2 what the user can fix, a full disk too, 130 interrupted, 143 terminated, 1 a bug (with its
    traceback). SIGINT and SIGTERM are taken and not given back.

    Args:
        work: All that the process does, its imports too.

    Raises:
        SystemExit: With the exit code, unless the work returns.
    """
    signals = StopSignals()
    try:
        signals.take()
        from oochub.storage.torch_files import torch_files

        with torch_files():
            work()
    except BaseException as end:
        code = signals.code or (end.code if isinstance(end, SystemExit) else None)
        if code in _STOPPED:  # whatever a library made of the stop
            sys.stderr.write(f"{_STOPPED[code]}. Nothing is half-written; the same command starts or goes on again.\n")
            sys.exit(code)
        if isinstance(end, OochubError):
            sys.stderr.write(f"Error: {_shown(str(end))}\n")
            sys.exit(2)
        if any(map(_is_full_disk, causes(end))):
            sys.stderr.write(
                "Error: No space left on device: make room where the output, the caches ($OOCHUB_CACHE, else "
                "$HF_DATASETS_CACHE) and temporary files ($TMPDIR) lie. Nothing is half-written; the same command "
                "starts or goes on again.\n"
            )
            sys.exit(2)
        raise
    finally:
        signals.leave()


def _is_full_disk(error: BaseException) -> bool:
    """Whether it is one of a full disk or quota; safetensors and processes of a pool give it as text."""
    return getattr(error, "errno", None) in _FULL or any(words in str(error) for words in _WORDS)


def _shown(text: str) -> str:
    """The text without what would steer a terminal: names in it come from files of others."""
    return "".join(sign if sign.isprintable() or sign in "\n\t\xa0" else "\ufffd" for sign in text)
