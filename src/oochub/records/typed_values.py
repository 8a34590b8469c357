"""The one reader of typed values: of records in JSON, of TOML files, of options and of parameters.

It says what came, what is allowed and where the value stands. `oochub.records.schema` reads JSON by it, which has no
nan, so that null is nan where a number is wanted, and whose unknown fields are left out. What people type is read
strictly: numbers are finite, NumPy's and arrays are taken, an unknown field is an error. Names that an argument lists,
such as metrics, are a list of text, not a text, which would be read letter by letter.
"""

import inspect
import math
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from oochub.errors import OochubError, did_you_mean, unknown_name

_LARGEST = 2**53  # whole numbers up to it are floats exactly
_ROUNDING = 1e-9  # by so much a sum of shares may pass 1
_SHOWN = 60  # characters of a wrong value
_MOST = sys.float_info.max
_DIGITS = 30  # of a whole number that an error repeats
_FLAT = "estimate"  # a field of that name and type stands in JSON among its record's own fields


@dataclass(frozen=True)
class Bounds:
    """What a number must lie between; both ends are allowed but where `above` or `below` says otherwise."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def has(self, number: Any, rounding: float = 0.0) -> bool:
        """Whether a number lies between; nan does."""
        is_outside = number < self.low - rounding or number > self.high + rounding
        return not (is_outside or (self.above and number == self.low) or (self.below and number == self.high))

    def words(self, value: Any) -> str:
        """The bounds in words, for a value outside; the largest count is named for a larger one alone."""
        low = "" if self.low == -math.inf else f" above {self.low:g}" if self.above else f", {self.low:g} or larger"
        if self.high == math.inf or (
            self.high >= _LARGEST and not (isinstance(value, int | float) and value > self.high)
        ):
            return low
        if self.low == -math.inf or self.above or self.below:
            return f"{low}, below {self.high:g}" if self.below else f"{low}, {self.high:,} at most"
        return f" in [{self.low:g}, {self.high:,}]"


@dataclass(frozen=True)
class Length:
    """How many items a list may have, or characters a text; looked at before the items are."""

    least: int = 0
    most: int = sys.maxsize

    def has(self, count: Any, rounding: float = 0.0) -> bool:
        """Whether so many are allowed."""
        return bool(self.least <= count <= self.most)

    def words(self, value: Any) -> str:
        """The bound in words, for a value outside."""
        return " that is not empty" if not len(value) else f" of at most {self.most:,} items, not of {len(value):,}"


Count = Annotated[int, Bounds(0, _LARGEST)]
"""A whole number, 0 or more, that a float holds exactly."""
Share = Annotated[float, Bounds(0, 1)]
"""A number in [0, 1]."""
NotNegative = Annotated[float, Bounds(0)]
"""A number, 0 or larger."""
Positive = Annotated[float, Bounds(0, above=True)]
"""A number above 0."""
Name = Annotated[str, Length(1)]
"""Text that is not empty."""
WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
    type(None): "none",
}


Place = tuple[Any, ...]
"""Where a value stands: the place that it is in and its own name or number; () at the top."""
Reader = Callable[[object, Place], object]
"""Takes a value and its place; gives what the value means."""


READERS: dict[Any, Reader] = {}
"""What reads values of other types; their words are in `WORDS`."""


class Mismatch(Exception):
    """A value that its type does not allow; the caller adds what it is a value of.

    Args:
        place: Where it stands.
        wanted: The type, or what is allowed in words; None for a field that is missing.
        value: What came.
    """

    def __init__(self, place: Place, wanted: Any = None, value: object = None) -> None:
        super().__init__(place, wanted)
        self._place, self._wanted, self._value = place, wanted, value

    @property
    def path(self) -> tuple[Any, ...]:
        """The names of fields and the numbers of items that lead to the value: ("slices", 0, "n")."""
        return _list_names(self._place)

    def __str__(self) -> str:
        """What is wrong, as a sentence: "slices[0].n must be text, got 3."."""
        if isinstance(self._wanted, OochubError):
            return str(self._wanted)
        place = _name_place(self._place)
        if self._wanted is None:
            return f"the field {place} is missing."
        return f"{place or 'the content'} {explain(self._wanted, self._value)}"


def _list_names(place: Place) -> tuple[Any, ...]:
    return (*_list_names(place[0]), place[1]) if place else ()


def _name_place(place: Place) -> str:
    """The dotted name of a field: `slices[0].n`; "" at the top."""
    return "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in _list_names(place)).lstrip(".")


def shorten(value: object) -> str:
    """What was given, as Python writes it, cut where it is long; a number of hundreds of digits by their number.

    >>> shorten("x"), shorten(10**30)
    ("'x'", 'a whole number of more than 30 digits')
    """
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        return f"a whole number of more than {_DIGITS} digits"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def read_value(kind: Any, value: object, *, strict: bool = True) -> Any:
    """The value of a type; a type that is neither plain nor made of plain ones takes any value.

    Args:
        kind: A type, as `from_json` takes them, a `Sequence`, `list` or `dict`.
        value: What came: of Python, NumPy, TOML or JSON.
        strict: Whether it is read as what people type; False reads it as JSON.

    Raises:
        Mismatch: It is of another type, not finite, out of bounds, or has a field that is not known.

    >>> read_value(Annotated[int, Bounds(1)] | None, 3)
    3
    """
    return make_reader(kind, strict)(value, ())


def check_values(
    given: Mapping[str, Any], allowed: Mapping[str, Any], *, kind: str, subject: str = "The {kind} {name}"
) -> dict[str, Any]:
    """Checks names and values by the types that are allowed, and gives the values as they are read.

    Args:
        given: Values by name.
        allowed: The type of each name.
        kind: What a name is, in the user's words ("hyperparameter of group_dro").
        subject: What the error for a wrong value begins with.

    Raises:
        OochubError: A name that is not allowed, or a value of another type.

    >>> check_values({"seeds": 0}, {"seeds": list}, kind="key", subject="{name} in the recipe")
    Traceback (most recent call last):
    oochub.errors.OochubError: seeds in the recipe must be a list, got 0.
    """
    read = {}
    for name, value in given.items():
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
        try:
            read[name] = read_value(allowed[name], value)
        except Mismatch:
            subject = subject.format(kind=kind, name=name)
            raise OochubError(f"{subject} {explain(allowed[name], value)}") from None
    return read


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
    return bool(abs(number) <= _MOST)  # math.isfinite raises where a whole number is no float


def explain(wanted: Any, value: object) -> str:
    """What a value must be and what came, with near names where it is one of several.

    Args:
        wanted: The type, see `read_value`, or what is allowed in words.
        value: What came.

    >>> explain(Literal["adam", "sgd"] | None, "adm")
    "must be one of adam, sgd or none, got 'adm'. Did you mean 'adam'?"
    """
    words = wanted if isinstance(wanted, str) else describe(wanted, value)
    choices = [name for kind in list_kinds(wanted) if get_origin(kind) is Literal for name in map(str, get_args(kind))]
    near = did_you_mean(value, choices) if isinstance(value, str) else ""
    return f"must be {words}, got {shorten(value)}.{near}"


def describe(kind: Any, value: object = None) -> str:
    """What a value of a type must be, in words.

    Args:
        kind: The type, see `read_value`.
        value: What came instead.

    >>> describe(Annotated[float, Bounds(0, above=True)] | None), describe(str | Sequence[int])
    ('a finite number above 0 or none', 'text or a list, each a whole number')
    """
    return " or ".join(_describe_kind(one, value) for one in list_kinds(kind)).rstrip(",")


def _describe_kind(kind: Any, value: object) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner, limit = arguments[:2]
        words = "an estimate" if inner in READERS else WORDS.get(inner, "a list")
        return words + (limit.words(value) if isinstance(limit, Bounds) or hasattr(value, "__len__") else "")
    if origin is Literal:
        return "one of " + ", ".join(str(name) or "''" for name in arguments)
    if origin in (tuple, Sequence):
        count = "" if arguments[-1] is Ellipsis or origin is Sequence else f" of {len(arguments)}"
        return f"a list{count}, each {_describe_kind(arguments[0], value)},"
    if origin is Mapping:
        return "values by name" + ("" if arguments[1] is Any else f", each {describe(arguments[1], value)},")
    return "a table" if is_dataclass(kind) else WORDS.get(kind, getattr(kind, "__name__", ""))


@cache
def make_reader(kind: Any, strict: bool) -> Reader:
    """What reads values of a type; worked out once for each type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _make_bounded_reader(arguments[0], arguments[1], strict)
    if origin in (Union, types.UnionType):
        return _make_union_reader(arguments, strict)
    if origin in (tuple, Sequence):
        return _make_list_reader(kind, arguments, strict)
    if origin is Mapping:
        return _make_mapping_reader(arguments[0], arguments[1], strict)
    if origin is Literal:
        return _make_choice_reader(kind)
    if is_dataclass(kind):
        return _make_record_reader(kind, strict)
    if kind in (int, float):
        return _make_number_reader(kind, strict)
    if kind in READERS:
        return READERS[kind]
    is_checked = kind in WORDS or (not strict and isinstance(kind, type) and kind is not Any)
    return _make_type_reader(kind) if is_checked else lambda value, place: value


