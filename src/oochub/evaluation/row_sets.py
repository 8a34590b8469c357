"""The slices of a report: which rows each one takes, every metric on them, and the gap between the two sides.

The gap is the primary metric out of context minus in context, plain and at equal values of a column.
"""

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import EvaluationRows, read_metric
from oochub.evaluation.group_sides import estimate_group_side, find_worst_group_rows, measure_worst_group_apart
from oochub.evaluation.matching import estimate_matched_gap
from oochub.evaluation.side_pairs import pair_sides
from oochub.records.metadata import count_rows
from oochub.records.report_records import ChosenGroup, Gap, MatchedGap, Role, Side, Slice
from oochub.records.sides import GroupsOfRows, Rows, WorstOfGroups
from oochub.stats.array_checks import check_group
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference

_ROLES: Mapping[str, tuple[Role, ...]] = {
    "auc_hard": ("all",),
    "adjusted_accuracy": ("all",),
    "worst_group": ("all", "out"),
}
"""Metrics that pick their own rows, or need all groups: a slice of another role says nothing new, or nothing."""


_SIDES: tuple[Side, ...] = ("in", "out")
_NO_CONTEXT = "no context is named"


class RowSet(NamedTuple):
    """Some rows of one split and what they are to the comparison."""

    name: str
    role: Role
    title: str
    split: str
    mask: NDArray[np.bool_]


def make_row_sets(evaluated: EvaluationRows) -> list[RowSet]:
    """The rows of each slice, all of the evaluation split first; slices without a row are left out.

    Raises:
        OochubError: The evaluation split has no row with a label.
    """
    benchmark, columns, known = evaluated.benchmark, evaluated.columns, evaluated.known
    split = columns["split"]
    present = list(count_rows(evaluated.predictions.rows.light.column("split")))  # in order of appearance
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


def measure_slice(rows: RowSet, metrics: Mapping[str, Callable[..., Any]], evaluated: EvaluationRows) -> Slice:
    """Every metric on the rows of a slice; for a side that is a statistic over groups, that of the primary metric.

    The gap is one of the primary metric, so the two sides have that whichever metrics are asked for.

    Args:
        rows: The rows.
        metrics: Metrics by name.
        evaluated: All evaluated rows, which these are some of.
    """
    estimates: dict[str, Estimate] = {}
    worst_groups: dict[str, ChosenGroup] = {}
    n = own = int(rows.mask.sum())
    primary, of_primary = evaluated.benchmark.primary_metric, get_primary_metric(evaluated)
    if isinstance(_mask_side(rows, evaluated), GroupsOfRows):
        estimates[primary] = statistic = estimate_side(rows, of_primary, evaluated)
        n = statistic.n
    else:
        for name, metric in metrics.items():
            if not is_computed(name, rows.role) or not evaluated.has_groups(metric, rows.mask):
                continue
            value = evaluated.of(metric, rows.mask)
            if name == "worst_group":
                group = evaluated.columns["group"][evaluated.rows_for(metric, rows.mask)]
                chosen = evaluated.value(metric, rows.mask)
                worst_groups |= _find_worst_groups(chosen, group)
            named = value if isinstance(value, dict) else {"": value}
            estimates |= {f"{name}.{key}" if key else name: each for key, each in named.items()}
        is_lacking = rows.role in _SIDES and primary not in metrics
        if is_lacking and {*read_metric(of_primary).required} <= {*evaluated.columns}:
            estimates[primary] = estimate_side(rows, of_primary, evaluated)
    output = evaluated.predictions.output
    binary = output.one_answer and len(evaluated.predictions.class_names) == 2
    binary = binary and not output.asks_each_row(evaluated.predictions)
    outside = evaluated.predictions.output.fits_no_class(evaluated.predictions)
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
        none_of_them=int(outside[rows.mask].sum()) if outside is not None and n == own else None,
    )


