"""The columns of somebody's answers, read as numbers; all that is wrong with them is collected, not only the first."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_SMALLEST = float(np.finfo(np.float64).eps)
_LARGEST = float(np.finfo(np.float32).max)  # predictions hold float32
_SUM = 1e-3
_LISTED = 4
_ROWS = 1024  # whose lists are Python's at a time

Floats = NDArray[np.float64]


class GivenColumns:
    """The columns of answers that were made elsewhere, one row per example.

    Args:
        table: The columns.
        ids: What the rows are called in messages (n,).
        problems: List that problems are added to; None starts a list.

    Attributes:
        problems: A sentence for each thing that is wrong, so far.
        notes: What was done to the numbers and should be known.
        read: Names of the columns that were read.

    >>> columns = GivenColumns(pa.table({"logits": [[0.5, 1.0]]}), ["a"])
    >>> columns.matrix("logits", "logit_", ["cat", "dog"]).tolist(), columns.problems
    ([[0.5, 1.0]], [])
    """

    def __init__(self, table: pa.Table, ids: Sequence[str], problems: list[str] | None = None) -> None:
        self.table, self.ids = table, ids
        self.problems: list[str] = [] if problems is None else problems
        self.notes: list[str] = []
        self.read: set[str] = set()

    def have(self, name: str, prefix: str | None = None) -> bool:
        """Whether there is a column of that name, or one that begins with `prefix`."""
        names = self.table.column_names
        return name in names or (prefix is not None and any(other.startswith(prefix) for other in names))

    def is_list(self, name: str) -> bool:
        """Whether a column holds a list per row; in a file of text, a list in brackets."""
        return name in self.table.column_names and _is_list(self.values(name).type)

    def values(self, name: str) -> pa.Array:
        """A column; lists that a file of text holds as JSON are read."""
        self.read.add(name)
        column = self.table.column(name).combine_chunks()
        if _is_text(column.type) and len(column) and str(column[0].as_py()).lstrip().startswith("["):
            try:
                return _parse_lists(column)
            except (ValueError, TypeError, RecursionError, OverflowError, pa.ArrowException):
                return column
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def numbers(self, name: str) -> Floats | None:
        """A number per row (n,), float64; None where something is wrong with it."""
        return self._check_finite(self._read_floats(name, self.values(name)), name)

    def matrix(self, name: str, prefix: str, class_names: Sequence[str]) -> Floats | None:
        """A number per row and class (n, c): lists in the column `name`, else columns that begin with `prefix`.

        Args:
            name: Name of a column of lists in the order of the classes.
            prefix: Text before the name of a class in the columns; "" for nothing.
            class_names: The classes (c,).

        Returns:
            float64, None where something is wrong with it.
        """
        if name in self.table.column_names:
            return self._read_lists(name, len(class_names))
        present = [other for other in self.table.column_names if prefix and other.startswith(prefix)]
        wanted = [f"{prefix}{name}" for name in class_names]
        strange = [other for other in present if other not in wanted]
        missing = [column for column in wanted if column not in self.table.column_names]
        others = [other for other in self.table.column_names if other not in wanted]
        if strange:
            self.problems.append(
                f"no class is meant by the column{'s' if len(strange) > 1 else ''} {_find_near(strange, wanted)}"
            )
        if missing:
            self.problems.append(f"{len(wanted)} classes, of which these have no column: {_find_near(missing, others)}")
        if strange or missing:
            return None
        parts = [self.numbers(column) for column in wanted]
        whole = [part for part in parts if part is not None]
        return np.stack(whole, axis=1) if len(whole) == len(parts) else None

    def within_0_and_1(self, values: Floats, name: str, *, of_one: bool = False) -> Floats | None:
        """Probabilities, those nearer to 0 or 1 than 2.2e-16 moved there, which a note says.

        Args:
            values: (n,), or (n, c).
            name: What a message calls them.
            of_one: Whether the numbers of a row must sum to 1, within 0.001.

        Returns:
            float64, None where a number is out of range or a sum is off.
        """
        before = len(self.problems)
        outside = (values < 0) | (values > 1)
        self.rows_are(outside.reshape(len(values), -1).max(axis=1), f"{name} not in [0, 1]")
        if of_one:
            self.rows_are(np.abs(values.sum(axis=1) - 1) > _SUM, f"{name} that does not sum to 1")
        if len(self.problems) > before:
            return None
        clipped = np.clip(values, _SMALLEST, 1 - _SMALLEST)
        if moved := int((clipped != values).sum()):
            self.notes.append(f"{moved:,} probabilities of 0 or 1 were taken as {_SMALLEST:.1e} or 1 minus that")
        return clipped

    def rows_are(self, wrong: NDArray[np.bool_], what: str) -> None:
        """Adds a problem where some rows (n,) are wrong: how many have `what`, and the first."""
        if wrong.any():
            count = int(wrong.sum())
            rows = f"{count:,} rows have" if count > 1 else "1 row has"
            self.problems.append(f"{rows} {what}, first {self.ids[int(np.argmax(wrong))]}")

    def _read_lists(self, name: str, width: int) -> Floats | None:
        column = self.values(name)
        if not _is_list(column.type):
            self.problems.append(
                f"{name} must be lists of {width} numbers, one per class, got {column.type}; in a CSV a list is "
                "[0.1, 0.2], or each class has its own column"
            )
            return None
        lengths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
        if (lengths != width).any():
            self.rows_are(lengths != width, f"{name} of another length than {width}, the number of classes")
            return None
        flat = self._read_floats(name, column.flatten())
        return self._check_finite(None if flat is None else flat.reshape(-1, width), name)

    def _read_floats(self, name: str, column: pa.Array) -> Floats | None:
        kind = column.type
        if pa.types.is_null(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            floats: Floats = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return floats
        first = next((value for value in column.to_pylist() if not _is_number(value)), None)
        text = f"{kind}" if first is None else f"{kind}, first {str(first)[:40]!r}"
        self.problems.append(f"{name} must hold numbers, got {text}")
        return None

    def _check_finite(self, values: Floats | None, name: str) -> Floats | None:
        broken = np.zeros(0) if values is None else ~(np.abs(values) <= _LARGEST).reshape(len(values), -1)
        if not broken.any():
            return values
        self.rows_are(broken.max(axis=1), f"{name} that is not a finite number of 32 bits")
        return None


def _parse_lists(column: pa.Array) -> pa.Array:
    """Lists of their JSON; whole numbers become floats where other rows have these."""
    parts = [column[row : row + _ROWS].to_pylist() for row in range(0, len(column), _ROWS)]
    lists = [pa.array(json.loads(f"[{','.join(part)}]")) for part in parts]
    is_one_type = len({array.type for array in lists}) == 1
    return pa.concat_arrays(lists if is_one_type else [array.cast(pa.list_(pa.float64())) for array in lists])


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _find_near(names: Sequence[str], allowed: Sequence[str]) -> str:
    """The first names, each with the nearest that is allowed."""
    shown = []
    for name in names[:_LISTED]:
        near = get_close_matches(name, allowed, n=1, cutoff=0.7)
        shown.append(f"{name} (did you mean {near[0]}?)" if near else name)
    return ", ".join(shown) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
