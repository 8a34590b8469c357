"""The numbers of two models on some of their common rows: each one's own, and the difference by its test."""

from collections.abc import Callable
from typing import Any

import numpy as np

from oochub import catalog
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.paired_difference import (
    Pair,
    Rows,
    list_paired_values,
    list_percentile,
    list_worst_group,
    measure_difference,
    measure_percentile_difference,
    measure_worst_difference,
)
from oochub.evaluation.row_sets import RowSet, estimate_side
from oochub.records.report_records import ComparedNumber
from oochub.records.sides import GroupsOfRows, PercentileOfGroups
from oochub.stats.estimate import Estimate
from oochub.stats.paired_values import PairedValues, TestedDifference


def find_side(rows: RowSet, evaluated: EvaluationRows) -> Any:
    """What the benchmark declares of the side that some rows are; None for rows that are no side."""
    return {"in": evaluated.benchmark.in_context, "out": evaluated.benchmark.out_of_context}.get(rows.role)


def list_primary_values(rows: RowSet, members: Rows, evaluated: EvaluationRows, number: Estimate) -> PairedValues:
    """What a model contributes to the tests of its primary metric on a side or slice.

    Args:
        rows: The side or slice.
        members: Its row numbers (n,), in an order that all models share.
        evaluated: The model's rows.
        number: The model's own number there, with its interval.
    """
    name, side = evaluated.benchmark.primary_metric, find_side(rows, evaluated)
    if isinstance(side, PercentileOfGroups):
        return list_percentile(side, catalog.get("metric", name), evaluated, members)
    if isinstance(side, GroupsOfRows):
        return list_worst_group(number)
    return list_paired_values(catalog.get("metric", name), evaluated, members)


def compute_side_number(
    rows: RowSet, side: GroupsOfRows, pair: Pair, values: tuple[Any, Any] | None = None
) -> ComparedNumber:
    """The primary metric of a side that is a statistic over groups.

    Args:
        rows: The rows of the side.
        side: The statistic.
        pair: The pair that `oochub.evaluation.paired_rows.pair_rows` gives.
        values: Both models' own numbers; None computes them.
    """
    metric = catalog.get("metric", pair[0].benchmark.primary_metric)
    first, second = values or (estimate_side(rows, metric, each) for each in pair)
    if isinstance(side, PercentileOfGroups):
        return make_number(first, second, measure_percentile_difference(side, metric, pair, np.flatnonzero(rows.mask)))
    return make_number(first, second, measure_worst_difference(first, second))


def compute_numbers(
    name: str, metric: Callable[..., Any], rows: Any, pair: Pair, values: tuple[Any, Any] | None = None
) -> dict[str, ComparedNumber]:
    """A metric on some rows, by its name; for one that gives several numbers each by its own.

    Args:
        name: Name of the metric.
        metric: The metric.
        rows: Row numbers (n,), at least one.
        pair: The pair that `oochub.evaluation.paired_rows.pair_rows` gives.
        values: What the metric gives of both models, with intervals; None computes it.
    """
    first, second = values or (each.of(metric, rows) for each in pair)
    if not isinstance(first, dict):
        return {name: make_number(first, second, measure_difference(metric, pair, rows))}
    if name == "worst_group":
        return {
            f"{name}.{key}": make_number(first[key], second[key], measure_worst_difference(first[key], second[key]))
            for key in first
        }
    return {
        f"{name}.{key}": make_number(first[key], second[key], measure_difference(metric, pair, rows, key=key))
        for key in first
    }


def make_number(first: Estimate, second: Estimate, tested: TestedDifference) -> ComparedNumber:
    """The record of both numbers and their tested difference."""
    return ComparedNumber(
        first=first, second=second, difference=tested.difference, p_value=tested.p_value, test=tested.test
    )
