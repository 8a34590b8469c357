"""Public functions whose keywords are the options of records.

The function declares the records, `help` and `inspect` show their options as keywords, and the body gets the records,
checked. Type checkers and editors read the same from `__init__.pyi` of this folder, which `make options` writes.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING
from functools import wraps
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from oochub.errors import unknown_name
from oochub.settings.option import Settings, get_default, list_options, type_of


class Taken(NamedTuple):
    """A record that a public function takes.

    Attributes:
        kind: The record.
        names: Its options that are keywords of the function.
        listed: Those that the signature lists; the others are said under its `**`.
        called: Options that are parameters of the function's own, each with the parameter's name.
    """

    kind: type[Settings]
    names: tuple[str, ...]
    listed: tuple[str, ...]
    called: Mapping[str, str]

    def make(self, given: Mapping[str, Any]) -> Settings:
        """The record of the keywords of a call."""
        places = {name: name for name in self.names} | dict(self.called)
        return self.kind(**{name: given[place] for name, place in places.items() if place in given})


class _Choice(NamedTuple):
    names: tuple[str, ...]
    is_all: bool = False
    is_without: bool = False
    called: Mapping[str, str] = {}


def only(*names: str, **called: str) -> _Choice:
    """What `Annotated` says of a record of which a function takes some options alone.

    Args:
        *names: The options.
        **called: Those that are parameters of the function's own, each with the parameter's name.
    """
    return _Choice(names, called=called)


def listing(*names: str) -> _Choice:
    """What `Annotated` says of a record whose options a function takes all, and lists these in its signature."""
    return _Choice(names, is_all=True)


def without(*names: str) -> _Choice:
    """What `Annotated` says of a record of which a function takes all options but these."""
    return _Choice(names, is_without=True)


def list_records(function: Callable[..., Any]) -> dict[str, Taken]:
    """The records that a function takes, by the name of its parameter; those of one that `with_options` made too.

    >>> from oochub.settings.repair_settings import RepairSettings
    >>> def mend(*, asked: Annotated[RepairSettings, only("draws", "seed")]): ...
    >>> list_records(mend)["asked"].names
    ('draws', 'seed')
    """
    taken = {}
    for parameter in inspect.signature(inspect.unwrap(function), follow_wrapped=False).parameters.values():
        is_chosen = get_origin(parameter.annotation) is Annotated
        kind, choice = get_args(parameter.annotation) if is_chosen else (parameter.annotation, None)
        if isinstance(kind, type) and issubclass(kind, Settings):
            own = [name for name in kind.keywords() if name in kind.__annotations__]
            every = (*own, *(name for name in kind.keywords() if name not in own))  # those of a base come last
            choice = choice or _Choice(every)
            if choice.is_without:
                choice = _Choice(tuple(name for name in every if name not in choice.names))
            taken[parameter.name] = Taken(kind, every if choice.is_all else choice.names, choice.names, choice.called)
    return taken


def with_options(
    name: str, *, others: Callable[[], Iterable[str]] | None = None, **types: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a public function of one that takes records: their options are its keywords.

    Args:
        name: The function's, by which type checkers know its signature.
        others: Function that lists the names that its `**` takes; None takes any.
        **types: The types of options that a record, which imports neither torch nor datasets, cannot say.

    >>> from oochub.settings.repair_settings import RepairSettings
    >>> @with_options("mend")
    ... def mend(model: str, *, asked: Annotated[RepairSettings, only("draws")]) -> int:
    ...     return asked.draws
    >>> inspect.signature(mend)
    <Signature (model: str, *, draws: int = 3) -> int>
    >>> mend("model", drows=2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    oochub.errors.OochubError: No keyword of mend named 'drows'. Did you mean 'draws'? Allowed: draws, model. ...
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        declared, records = inspect.signature(function), list_records(function)
        places = {option: place for place, taken in records.items() for option in taken.names}
        parameters = [
            one
            for parameter in declared.parameters.values()
            for one in (
                [parameter] if parameter.name not in records else _list_keywords(records[parameter.name], types)
            )
        ]
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        own = {parameter.name for parameter in parameters if parameter.kind in named}
        is_open = parameters[-1].kind is inspect.Parameter.VAR_KEYWORD

        @wraps(function)
        def run(*positional: Any, **given: Any) -> Any:
            unknown = given.keys() - own - places.keys()
            if unknown and not (is_open and others is None):
                names = {*own, *places, *(others() if is_open and others else ())}
                for keyword in given:
                    if keyword not in names:
                        hint = f"help(oochub.{name}) says what each does."
                        raise unknown_name(f"keyword of {name}", keyword, names, hint)
            rest = {name: value for name, value in given.items() if name not in places}
            settings = {place: taken.make(given) for place, taken in records.items()}
            return function(*positional, **rest, **settings)

        vars(run)["__signature__"] = declared.replace(parameters=parameters)  # what `inspect` reads
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {
            "return": declared.return_annotation
        }
        run.__doc__ = _complete(inspect.getdoc(function) or "", records)
        return run

    return decorate


def take_records(function: Callable[..., Any]) -> Callable[..., Any]:
    """The public function as it is written: it takes records, which a command has, in place of their options."""
    unwrapped: Callable[..., Any] = inspect.unwrap(function)
    return unwrapped


def _list_keywords(taken: Taken, types: Mapping[str, Any]) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is MISSING else default,
            annotation=types.get(name, type_of(taken.kind, name)),
        )
        for name in taken.listed
        for default in [get_default(taken.kind, name)]
    ]


def _complete(text: str, records: Mapping[str, Taken]) -> str:
    """The docstring with the options of each record in place of what it says of the record."""
    for place, taken in records.items():
        entries = "".join(_write_entry(name, list_options(taken.kind)[name].text) for name in taken.listed)
        text = re.sub(rf"^    {place}: .*\n(?:     .*\n)*", entries.replace("\\", r"\\"), text, count=1, flags=re.M)
    return text


def _write_entry(name: str, text: str) -> str:
    entry = textwrap.fill(
        f"{name}: {text}",
        width=116,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{entry}\n"
