"""How many threads a network's passes take on a processor that they share with decoders and other programs.

torch takes a thread per core and lets them wait for each other in a loop. A small network gains nothing from a second
thread, because the decoders of images keep the other cores busy; and if another program has a core, each operation of
the network waits until that program is taken off it.
"""

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import torch

from oochub.process.cores import count_cores

_T = TypeVar("_T")
_STAT = Path("/proc/stat")
_LOOK = 0.5  # seconds between two looks at what other programs take
_AHEAD = 2  # batches that decoders are ahead of the network


class FreeCores:
    """The cores that other programs leave to this one.

    They are at most those that it may use, by its affinity and the quota of its control group. What others take is the
    processor time of the whole machine less its own, from one look to the next.
    """

    def __init__(self) -> None:
        self._may = count_cores()
        self._free = self._may
        self._seen = self._look()

    def count(self) -> int:
        """How many there are, at least 1; outside Linux those that this program may use."""
        now = self._look()
        if self._seen is None or now is None or now[0] - self._seen[0] < _LOOK:
            return self._free
        wall, busy, own = (after - before for after, before in zip(now, self._seen, strict=True))
        others = max(0.0, (busy - own) / wall)
        self._seen, self._free = now, max(1, min(self._may, round((os.cpu_count() or 1) - others)))
        return self._free

    @staticmethod
    def _look() -> tuple[float, float, float] | None:
        """Seconds of the clock, of all processors at work, and of this process."""
        try:
            user, nice, system, _, _, *rest = map(int, _STAT.read_text("ascii").partition("\n")[0].split()[1:9])
        except (OSError, ValueError):
            return None
        return time.monotonic(), (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK"), time.process_time()


def choose_threads(free: int, network: float, beside: float) -> int:
    """The fewest threads with which a pass takes no longer than all cores need for it and the work beside it.

    Args:
        free: Cores that are free.
        network: Seconds of one thread for the network's pass over a batch.
        beside: Seconds of other threads for the same batch, such as those that decode its images.

    >>> choose_threads(2, network=0.02, beside=0.03), choose_threads(2, network=1.2, beside=0.03)
    (1, 2)
    >>> choose_threads(8, network=1.0, beside=1.0), choose_threads(1, network=1.2, beside=0.03)
    (4, 1)
    """
    return max(1, min(free, math.ceil(free * network / max(network + beside, 1e-9))))


class PassThreads:
    """Gives torch the threads for each pass of a network, until the block ends; the logits are the same bits.

    The first passes run in one thread and tell, in processor time, what the network and the work beside it take. From
    then on the free cores are counted again and again. If no number is given, torch never gets more threads than it had
    before, so OMP_NUM_THREADS sets the limit.

    >>> with PassThreads(is_shared=True) as threads:
    ...     threads.run(torch.get_num_threads)
    1
    """

    def __init__(self, *, is_shared: bool, given: int | None = None) -> None:
        """Counts the free cores from now on.

        Args:
            is_shared: Whether torch runs the passes on the processor; otherwise nothing is changed.
            given: Number of threads for every pass; None chooses it.
        """
        self._most, self._given = torch.get_num_threads(), given
        self._is_shared = is_shared and (self._most > 1 or given is not None)
        self._cores = FreeCores()
        self._passes, self._network, self._beside = 0, 0.0, 0.0
        self._began = time.process_time() - time.thread_time()
        self._is_measured = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._is_shared:
            torch.set_num_threads(self._most)

    def run(self, work: Callable[[], _T]) -> _T:
        """Does one pass."""
        if not self._is_shared:
            return work()
        free = min(self._most, self._cores.count())
        chosen = choose_threads(free, self._network, self._beside) if self._passes else 1
        threads = self._given or chosen
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
        self._is_measured |= threads > 1
        before = time.thread_time()
        made = work()
        if not self._is_measured:
            self._passes += 1
            self._network += (time.thread_time() - before - self._network) / self._passes
            others = time.process_time() - time.thread_time() - self._began
            self._beside = others / (self._passes + _AHEAD)
        return made
