"""Parameters by name: reads them from what was typed, and checks names and types by the signature that takes them.

Names that an argument lists, such as metrics, are a list of text, not a text, which would be read letter by letter.
"""

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin

from oochub.errors import OochubError, unknown_name

_WORDS: Mapping[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "a text",
    type(None): "none",
}


def check_parameters(function: Callable[..., Any], given: Mapping[str, Any], *, kind: str) -> None:
    """Checks names and values before `function(**given)`; an annotation that is no plain type takes any value.

    Args:
        function: A function, or a class whose constructor is called.
        given: Arguments by name.
        kind: What an argument is in the user's words ("hyperparameter of group_dro").

    Raises:
        OochubError: A name that the function does not take, a value of another type, or nan or infinity.

    >>> def focal(gamma: float = 1.0): ...
    >>> check_parameters(focal, {"gamma": "abc"}, kind="hyperparameter of focal")
    Traceback (most recent call last):
    oochub.errors.OochubError: The hyperparameter of focal gamma must be a finite number, got 'abc'.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    for name, value in given.items():
        if name not in parameters:
            raise unknown_name(kind, name, parameters)
        kinds = list_kinds(parameters[name].annotation)
        if not any(_fits(value, each) for each in kinds):
            wanted = " or ".join(_name_kind(each) for each in kinds).rstrip(",")
            raise OochubError(f"The {kind} {name} must be {wanted}, got {value!r}.")


def parse_options(pairs: Iterable[str], *, by: str = "--option") -> dict[str, Any]:
    """Values by name from `key=value` texts; numbers, true, false and comma-separated lists are understood.

    Args:
        pairs: What was typed.
        by: The option of the command line that takes them.

    Raises:
        OochubError: A text without a key or a value, a key given twice, a number that is not finite.

    >>> parse_options(["contexts=road,grass", "beta=0.2", "strict=true"])
    {'contexts': ['road', 'grass'], 'beta': 0.2, 'strict': True}
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        if not key or not text or "" in text.split(","):
            raise OochubError(f"{by} must be written key=value, or key=value,value for a list, got {pair!r}.")
        if key in options:
            raise OochubError(f"{by} gives {key} twice. Give it once; separate several values by commas: {key}=a,b.")
        values = [parse_value(item, by=f"{key} of {by}") for item in text.split(",")]
        options[key] = values if "," in text else values[0]
    return options


def parse_value(text: str, *, by: str) -> Any:
    """What one typed value means: true or false, a number, or the text as it is.

    Args:
        text: What was typed.
        by: What takes it, in the user's words.

    Raises:
        OochubError: A number that is not finite.

    >>> parse_value("0.5", by="p"), parse_value("road", by="contexts")
    (0.5, 'road')
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if not is_finite(value):
            raise OochubError(f"{by} must be a finite number or a text, got {text!r}.")
        return value
    return text


def list_kinds(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation allows: those of a union, else itself.

    >>> list_kinds(int | None)
    (<class 'int'>, <class 'NoneType'>)
    """
    is_union = get_origin(annotation) in (Union, types.UnionType)
    return get_args(annotation) if is_union else (annotation,)


def is_finite(number: Any) -> bool:
    """Whether a number is neither nan nor infinite, nor too large for a float."""
    number = number.item() if hasattr(number, "item") else number  # NumPy would cast the bound to float32
    return bool(abs(number) <= sys.float_info.max)  # math.isfinite raises where a whole number is no float


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) in (Sequence, tuple):
        items = value.tolist() if hasattr(value, "tolist") else value
        kinds = get_args(kind)
        if not isinstance(items, list | tuple) or (get_origin(kind) is tuple and len(items) != len(kinds)):
            return False
        return all(_fits(item, kinds[min(k, len(kinds) - 1)]) for k, item in enumerate(items))
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool) and is_finite(value)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, kind) if kind in _WORDS else True


def _name_kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) in (Sequence, tuple):
        count = f" of {len(get_args(kind))}" if get_origin(kind) is tuple else ""
        return f"a list{count}, each {_name_kind(get_args(kind)[0])},"
    return _WORDS[kind]


def read_names(argument: str, names: Any) -> list[Any]:
    """The names in their order, each once.

    Args:
        argument: What an error calls them.
        names: A list, tuple or other iterable of text; None lists nothing.

    Raises:
        OochubError: A text, a mapping, or what cannot be listed; an element that is no text.

    >>> read_names("metrics", ["auc", "ece"])
    ['auc', 'ece']
    >>> read_names("metrics", "auc")
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
