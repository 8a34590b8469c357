"""The slices of a report: which rows each one takes, and every metric on them."""

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError
from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.group_sides import group_side, worst_group_measured, worst_group_rows
from oochub.records.metadata import row_counts
from oochub.records.report_records import ChosenGroup, Role, Slice
from oochub.records.sides import GroupsOfRows, Rows, WorstOfGroups
from oochub.stats.estimate import Estimate
from oochub.stats.group_codes import check_group

_ROLES: Mapping[str, tuple[Role, ...]] = {
    "auc_hard": ("all",),
    "adjusted_accuracy": ("all",),
    "worst_group": ("all", "out"),
}
"""Metrics that pick their own rows, or need all groups: a slice of another role says nothing new, or nothing."""


class RowSet(NamedTuple):
    """Some rows of one split and what they are to the comparison."""

    name: str
    role: Role
    title: str
    split: str
    mask: NDArray[np.bool_]


def row_sets(evaluated: Evaluated) -> list[RowSet]:
    """The rows of each slice, all of the evaluation split first; slices without a row are left out.

    Raises:
        OochubError: The evaluation split has no row with a label.
    """
    benchmark, columns, known = evaluated.benchmark, evaluated.columns, evaluated.known
    split = columns["split"]
    present = list(row_counts(evaluated.predictions.rows.light.column("split")))  # in order of appearance
    main = benchmark.evaluation_split if benchmark.evaluation_split in present else present[-1]
    sets = [RowSet("all", "all", f"All of {main}", main, known & (split == main))]
    sides: tuple[tuple[Role, str, Any], ...] = (
        ("in", "in_context", benchmark.in_context),
        ("out", "out_of_context", benchmark.out_of_context),
    )
    for role, name, rows in sides:
        needed = {*rows.where, *([rows.column] if isinstance(rows, GroupsOfRows) else [])}
        if needed <= set(columns):
            sets.append(RowSet(name, role, rows.name, rows.split, known & rows.mask(columns)))
    if "challenge" in columns:
        parts: tuple[tuple[Role, str], ...] = (
            ("hard_positive", benchmark.words.hard_positive),
            ("hard_negative", benchmark.words.hard_negative),
        )
        for part, title in parts:
            rows_of_part = known & (split == main) & (columns["challenge"] == part)
            sets.append(RowSet(part, part, title, main, rows_of_part))
    shown = {each.split for each in sets}
    sets += [
        RowSet(name, "split", f"Split {name}", name, known & (split == name)) for name in present if name not in shown
    ]
    sets = [each for each in sets if each.role == "all" or each.mask.any()]
    if not sets[0].mask.any():
        raise OochubError(f"The split {main} of these predictions has no row with a label.")
    return sets


def is_computed(metric: str, role: Role) -> bool:
    """Whether a metric is computed on slices of that role.

    >>> is_computed("worst_group", "out"), is_computed("worst_group", "in"), is_computed("accuracy", "in")
    (True, False, True)
    """
    return role in _ROLES.get(metric, (role,))


def slice_of(rows: RowSet, metrics: Mapping[str, Callable[..., Any]], evaluated: Evaluated) -> Slice:
    """Every metric on the rows of a slice; of a side that is a statistic over groups, that of the primary metric.

    Args:
        rows: The rows.
        metrics: By name.
        evaluated: What they are rows of.
    """
    estimates: dict[str, Estimate] = {}
    worst_groups: dict[str, ChosenGroup] = {}
    n = own = int(rows.mask.sum())
    if isinstance(_side(rows, evaluated), GroupsOfRows):
        statistic = side_estimate(rows, primary_metric(evaluated), evaluated)
        estimates[evaluated.benchmark.primary_metric], n = statistic, statistic.n
    else:
        for name, metric in metrics.items():
            if not is_computed(name, rows.role) or not evaluated.has_groups(metric, rows.mask):
                continue
            value = evaluated.of(metric, rows.mask)
            if name == "worst_group":
                among = evaluated.columns["group"][evaluated.rows_for(metric, rows.mask)]
                worst_groups |= _worst_groups(
                    evaluated.value(metric, rows.mask), len(np.unique(check_group(among).codes))
                )
            named = value if isinstance(value, dict) else {"": value}
            estimates |= {f"{name}.{key}" if key else name: each for key, each in named.items()}
    binary = evaluated.predictions.output.one_answer and len(evaluated.predictions.class_names) == 2
    return Slice(
        name=rows.name,
        role=rows.role,
        title=rows.title,
        split=rows.split,
        n=n,
        n_positive=int((rows.mask & (evaluated.columns["label"] == 1)).sum()) if binary and n == own else None,
        metrics=estimates,
        examples=evaluated.examples.of(rows.mask),
        worst_groups=worst_groups or None,
    )


def _worst_groups(values: Mapping[str, Any], among: int) -> dict[str, ChosenGroup]:
    """The groups that the numbers of worst_group are of, by the names of these numbers."""
    named = {key.removesuffix("_group"): str(name) for key, name in values.items() if key.endswith("_group")}
    return {f"worst_group.{key}": ChosenGroup(name=name, among=among) for key, name in named.items()}


def side_estimate(rows: RowSet, metric: Callable[..., Any], evaluated: Evaluated) -> Estimate:
    """The number of a side: a metric on its rows, or its statistic over their groups."""
    side = _side(rows, evaluated)
    if isinstance(side, GroupsOfRows):
        return group_side(side, metric, rows.mask, evaluated)
    estimate_of_rows: Estimate = evaluated.of(metric, rows.mask)
    return estimate_of_rows


def rows_behind(rows: RowSet, evaluated: Evaluated) -> NDArray[np.bool_]:
    """The rows (n,) that a side's number is of: all of its own, or those of its worst group."""
    side = _side(rows, evaluated)
    if isinstance(side, WorstOfGroups):
        return worst_group_rows(side, primary_metric(evaluated), rows.mask, evaluated)
    return rows.mask


def measured_groups(rows: RowSet, evaluated: Evaluated) -> dict[str, NDArray[np.int64]] | None:
    """Of a side that is its worst group, the rows that did not choose it, by group; None for another side."""
    side = _side(rows, evaluated)
    if isinstance(side, WorstOfGroups):
        return worst_group_measured(side, primary_metric(evaluated), rows.mask, evaluated)
    return None


def _side(rows: RowSet, evaluated: Evaluated) -> Rows | None:
    sides = {"in": evaluated.benchmark.in_context, "out": evaluated.benchmark.out_of_context}
    return sides.get(rows.role)


def missing_side(sets: Container[Role], benchmark: Benchmark) -> str:
    """Why there is no gap: no context is named, or the side that has no rows, in the benchmark's words.

    Args:
        sets: The roles of which there are rows.
        benchmark: Whose sides these are.
    """
    if () in benchmark.out_of_context.where.values():
        return "no context is named"
    titles = {"in": benchmark.words.inside_title, "out": benchmark.words.outside_title}
    missing = [title for role, title in titles.items() if role not in sets]
    return f"there are no rows {' and none '.join(missing)}"


def primary_metric(evaluated: Evaluated) -> Callable[..., Any]:
    """The metric of the gap."""
    metric: Callable[..., Any] = catalog.get("metric", evaluated.benchmark.primary_metric)
    return metric