def _make_choice_reader(kind: Any) -> Reader:
    """Reads one of the values of a Literal."""
    choices = get_args(kind)
    types_of_choices = {type(choice) for choice in choices}

    def read(value: object, place: Place) -> object:
        if type(value) in types_of_choices and value in choices:
            return value
        raise Mismatch(place, kind, value)

    return read


def _make_type_reader(kind: Any) -> Reader:
    """Reads a value of a plain type that is not a number."""

    def read(value: object, place: Place) -> object:
        if kind is bool and type(value).__name__ in ("bool_", "bool"):  # of NumPy
            return bool(value)
        if isinstance(value, kind):
            return value
        raise Mismatch(place, kind, value)

    return read


def _make_number_reader(kind: Any, strict: bool) -> Reader:
    """Reads a finite number, NumPy's as Python's; null is nan where JSON holds a float."""
    family = Integral if kind is int else Real
    may_be_nan = kind is float and not strict

    def read(value: Any, place: Place) -> object:
        if type(value) is kind and -_MOST <= value <= _MOST:
            return value
        if value is None and may_be_nan:
            return math.nan
        is_number = isinstance(value, family) and not isinstance(value, bool)
        if is_number and (is_finite(value) or (may_be_nan and value != value)):
            return kind(value)
        raise Mismatch(place, kind, value)

    return read