def describe_no_class(sets: list[RowSet], evaluated: EvaluationRows) -> str:
    """How many answers are none of the classes, in all and on each side or split; "" where all are classes.

    Args:
        sets: The rows of the slices, see `make_row_sets`.
        evaluated: All evaluated rows.
    """
    outside = evaluated.predictions.output.fits_no_class(evaluated.predictions)
    if outside is None or not outside[evaluated.known].any():
        return ""

    def count(mask: NDArray[np.bool_]) -> str:
        return f"{int(outside[mask].sum()):,} of {int(mask.sum()):,}"

    shown: list[RowSet] = []
    for rows in sets:
        is_new = not any(np.array_equal(rows.mask, each) for each in (evaluated.known, *(one.mask for one in shown)))
        if rows.role in ("all", "in", "out", "split") and is_new:
            shown.append(rows)
    parts = f": {', '.join(f'{rows.title} {count(rows.mask)}' for rows in shown)}" if shown else ""
    verbs = ("fits", "counts") if int(outside[evaluated.known].sum()) == 1 else ("fit", "count")
    return f"{count(evaluated.known)} answers {verbs[0]} no class and {verbs[1]} as wrong{parts}"


def describe_boxes(sets: list[RowSet], evaluated: EvaluationRows) -> str:
    """How many true and drawn boxes there are, in all and on each side; "" for rows without boxes.

    Args:
        sets: The rows of the slices, see `make_row_sets`.
        evaluated: All evaluated rows.
    """
    counts, example = evaluated.predictions.output.count_boxes(evaluated.columns), evaluated.benchmark.words.example
    parts = []
    for rows in sets if counts else ():
        if rows.role in ("all", "in", "out"):
            n, title = int(rows.mask.sum()), rows.title[:1].lower() + rows.title[1:]
            found = " and ".join(f"{int(each[rows.mask].sum()):,} {kind}" for kind, each in counts.items())
            parts.append(f"{title} {found} in {n:,} {example}{'' if n == 1 else 's'}")
    return f"number of boxes: {'; '.join(parts)}" if parts else ""


def _find_worst_groups(values: Mapping[str, Any], group: Any) -> dict[str, ChosenGroup]:
    """The groups that the numbers of worst_group are of, by the names of these numbers; `group` is that of each row."""
    among = len(np.unique(check_group(group).codes))
    named = {key.removesuffix("_group"): str(name) for key, name in values.items() if key.endswith("_group")}
    return {f"worst_group.{key}": ChosenGroup(name=name, among=among) for key, name in named.items()}


def estimate_side(rows: RowSet, metric: Callable[..., Any], evaluated: EvaluationRows) -> Estimate:
    """The number of a side: a metric on its rows, or its statistic over their groups."""
    side = _mask_side(rows, evaluated)
    if isinstance(side, GroupsOfRows):
        return estimate_group_side(side, metric, rows.mask, evaluated)
    estimate_of_rows: Estimate = evaluated.of(metric, rows.mask)
    return estimate_of_rows


def measure_gap(sets: Mapping[Role, RowSet], slices: Mapping[Role, Slice], evaluated: EvaluationRows) -> Gap:
    """The gap with the interval of the difference, and how many rows stand behind it.

    Args:
        sets: The rows of the slices by role.
        slices: The slices by role; the primary metric is taken from them where they have it.
        evaluated: What they are rows of.

    Returns:
        The Gap; undefined, with the reason, where a side has no rows.
    """
    name = evaluated.benchmark.primary_metric
    sizes = {role: part.n for role, part in slices.items()}
    smallest = min((n for role, n in sizes.items() if role in ("hard_positive", "hard_negative")), default=None)
    n = sum(sizes.get(side, 0) for side in _SIDES)
    estimate = Estimate(np.nan, n=n, method="none", reason=explain_missing_side(sets, evaluated.benchmark))
    pairs = None
    if set(_SIDES) <= set(sets):
        metric = get_primary_metric(evaluated)
        inside, outside = (
            slices[side].metrics.get(name) or estimate_side(sets[side], metric, evaluated) for side in _SIDES
        )
        pairs = pair_sides(metric, sets, [evaluated])
        estimate = difference(outside, inside, correlation=0.0 if pairs is None else pairs.correlation)
    return Gap(
        metric=name,
        estimate=estimate,
        n_in=sizes.get("in", 0),
        n_out=sizes.get("out", 0),
        n_out_smallest=sizes.get("out", 0) if smallest is None else smallest,
        pairs=pairs,
    )


