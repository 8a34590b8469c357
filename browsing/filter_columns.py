"""What a browser filters and counts: a column of codes or numbers for each fact of a row, in the order that it shows.

Rows stand with the highest loss first, so that what is seen first lies together. A column takes 1 to 8 bytes a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.slices import make_row_sets
from oochub.metric import read_facts
from oochub.prediction.context_roles import RowsWithContexts
from oochub.records.build_record import CHOSEN_ON, CONTEXTS_COLUMN
from oochub.records.sides import GroupsOfRows
from oochub.report import wording
from oochub.stats.mean_interval import RowNumbers

_OUTCOMES = ("wrong", "right", "scored", "not scored")
_NO_VALUE = "no value"


@dataclass(frozen=True, kw_only=True)
class Field:
    """A fact with a few values, by which rows are chosen.

    Attributes:
        name: What a link calls it.
        title: What the page calls it.
        values: Its values, each once.
        codes: The value of each row (n,), a place in `values`.
        words: What the field means, if its title does not say it; "" for none.
        is_found: Whether it was found in the images rather than given.
    """

    name: str
    title: str
    values: tuple[str, ...]
    codes: NDArray[np.integer]
    words: str = ""
    is_found: bool = False


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of a selection: a mean over its scored rows.

    Attributes:
        name: What the page's script calls it.
        title: What the page calls it.
        unit: Unit of the number, "" for a share.
        form: share: the rows that are right; answered: a mean that depends on whether answers are right; mean: another.
        column: Column of its values; those of a share are the outcomes.
        within: The smallest and the largest mean that is possible.
    """

    name: str
    title: str
    unit: str
    form: Literal["share", "answered", "mean"]
    column: str
    within: tuple[float, float] = (-np.inf, np.inf)


@dataclass(frozen=True, kw_only=True)
class RowColumns:
    """The columns of all rows; every array is (n,), in the order in which rows are shown.

    Attributes:
        order: Number of each row in the predictions.
        fields: Facts by which rows are chosen.
        numbers: Columns of floats by name: `loss`, `confidence`, and those of `measures`.
        cluster: The cluster of each row, numbered from 0; None if rows are independent.
        measures: What is counted in a selection.
    """

    order: NDArray[np.int64]
    fields: tuple[Field, ...]
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    cluster: NDArray[np.int32] | None = None
    measures: tuple[Measure, ...] = ()


def make_row_columns(evaluated: EvaluationRows) -> RowColumns:
    """The columns of all rows of an evaluation.

    Args:
        evaluated: The rows; those that are not `known` are shown and count in no number.

    >>> from oochub.data.declaration import find_declaration
    >>> from oochub.evaluation.evaluation_rows import make_evaluation_rows
    >>> from oochub.prediction.predictions import Predictions
    >>> rows = Predictions.from_arrays(logits=[[2.0, 0.0], [3.0, 0.0]], label=[0, 1], class_names=["cat", "dog"])
    >>> columns = make_row_columns(make_evaluation_rows(rows, find_declaration(rows))[0])
    >>> columns.order.tolist(), [field.name for field in columns.fields]
    ([1, 0], ['split', 'label', 'answered', 'outcome'])
    """
    columns, output = evaluated.columns, evaluated.predictions.output
    loss = np.asarray(columns["loss"], np.float64)
    order = np.argsort(-np.where(np.isnan(loss), -np.inf, loss), kind="stable")
    measures, more = _list_measures(evaluated)
    is_wrong = output.wrong(columns).astype(np.int8)
    is_of_degrees = all(measure.form == "mean" for measure in measures)  # as a number is, which is never right
    outcome = np.where(evaluated.known, np.int8(2) if is_of_degrees else 1 - is_wrong, np.int8(3))
    fields = [
        _take_named("split", "Split", columns["split"]),
        *_list_class_fields(evaluated),
        *_list_context_fields(evaluated),
        *_list_side_fields(evaluated),
        _keep_used("outcome", "Right or wrong", _OUTCOMES, outcome),
        *_list_found_fields(evaluated),
        *_list_flag_fields(evaluated),
    ]
    numbers: dict[str, NDArray[np.float64]] = {"loss": loss}
    if output.has_confidence:
        numbers["confidence"] = np.asarray(columns["probability"].confidence, np.float64)
    shared = evaluated.cluster(slice(None))
    cluster = (
        None if shared is None else np.unique(np.asarray(getattr(shared, "codes", shared)), return_inverse=True)[1]
    )
    return RowColumns(
        order=order,
        fields=tuple(replace(one, codes=one.codes[order]) for one in fields),
        numbers={name: values[order] for name, values in (numbers | more).items()},
        cluster=None if cluster is None else cluster[order].astype(np.int32),
        measures=measures,
    )


def _list_class_fields(evaluated: EvaluationRows) -> list[Field]:
    """The true class and the answer, of a kind with one answer among classes that are the same in each row."""
    predictions, output = evaluated.predictions, evaluated.predictions.output
    if not output.one_answer or output.asks_each_row(predictions):
        return []
    names, answers = predictions.class_names, output.answer_names(predictions.class_names)
    label = np.asarray(evaluated.columns["label"], np.int64)
    answer = np.asarray(evaluated.columns["prediction"], np.int64)
    return [
        _keep_used("label", "True class", (*names, _NO_VALUE), np.where(label < 0, len(names), label)),
        _keep_used("answered", "Answered", answers, answer % len(answers)),
    ]


