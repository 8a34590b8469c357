"""Records as JSON: frozen dataclasses are written and read here, and a field that is wrong is named."""

import math
import sys
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from oochub.errors import OochubError
from oochub.stats.estimate import Estimate

Record = TypeVar("Record")
_LARGEST = 2**53  # whole numbers up to it are floats exactly
_ROUNDING = 1e-9  # by so much a sum of shares may pass 1
_FLAT = "estimate"  # a field of that name and type stands in JSON among its record's own fields
_ESTIMATE_FIELDS = ("value", "low", "high", "n", "method", "reason")


@dataclass(frozen=True)
class Bounds:
    """What a number in JSON must lie between; nan is allowed where it is a float."""

    low: float
    high: float = math.inf

    def words(self, value: Any) -> str:
        """The bounds in words, for a value outside; for a count below 0 the largest is not named."""
        if math.isinf(self.high) or (self.high >= _LARGEST and value < self.low):
            return f"{self.low:g} or more"
        return f"in [{self.low:g}, {self.high:,.0f}]" if self.high >= _LARGEST else f"in [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True)
class AtMost:
    """How many items a list in JSON may have; looked at before the items are."""

    items: int


Count = Annotated[int, Bounds(0, _LARGEST)]
"""A whole number, 0 or more, that a float holds exactly."""
Share = Annotated[float, Bounds(0, 1)]
"""A number in [0, 1]."""
ShareEstimate = Annotated[Estimate, Bounds(0, 1)]
"""An estimate of a number in [0, 1]."""
_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Estimate: f"an object with {', '.join(_ESTIMATE_FIELDS)}",
}


def optional(default: Any = None) -> Any:
    """A field that JSON leaves out where the record has nothing to say: it equals its default.

    Args:
        default: What a record without the field holds; must not change.
    """
    return field(default=default, metadata={"optional": True})


def remainder() -> Any:
    """A field, a mapping, that holds what JSON has beyond the other fields; it stands among them, not below."""
    return field(default_factory=dict, metadata={"remainder": True})


def to_json(record: Any) -> Any:
    """A record as JSON types: dataclasses and mappings become dicts, tuples lists, and nan None.

    A field `estimate` stands among the fields of its record, not below them, and so does a `remainder()`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Gap:
    ...     metric: str
    ...     n_in: int
    >>> to_json({"gap": Gap("auc", 3), "chance": math.nan, "notes": ("partial",)})
    {'gap': {'metric': 'auc', 'n_in': 3}, 'chance': None, 'notes': ['partial']}
    """
    if isinstance(record, Estimate):
        return record.to_dict()
    if is_dataclass(record):
        content: dict[str, Any] = {}
        for each in fields(record):
            value = getattr(record, each.name)
            if each.name == _FLAT and isinstance(value, Estimate):
                content |= value.to_dict()
            elif each.metadata.get("remainder"):
                content |= to_json(value)
            elif not (each.metadata.get("optional") and value == each.default):
                content[each.name] = to_json(value)
        return content
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(value) for value in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record


def from_json(kind: type[Record], content: Any, *, what: str) -> Record:
    """A record of JSON types, the inverse of `to_json`; fields that it does not know go to its `remainder()`, if any.

    Args:
        kind: A frozen dataclass whose fields are numbers, text, Estimates, such dataclasses, or tuples, mappings,
            Literals and unions of these; `Any` takes what there is.
        content: JSON types.
        what: What errors call the record ("car.json").

    Raises:
        OochubError: A field that is missing or of another type; it is named.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Gap:
    ...     metric: str
    ...     n_in: int
    >>> from_json(Gap, {"metric": "auc", "n_in": 3, "new": 1}, what="car.json")
    Gap(metric='auc', n_in=3)
    >>> from_json(Gap, {"metric": "auc", "n_in": "3"}, what="car.json")
    Traceback (most recent call last):
    oochub.errors.OochubError: car.json: n_in must be a whole number, got '3'. Make the file again, or correct the \
field.
    """
    record = _reader(cast(Hashable, kind))(content, what, ())
    return cast(Record, record)