def _make_list_reader(kind: object, arguments: tuple[object, ...], strict: bool) -> Reader:
    """Reads a list as a tuple: of any length and one type, or of as many items as the type names."""
    is_any_length = get_origin(kind) is Sequence or arguments[-1] is Ellipsis
    readers = [make_reader(inner, strict) for inner in arguments if inner is not Ellipsis]

    def read(value: Any, place: Place) -> tuple[object, ...]:
        items = value.tolist() if strict and hasattr(value, "tolist") else value
        if not isinstance(items, list | tuple) or not (is_any_length or len(items) == len(readers)):
            raise Mismatch(place, kind, value)
        of_items = zip(readers * len(items) if is_any_length else readers, items, strict=True)
        return tuple(read_item(item, (place, k)) for k, (read_item, item) in enumerate(of_items))

    return read


def _make_mapping_reader(key: object, item: object, strict: bool) -> Reader:
    """Reads values by name."""
    read_key, read_item = make_reader(key, strict), make_reader(item, strict)

    def read(value: object, place: Place) -> dict[object, object]:
        if not isinstance(value, Mapping):
            raise Mismatch(place, "a table" if strict else "an object", value)
        return {read_key(str(name), place): read_item(inner, (place, str(name))) for name, inner in value.items()}

    return read


class _ReadField(NamedTuple):
    """A field of a record: what reads it, and how it stands among the others.

    Attributes:
        name: Name of the field.
        read: What reads its value.
        role: "flat" if its own fields stand among those of the record; "remainder" if it holds what no other field
            names; "needed" if it has no default; else "".
    """

    name: str
    read: Reader
    role: str


