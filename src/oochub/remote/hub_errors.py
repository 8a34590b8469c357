"""What goes wrong between a client of the Hub and the Hub: what passes is tried again, what does not is said in words.

`retry` asks the Hub, guarded, and again where it failed in a way that passes; `explain_connection_fault` says whether
an error comes of the connection, so that the same may go well a moment later; `explain_refusals` puts what the Hub's
client raises as one line in words that never holds the token.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from oochub.errors import OochubError, list_causes
from oochub.remote.guard import guard_clients, hide_token

PASSING = (408, 429, 500, 502, 503, 504)
"""Statuses of answers that may be others a moment later."""
ODD_ANSWERS = (ValueError, LookupError, TypeError, AttributeError, AssertionError, NameError, RecursionError)
"""What the client raises where the answer is no JSON, or lacks what it looks for."""
_SHOWN = 300  # characters of what the server says
_AGAIN = (*PASSING, 412)  # the branch moved


def explain_connection_fault(error: BaseException) -> str | None:
    """What went wrong in a line; None where it is nothing that passes.

    Args:
        error: What a client of the Hub raised; what caused it is looked at too.

    >>> explain_connection_fault(ConnectionError("Couldn't reach the Hub."))
    "Couldn't reach the Hub"
    >>> explain_connection_fault(ValueError("No such config"))
    """
    from huggingface_hub.errors import HfHubHTTPError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    for cause in reversed(list(list_causes(error))):
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if isinstance(cause, (unreached, ConnectionError, TimeoutError)) and status in (None, *PASSING):
            lines = str(cause).strip().splitlines() or [type(cause).__name__]
            return lines[0].rstrip(".: ")
    return None


class Refusal(OochubError):
    """The Hub did not do what it was asked.

    Attributes:
        is_passing: Whether the same request may go well a moment later.
        status: The status of its answer; None where none came.
    """

    def __init__(self, words: str, *, is_passing: bool = False, status: int | None = None) -> None:
        super().__init__(words)
        self.is_passing = is_passing
        self.status = status


@contextmanager
def explain_refusals(to: str, *, token: str | None) -> Iterator[None]:
    """Turns what the client raises in the block into a `Refusal`, without the token and without the client's chain.

    Args:
        to: The repository.
        token: What must not be shown.

    Raises:
        Refusal: The Hub refused, failed, or could not be reached.
    """
    from huggingface_hub.errors import HfHubHTTPError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    try:
        with guard_clients():
            yield
    except OochubError:
        raise
    except (unreached, OSError, RuntimeError, *ODD_ANSWERS) as error:  # RuntimeError: of a file's upload
        raise _make_refusal(error, to, token) from None  # the chain may show what the server sent back


def _make_refusal(error: BaseException, to: str, token: str | None) -> Refusal:
    from huggingface_hub.errors import HfHubHTTPError

    chain = list(list_causes(error))
    answer = next((error_of_chain for error_of_chain in chain if isinstance(error_of_chain, HfHubHTTPError)), None)
    if answer is None:
        named = dict.fromkeys(
            _clean(str(error_of_chain) or type(error_of_chain).__name__, token)
            for error_of_chain in (chain[0], chain[-1])
        )
        return Refusal(
            f"The Hub could not be reached, or did not answer as expected ({': '.join(named)}). Check the connection "
            "and push again: what is already there is not sent again.",
            is_passing=not isinstance(error, ODD_ANSWERS),
        )
    status = answer.response.status_code
    message = f"{status}: {_clean(answer.server_message or answer.response.reason_phrase or 'no reason given', token)}"
    if status == 401:
        words = (
            f"The Hub refused the token ({message}). Create one that may write at "
            "https://huggingface.co/settings/tokens, and give it by `hf auth login` or in HF_TOKEN."
        )
    elif status == 403:
        words = (
            f"The Hub refused to write to {to} ({message}). The token must belong to somebody who may write there, and "
            "must be a write token: see https://huggingface.co/settings/tokens."
        )
    elif status == 404:
        words = f"The Hub has no {to} that this token may write to ({message}). Check the name and the revision."
    elif status == 412:
        words = f"Somebody else pushed to {to} at the same time, again and again ({message}). Push again."
    elif status in _AGAIN:
        words = (
            f"The Hub could not take the push to {to} now ({message}). Nothing is half-pushed; push again later: what "
            "is already there is not sent again."
        )
    else:
        words = f"The Hub refused the push to {to} ({message}). Correct what it names, and push again."
    return Refusal(words, is_passing=status in _AGAIN, status=status)


def _clean(text: str, token: str | None) -> str:
    """One line, not long, without what must not be shown."""
    line = " ".join(hide_token(text, token).split())
    return (line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...").rstrip(".")


Answer = TypeVar("Answer")
_TRIES = 4
_WAIT = 0.5  # seconds after the first try; twice as long after each other one


def retry(ask: Callable[[], Answer], *, wrapped: tuple[type[Exception], ...] = ()) -> Answer:
    """The answer, after up to four tries; not after one where nobody listens, or where HF_HUB_OFFLINE is set.

    Args:
        ask: Asks the Hub; it may be called several times.
        wrapped: Errors of others in which those of the Hub's clients come.

    Raises:
        Exception: What `ask` raises, of the last try.

    >>> retry(lambda: 3)
    3
    """
    from huggingface_hub import is_offline_mode
    from huggingface_hub.errors import HfHubHTTPError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    errors: tuple[type[Exception], ...] = (unreached, OSError, *wrapped)
    for number in range(_TRIES - 1):
        try:
            with guard_clients():
                return ask()
        except errors as error:
            causes = (error, error.__cause__, error.__context__)
            if explain_connection_fault(error) is None or is_offline_mode() or any(map(_is_nobody, causes)):
                raise
            time.sleep(_WAIT * 2**number)
    with guard_clients():
        return ask()


def _is_nobody(error: BaseException | None) -> bool:
    """Whether no connection was made: there is no network, or no server."""
    return type(error).__name__ == "ConnectError"
