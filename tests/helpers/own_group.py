"""Processes of a session of their own, with what they start: killed together, and seen until the last has ended."""

import os
import signal
import time
from pathlib import Path

_LONGEST = 20.0  # seconds until all have ended


def processes_of(session: int) -> list[int]:
    """Those of the session that run; Linux only.

    >>> os.getpid() in processes_of(os.getsid(0))
    True
    """
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_for_the_last(session: int) -> None:
    """Waits until no process of the session runs; those that never end are killed, and the test fails."""
    until = time.monotonic() + _LONGEST
    while left := processes_of(session):
        if time.monotonic() > until:
            for process in left:
                os.kill(process, signal.SIGKILL)
            raise AssertionError(f"{len(left)} processes outlived their parent by {_LONGEST:.0f} s")
        time.sleep(0.02)
