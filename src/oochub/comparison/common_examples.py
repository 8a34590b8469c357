"""The rows of two predictions of the same examples, in one order, and those that flip.

In a row that flips, one model is right and the other wrong.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.benchmark import Benchmark
from oochub.comparison.model_difference import Pair
from oochub.data.declaration import check_closed_words, find_declaration
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import (
    MOST_COMPARED,
    EvaluationColumns,
    EvaluationRows,
    check_limits,
    check_one_task,
    find_epoch_rows,
    make_mistake,
)
from oochub.prediction.predictions import Predictions
from oochub.records.output_columns import ALSO_RIGHT
from oochub.records.report_records import ComparedModel, Flip
from oochub.records.sides import GroupsOfRows

_SAME = ("benchmark", "config", "version", "kind", "class_names")
_LISTED = 3
_BETWEEN = "\0"  # of a split and an id, in which it cannot be typed


SHOWN = 6
"""How many flips of each direction are shown."""


class RowsDiffer(OochubError):
    """Two predictions that are not of the same rows with the same truth, so that nothing about both can be said."""


def pair_rows(first: Predictions, second: Predictions, **sampling: Any) -> tuple[EvaluationRows, EvaluationRows]:
    """Both predictions as `evaluate` sees them, joined by split and example_id; row i is one example in both.

    Args:
        first: Any predictions.
        second: Predictions of the same examples.
        **sampling: resamples and seed of the intervals.

    Raises:
        RowsDiffer: Another kind of output, benchmark, config, version or classes; other examples, another truth, or
            another group or side of an example.
        OochubError: Many tasks at once.
    """
    for name in _SAME:
        values = [getattr(part.metadata, name) for part in (first, second)]
        if values[0] != values[1]:
            raise RowsDiffer(
                f"These predictions differ in {name.replace('_', ' ')}: "
                f"{_describe_difference(values[0], values[1])}. Paired comparisons need the same examples of one "
                "benchmark. Run both models on the same data."
            )
    second = _reorder(first, second)
    _check_same_truth(first, second)
    benchmark = find_declaration(first)
    one = choose_wording("oochub.compare(a, b, task='ce_car')", "--task ce_car")
    check_one_task(first, benchmark, instead=f"Compare one of them: {one}.")
    _check_same_sides(first, second, benchmark)
    first, second = _add_columns(first, second), _add_columns(second, first)
    benchmark = find_declaration(first)
    left_out = np.logical_or(*(find_epoch_rows(part, benchmark).left_out for part in (first, second)))
    evaluated = [
        EvaluationRows(
            predictions=part,
            benchmark=benchmark,
            columns=EvaluationColumns(part, part.output.arrays(part)),
            known=part.output.known(part.label) & ~left_out,
            sampling=sampling,
        )
        for part in (first, second)
    ]
    check_limits(evaluated[0], most_groups=MOST_COMPARED)
    for part in evaluated:
        check_closed_words(part.predictions, benchmark)
    return evaluated[0], evaluated[1]


def _describe_difference(first: Any, second: Any) -> str:
    """Both values; for two lists of names, how many there are and where they part."""
    if not isinstance(first, tuple):
        return f"{first} and {second}"
    at = next((k for k, names in enumerate(zip(first, second, strict=False)) if names[0] != names[1]), None)
    counts = f"{len(first)} and {len(second)}"
    return counts if at is None else f"{counts}, class {at} is {first[at]!r} in one and {second[at]!r} in the other"


def _reorder(first: Predictions, second: Predictions) -> Predictions:
    if all(first.rows.column(name).equals(second.rows.column(name)) for name in ("split", "example_id")):
        return second
    order, other = (pa.array(part.rows.by_id) for part in (first, second))
    sorted_alike = (
        first.rows.column(name).take(order).equals(second.rows.column(name).take(other))
        for name in ("example_id", "split")
    )
    if all(sorted_alike):  # else an id stands in several splits, or rows are missing
        place = np.empty(len(first), np.int64)
        place[first.rows.by_id] = second.rows.by_id
        return second.take(place)
    keys, others = (read_keys(part) for part in (first, second))
    row = pc.index_in(keys, value_set=others)
    if row.null_count or len(keys) != len(others):  # each key is there once
        more = others.filter(pc.invert(pc.is_in(others, value_set=keys)))
        missing = keys.filter(pc.is_null(row))
        differences = " and ".join(
            f"{len(rows):,} only in the {which} (such as {', '.join(_show_keys(rows[:_LISTED]))})"
            for rows, which in ((missing, "first"), (more, "second"))
            if len(rows)
        )
        raise RowsDiffer(
            f"These predictions do not cover the same examples: of {len(keys) + len(more):,} by split and "
            f"example_id, {differences}. Predict with both models on the same data."
        )
    return second.take(row.to_numpy())


def read_keys(part: Predictions) -> pa.Array:
    """Split and example_id of each row (n,) as one text."""
    split, name = (part.rows.light.column(column).cast(pa.large_string()) for column in ("split", "example_id"))
    return pc.binary_join_element_wise(split, name, pa.scalar(_BETWEEN, pa.large_string())).combine_chunks()


def _show_keys(keys: pa.Array) -> list[str]:
    return [key.replace(_BETWEEN, "/") for key in keys.to_pylist()]


def _check_same_truth(first: Predictions, second: Predictions) -> None:
    differs = ~_find_equal(first.label, second.label)
    if differs.any():
        raise _raise_difference(first, differs, "truth", first.label, second.label)
    if all(ALSO_RIGHT in part.column_names for part in (first, second)):
        _check_same_column(first, second, ALSO_RIGHT)


def _check_same_sides(first: Predictions, second: Predictions, benchmark: Benchmark) -> None:
    sides = (benchmark.in_context, benchmark.out_of_context)
    read = {"challenge", benchmark.group_column, *(column for side in sides for column in side.where)}
    read |= {side.column for side in sides if isinstance(side, GroupsOfRows)}
    read |= {benchmark.cluster} if benchmark.cluster else set()
    for name in sorted(read & {*first.column_names} & {*second.column_names} - {"split"}):
        _check_same_column(first, second, name)


def _check_same_column(first: Predictions, second: Predictions, name: str) -> None:
    one, other = (part.rows.column(name) for part in (first, second))
    if one.equals(other):
        return
    values = one.to_pylist(), other.to_pylist()
    differs = np.array([own != another for own, another in zip(*values, strict=True)])
    if differs.any():
        raise _raise_difference(first, differs, name, *values)


def _find_equal(first: Any, second: Any) -> Any:
    """Which rows (n,) of two arrays (n, ...) are equal; nan equals nan."""
    both = np.asarray(first == second)
    if first.dtype.kind == "f":
        both |= np.isnan(first) & np.isnan(second)
    return both.reshape(len(first), -1).all(axis=1)


def _raise_difference(first: Predictions, differs: Any, what: str, one: Any, other: Any) -> RowsDiffer:
    at = int(np.argmax(differs))
    example = f"{first.split[at]}/{first.column('example_id')[at]}"
    return RowsDiffer(
        f"{int(differs.sum()):,} of {len(first):,} examples have a different {what} in the two predictions, first "
        f"{example}: {one[at]} and {other[at]}. Predict with both models on the same data."
    )


def _add_columns(own: Predictions, other: Predictions) -> Predictions:
    """The predictions with the auxiliary columns that the other ones have."""
    rows = own.rows
    for name in EvaluationColumns(other, {}):
        if name not in rows.column_names:
            rows = rows.with_column(name, other.rows.column(name))
    return own if rows is own.rows else replace(own, rows=rows)


def find_flips(pair: Pair, masks: Mapping[Any, Any]) -> tuple[Flip, ...]:
    """The rows that flip with the largest change in the probability of the truth, a few of each direction.

    Args:
        pair: The pair that `oochub.comparison.common_examples.pair_rows` gives.
        masks: The rows (n,) of the slices by role; rows of the evaluation split and of both sides may be shown.

    Returns:
        Those that the second alone answers right, then those of the first: rows with a small image before others,
        the largest change first, of equal ones the first row; none for a kind of output without probabilities of
        one right answer.
    """
    output = pair[0].predictions.output
    if not output.has_confidence:
        return ()
    shown = np.logical_or.reduce([mask for role, mask in masks.items() if role in ("all", "in", "out")])
    out = masks.get("out", np.zeros_like(shown))
    wrong = [output.wrong(model.columns) for model in pair]
    truth = [np.exp(-model.columns["loss"]) for model in pair]  # the probability that each gives it
    pictured = np.logical_or(*(_find_pictured(model) for model in pair))
    flips = []
    directions: tuple[tuple[ComparedModel, int, int], ...] = (("second", 1, 0), ("first", 0, 1))
    for right, own, other in directions:
        rows = np.flatnonzero(shown & ~wrong[own] & wrong[other])
        change = (truth[own] - truth[other])[rows]
        for row in rows[np.lexsort((-change, ~pictured[rows]))][:SHOWN].tolist():
            mistake = make_mistake(row, pair[other], is_out=bool(out[row]))
            if mistake.image is None:
                mistake = replace(mistake, image=make_mistake(row, pair[own], is_out=bool(out[row])).image)
            flips.append(
                Flip(
                    right=right,
                    change=float(truth[own][row] - truth[other][row]),
                    probability=float(truth[own][row]),
                    mistake=mistake,
                )
            )
    return tuple(flips)


def _find_pictured(side: EvaluationRows) -> NDArray[np.bool_]:
    """Which rows (n,) have a small image: predictions keep those of the worst mistakes."""
    rows = side.predictions.rows
    if "thumbnail" not in rows.column_names:
        return np.zeros(len(rows), bool)
    return np.asarray(rows.column("thumbnail").is_valid().to_numpy(), bool)
