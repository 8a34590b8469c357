"""What the card of a model says that it was trained on."""

import re
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.storage.reading import read_bytes

_HEADER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELDS = ("datasets", "trained_on")
_CARD = 10**6  # characters that are looked at: YAML is read slowly
_LONGEST, _MOST = 200, 100  # characters of a name, names


def trained_on(card: Path) -> tuple[str, ...] | None:
    """The data sets that a model card names in its metadata, under `datasets` or `trained_on`, in their order.

    A card is no input of a computation: one that is broken says nothing, and the model is used all the same.

    Args:
        card: The file `README.md` beside a model.

    Returns:
        The names, 100 at most; None where there is no card, or where it does not say.

    >>> trained_on(Path("nowhere/README.md")) is None
    True
    """
    import yaml

    if not card.is_file():
        return None
    try:
        header = _HEADER.match(read_bytes(card).decode("utf-8", "replace")[:_CARD])
        content = yaml.safe_load(header[1]) if header else None
    except (OochubError, yaml.YAMLError, ValueError, RecursionError):  # ValueError: a day that no calendar has
        return None
    fields = content if isinstance(content, dict) else {}
    names = dict.fromkeys(name for field in _FIELDS for name in _names(fields.get(field)))
    return tuple(names)[:_MOST] or None


def _names(value: Any) -> list[str]:
    given = value if isinstance(value, list) else [value]
    return [each.strip() for each in given if isinstance(each, str) and 0 < len(each.strip()) <= _LONGEST]
