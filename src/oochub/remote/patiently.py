"""Asks the Hub, guarded, and again where it failed in a way that passes."""

import time
from collections.abc import Callable
from typing import TypeVar

from oochub.remote.connection_fault import connection_fault
from oochub.remote.guarded import guarded

Answer = TypeVar("Answer")
_TRIES = 4
_WAIT = 0.5  # seconds after the first try; twice as long after each other one


def patiently(ask: Callable[[], Answer], *, wrapped: tuple[type[Exception], ...] = ()) -> Answer:
    """The answer, after up to four tries; not after one where nobody listens, or where HF_HUB_OFFLINE is set.

    Args:
        ask: Asks the Hub; it may be called several times.
        wrapped: Errors of others in which those of the Hub's clients come.

    Raises:
        Exception: What `ask` raises, of the last try.

    >>> patiently(lambda: 3)
    3
    """
    from huggingface_hub import is_offline_mode
    from huggingface_hub.errors import HfHubHTTPError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    errors: tuple[type[Exception], ...] = (unreached, OSError, *wrapped)
    for number in range(_TRIES - 1):
        try:
            with guarded():
                return ask()
        except errors as error:
            causes = (error, error.__cause__, error.__context__)
            if connection_fault(error) is None or is_offline_mode() or any(map(_is_nobody, causes)):
                raise
            time.sleep(_WAIT * 2**number)
    with guarded():
        return ask()


def _is_nobody(error: BaseException | None) -> bool:
    """Whether no connection was made: there is no network, or no server."""
    return type(error).__name__ == "ConnectError"
