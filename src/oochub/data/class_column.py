"""A column of names or whole numbers as class numbers, over all splits, so that all splits share its classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.output_columns import LONGEST_NAME

_Parts = Mapping[str, datasets.Dataset]


@dataclass(frozen=True, kw_only=True)
class ClassColumn:
    """A column read as classes.

    Attributes:
        codes: Of each split, the place of each row's class in `names` (n,); -1 where a ClassLabel says none.
        names: Of the classes: a ClassLabel's own; text sorted; numbers in order, as text.
        numbers: Whole numbers without names: the number of each class; None where the classes have names.
    """

    codes: Mapping[str, NDArray[np.int64]]
    names: tuple[str, ...]
    numbers: NDArray[np.int64] | None = None

    def stored(self, split: str) -> NDArray[np.int64]:
        """What a row of the data holds (n,): the class number, or the whole number that it was."""
        return self.codes[split] if self.numbers is None else self.numbers[self.codes[split]]

    @property
    def feature(self) -> Any:
        """How `datasets` calls what `stored` gives."""
        return datasets.ClassLabel(names=list(self.names)) if self.numbers is None else datasets.Value("int64")

    def text(self, split: str) -> list[str | None]:
        """The name of each row's class, None for -1."""
        return [self.names[code] if code >= 0 else None for code in self.codes[split].tolist()]


def class_column(parts: _Parts, column: str, *, role: str, named: bool = True) -> ClassColumn:
    """Reads a column of all splits as classes.

    Args:
        parts: The splits.
        column: A column of a ClassLabel, text, whole numbers or truth values.
        role: What it is, for errors ("label").
        named: Give whole numbers names, the numbers as text; False leaves them numbers.

    Raises:
        OochubError: Another kind of column, not the same in all splits, fractions, or rows without a value: how many,
            and the first.

    >>> data = datasets.Dataset.from_dict({"place": ["sea", "land", "sea"]})
    >>> column = class_column({"train": data}, "place", role="context")
    >>> column.names, column.codes["train"].tolist()
    (('land', 'sea'), [1, 0, 1])
    """
    arrays = {split: column_array(part, column) for split, part in parts.items()}
    feature = next(iter(parts.values())).features[column]
    title = f"The {role} column {column!r}"
    for split, part in parts.items():
        other = part.features[column]
        if isinstance(feature, datasets.ClassLabel) and other != feature:
            raise OochubError(f"{title} does not have the same classes in all splits. Cast it to one ClassLabel.")
        _check_kind(arrays[split].type, title, role)
        _check_values(arrays[split], title, split)
    if isinstance(feature, datasets.ClassLabel):
        codes = {split: array.to_numpy(zero_copy_only=False).astype(np.int64) for split, array in arrays.items()}
        return ClassColumn(codes=codes, names=tuple(feature.names))
    if len({pa.types.is_string(array.type) or pa.types.is_large_string(array.type) for array in arrays.values()}) > 1:
        raise OochubError(f"{title} holds text in one split and numbers in another. Cast it to one kind.")
    values = {split: _values(array, title, role) for split, array in arrays.items()}
    distinct, places = np.unique(np.concatenate(list(values.values())), return_inverse=True)
    ends = np.cumsum([len(array) for array in values.values()])[:-1]
    codes = dict(zip(values, np.split(places.astype(np.int64), ends), strict=True))
    names = tuple(map(str, distinct.tolist()))
    _check_lengths(names, np.split(places, ends), tuple(values), title)
    return ClassColumn(
        codes=codes, names=names, numbers=None if named or distinct.dtype.kind == "U" else distinct.astype(np.int64)
    )


def number_column(parts: _Parts, column: str, *, role: str) -> dict[str, NDArray[np.float64]]:
    """A column of numbers with fractions, of each split (n,).

    Raises:
        OochubError: Rows without a value: how many, and the first.
    """
    arrays = {split: column_array(part, column) for split, part in parts.items()}
    for split, array in arrays.items():
        _check_values(array, f"The {role} column {column!r}", split)
    return {split: array.to_numpy(zero_copy_only=False) for split, array in arrays.items()}


def column_array(part: datasets.Dataset, column: str) -> pa.Array:
    """A column as Arrow stores it, in one piece; pictures are not decoded."""
    chunks = part.select_columns([column]).with_format("arrow")[:].column(column)
    array = chunks.combine_chunks()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def is_class_like(feature: Any) -> bool:
    """Whether a column of this kind can hold classes: a ClassLabel, text, whole numbers, truth values.

    >>> is_class_like(datasets.Value("float32"))
    False
    """
    kinds = ("string", "large_string", "bool", "int", "uint")
    return isinstance(feature, datasets.ClassLabel) or (
        isinstance(feature, datasets.Value) and feature.dtype.startswith(kinds)
    )


def first_rows(wrong: NDArray[np.bool_]) -> str:
    """How many rows are wrong, and which is the first: "3 of 120 rows, first row 17" (from 0).

    >>> first_rows(np.array([False, True, True]))
    '2 of 3 rows, the first is row 1'
    """
    return f"{int(wrong.sum()):,} of {len(wrong):,} rows, the first is row {int(np.argmax(wrong))}"


def _check_lengths(names: tuple[str, ...], places: Sequence[NDArray[Any]], splits: Sequence[str], title: str) -> None:
    """That names are names: a text of megabytes would stand in every table and page."""
    long = np.array([len(name) > LONGEST_NAME for name in names], bool)
    for split, codes in zip(splits, places, strict=True) if long.any() else ():
        if long[codes].any():
            name = names[codes[np.argmax(long[codes])]]
            raise OochubError(
                f"{title} holds a text of {len(name):,} characters, {name[:40]!r}..., in {first_rows(long[codes])} of "
                f"split {split}, and a name has at most {LONGEST_NAME:,}. Name another column, or shorten these."
            )


def _check_kind(kind: pa.DataType, title: str, role: str) -> None:
    checks: Iterable[Callable[[pa.DataType], bool]] = (
        *(pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean),
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_null),
    )
    if not any(check(kind) for check in checks):
        raise OochubError(f"{title} holds {kind}, and a {role} is a name or a whole number in each row.")


def _check_values(array: pa.Array, title: str, split: str) -> None:
    missing = pc.is_null(array, nan_is_null=True)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        missing = pc.or_(missing, pc.equal(pc.utf8_trim_whitespace(array.fill_null("")), ""))
    wrong = np.asarray(missing.to_numpy(zero_copy_only=False), bool)
    if wrong.any():
        raise OochubError(
            f"{title} has no value in {first_rows(wrong)} of split {split}. Fill it in, with a name such as 'unknown' "
            "where nothing is known, or leave these rows out."
        )


def _values(array: pa.Array, title: str, role: str) -> NDArray[Any]:
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind != "f":
        return np.asarray(values.astype(str) if values.dtype.kind == "O" else values)
    fractions = values != np.floor(values)
    if fractions.any():
        raise OochubError(
            f"{title} holds continuous numbers, first {values[np.argmax(fractions)]:g}, and a {role} is a name or a "
            "whole number. Make classes of it first, such as 'near' and 'far', in a column of its own."
        )
    return np.asarray(values.astype(np.int64))
