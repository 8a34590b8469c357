"""A rule that says which rows are meant: conditions on columns, written as one line of text.

    label=dog&context=snow&confidence=0.8..

A condition is a column and a value; a column that stands several times may have any of its values, and all columns
must fit. Numbers are ranges, `low..high`, both ends included and each may be left out. Names are encoded as in an
address, so that any character may stand in them. The links of the page of `oochub report --browse` say the same.

Besides the columns of the predictions there are `answered` (the class that the model gave), `confidence`, `side` (in or
out, or the benchmark's words for them), `has NAME` (with or without a context that was found), `ids` (a part of the id)
and `outcome` (right or wrong). `context` and `group` mean the columns that the benchmark declares. A rule made of the
outcome alone cannot be tested.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.slices import make_row_sets
from oochub.prediction.context_roles import RowsWithContexts
from oochub.records.sides import WorstOfGroups
from oochub.report import wording

OUTCOME = "outcome"
"""Whether the answer is right or wrong: a test measures it, and never chooses rows by it."""
_COMPUTED = ("answered", "confidence", "side", "ids", OUTCOME)
_HAS = "has "
_RANGE = ".."
_NO_VALUE = "no value"
_Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class RowRule:
    """Conditions on columns, all of which must fit.

    Attributes:
        conditions: The values that a column may have, by its name; any of them fits.

    >>> rule = RowRule.parse("label=dog&context=snow&context=sea%20ice&outcome=wrong")
    >>> rule.words
    'label is dog, context is snow or sea ice, outcome is wrong'
    >>> str(rule.without_outcome())
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
        values_of: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            values_of[name] = tuple(dict.fromkeys((*values_of.get(name, ()), value)))
        return cls(values_of)

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

    def outcome(self) -> "RowRule":
        """The conditions that say whether the answer is right: beside a class or a group, an answer is right or wrong.

        >>> RowRule.parse("label=dog&answered=cat&context=snow").outcome().words
        'answered is cat'
        """
        told = {OUTCOME, *(["answered"] if {"label", "group"} & self.conditions.keys() else [])}
        return RowRule({name: values for name, values in self.conditions.items() if name in told})

    def without_outcome(self) -> "RowRule":
        """The other conditions, which a test may choose rows by."""
        told = self.outcome().conditions
        return RowRule({name: values for name, values in self.conditions.items() if name not in told})

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


def _find_fitting(evaluated: EvaluationRows, name: str, values: tuple[str, ...]) -> _Rows:
    columns, benchmark, output = evaluated.columns, evaluated.benchmark, evaluated.predictions.output
    if name == "side":
        return _find_sides(evaluated, values)
    if name == OUTCOME:
        right = np.where(evaluated.known, np.where(output.wrong(columns), 1, 0), 2)
        return _select_codes(name, right, ("right", "wrong", "not scored"), values)
    if name == "confidence":
        if not output.has_confidence:
            raise OochubError(f"Answers of the kind {evaluated.predictions.metadata.kind} have no confidence.")
        return _select_numbers(name, columns["probability"].confidence, values)
    if name == "ids":
        ids = evaluated.predictions.rows.light.column("example_id").cast(pa.string()).to_pylist()
        return np.array([any(value.lower() in example_id.lower() for value in values) for example_id in ids], bool)
    if name.startswith(_HAS):
        return _find_having(evaluated, name.removeprefix(_HAS), values)
    if name in ("label", "answered") and output.one_answer:
        names = evaluated.predictions.class_names
        named = (*names, _NO_VALUE) if name == "label" else output.answer_names(names)
        codes = np.asarray(columns["label" if name == "label" else "prediction"], np.int64)
        return _select_codes(name, codes % len(named), named, values)  # -1 is the last
    declared = {"context": benchmark.context_column, "group": benchmark.group_column}
    column = name if name in columns else declared.get(name, name)
    if name in ("map", "mistakes") and column not in columns:
        raise OochubError(
            f"A rule cannot name a place of a map ({name}): other rows have none. Use what the rows there share, such "
            "as a class or a context."
        )
    if column not in columns:
        raise unknown_name("column for a rule", name, {*columns, *_COMPUTED})
    return _select_values(evaluated, name, column, values)


