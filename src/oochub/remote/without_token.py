"""Texts of a server, or of addresses that the user set, without what must not be shown."""

import re
from urllib.parse import quote

_LOGIN = re.compile(r"(?<=://)[^/?#\s@]*@")


def without_token(text: str, token: str | None = None) -> str:
    """A text without the token of the Hub and without the login in its addresses.

    Args:
        text: Such as what a server answered, or HF_ENDPOINT.
        token: Another one that must not be shown.

    >>> without_token("https://user:hf_secret@hub.example/user/data")
    'https://hub.example/user/data'
    """
    from huggingface_hub import get_token

    for secret in filter(None, (token, get_token())):
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, "[token]")
    return _LOGIN.sub("", text)