def _list_context_fields(evaluated: EvaluationRows) -> list[Field]:
    """The context and the group of a row, and how hard it is, where it has one of each."""
    benchmark, columns = evaluated.benchmark, evaluated.columns
    fields, seen = [], set()
    named = (("context", "Context", benchmark.context_column), ("group", "Group", benchmark.group_column))
    for name, title, column in (*named, ("challenge", "Difficulty", "challenge")):
        if column not in columns or column in seen or not hasattr(columns[column], "codes"):
            continue
        seen.add(column)
        fields.append(_take_named(name, title, columns[column]))
    return fields


def _list_side_fields(evaluated: EvaluationRows) -> list[Field]:
    """In or out of context; none where a side is a worst group, whose rows the field of groups has."""
    benchmark = evaluated.benchmark
    if any(isinstance(side, GroupsOfRows) for side in (benchmark.in_context, benchmark.out_of_context)):
        return []
    sets = {rows.role: rows.mask for rows in make_row_sets(evaluated) if rows.role in ("in", "out")}
    if "out" not in sets:
        return []
    out = sets["out"]
    inside = sets["in"] & ~out if "in" in sets else np.zeros(len(out), bool)
    words = benchmark.words
    values = (words.outside_title, words.inside_title, "neither")
    return [_keep_used("side", "Side", values, np.where(out, 0, np.where(inside, 1, 2)))]


def _list_found_fields(evaluated: EvaluationRows) -> list[Field]:
    """One field for each context that was found in the images, with or without it."""
    rows_with = RowsWithContexts.of(evaluated.predictions, every=True)
    if rows_with is None:
        return []
    lists = evaluated.predictions.rows.column(CONTEXTS_COLUMN).combine_chunks()
    is_valid = lists.is_valid().to_numpy(zero_copy_only=False)
    parents, values = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists)
    values = values.cast(pa.string()) if pa.types.is_dictionary(values.type) else values
    codes = np.asarray(values.to_numpy(zero_copy_only=False))
    fields = []
    for number, (name, words) in enumerate(zip(rows_with.facts.names, rows_with.facts.words, strict=True)):
        has = np.zeros(len(is_valid), bool)
        has[parents[codes == (number if codes.dtype.kind in "iu" else name)]] = True
        has_it = np.where(is_valid, np.where(has, 0, 1), 2)
        kept = _keep_used(f"has {name}", wording.name(name), ("with", "without", "not known"), has_it)
        fields.append(replace(kept, words=wording.name(words) if words != name else "", is_found=True))
    return fields


def _list_flag_fields(evaluated: EvaluationRows) -> list[Field]:
    """One field for each column that is true or false, such as the issues that cleanlab found; rules name it so too."""
    rows = evaluated.predictions.rows
    flags = [
        column.name for column in rows.light.schema if pa.types.is_boolean(column.type) and column.name != CHOSEN_ON
    ]
    fields = []
    for name in flags:
        codes = pc.fill_null(rows.column(name).cast(pa.int8()), 2).to_numpy()
        fields.append(_keep_used(name, wording.name(name), ("no", "yes", "not known"), codes))
    return fields


def _list_measures(evaluated: EvaluationRows) -> tuple[tuple[Measure, ...], dict[str, NDArray[np.float64]]]:
    """What is counted in a selection, and its columns besides loss and confidence."""
    output = evaluated.predictions.output
    if output.one_answer:
        measures = [Measure(name="accuracy", title="Accuracy", unit="", form="share", column="outcome")]
        if output.has_confidence:
            within = (-1.0, 1.0)
            measures += [
                Measure(name="overconfidence", title="Confidence minus accuracy", unit="", form="answered",
                        column="confidence", within=within),
                Measure(name="nll", title="NLL", unit="nats", form="answered", column="loss", within=(0.0, np.inf)),
            ]  # fmt: skip
        return tuple(measures), {}
    numeric: list[Measure] = []
    more: dict[str, NDArray[np.float64]] = {}
    for name in dict.fromkeys([evaluated.benchmark.primary_metric, *output.metrics]):
        metric = catalog.get("metric", name)
        facts = read_facts(metric)
        if facts is None or facts.row_numbers is None:
            continue
        numbers: RowNumbers = facts.row_numbers(evaluated.arrays(metric, slice(None)))
        more[name] = np.asarray(numbers.values, np.float64)
        numeric.append(
            Measure(name=name, title=facts.title, unit=facts.unit, form="mean", column=name, within=numbers.within)
        )
    if not numeric:
        numeric = [Measure(name="whole", title="Rows without a mistake", unit="", form="share", column="outcome")]
    return tuple(numeric), more


def _take_named(name: str, title: str, column: object) -> Field:
    """A field of a column of names; a missing one has a value of its own."""
    if isinstance(column, pd.Categorical):
        return _keep_used(
            name, title, [str(category) for category in column.categories], np.asarray(column.codes, np.int64)
        )
    values, codes = np.unique(np.asarray(column).astype(str), return_inverse=True)
    return _keep_used(name, title, values.tolist(), codes)


def _keep_used(name: str, title: str, values: Sequence[str], codes: NDArray[np.integer]) -> Field:
    """A field with the values that occur alone, each a text that can be shown and differs from the others."""
    used, codes = np.unique(codes, return_inverse=True)
    kept: dict[str, int] = {}
    for value in (values[code] for code in used.tolist()):
        shown = wording.name(str(value)) or _NO_VALUE
        same = 2
        while shown in kept:
            shown = f"{wording.name(str(value), 110)} ({same})"
            same += 1
        kept[shown] = len(kept)
    return Field(name=name, title=title, values=tuple(kept), codes=codes.astype(np.min_scalar_type(max(len(kept), 1))))
