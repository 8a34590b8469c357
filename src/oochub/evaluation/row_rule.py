"""A rule that says which rows are meant: conditions on columns, written as one line of text.

    label=dog&context=snow&confidence=0.8..

A condition is a column and a value; a column that stands several times may have any of its values, and all columns
must fit. Numbers are ranges, `low..high`, both ends included and each may be left out. Names are encoded as in an
address, so that any character may stand in them.

Besides the columns of the predictions there are `answer` (the class that the model gave), `confidence`, `side` (in or
out), `right` (yes or no) and `loss`. `context` and `group` mean the columns that the benchmark declares. What a rule
says of `right` or `loss` is the outcome itself: a rule made of them alone cannot be tested.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError, unknown_name
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.row_sets import make_row_sets

OUTCOMES = ("right", "loss")
"""What the answers came to: a test measures it, and never chooses rows by it."""
_COMPUTED = ("answer", "confidence", "side", *OUTCOMES)
_RANGE = ".."


@dataclass(frozen=True)
class RowRule:
    """Conditions on columns, all of which must fit.

    Attributes:
        conditions: The values that a column may have, by its name; any of them fits.

    >>> rule = RowRule.parse("label=dog&context=snow&context=sea%20ice&right=no")
    >>> rule.words
    'label is dog, context is snow or sea ice, right is no'
    >>> str(rule.without_outcomes())
    'label=dog&context=snow&context=sea%20ice'
    """

    conditions: Mapping[str, tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> "RowRule":
        """Reads a rule of the form `column=value&column=low..high`.

        Raises:
            OochubError: Text of another form.
        """
        try:
            pairs = parse_qsl(text.strip(), keep_blank_values=True, strict_parsing=True, errors="strict")
        except (ValueError, UnicodeDecodeError):
            raise OochubError(
                f"A rule is written as column=value&column=value, such as label=dog&context=snow, got {text[:80]!r}."
            ) from None
        found: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), value)))
        return cls(found)

    def __str__(self) -> str:
        return "&".join(
            f"{quote(name, safe='')}={quote(value, safe='')}"
            for name, values in self.conditions.items()
            for value in values
        )

    @property
    def words(self) -> str:
        """The conditions in words."""
        return ", ".join(self.list_words())

    def list_words(self) -> list[str]:
        """Each condition in words."""
        return [
            f"{name} is {' or '.join(value or 'empty' for value in values)}" for name, values in self.conditions.items()
        ]

    def outcomes(self) -> "RowRule":
        """The conditions on what the answers came to."""
        return RowRule({name: values for name, values in self.conditions.items() if name in OUTCOMES})

    def without_outcomes(self) -> "RowRule":
        """The other conditions."""
        return RowRule({name: values for name, values in self.conditions.items() if name not in OUTCOMES})

    def find_rows(self, evaluated: EvaluationRows) -> NDArray[np.bool_]:
        """Which rows (n,) fit every condition; no condition fits all.

        Args:
            evaluated: The rows.

        Raises:
            OochubError: A column that the rows lack, a value that none of them has, or a range of what is no number.
        """
        fits = np.ones(len(evaluated.known), bool)
        for name, values in self.conditions.items():
            fits &= _find_fitting(evaluated, name, values)
        return fits


def _find_fitting(evaluated: EvaluationRows, name: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
    columns, benchmark = evaluated.columns, evaluated.benchmark
    if name == "side":
        return _find_sides(evaluated, values)
    if name == "right":
        right = "correct" in columns and np.asarray(columns["correct"])
        if right is False:
            raise OochubError(f"Answers of the kind {evaluated.predictions.metadata.kind} are not right or wrong.")
        return _select_named(name, np.where(right, "yes", "no"), values, ("yes", "no"))
    if name == "confidence":
        if not evaluated.predictions.output.has_confidence:
            raise OochubError(f"Answers of the kind {evaluated.predictions.metadata.kind} have no confidence.")
        return _select_numbers(name, columns["probability"].confidence, values)
    if name in ("label", "answer") and evaluated.predictions.output.one_answer:
        numbers = np.asarray(columns["label" if name == "label" else "prediction"])
        words = np.array([*evaluated.predictions.class_names, "none of them"], dtype=object)
        return _select_named(name, words[numbers], values, words)
    declared = {"context": benchmark.context_column, "group": benchmark.group_column}
    column = name if name in columns else declared.get(name, name)
    if column not in columns:
        raise unknown_name("column for a rule", name, {*columns, *_COMPUTED})
    return _select_values(evaluated, name, column, values)


def _select_values(evaluated: EvaluationRows, name: str, column: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
    """The rows whose value of a column is one of these; a list has a value if it holds it."""
    light = evaluated.predictions.rows.light
    if column in evaluated.predictions.column_names:
        stored = (light if column in light.column_names else evaluated.predictions.rows).column(column)
        if pa.types.is_list(stored.type) or pa.types.is_large_list(stored.type):
            lists = [list(map(str, each or ())) for each in stored.to_pylist()]
            every = {value for each in lists for value in each}
            _check_values(name, values, every)
            return np.fromiter((not set(values).isdisjoint(each) for each in lists), bool, len(lists))
    read = evaluated.columns[column]
    if isinstance(read, pd.Categorical):
        return _select_named(name, read, values, read.categories)
    array = np.asarray(read)
    if array.ndim != 1:
        raise OochubError(f"A rule cannot read the column {name}: it has several values per row.")
    if array.dtype.kind == "b":
        return _select_named(name, np.where(array, "yes", "no"), values, ("yes", "no"))
    if array.dtype.kind in "iuf":
        return _select_numbers(name, array, values)
    return _select_named(name, array.astype(str), values, np.unique(array.astype(str)))


def _select_named(name: str, named: ArrayLike, values: tuple[str, ...], known: Iterable[object]) -> NDArray[np.bool_]:
    _check_values(name, values, known)
    return np.asarray(pd.Series(named).isin(values))


def _check_values(name: str, values: tuple[str, ...], known: Iterable[object]) -> None:
    """Refuses a value that no row can have: it is a typing error, or a rule of other data."""
    every = {str(value) for value in known}
    for value in values:
        if value not in every:
            raise unknown_name(f"value of {name}", value, every, "The rule may have been made on other data.")


def _select_numbers(name: str, numbers: ArrayLike, values: tuple[str, ...]) -> NDArray[np.bool_]:
    array = np.asarray(numbers, np.float64)
    fits = np.zeros(len(array), bool)
    for value in values:
        low, dots, high = value.partition(_RANGE)
        try:
            ends = [float(end) if end else limit for end, limit in ((low, -math.inf), (high, math.inf))]
        except ValueError:
            ends = [math.nan]
        if not (low or high) or any(map(math.isnan, ends)):
            raise OochubError(f"A rule takes {name} as a number or a range, 0.8..0.9 or 0.8.., got {value[:80]!r}.")
        fits |= (array >= ends[0]) & (array <= (ends[1] if dots else ends[0]))
    return fits


def _find_sides(evaluated: EvaluationRows, values: tuple[str, ...]) -> NDArray[np.bool_]:
    sides: dict[str, NDArray[np.bool_]] = {
        rows.role: rows.mask for rows in make_row_sets(evaluated) if rows.role in ("in", "out")
    }
    _check_values("side", values, sides)
    fits = np.zeros(len(evaluated.known), bool)
    for value in values:
        fits |= sides[value]
    return fits