def _make_record_reader(kind: Any, strict: bool) -> Reader:
    """Reads a record from its fields by name; an unknown field is an error if `strict`, else left out."""
    declared = {field.name: field for field in fields(kind)}

    @cache
    def list_fields() -> list[_ReadField]:  # at the first value: a record may hold its own kind
        hints = get_type_hints(kind, include_extras=True)
        listed = []
        for name, field in declared.items():
            if name == _FLAT and hints[name] in READERS:
                role = "flat"
            elif field.metadata.get("remainder"):
                role = "remainder"
            else:
                role = "needed" if field.default is MISSING and field.default_factory is MISSING else ""
            listed.append(_ReadField(name, make_reader(hints[name], strict), role))
        return listed

    def read(value: object, place: Place) -> object:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise Mismatch(place, "a table" if strict else "an object", value)
        for name in value if strict else ():
            if name not in declared:
                owner = f"field of {_name_place(place)}" if place else "field"
                raise Mismatch((place, name), unknown_name(owner, str(name), declared))
        arguments: dict[str, object] = {}
        for name, read_field, role in list_fields():
            if role == "flat":
                arguments[name] = read_field(value, place)
            elif role == "remainder":
                arguments[name] = {key: item for key, item in value.items() if key == name or key not in declared}
            elif name in value:
                arguments[name] = read_field(value[name], (place, name))
            elif role == "needed":
                raise Mismatch((place, name))
        return kind(**arguments)

    return read


def _make_union_reader(kinds: tuple[object, ...], strict: bool) -> Reader:
    """Reads by the first of several types that takes a value; the last one says what is wrong."""
    *readers, last = [make_reader(kind, strict) for kind in kinds if kind is not type(None)]
    may_be_none = type(None) in kinds

    def read(value: object, place: Place) -> object:
        if value is None and may_be_none:
            return None
        for read_first in readers:
            try:
                return read_first(value, place)
            except (Mismatch, OochubError):
                continue
        return last(value, place)

    return read


def _make_bounded_reader(kind: Any, limit: Bounds | Length, strict: bool) -> Reader:
    """Reads a number and looks at its bounds; the length of a list or text is looked at before it is read."""
    read_kind, rounding = make_reader(kind, strict), 0.0 if strict else _ROUNDING

    def read(value: object, place: Place) -> object:
        if isinstance(limit, Length) and isinstance(value, list | str) and not limit.has(len(value)):
            raise Mismatch(place, Annotated[kind, limit], value)
        content = read_kind(value, place)
        if isinstance(limit, Bounds) and not limit.has(content, rounding):
            raise Mismatch(place, Annotated[kind, limit], value)
        return content

    return read


def check_parameters(
    function: Callable[..., Any], given: Mapping[str, Any], *, kind: str, subject: str = "The {kind} {name}"
) -> dict[str, Any]:
    """Checks names and values before `function(**given)`; an annotation that is no plain type takes any value.

    Args:
        function: A function, or a class whose constructor is called.
        given: Arguments by name.
        kind: What an argument is in the user's words ("hyperparameter of group_dro").
        subject: What the error for a wrong value begins with.

    Returns:
        The values as they are read: NumPy's numbers are Python's.

    Raises:
        OochubError: A name that the function does not take, a value of another type, or nan or infinity.

    >>> def focal(gamma: float = 1.0): ...
    >>> check_parameters(focal, {"gamma": "abc"}, kind="hyperparameter of focal")
    Traceback (most recent call last):
    oochub.errors.OochubError: The hyperparameter of focal gamma must be a finite number, got 'abc'.
    """
    return check_values(given, _read_parameters(function), kind=kind, subject=subject)


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
            raise OochubError(f"{by} gives {key} twice. Pass it once; separate several values by commas: {key}=a,b.")
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


@cache
def _read_parameters(function: Callable[..., object]) -> Mapping[str, object]:
    parameters = inspect.signature(function, eval_str=True).parameters
    return {name: parameter.annotation for name, parameter in parameters.items()}


def read_hints(kind: type) -> Mapping[str, object]:
    """The types of the fields of a class by name, with what `Annotated` adds.

    >>> class Rate:
    ...     value: float
    >>> read_hints(Rate)
    {'value': <class 'float'>}
    """
    return _read_hints(kind)


@cache
def _read_hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
