"""Whether an error comes of the connection to the Hub, so that the same may go well a moment later."""

from oochub.errors import causes

PASSING = (408, 429, 500, 502, 503, 504)
"""Statuses of answers that may be others a moment later."""


def connection_fault(error: BaseException) -> str | None:
    """What went wrong in a line; None where it is nothing that passes.

    Args:
        error: What a client of the Hub raised; what caused it is looked at too.

    >>> connection_fault(ConnectionError("Couldn't reach the Hub."))
    "Couldn't reach the Hub"
    >>> connection_fault(ValueError("No such config"))
    """
    from huggingface_hub.errors import HfHubHTTPError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    for each in reversed(list(causes(error))):
        status = getattr(getattr(each, "response", None), "status_code", None)
        if isinstance(each, (unreached, ConnectionError, TimeoutError)) and status in (None, *PASSING):
            lines = str(each).strip().splitlines() or [type(each).__name__]
            return lines[0].rstrip(".: ")
    return None
