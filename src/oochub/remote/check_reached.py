"""Whether anybody listens at an address of a cluster, before something waits for an answer."""

import socket


def check_reached(address: str | None) -> None:
    """Opens a connection to `host:port` and closes it; an address without a port is not tried.

    Ray itself waits for long where nobody listens, and then ends the process.

    Args:
        address: Such as "ray://10.0.0.1:10001"; None and "auto" name none.

    Raises:
        OSError: Nobody listens there.
        ValueError: Its port is no number.

    >>> check_reached("auto")
    """
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=10).close()