def check_version(content: Any, known: int, *, what: str, absent: int | None = None) -> None:
    """Checks the `schema_version` of JSON types before they are read.

    Args:
        content: Content of a file.
        known: The version that is read.
        what: What errors call it ("car.json").
        absent: The version of content that names none; None refuses it.

    Raises:
        OochubError: Another version, or no object.

    >>> check_version({"schema_version": 2}, 1, what="car.json")
    Traceback (most recent call last):
    oochub.errors.OochubError: car.json: made by a newer oochub (schema version 2, this one reads 1). Update oochub.
    """
    if not isinstance(content, Mapping):
        raise _raise_wrong_value(what, (), "an object", content)
    version = content.get("schema_version", absent)
    if type(version) is int and version > known:
        raise OochubError(
            f"{what}: made by a newer oochub (schema version {version}, this one reads {known}). Update oochub."
        )
    if type(version) is not int or version != known:
        raise OochubError(f"{what}: schema_version must be {known}, got {version!r}. Make the file again.")


_Place = tuple[Any, ...]
"""Where a value stands: the place that it is in and its own name; () at the top. It becomes text in errors alone."""
_Reader = Callable[[object, str, _Place], object]
"""Takes a value, what errors call the record, and the value's place; gives what the value means."""


@cache
def _reader(kind: Any) -> _Reader:
    """What reads values of a type; worked out once for each type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value, what, place: value
    if is_dataclass(kind):
        return _record_reader(kind)
    if kind is Estimate:
        return _read_estimate
    if origin is Annotated:
        return _limited_reader(arguments[0], arguments[1])
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin is Literal:
        return _literal_reader(arguments)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(*arguments)
    return _read_float if kind is float else _plain_reader(kind)


def _plain_reader(kind: type) -> _Reader:
    wanted = _WORDS.get(kind, kind.__name__)

    def read(value: object, what: str, place: _Place) -> object:
        if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
            return value
        raise _raise_wrong_value(what, place, wanted, value)

    return read


def _read_float(value: object, what: str, place: _Place) -> float:
    if value is None:
        return math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) > sys.float_info.max:  # infinity, or a whole number that no float holds
            raise _raise_wrong_value(what, place, "a finite number", value)
        return float(value)
    raise _raise_wrong_value(what, place, _WORDS[float], value)


def _literal_reader(allowed: tuple[object, ...]) -> _Reader:
    kinds = {type(each) for each in allowed}

    def read(value: object, what: str, place: _Place) -> object:
        if value in allowed and type(value) in kinds:
            return value
        raise _raise_wrong_value(what, place, f"one of {', '.join(map(str, allowed))}", value)

    return read


def _tuple_reader(arguments: tuple[object, ...]) -> _Reader:
    is_any_length = arguments[-1] is Ellipsis
    readers = [_reader(inner) for inner in arguments if inner is not Ellipsis]

    def read(value: object, what: str, place: _Place) -> tuple[object, ...]:
        if not isinstance(value, list | tuple):
            raise _raise_wrong_value(what, place, "a list", value)
        if not is_any_length and len(value) != len(readers):
            raise _raise_wrong_value(what, place, f"a list of {len(readers)}", value)
        each = readers * len(value) if is_any_length else readers
        return tuple(
            inner(item, what, (place, f"[{k}]")) for k, (inner, item) in enumerate(zip(each, value, strict=True))
        )

    return read


def _mapping_reader(key: object, item: object) -> _Reader:
    read_key, read_item = _reader(key), _reader(item)

    def read(value: object, what: str, place: _Place) -> dict[object, object]:
        if not isinstance(value, Mapping):
            raise _raise_wrong_value(what, place, "an object", value)
        return {
            read_key(str(name), what, place): read_item(each, what, (place, str(name))) for name, each in value.items()
        }

    return read


def _record_reader(kind: Any) -> _Reader:
    names = {each.name for each in fields(kind)}

    @cache
    def list_readers() -> list[tuple[str, _Reader, str]]:  # at the first value: a record may hold its own kind
        hints = _read_hints(kind)
        listed = []
        for each in fields(kind):
            is_flat = each.name == _FLAT and hints[each.name] is Estimate
            is_needed = each.default is MISSING and each.default_factory is MISSING
            rest = "remainder" if each.metadata.get("remainder") else ""
            role = "flat" if is_flat else rest or ("needed" if is_needed else "")
            listed.append((each.name, _reader(hints[each.name]), role))
        return listed

    def read(value: object, what: str, place: _Place) -> object:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise _raise_wrong_value(what, place, "an object", value)
        arguments: dict[str, object] = {}
        for name, inner, role in list_readers():
            if role == "flat":
                arguments[name] = _read_estimate(value, what, place)
            elif role == "remainder":
                arguments[name] = {key: item for key, item in value.items() if key not in names - {name}}
            elif name in value:
                arguments[name] = inner(value[name], what, (place, name))
            elif role == "needed":
                raise _raise_missing(what, (place, name))
        return kind(**arguments)

    return read


def _union_reader(kinds: tuple[object, ...]) -> _Reader:
    readers = [_reader(kind) for kind in kinds if kind is not type(None)]
    may_be_none = type(None) in kinds

    def read(value: object, what: str, place: _Place) -> object:
        if value is None and may_be_none:
            return None
        for inner in readers[:-1]:
            try:
                return inner(value, what, place)
            except OochubError:
                continue
        return readers[-1](value, what, place)

    return read


def _limited_reader(kind: object, bounds: Bounds | AtMost) -> _Reader:
    return _list_reader(kind, bounds.items) if isinstance(bounds, AtMost) else _number_reader(kind, bounds)


def _list_reader(kind: object, most: int) -> _Reader:
    inner = _reader(kind)

    def read(value: object, what: str, place: _Place) -> object:
        if isinstance(value, list) and len(value) > most:
            raise OochubError(
                f"{what}: {_name_place(place)} must have at most {most:,} items, got {len(value):,}. "
                "Evaluate fewer at once."
            )
        return inner(value, what, place)

    return read


def _number_reader(kind: object, bounds: Bounds) -> _Reader:
    inner, low, high = _reader(kind), bounds.low - _ROUNDING, bounds.high + _ROUNDING

    def read(value: object, what: str, place: _Place) -> object:
        number: Any = inner(value, what, place)
        if number < low or number > high:
            raise _raise_wrong_value(what, place, bounds.words(value), value)
        return number

    return read


_ESTIMATE_KINDS: Mapping[str, Any] = {
    "value": float | None, "low": float | None, "high": float | None, "n": Count, "method": str, "reason": str | None,
}  # fmt: skip


@cache
def _list_estimate_readers() -> list[tuple[str, _Reader]]:
    return [(name, _reader(kind)) for name, kind in _ESTIMATE_KINDS.items()]


def _read_estimate(value: object, what: str, place: _Place) -> Estimate:
    if isinstance(value, Estimate):
        return value
    if not isinstance(value, Mapping):
        raise _raise_wrong_value(what, place, _WORDS[Estimate], value)
    content: dict[str, Any] = {}
    for name, inner in _list_estimate_readers():
        if name not in value:
            raise _raise_missing(what, (place, name))
        content[name] = inner(value[name], what, (place, name))
    if None not in (content["low"], content["high"]) and content["low"] > content["high"]:
        raise _raise_wrong_value(what, (place, "low"), f"at most high, {content['high']:g}", content["low"])
    return Estimate.from_dict(content)


@cache
def _read_hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _name_place(place: _Place) -> str:
    """The dotted name of a field: `slices[0].n`; "" at the top."""
    if not place:
        return ""
    outer = _name_place(place[0])
    return f"{outer}.{place[1]}" if outer and not place[1].startswith("[") else f"{outer}{place[1]}"


def _raise_missing(what: str, place: _Place) -> OochubError:
    return OochubError(f"{what}: the field {_name_place(place)} is missing. Make the file again.")


def _raise_wrong_value(what: str, place: _Place, wanted: str, value: object) -> OochubError:
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}..."
    where = _name_place(place) or "the content"
    return OochubError(f"{what}: {where} must be {wanted}, got {shown}. Make the file again, or correct the field.")
