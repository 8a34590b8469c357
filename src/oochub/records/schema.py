"""Records as JSON: frozen dataclasses are written and read here, and a field that is wrong is named."""

import math
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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
    record: Record = _read(kind, content, what, "")
    return record


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
        raise _raise_wrong_value(what, "", "an object", content)
    version = content.get("schema_version", absent)
    if type(version) is int and version > known:
        raise OochubError(
            f"{what}: made by a newer oochub (schema version {version}, this one reads {known}). Update oochub."
        )
    if type(version) is not int or version != known:
        raise OochubError(f"{what}: schema_version must be {known}, got {version!r}. Make the file again.")


def _read(kind: Any, value: Any, what: str, place: str) -> Any:
    """`value` as a `kind`; `place` is the dotted name of the field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _read_record(kind, value, what, place)
    if origin is Annotated:
        return _read_limited(arguments[0], arguments[1], value, what, place)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, value, what, place)
    if origin is Literal:
        if value in arguments and type(value) in {type(each) for each in arguments}:
            return value
        raise _raise_wrong_value(what, place, f"one of {', '.join(map(str, arguments))}", value)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _raise_wrong_value(what, place, "a list", value)
        if arguments[-1] is not Ellipsis:
            if len(value) != len(arguments):
                raise _raise_wrong_value(what, place, f"a list of {len(arguments)}", value)
            pairs = enumerate(zip(arguments, value, strict=True))
            return tuple(_read(inner, item, what, f"{place}[{k}]") for k, (inner, item) in pairs)
        return tuple(_read(arguments[0], item, what, f"{place}[{k}]") for k, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _raise_wrong_value(what, place, "an object", value)
        return {
            _read(arguments[0], str(key), what, place): _read(arguments[1], item, what, _join_place(place, str(key)))
            for key, item in value.items()
        }
    if kind is Estimate:
        return _read_estimate(value, what, place)
    if kind is float and value is None:
        return math.nan
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) > sys.float_info.max:  # infinity, or a whole number that no float holds
            raise _raise_wrong_value(what, place, "a finite number", value)
        return float(value)
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    raise _raise_wrong_value(what, place, _WORDS.get(kind, kind.__name__), value)


def _read_record(kind: Any, value: Any, what: str, place: str) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise _raise_wrong_value(what, place, "an object", value)
    hints = _read_hints(kind)
    arguments: dict[str, Any] = {}
    for each in fields(kind):
        if each.name == _FLAT and hints[each.name] is Estimate:
            arguments[each.name] = _read_estimate(value, what, place)
        elif each.metadata.get("remainder"):
            names = {field.name for field in fields(kind)} - {each.name}
            arguments[each.name] = {name: item for name, item in value.items() if name not in names}
        elif each.name in value:
            arguments[each.name] = _read(hints[each.name], value[each.name], what, _join_place(place, each.name))
        elif each.default is MISSING and each.default_factory is MISSING:
            raise OochubError(f"{what}: the field {_join_place(place, each.name)} is missing. Make the file again.")
    return kind(**arguments)


def _read_union(kinds: tuple[Any, ...], value: Any, what: str, place: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    inner = [kind for kind in kinds if kind is not type(None)]
    for kind in inner[:-1]:
        try:
            return _read(kind, value, what, place)
        except OochubError:
            continue
    return _read(inner[-1], value, what, place)


def _read_limited(kind: Any, bounds: Bounds | AtMost, value: Any, what: str, place: str) -> Any:
    if isinstance(bounds, AtMost):
        if isinstance(value, list) and len(value) > bounds.items:
            raise OochubError(
                f"{what}: {place} must have at most {bounds.items:,} items, got {len(value):,}. Evaluate fewer at once."
            )
        return _read(kind, value, what, place)
    number = _read(kind, value, what, place)
    if number < bounds.low - _ROUNDING or number > bounds.high + _ROUNDING:
        raise _raise_wrong_value(what, place, bounds.words(value), value)
    return number


def _read_estimate(value: Any, what: str, place: str) -> Estimate:
    if isinstance(value, Estimate):
        return value
    if not isinstance(value, Mapping):
        raise _raise_wrong_value(what, place, _WORDS[Estimate], value)
    hints = {"value": float | None, "low": float | None, "high": float | None, "n": Count, "method": str}
    content = {}
    for name, kind in (*hints.items(), ("reason", str | None)):
        if name not in value:
            raise OochubError(f"{what}: the field {_join_place(place, name)} is missing. Make the file again.")
        content[name] = _read(kind, value[name], what, _join_place(place, name))
    if None not in (content["low"], content["high"]) and content["low"] > content["high"]:
        raise _raise_wrong_value(what, _join_place(place, "low"), f"at most high, {content['high']:g}", content["low"])
    return Estimate.from_dict(content)


@cache
def _read_hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _join_place(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _raise_wrong_value(what: str, place: str, wanted: str, value: Any) -> OochubError:
    shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}..."
    return OochubError(
        f"{what}: {place or 'the content'} must be {wanted}, got {shown}. Make the file again, or correct the field."
    )