def describe_partners(gap: Gap, evaluated: EvaluationRows) -> str:
    """What has no partner on the other side, for a benchmark that declares pairs; "" if everything has one.

    Args:
        gap: The gap between the sides.
        evaluated: All evaluated rows.
    """
    pairs = gap.pairs
    if pairs is None or evaluated.benchmark.pair is None or not pairs.only_in + pairs.only_out:
        return ""
    words = evaluated.benchmark.words
    if not pairs.both:
        return f"no {pairs.column} has rows on both sides, so the sides are compared as independent"
    return (
        f"values of {pairs.column} without a partner: {pairs.only_in:,} {words.inside_title}, {pairs.only_out:,} "
        f"{words.outside_title}; their rows count unpaired"
    )


def measure_gap_at_equal(column: str, sets: Mapping[Role, RowSet], evaluated: EvaluationRows) -> MatchedGap:
    """The gap at equal values of a column; see `oochub.evaluation.matching.estimate_matched_gap`.

    Args:
        column: A numeric auxiliary column.
        sets: See `measure_gap`.
        evaluated: See `measure_gap`.

    Returns:
        The MatchedGap; undefined where a side is the worst of groups, or a percentile of them: it is chosen among the
        rows of the other side, and has no rows of its own to match.
    """
    nothing = np.zeros(len(evaluated.known), bool)
    masks = {side: sets[side].mask if side in sets else nothing for side in _SIDES}
    wanted = {"label", "prediction", "score", "loss", column} & set(evaluated.columns)
    inside, outside = ({name: evaluated.columns[name][mask] for name in wanted} for mask in masks.values())
    cluster = evaluated.benchmark.cluster
    clusters: dict[str, Any] = {}
    if cluster is not None:
        clusters = {f"{side}_cluster": evaluated.columns[cluster][mask] for side, mask in masks.items()}
    primary = evaluated.benchmark.primary_metric
    is_of_groups = isinstance(evaluated.benchmark.out_of_context, GroupsOfRows)
    if is_of_groups or () in evaluated.benchmark.out_of_context.where.values():
        n = int(masks["in"].sum())
        reason = "one side is a statistic over groups of the same rows" if is_of_groups else _NO_CONTEXT
        absent = Estimate(np.nan, n=n, method="none", reason=reason)
        n_out = n if is_of_groups else 0
        return MatchedGap(
            column=column, metric=primary, n_in=n, n_out=n_out, share_out=np.nan, estimate=absent, strata=()
        )
    words = evaluated.benchmark.words
    titles = (words.inside_title, words.outside_title)
    return estimate_matched_gap(
        primary, inside, outside, column=column, titles=titles, **clusters, **evaluated.sampling
    )


def find_rows_behind(rows: RowSet, evaluated: EvaluationRows) -> NDArray[np.bool_]:
    """The rows (n,) that a side's number is of: all of its own, or those of its worst group."""
    side = _mask_side(rows, evaluated)
    if isinstance(side, WorstOfGroups):
        return find_worst_group_rows(side, get_primary_metric(evaluated), rows.mask, evaluated)
    return rows.mask


def find_measured_groups(rows: RowSet, evaluated: EvaluationRows) -> dict[str, NDArray[np.int64]] | None:
    """For a side that is its worst group, the rows that did not choose it, by group; None for another side."""
    side = _mask_side(rows, evaluated)
    if isinstance(side, WorstOfGroups):
        return measure_worst_group_apart(side, get_primary_metric(evaluated), rows.mask, evaluated)
    return None


def _mask_side(rows: RowSet, evaluated: EvaluationRows) -> Rows | None:
    sides = {"in": evaluated.benchmark.in_context, "out": evaluated.benchmark.out_of_context}
    return sides.get(rows.role)


def explain_missing_side(sets: Container[Role], benchmark: Benchmark) -> str:
    """Why there is no gap: no context is named, or the side that has no rows, in the benchmark's words.

    Args:
        sets: The roles of which there are rows.
        benchmark: Benchmark that the sides belong to.
    """
    if () in benchmark.out_of_context.where.values():
        return _NO_CONTEXT
    titles = {"in": benchmark.words.inside_title, "out": benchmark.words.outside_title}
    missing = [title for role, title in titles.items() if role not in sets]
    return f"there are no rows {' and none '.join(missing)}"


def get_primary_metric(evaluated: EvaluationRows) -> Callable[..., Any]:
    """The metric of the gap."""
    metric: Callable[..., Any] = catalog.get("metric", evaluated.benchmark.primary_metric)
    return metric
