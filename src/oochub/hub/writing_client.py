"""A client of the Hub that may write, after a look at the name, the token and the connection's switch."""

import re
from typing import Any

from oochub.errors import OochubError, either

_TOKEN = re.compile(r"[!-~]+")


def writing_client(to: str, *, dry_run: bool = False) -> Any:
    """The client (`huggingface_hub.HfApi`); nothing is asked of the Hub yet.

    Args:
        to: The repository, user/name.
        dry_run: Nothing will be written: no token is needed.

    Raises:
        OochubError: A name that is none, no token, or HF_HUB_OFFLINE is set.

    >>> writing_client("nooch")
    Traceback (most recent call last):
    oochub.errors.OochubError: A repository on the Hub is named user/name, got 'nooch'. Give your name, or that of ...
    """
    from huggingface_hub import HfApi, get_token, is_offline_mode
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        if to.count("/") != 1:  # the client takes names without a user
            raise HFValidationError
        validate_repo_id(to)
    except HFValidationError:
        raise OochubError(
            f"A repository on the Hub is named user/name, got {to!r}. Give your name, or that of an organization, a "
            "slash, and a name of letters, digits, - , _ and dots."
        ) from None
    if is_offline_mode():
        raise OochubError("HF_HUB_OFFLINE is set, so nothing can be pushed. Unset it, or set it to 0.")
    token = get_token()
    if token is None and not dry_run:
        rehearse = either("dry_run=True", "--dry-run")
        raise OochubError(
            f"No token of the Hub, so nothing can be pushed to {to}. Run `hf auth login`, or set HF_TOKEN to one that "
            f"may write (https://huggingface.co/settings/tokens); {rehearse} needs none."
        )
    if token is not None and not _TOKEN.fullmatch(token):
        raise OochubError(
            "The token of the Hub holds a space or a letter that no token has. Run `hf auth login` again."
        )
    return HfApi(token=token if token is not None else False)
