"""Options of a benchmark's builder: their names and types are checked before anything is read."""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import datasets

from oochub.errors import OochubError, unknown_name
from oochub.parameters import check_parameters

_COMMON = {field.name for field in fields(datasets.BuilderConfig)}


def builder_options(kind: Any, given: Any, *, benchmark: str) -> dict[str, Any]:
    """The options of a builder, paths as text, without those that are None: they keep their defaults.

    Args:
        kind: The class of its configurations, whose fields are the options.
        given: Options by name.
        benchmark: Its name, for errors.

    Raises:
        OochubError: No options by name; a name that the builder does not have, a value of another type.

    >>> from dataclasses import make_dataclass
    >>> kind = make_dataclass("Config", [("alpha", float, 0.05)])
    >>> builder_options(kind, {"alpha": "x"}, benchmark="nooch")
    Traceback (most recent call last):
    oochub.errors.OochubError: The option of nooch alpha must be a finite number, got 'x'.
    """
    if not isinstance(given, Mapping):
        raise OochubError(f"Options of {benchmark} are given by name, as in {{'strict': True}}, got {given!r:.80}.")
    allowed = [field.name for field in fields(kind) if field.name not in _COMMON]
    options = {}
    for name, value in given.items():
        if name not in allowed:
            raise unknown_name(f"option of {benchmark}", name, allowed)
        if value is not None:
            options[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    check_parameters(kind, options, kind=f"option of {benchmark}")
    return options
