"""The processes of one run, as `torchrun` starts them on one machine or several: which one this is.

And what the first of them makes of what all tell it (`gather_to_first`); alone, torch is not imported.
"""

import atexit
import gc
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

from oochub.errors import OochubError

_T = TypeVar("_T")
_PATIENCE = timedelta(days=30)  # one may work for long, and torchrun stops those that wait for one that died


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """This process among those of a run.

    Attributes:
        number: Number of this process, from 0.
        count: Number of all processes.
    """

    number: int = 0
    count: int = 1

    @classmethod
    def here(cls) -> "Ranks":
        """This process by the variables RANK and WORLD_SIZE, which torchrun sets; without them it is the only one."""
        count = int(os.environ.get("WORLD_SIZE", 1))
        return cls(number=int(os.environ["RANK"]) if count > 1 else 0, count=count)

    @property
    def is_first(self) -> bool:
        """Whether this process writes what one process writes: files of all, messages."""
        return self.number == 0

    @property
    def is_alone(self) -> bool:
        """Whether there is no other process."""
        return self.count == 1

    def join(self, device_type: str) -> None:
        """Connects the processes by Accelerate.

        Args:
            device_type: Type of the device of this process, such as "cpu".
        """
        if not self.is_alone:
            from accelerate import PartialState

            PartialState(cpu=device_type == "cpu")
            leave_at_the_end()

    def values(self, own: _T) -> list[_T]:
        """What every process says, in their order; each waits here for all others.

        Raises:
            OochubError: Another process ended.

        >>> Ranks().values("alone")
        ['alone']
        """
        if self.is_alone:
            return [own]
        from torch import distributed

        gathered: list[Any] = [None] * self.count
        try:
            distributed.all_gather_object(gathered, own, group=get_gloo_group())
        except RuntimeError as error:  # of gloo and NCCL, where a connection is closed
            raise OochubError(
                f"Process {self.number} of {self.count} stops because another one ended, whose own message says why. "
                "Run the same command again: complete parts are kept."
            ) from error
        return gathered


@cache
def leave_at_the_end() -> None:
    """Ends the threads of gloo before Python ends; every function that connects processes has to call this.

    A thread of gloo takes Python's lock to release the tensors of its last message. If Python ends meanwhile, the
    process is aborted ("terminate called without an active exception"). Only a group that nothing refers to any more
    waits for its threads.
    """
    atexit.register(_leave)


def _leave() -> None:
    from torch import distributed

    get_gloo_group.cache_clear()
    if distributed.is_initialized():
        distributed.destroy_process_group()
    gc.collect()  # models in DistributedDataParallel, which refer to the group, are cycles


@cache
def get_gloo_group() -> Any:
    """The group of all processes in which words travel, by memory and not by devices."""
    from torch import distributed

    return distributed.new_group(backend="gloo", timeout=_PATIENCE)


Told = TypeVar("Told")
Answer = TypeVar("Answer")


def gather_to_first(told: Told, work: Callable[[list[Told]], Answer]) -> Answer:
    """What the first process makes of what all tell it, in each of them; every process has to call this.

    Args:
        told: What this one tells; it is pickled where there are several.
        work: Function from what all tell, by rank, to an answer.

    >>> gather_to_first(3, sum)
    3
    """
    here = Ranks.here()
    if here.is_alone:
        return work([told])
    import torch
    import torch.distributed as dist

    here.join("cuda" if torch.cuda.is_available() else "cpu")
    everything: list[Told | None] | None = [None] * here.count if here.is_first else None
    dist.gather_object(told, everything, dst=0, group=get_gloo_group())
    answer = [work(everything) if everything is not None else None]  # type: ignore[arg-type]
    dist.broadcast_object_list(answer, src=0, group=get_gloo_group())
    return answer[0]  # type: ignore[return-value]


def run_in_first(work: Callable[[], Answer]) -> Answer:
    """What work gives that the first process does alone, in each of them; every process has to call this.

    Raises:
        Exception: What the work raised, in the first process.
        OochubError: The same in words, in the others.

    >>> run_in_first(lambda: 3)
    3
    """
    raised: list[Exception] = []

    def tried(_: list[None]) -> tuple[Answer | None, str]:
        try:
            return work(), ""
        except Exception as error:  # the others are told, or they would wait for ever
            raised.append(error)
            return None, f"{type(error).__name__} in the first process: {error}"

    answer, words = gather_to_first(None, tried)
    if raised:
        raise raised[0]
    if words:
        raise OochubError(words)
    return answer  # type: ignore[return-value]
