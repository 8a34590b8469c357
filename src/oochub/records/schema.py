"""Records as JSON: frozen dataclasses are written and read here, and a field that is wrong is named."""

import math
from collections.abc import Callable, Mapping
from dataclasses import field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from oochub.errors import OochubError
from oochub.records.typed_values import READERS, WORDS, Bounds, Count, Mismatch, Place, Reader, make_reader, read_value
from oochub.stats.estimate import Estimate

Record = TypeVar("Record")
_FLAT = "estimate"  # a field of that name and type stands in JSON among its record's own fields


_ESTIMATE: Mapping[str, Any] = {
    "value": float | None, "low": float | None, "high": float | None, "n": Count, "method": str, "reason": str | None,
}  # fmt: skip
WORDS[Estimate] = f"an object with {', '.join(_ESTIMATE)}"
ShareEstimate = Annotated[Estimate, Bounds(0, 1)]
"""An estimate of a number in [0, 1]."""


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
        for declared in fields(record):
            value = getattr(record, declared.name)
            if declared.name == _FLAT and isinstance(value, Estimate):
                content |= value.to_dict()
            elif declared.metadata.get("remainder"):
                content |= to_json(value)
            elif not (declared.metadata.get("optional") and value == declared.default):
                content[declared.name] = to_json(value)
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
    oochub.errors.OochubError: car.json: n_in must be a whole number, got '3'. Make the file again, or fix the \
field.
    """
    try:
        return cast(Record, read_value(kind, content, strict=False))
    except Mismatch as fault:
        raise OochubError(f"{what}: {fault} Make the file again, or fix the field.") from None


def from_table(kind: type[Record], content: Mapping[str, Any], *, at: Callable[..., str]) -> Record:
    """A record of a table that somebody typed, read strictly: see `read_value`.

    Args:
        kind: See `from_json`.
        content: What TOML gives.
        at: Function from the names that lead to a field to what errors call its place ("rules.toml, line 3").

    Raises:
        OochubError: A field that is missing, of another type or not known; its place is named.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Rule:
    ...     metric: str
    >>> from_table(Rule, {"metrik": "auc"}, at=lambda *names: "rules.toml, line 1")
    Traceback (most recent call last):
    oochub.errors.OochubError: rules.toml, line 1: No field named 'metrik'. Did you mean 'metric'? Allowed: metric.
    """
    try:
        return cast(Record, read_value(kind, content))
    except Mismatch as fault:
        raise OochubError(f"{at(*fault.path)}: {fault}") from None
    except OochubError as error:  # the record itself refuses what its fields hold together
        raise OochubError(f"{at(str(error).partition(' ')[0])}: {error}") from None


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
        raise OochubError(f"{what}: {Mismatch((), 'an object', content)} Make the file again.")
    version = content.get("schema_version", absent)
    if type(version) is int and version > known:
        raise OochubError(
            f"{what}: made by a newer oochub (schema version {version}, this one reads {known}). Update oochub."
        )
    if type(version) is not int or version != known:
        raise OochubError(f"{what}: schema_version must be {known}, got {version!r}. Make the file again.")


@cache
def _list_estimate_readers() -> list[tuple[str, Reader]]:
    return [(name, make_reader(kind, strict=False)) for name, kind in _ESTIMATE.items()]


def _read_estimate(value: object, place: Place) -> Estimate:
    if isinstance(value, Estimate):
        return value
    if not isinstance(value, Mapping):
        raise Mismatch(place, Estimate, value)
    content: dict[str, Any] = {}
    for name, inner in _list_estimate_readers():
        if name not in value:
            raise Mismatch((place, name))
        content[name] = inner(value[name], (place, name))
    if None not in (content["low"], content["high"]) and content["low"] > content["high"]:
        raise Mismatch((place, "low"), f"at most high, {content['high']:g}", content["low"])
    return Estimate.from_dict(content)


READERS[Estimate] = _read_estimate
