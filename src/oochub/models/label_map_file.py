"""Reads a label map that a user wrote: a class of the data set to the classes of a model that answer for it."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.storage.reading import parse_json, read_text

_FORMS = 'CSV with lines "data class,model class", repeatable; or JSON {"data class": ["model class", ...]}'


def read_label_map(given: Any) -> dict[str, list[str | int]]:
    r"""A label map from a file or a mapping.

    Args:
        given: A path that ends in .csv or .json, or a mapping. A class of the model is its name, the number of its
            output, or of ImageNet's a word or a wnid: the thing and all kinds of it. A CSV has two columns or more and
            no header; cells after the first are classes of the model, a class with a comma is in quotes.

    Raises:
        OochubError: No such file, another ending, or content of another form; the line or class is named.

    >>> read_label_map({"cat": "tabby", "dog": ["beagle", 7]})
    {'cat': ['tabby'], 'dog': ['beagle', 7]}
    """
    if isinstance(given, Mapping):
        return _checked(given, "label_map")
    if not isinstance(given, str | Path):
        raise OochubError(f"label_map is a mapping, or a path of a file: {_FORMS}; got {type(given).__name__}.")
    path = Path(given).expanduser()
    if path.suffix.lower() == ".json":
        content = parse_json(read_text(path), name=str(path))
        if not isinstance(content, Mapping):
            raise OochubError(f"{path} is no label map: {_FORMS}.")
        return _checked(content, str(path))
    if path.suffix.lower() == ".csv":
        return _checked(_lines(path), str(path))
    raise OochubError(f"A label map is a .csv or .json file, got {path.name}: {_FORMS}.")


def _lines(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    reader = csv.reader(read_text(path).splitlines(), skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            name, *classes = [cell.strip() for cell in cells] or [""]
            if name or classes:
                if not name or not any(classes):
                    raise OochubError(
                        f"{path}, line {reader.line_num}: a data class and a model class are needed. {_FORMS}."
                    )
                found.setdefault(name, []).extend(filter(None, classes))
    except csv.Error as error:
        raise OochubError(f"{path}, line {reader.line_num}: {error}. A label map is {_FORMS}.") from None
    return found


def _checked(content: Mapping[Any, Any], what: str) -> dict[str, list[str | int]]:
    if not content:
        raise OochubError(f"{what} is empty. A label map is {_FORMS}.")
    checked: dict[str, list[str | int]] = {}
    for name, classes in content.items():
        several = [classes] if isinstance(classes, str | int) else classes
        is_list = isinstance(several, Sequence) and len(several) > 0
        if not isinstance(name, str) or not is_list or not all(map(_is_class, several)):
            raise OochubError(
                f"{what}: {name!r} must have one or more classes of the model, names or numbers, got {classes!r}."
            )
        checked[name] = list(several)
    return checked


def _is_class(one: Any) -> bool:
    return isinstance(one, str | int) and not isinstance(one, bool)
