"""How a process of a sweep begins: it imports next to nothing until it is sure to end with the sweep."""

from typing import Any

from oochub.process.program import end_with_parent


def worker(pipe: Any) -> None:
    """Does what comes through the pipe first, a function that gets the pipe.

    Args:
        pipe: To the process that started this one.
    """
    end_with_parent()
    work = pipe.recv()  # imports what it names, torch too, which takes seconds
    work(pipe)
