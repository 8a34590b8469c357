"""What tells a reader that hangs from one on a slow or busy machine: by what it does, not by the clock."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_PAUSE = 1.0  # seconds between two looks at the threads, at least
_LOOKS = 60  # in a row at threads that all sleep: none waits for a processor or for a disk then
_LOOPS = 6000  # of a million additions each: a minute's work or so


class Hang(BaseException):
    """A case does not end; no `except Exception` or `except OSError` of a reader takes it for an error of a file."""


@contextmanager
def no_hang(what: str) -> Iterator[None]:
    """Ends a block that hangs, on Linux, by `Hang`.

    It hangs if it works more than some billion additions take on this machine, or sleeps at 60 looks in a row, a second
    apart: on a fifo, a lock, a pause between two tries. A process that waits its turn neither works nor sleeps. The
    block runs in the main thread and starts no process.
    """

    def ring(*_: Any) -> None:
        raise Hang(f"{what}: hangs, {' and '.join(found)}")

    def watch() -> None:
        looks = 0
        while not over.wait(_PAUSE):
            looks = looks + 1 if _all_sleep(threading.get_native_id()) else 0
            worked = (time.process_time() - start) / _loop()
            if looks >= _LOOKS:
                found.append(f"asleep at {looks} looks in a row")
            if worked > _LOOPS:
                found.append(f"the work of {worked:.0f} million additions")
            if found:
                return signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    found: list[str] = []
    over, start = threading.Event(), time.process_time()
    watcher = threading.Thread(target=watch, daemon=True)
    usual = signal.signal(signal.SIGALRM, ring)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        signal.signal(signal.SIGALRM, usual)


def _all_sleep(watcher: int) -> bool:
    """Whether every thread but the watcher waits for something that is neither a processor nor a disk."""
    tasks = [task for task in Path("/proc/self/task").glob("*") if task.name != str(watcher)]
    return bool(tasks) and all(_state(task) == "S" for task in tasks)


def _state(task: Path) -> str:
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # it has just ended
        return "S"


@cache
def _loop() -> float:
    """Processor time of a million additions on this machine."""
    start = time.thread_time()
    sum(range(1_000_000))
    return time.thread_time() - start
