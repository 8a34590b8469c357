"""What a command that a test typed left: its exit code, what it printed, and what it said of errors."""

from typing import NamedTuple


class Ended(NamedTuple):
    """The exit code, standard output and standard error of a command that ran in this process."""

    code: int
    out: str
    err: str


def in_one_line(code: int, out: str, err: str) -> Ended:
    """The same with the error on one line."""
    return Ended(code, out, " ".join(err.split()))
