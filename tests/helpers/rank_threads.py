"""Ranks as threads of one process that meet at a barrier, in the place of processes of torchrun."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from oochub.process.ranks import Ranks


def run_as_ranks(monkeypatch: pytest.MonkeyPatch, count: int, work: Callable[[], Any]) -> list[Any]:
    """What `work()` gives or raises in each of so many threads that are ranks."""
    own, meeting = threading.local(), threading.Barrier(count, timeout=60)
    said: list[Any] = [None] * count
    ends: dict[int, Any] = {}

    def values(self: Ranks, value: Any) -> list[Any]:
        if self.is_alone:
            return [value]
        said[self.number] = value
        meeting.wait()
        heard = list(said)
        meeting.wait()
        return heard

    def thread(number: int) -> None:
        own.ranks = Ranks(number=number, count=count)
        try:
            ends[number] = work()
        except Exception as error:
            ends[number] = error
            meeting.abort()

    with monkeypatch.context() as patch:
        patch.setattr(Ranks, "here", lambda: own.ranks)
        patch.setattr(Ranks, "join", lambda self, device_type: None)
        patch.setattr(Ranks, "values", values)
        threads = [threading.Thread(target=thread, args=(number,)) for number in range(count)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    return [ends[number] for number in range(count)]
