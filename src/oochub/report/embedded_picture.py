"""A picture within a page: no request is made for it."""

import base64
import binascii

from markupsafe import Markup

from oochub.errors import OochubError
from oochub.report import wording

PICTURE_BYTES = 12 * 20_000
"""Of all pictures of a page."""


def embedded_picture(image: str, what: str) -> tuple[Markup, int]:
    """The address of a picture that holds its bytes, and how many there are.

    Args:
        image: A JPEG in base64.
        what: Whose it is, for the message ("mistake 7").

    Raises:
        OochubError: It is none.

    >>> embedded_picture("/9j/4AAQ", "mistake 7")
    (Markup('data:image/jpeg;base64,/9j/4AAQ'), 6)
    """
    try:
        data = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(b"\xff\xd8\xff"):
        raise OochubError(
            f"The picture of {wording.name(what)!r} must be a base64 JPEG, and it is not. "
            "Make the report again with `oochub evaluate`, or render it without pictures."
        )
    return Markup("data:image/jpeg;base64,{}").format(image), len(data)