def _select_values(evaluated: EvaluationRows, name: str, column: str, values: tuple[str, ...]) -> _Rows:
    """The rows whose value of a column is one of these; a list has a value if it holds it."""
    lists = _read_lists(evaluated, column)
    if lists is not None:
        named, codes = np.unique([value for names_of_row in lists for value in names_of_row], return_inverse=True)
        having = np.repeat(np.arange(len(lists)), [len(names_of_row) for names_of_row in lists])
        fits = np.zeros(len(lists), bool)
        fits[having[_select_codes(name, codes, named.tolist(), values)]] = True
        return fits
    read = evaluated.columns[column]
    if isinstance(read, pd.Categorical):
        return _select_codes(name, read.codes, [str(category) for category in read.categories], values)
    array = np.asarray(read)
    if array.ndim != 1:
        raise OochubError(f"A rule cannot read the column {name}: it has several values per row.")
    if array.dtype.kind == "b":
        return _select_codes(name, array.astype(np.int8), ("no", "yes"), values)
    if array.dtype.kind in "iuf":
        return _select_numbers(name, array, values)
    named, codes = np.unique(array.astype(str), return_inverse=True)
    return _select_codes(name, codes, named.tolist(), values)


def _read_lists(evaluated: EvaluationRows, column: str) -> list[list[str]] | None:
    """The names in each row of a column of lists; None for another column."""
    predictions = evaluated.predictions
    if column not in predictions.column_names:
        return None
    light = predictions.rows.light
    stored = (light if column in light.column_names else predictions.rows).column(column)
    if not (pa.types.is_list(stored.type) or pa.types.is_large_list(stored.type)):
        return None
    return [list(map(str, names or ())) for names in stored.to_pylist()]


def _select_codes(name: str, codes: ArrayLike, named: Iterable[str], values: tuple[str, ...]) -> _Rows:
    """The rows with one of the values, by the names of the codes as they are or as a page shows them.

    Raises:
        OochubError: A value that no code has: it is a typing error, or the rule is of other data.
    """
    names = list(named)
    shown = [wording.name(name) or _NO_VALUE for name in names]
    chosen = np.zeros(len(names), bool)
    for value in values:
        fits = [value in pair for pair in zip(names, shown, strict=True)]
        if not any(fits):
            raise unknown_name(f"value of {name}", value, names, "The rule may have been made on other data.")
        chosen |= fits
    rows: _Rows = chosen[np.asarray(codes)]
    return rows


def _select_numbers(name: str, numbers: ArrayLike, values: tuple[str, ...]) -> _Rows:
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


def _find_sides(evaluated: EvaluationRows, values: tuple[str, ...]) -> _Rows:
    """The rows of sides, by in and out or the benchmark's words.

    Raises:
        OochubError: No such side, or one that is the worst group, which the answers themselves choose.
    """
    benchmark = evaluated.benchmark
    if isinstance(benchmark.out_of_context, WorstOfGroups):
        raise OochubError(
            f"A rule cannot name a side of {benchmark.title}: one is its worst group, which the answers choose. Name "
            f"the group, such as {benchmark.group_column}=NAME."
        )
    sets = {rows.role: rows.mask for rows in make_row_sets(evaluated) if rows.role in ("in", "out")}
    out = sets.get("out", np.zeros(len(evaluated.known), bool))
    inside = sets["in"] & ~out if "in" in sets else np.zeros(len(out), bool)
    codes, words = np.where(out, 0, np.where(inside, 1, 2)), benchmark.words
    plain = {"out": words.outside_title, "in": words.inside_title}
    titles = tuple(plain.get(value, value) for value in values)
    return _select_codes("side", codes, (words.outside_title, words.inside_title, "neither"), titles)


def _find_having(evaluated: EvaluationRows, context: str, values: tuple[str, ...]) -> _Rows:
    """The rows with or without a context that was found."""
    with_contexts = RowsWithContexts.of(evaluated.predictions, every=True)
    if with_contexts is None:
        finder = choose_wording("oochub.contexts", "oochub contexts")
        raise OochubError(f"These rows have no contexts that were found, such as {context}. `{finder}` finds some.")
    if context not in with_contexts.facts.names:
        raise unknown_name("context that was found", context, with_contexts.facts.names)
    codes = np.full(len(evaluated.known), 2)
    codes[with_contexts.rows] = np.where(with_contexts.has[:, with_contexts.facts.names.index(context)], 0, 1)
    return _select_codes(f"{_HAS}{context}", codes, ("with", "without", "not known"), values)
