"""Features of `datasets` from the JSON that `Features.to_dict` gave, in a file that somebody may have changed."""

from collections.abc import Mapping
from typing import Any

from datasets import ClassLabel, Features, LargeList, List

from oochub.errors import OochubError


def features_of_json(columns: Mapping[str, Any], *, name: str, again: str) -> Features:
    """The features.

    Args:
        columns: As `Features.to_dict` gives them.
        name: What errors call it.
        again: What to do where it is broken.

    Raises:
        OochubError: It says something else.

    >>> features_of_json({"n": {"dtype": "int64", "_type": "Value"}}, name="index.json", again="Copy it again.")
    {'n': Value('int64')}
    """
    try:
        found = Features.from_dict(dict(columns))
        found.arrow_schema  # noqa: B018  it finds types that Arrow has not
        _check_names(found)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise OochubError(f"{name}: columns hold no features ({error}). {again}") from error
    return found


def _check_names(feature: Any) -> None:
    if isinstance(feature, dict):
        for inner in feature.values():
            _check_names(inner)
    elif isinstance(feature, List | LargeList):
        _check_names(feature.feature)
    elif isinstance(feature, ClassLabel) and not all(isinstance(name, str) for name in feature.names or ()):
        raise TypeError("a name of a class is no text")
