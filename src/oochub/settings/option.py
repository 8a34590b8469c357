"""An option, declared once: a field of a record that knows its bounds, its words, its flag and who shows it.

The field makes the option of the command line (`oochub.commands._options`), the keyword of the public function and
its line under Args (`oochub.settings.keywords`), the error for a wrong value, a part of the cache key, and the words
with which a command is shown again.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache, reduce
from math import inf
from operator import or_
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.typed_values import Bounds, Mismatch, explain, list_kinds, parse_options, read_names, read_value

_PLACE = "option"


@dataclass(frozen=True, kw_only=True)
class Option:
    """What a field says beside its name, its type and its default.

    Attributes:
        help: What it does, in words that are true at the command line and in Python.
        more: What Python's documentation says too, and a terminal has no room for.
        panel: The part of `--help` that it stands in: Data, Model, Contexts, Intervals, Speed, Training, Hub or Output.
        common: Whether `--help` shows it; `--help-all` shows the others too.
        flag: How the command line writes it, where that is not the name: "--label-column", "--cache/--no-cache".
        form: How a value is typed, where that is not how Python takes it: "key=value".
        metavar: What stands for the value in `--help`.
        least: The smallest value that is allowed.
        above: What the value is larger than.
        most: The largest value that is allowed.
        hint: The last sentence of the error for a wrong value.
        noun: What a name is one of, where an error for an unknown one does not say the option's own name.
        typed: The type of what is typed, where it is not the field's.
        parse: Function from what was typed, and the flag, to the value.
        commands: The commands that show it, of those that take the record; None is all of them, () none.
        python: Whether it is a keyword of public functions; else they take it in another form.
        is_keyed: Whether answers depend on it, so that it is a part of the cache key.
    """

    help: str
    more: str = ""
    panel: str
    common: bool = False
    flag: str | None = None
    form: str = ""
    metavar: str | None = None
    least: float | None = None
    above: float | None = None
    most: float | None = None
    hint: str = ""
    noun: str | None = None
    typed: Any = None
    parse: Callable[[Any, str], Any] | None = None
    commands: tuple[str, ...] | None = None
    python: bool = True
    is_keyed: bool = True

    @property
    def bounds(self) -> Bounds:
        """What a number must lie between."""
        low = next((one for one in (self.least, self.above) if one is not None), -inf)
        return Bounds(low, inf if self.most is None else self.most, above=self.above is not None)

    @property
    def text(self) -> str:
        """What stands under Args in the docstring of a public function."""
        return f"{self.help} {self.more}".strip()

    @property
    def flag_alone(self) -> str:
        """How the command line writes it where it is given: "--cache" of "--cache/--no-cache"."""
        return (self.flag or "").partition("/")[0]


def option(default: Any = MISSING, **about: Any) -> Any:
    """A field of a record; what it says is an `Option`.

    Args:
        default: The default value; without one the option must be given.
        **about: The attributes of `Option`.
    """
    return field(default=default, metadata={_PLACE: Option(**about)})


def revision_option(of: str, **about: Any) -> Any:
    """The option of a revision on the Hub.

    Args:
        of: What it is a revision of, as `--help` calls it: "MODEL".
        **about: Other attributes of `Option`.
    """
    help = f"Revision of {of} on the Hub: a commit, tag, branch or refs/pr/N; {of}@REVISION does the same."
    return option(None, help=help, **about)


class Settings:
    """The form of a record: a frozen dataclass of fields by `option`, each value checked when the record is made.

    Raises:
        OochubError: A value of another type or out of its bounds; the error names the option.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Bread(Settings):
    ...     slices: int | None = option(None, help="How many; default all.", panel="Food", least=1)
    >>> Bread(slices=3).words()
    ('--slices', '3')
    >>> Bread(slices=0)
    Traceback (most recent call last):
    oochub.errors.OochubError: slices must be a whole number, 1 or larger, got 0.
    """

    def __post_init__(self) -> None:
        for name, about in list_options(type(self)).items():
            object.__setattr__(self, name, _check_value(name, getattr(self, name), about, type_of(type(self), name)))

    @classmethod
    def keywords(cls) -> tuple[str, ...]:
        """The names of the options that are keywords of public functions."""
        return tuple(name for name, about in list_options(cls).items() if about.python)

    def given(self) -> dict[str, Any]:
        """The options that are not at their defaults, by name."""
        kind = type(self)
        return {name: value for name in list_options(kind) if (value := getattr(self, name)) != get_default(kind, name)}

    def record(self) -> dict[str, Any]:
        """All options that answers depend on, by name."""
        return {name: getattr(self, name) for name, about in list_options(type(self)).items() if about.is_keyed}

    def words(self, *names: str) -> tuple[str, ...]:
        """What to type for the options that are not at their defaults, or for those of these names alone.

        >>> from oochub.settings.data_settings import DataSettings
        >>> DataSettings(label="breed", usual={"dog": ["grass", "sand"]}).words()
        ('--label-column', 'breed', '--usual', 'dog=grass,sand')
        """
        given, options = self.given(), list_options(type(self))
        chosen = [name for name in names or given if name in given]
        return tuple(word for name in chosen for word in _write_typed(options[name], given[name]))


def list_options(kind: type[Settings]) -> Mapping[str, Option]:
    """What each field of a record says, by name, in their order."""
    options: Mapping[str, Option] = _list_options(cast(Any, kind))  # to the type checker a class with == has no hash
    return options


@cache
def _list_options(kind: Any) -> Mapping[str, Option]:
    declared: Iterable[Field[Any]] = fields(kind)
    named = {column.name: column.metadata[_PLACE] for column in declared if _PLACE in column.metadata}
    return {
        name: replace(declared_option, flag=declared_option.flag or _name_flag(name, type_of(kind, name)))
        for name, declared_option in named.items()
    }


def _name_flag(name: str, annotation: Any) -> str:
    plain = name.replace("_", "-")
    return f"--{plain}/--no-{plain}" if annotation is bool else f"--{plain}"


def type_of(kind: type[Settings], name: str) -> Any:
    """The type of an option."""
    return _read_hints(cast(Any, kind))[name]


def get_default(kind: type[Settings], name: str) -> Any:
    """The default of an option; `dataclasses.MISSING` where it must be given."""
    return kind.__dataclass_fields__[name].default  # type: ignore[attr-defined]  # a record is a dataclass


@cache
def _read_hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _check_value(name: str, value: Any, about: Option, annotation: Any) -> Any:
    """The value, a list of names as a tuple, a path that is to be a text as one.

    Raises:
        OochubError: The value is of none of the types, or out of bounds.
    """
    kinds = [kind for kind in list_kinds(annotation) if kind is not type(None)]
    if value is None and len(kinds) < len(list_kinds(annotation)):
        return value
    if isinstance(value, os.PathLike) and str in kinds:
        return os.fspath(value)
    if any(get_origin(kind) is Iterable for kind in kinds):
        return tuple(read_names(name, value))
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices:
        if not isinstance(value, str) or value not in choices:
            raise unknown_name(about.noun or name, value, choices, about.hint)
        return value
    kind = reduce(or_, (Annotated[kind, about.bounds] if kind in (int, float) else kind for kind in kinds))
    try:
        read = read_value(kind, value)
    except Mismatch:
        hint = about.hint and f" {about.hint}"
        raise OochubError(f"{choose_wording(name, about.flag_alone)} {explain(kind, value)}{hint}") from None
    return value if isinstance(value, int | Mapping) else read  # of NumPy's numbers it is Python's


def _write_typed(about: Option, value: Any) -> tuple[str, ...]:
    """What is typed for a value: a flag alone, a flag and a text, or a flag for each of several."""
    flag = about.flag_alone
    if isinstance(value, bool):
        return (flag if value else (about.flag or "").rpartition("/")[2],)
    if isinstance(value, Mapping):
        pairs = (f"{key}={_convert_to_text(entry)}" for key, entry in value.items())
        return tuple(word for pair in pairs for word in (flag, pair))
    if isinstance(value, list | tuple) and all(isinstance(element, tuple) for element in value):
        value = [":".join(pair) for pair in value]
    if isinstance(value, list | tuple) and about.typed != (str | None):
        return tuple(word for entry in value for word in (flag, _convert_to_text(entry)))
    return (flag, _convert_to_text(value))


def _convert_to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def parse_pairs(typed: Sequence[str] | None, flag: str) -> dict[str, Any] | None:
    """What `key=value`, typed any number of times, means; for `parse` of an option of values by name."""
    return parse_options(typed, by=flag) if typed else None


def parse_names(typed: str | None, flag: str) -> tuple[str, ...] | None:
    """The names of a text with commas, for `parse` of an option of names."""
    return None if typed is None else tuple(name.strip() for name in typed.split(","))


def parse_paths(typed: Sequence[os.PathLike[str]], flag: str) -> list[str]:
    """Paths that were typed, as text."""
    return [str(word) for word in typed]


def parse_path(typed: os.PathLike[str], flag: str) -> str:
    """A path as a text, for `parse` of an option that a record keeps as one."""
    return os.fspath(typed)
