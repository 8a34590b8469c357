"""How many cores this process may use, and how its threads wait for each other on them."""

import math
import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_TURNS = "1000"  # some microseconds; what libgomp itself takes if there are more threads than cores


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
