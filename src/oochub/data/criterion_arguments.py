"""The arguments of a criterion that is applied to a data set: column names in place of arrays, checked early."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, get_args, get_type_hints

import datasets
from numpy.typing import ArrayLike

from oochub import catalog
from oochub.errors import OochubError, either, unknown_name
from oochub.records.parameters import check_parameters

MADE = ("challenge", "challenge_value")
"""The columns that a challenge set has more than its source."""


class Arguments(NamedTuple):
    """The arguments of a criterion, told apart.

    Attributes:
        function: The criterion.
        columns: The column that each of its array parameters is read from, or a list of columns side by side.
        values: The others, as they are.
        behind: The array parameter that holds the continuous value behind the challenge, if there is one.
    """

    function: Callable[..., Any]
    columns: dict[str, str | list[str]]
    values: dict[str, Any]
    behind: str | None


def check_arguments(criterion: str | Callable[..., Any], arguments: Mapping[str, Any]) -> Arguments:
    """Tells a criterion's columns from its other arguments, without any data.

    Raises:
        OochubError: An unknown criterion, an argument that it does not take, one that it needs and lacks.

    >>> check_arguments("threshold", {"value": "year", "at": 2013}).columns
    {'value': 'year'}
    """
    function = catalog.get("criterion", criterion) if isinstance(criterion, str) else criterion
    title, hints, parameters = function.__name__, get_type_hints(function), inspect.signature(function).parameters
    arrays = [name for name in parameters if hints.get(name) in (ArrayLike, ArrayLike | None)]
    if not arrays:
        raise OochubError(f"{title} has no parameter annotated numpy.typing.ArrayLike, to be read from a column.")
    content = {name: value for name, value in arguments.items() if value is not None}
    for name in content:
        if name not in parameters:
            raise unknown_name(f"parameter of {title}", name, parameters)
    check_parameters(
        function, {name: content[name] for name in content if name not in arrays}, kind=f"parameter of {title}"
    )
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in content:
            if name not in arrays:
                raise OochubError(f"{title} needs a value for {name!r}. Its parameters: {', '.join(parameters)}.")
            content[name] = name
    columns = {name: content.pop(name) for name in arrays if name in content}
    for name, column in columns.items():
        names = listed(column) if isinstance(column, str | list) else []
        if not names or not all(isinstance(part, str) and part for part in names):
            raise OochubError(f"{name} is read from a column: give its name, or a list of names, got {column!r}.")
    values = {name: list(value) if isinstance(value, Iterator) else value for name, value in content.items()}
    compared = [name for name in arrays if name not in ("present", "label")]
    has_number = any(
        float in (hint, *get_args(hint)) for name, hint in hints.items() if name not in (*arrays, "return")
    )
    return Arguments(function, columns, values, compared[0] if has_number and len(compared) == 1 else None)


def check_columns(arguments: Arguments, features: Mapping[str, Any], *, replace: bool = False, split: str = "") -> None:
    """Checks that a split has the columns that a criterion reads, and not yet those that it makes.

    Raises:
        OochubError: A missing column, with near names; one of pictures; one that is there already and not to be
            replaced.
    """
    where = f" in split {split}" if split else ""
    for parameter, columns in arguments.columns.items():
        for column in listed(columns):
            if column not in features:
                hint = f"{arguments.function.__name__} reads its {parameter} from it; name the column that holds it."
                raise unknown_name(f"column{where}", column, features, hint)
            if not isinstance(features[column], datasets.Value | datasets.ClassLabel | datasets.List):
                kind = type(features[column]).__name__
                raise OochubError(
                    f"Column {column!r}{where} holds {kind}, not values that {parameter} can be read from."
                )
    there = [column for column in MADE if column in features]
    if there and not replace:
        raise OochubError(
            f"The data set has a column {there[0]!r} already{where}. Ask to replace it with "
            f"{either('replace=True', '--replace')}, or rename it first."
        )


def listed(columns: str | list[str]) -> list[str]:
    """The columns of one parameter.

    >>> listed("year")
    ['year']
    """
    return [columns] if isinstance(columns, str) else columns
