"""Names that an argument lists, such as metrics: a list of text, not a text, which would be read letter by letter."""

from collections.abc import Iterable, Mapping
from typing import Any

from oochub.errors import OochubError


def listed_names(argument: str, names: Any) -> list[Any]:
    """The names in their order, each once.

    Args:
        argument: What an error calls them.
        names: A list, tuple or other iterable of text; None lists nothing.

    Raises:
        OochubError: A text, a mapping, or what cannot be listed; an element that is no text.

    >>> listed_names("metrics", ["auc", "ece"])
    ['auc', 'ece']
    >>> listed_names("metrics", "auc")
    Traceback (most recent call last):
    oochub.errors.OochubError: metrics= takes a list of names, got the text 'auc'. Write metrics=['auc'].
    """
    if names is None:
        return []
    if isinstance(names, str):
        raise OochubError(f"{argument}= takes a list of names, got the text {names!r}. Write {argument}=[{names!r}].")
    if isinstance(names, Mapping | bytes) or not isinstance(names, Iterable):
        raise OochubError(f"{argument}= takes a list of names, got a {type(names).__name__}, {names!r:.80}.")
    listed = list(names)
    for name in listed:
        if not isinstance(name, str):
            raise OochubError(f"{argument}= takes a list of names, got a {type(name).__name__} in it, {name!r:.80}.")
    return list(dict.fromkeys(listed))
