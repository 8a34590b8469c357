"""The processes that torchrun starts: which one this is, and what they tell each other; without it no torch."""

import os
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from oochub.errors import OochubError

_PATIENCE = timedelta(days=30)  # the first may work for long, and torchrun ends all where one dies
Told = TypeVar("Told")
Answer = TypeVar("Answer")


def ranks() -> int:
    """How many processes there are, 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """The number of this one, from 0."""
    return int(os.environ.get("RANK", "0"))


def gathered_in_first(told: Told, work: Callable[[list[Told]], Answer]) -> Answer:
    """What the first process makes of what all tell it, in each of them; every process has to call this.

    Args:
        told: What this one tells; it is pickled where there are several.
        work: From what all tell, by rank, to an answer.

    >>> gathered_in_first(3, sum)
    3
    """
    if ranks() == 1:
        return work([told])
    import torch
    import torch.distributed as dist
    from accelerate import PartialState

    PartialState(cpu=not torch.cuda.is_available())  # without being told, Accelerate would run each as the only one
    group = dist.new_group(backend="gloo", timeout=_PATIENCE)  # what is told lies in memory, whatever the devices
    everything: list[Told | None] | None = [None] * ranks() if rank() == 0 else None
    dist.gather_object(told, everything, dst=0, group=group)
    answer = [work(everything) if everything is not None else None]  # type: ignore[arg-type]
    dist.broadcast_object_list(answer, src=0, group=group)
    dist.destroy_process_group(group)
    return answer[0]  # type: ignore[return-value]


def in_first(work: Callable[[], Answer]) -> Answer:
    """What work gives that the first process does alone, in each of them; every process has to call this.

    Raises:
        Exception: What the work raised, in the first process.
        OochubError: The same in words, in the others.

    >>> in_first(lambda: 3)
    3
    """
    raised: list[Exception] = []

    def tried(_: list[None]) -> tuple[Answer | None, str]:
        try:
            return work(), ""
        except Exception as error:  # the others are told, or they would wait for ever
            raised.append(error)
            return None, f"{type(error).__name__} in the first process: {error}"

    answer, words = gathered_in_first(None, tried)
    if raised:
        raise raised[0]
    if words:
        raise OochubError(words)
    return answer  # type: ignore[return-value]
