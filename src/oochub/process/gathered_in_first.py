"""What the first process that torchrun starts makes of what all tell it; alone, torch is not imported."""

from collections.abc import Callable
from typing import TypeVar

from oochub.errors import OochubError
from oochub.process.ranks import Ranks, gloo

Told = TypeVar("Told")
Answer = TypeVar("Answer")


def gathered_in_first(told: Told, work: Callable[[list[Told]], Answer]) -> Answer:
    """What the first process makes of what all tell it, in each of them; every process has to call this.

    Args:
        told: What this one tells; it is pickled where there are several.
        work: From what all tell, by rank, to an answer.

    >>> gathered_in_first(3, sum)
    3
    """
    here = Ranks.here()
    if here.is_alone:
        return work([told])
    import torch
    import torch.distributed as dist

    here.join("cuda" if torch.cuda.is_available() else "cpu")
    everything: list[Told | None] | None = [None] * here.count if here.is_first else None
    dist.gather_object(told, everything, dst=0, group=gloo())
    answer = [work(everything) if everything is not None else None]  # type: ignore[arg-type]
    dist.broadcast_object_list(answer, src=0, group=gloo())
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
