"""The processes of one run, as `torchrun` starts them on one machine or several: which one this is."""

import atexit
import os
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
        number: Of this process, from 0.
        count: Of all processes.
    """

    number: int = 0
    count: int = 1

    @classmethod
    def here(cls) -> "Ranks":
        """By the environment variables RANK and WORLD_SIZE, which torchrun sets; one process where there are none."""
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
            device_type: Of the device of this process, such as "cpu".
        """
        if not self.is_alone:
            from accelerate import PartialState

            PartialState(cpu=device_type == "cpu")
            _leave_at_the_end()

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

        made: list[Any] = [None] * self.count
        try:
            distributed.all_gather_object(made, own, group=gloo())
        except RuntimeError as error:  # of gloo and NCCL, where a connection is closed
            raise OochubError(
                f"Process {self.number} of {self.count} stops: another one ended, and its own message says why. "
                "Run the same again: the parts that are complete are kept."
            ) from error
        return made


@cache
def _leave_at_the_end() -> None:
    """Threads of gloo that are still there when Python ends would abort the process."""
    from torch import distributed

    atexit.register(lambda: distributed.destroy_process_group() if distributed.is_initialized() else None)


@cache
def gloo() -> Any:
    """The group of all processes in which words travel, by memory and not by devices."""
    from torch import distributed

    return distributed.new_group(backend="gloo", timeout=_PATIENCE)
