"""Runs a program's work and ends it in order: what the user can fix and what stops it are words and an exit code.

Ctrl-C and SIGTERM are an orderly end: the first one raises SystemExit, so every `finally` removes its drafts
(`StopSignals`). A process that another one started ends with it, even with one that was killed (`end_with_parent`).
What is imported here at once is little: what a Ctrl-C finds before `StopSignals.take` prints a traceback.

A process that it starts leaves Ctrl-C to its parent. What torch compiles lies in our cache, never in a folder of TMPDIR
that outlives the program.

`count_cores` says how many cores this process may use.
"""

import errno
import math
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

from oochub.errors import OochubError, check_models_extra, list_causes
from oochub.storage.files import name_scratch_folder
from oochub.storage.ownership import make_cache

_STOPPED = {130: "Interrupted", 143: "Terminated"}
_FULL = (errno.ENOSPC, errno.EDQUOT)
_WORDS = ("(os error 28)", "OSError: [Errno 28]")


_COMPILED = "torch"
"""The folder in the cache "compiled" that torch fills: it is ours if it was not there before."""
_PLACE = "TORCHINDUCTOR_CACHE_DIR"


_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_TURNS = "1000"  # some microseconds; what libgomp itself takes if there are more threads than cores


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


def program(work: Callable[[], object]) -> None:
    """Does the work of a process; it imports next to nothing itself, so a Ctrl-C is heard from the first moment on.

    Exit 0 fine, 2 what the user can fix, a full disk too, 130 interrupted, 143 terminated, 1 a bug (with its
    traceback). SIGINT and SIGTERM are taken and not given back.

    Args:
        work: All that the process does, its imports too.

    Raises:
        SystemExit: Raised with the exit code, unless the work returns.
    """
    signals = StopSignals()
    try:
        signals.take()

        with _torch_files():
            work()
    except BaseException as end:
        code = signals.code or (end.code if isinstance(end, SystemExit) else None)
        if code in _STOPPED:  # whatever a library made of the stop
            sys.stderr.write(
                f"{_STOPPED[code]}. No partial files were left behind. Run the same command again to start over or "
                "resume.\n"
            )
            sys.exit(code)
        mistake = end if isinstance(end, OochubError) else _find_missing_extra(end)
        if mistake is not None:
            sys.stderr.write(f"Error: {_escape_controls(str(mistake))}\n")
            sys.exit(2)
        if any(map(_is_full_disk, list_causes(end))):
            sys.stderr.write(
                "Error: No space left on device: make room where the output, the caches ($OOCHUB_CACHE, else "
                "$HF_DATASETS_CACHE) and temporary files ($TMPDIR) lie. No partial files were left behind. Run the "
                "same command again to start over or resume.\n"
            )
            sys.exit(2)
        raise
    finally:
        signals.leave()


def _find_missing_extra(error: BaseException) -> OochubError | None:
    """The error in words if what models need is not installed."""
    if isinstance(error, ModuleNotFoundError):
        try:
            check_models_extra()
        except OochubError as missing:
            return missing
    return None


def _is_full_disk(error: BaseException) -> bool:
    """Whether it is one of a full disk or quota; safetensors and processes of a pool give it as text."""
    return getattr(error, "errno", None) in _FULL or any(words in str(error) for words in _WORDS)


def _escape_controls(text: str) -> str:
    """The text without what would steer a terminal: names in it come from files of others."""
    return "".join(sign if sign.isprintable() or sign in "\n\t\xa0" else "\ufffd" for sign in text)


_PATIENCE = 5.0  # seconds of clearing up after which the stop is raised once more
_AT_ONCE = 0.01
_BETWEEN_LOOKS = 0.2  # seconds between two looks of a forked process for its parent
_ASKING = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Takes SIGINT and SIGTERM for a process and what it forks.

    A forked process (of a pool, its manager, a loader of images) leaves Ctrl-C to its parent, ends at once on
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
        sys.unraisablehook = self._hook if self.code is None else _ignore_error
        self._process = 0

    def _forked(self) -> None:
        if self._process and not self._is_forked:
            self._is_forked = True
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.unraisablehook = _ignore_error  # of what its parent takes away when it stops
            threading.Thread(target=_end_with, args=(self._process,), daemon=True).start()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            self.code = 128 + number
        for asking in _ASKING:
            signal.signal(asking, signal.SIG_IGN)
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


def _ignore_error(unraisable: Any) -> None:
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


def end_with_parent() -> None:
    """Ends this process, one of `multiprocessing`, when its parent ends, whatever either is doing; call it first.

    The parent holds one end of a pipe that the system closes with it. Does nothing in a process without a parent.

    >>> end_with_parent()
    """
    from multiprocessing import connection, parent_process  # each costs the start of a program, and most need neither

    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def wait_and_end() -> None:
            connection.wait([sentinel])
            os._exit(1)

        threading.Thread(target=wait_and_end, daemon=True).start()


def serve_parent(pipe: Any) -> None:
    """How a process that works for another begins: it does what comes through the pipe first, and ends with its parent.

    Here, since it is to import next to nothing until it is sure to end so; what the work imports can take seconds.

    Args:
        pipe: Pipe to the parent; a function comes through it, which gets the pipe.
    """
    end_with_parent()
    work = pipe.recv()  # imports what it names
    work(pipe)


@contextmanager
def _torch_files() -> Iterator[None]:
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
        os.environ[_PLACE] = str(own := folder / _COMPILED)
        with suppress(OSError, OochubError):  # torch says what it cannot write
            make_cache(folder).add_folder(own)


def count_cores() -> int:
    """The cores that this process may use, by its affinity and the quota of its control group.

    >>> count_cores() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text("ascii").split()
        return max(1, min(cores, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such group, or one without a limit, which says "max"
        return cores


def shorten_waiting() -> None:
    """Lets torch's threads sleep soon while they wait for each other, instead of keeping a core busy for a millisecond.

    Call it before torch is imported, because libgomp reads the environment when it is loaded. Results are the same
    bits. Does nothing if GOMP_SPINCOUNT or OMP_WAIT_POLICY is set.

    >>> shorten_waiting()
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _TURNS)
