"""The slices of a report: which rows each one takes, every metric on them, and the gap between the two sides.

The gap is the primary metric out of context minus in context, plain and at equal values of a column.

The correlation of two numbers of different rows that are of the same things: what pairs take off their difference.

If both sides of a comparison show the same things, such as a foreground on two backgrounds, a thing that is hard on one
side is hard on the other one too. The two numbers then go together, and their difference is known better than that of
other things:

    r = sum_u A_u B_u / sqrt(sum_u A_u^2 sum_u B_u^2),

A_u and B_u what the rows of thing u add to either number, as its influence. A thing without a row on one side adds to
the other one alone, so it is no pair and is not left out either. `oochub.stats.estimation.difference` takes r.

How the numbers of both sides go together where both show the same things, or have rows of the same clusters.

What rows share (`Benchmark.cluster`, or the things of `Benchmark.pair`) may have rows on both sides: a foreground on
its usual background and on another one, a patient in both hospitals. Their difference then has an interval of pairs:
each side keeps its own, and the square-and-add difference takes the correlation of both
(`oochub.evaluation.slices`). A mean and the AUC have it of the influence of each row; every other metric of a
bootstrap that draws things with their rows of both sides. Things without a partner stay, unpaired.
"""

import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import EvaluationRows, read_metric
from oochub.evaluation.group_statistics import estimate_group_side, find_worst_group_rows, measure_worst_group_apart
from oochub.evaluation.matching import estimate_matched_gap
from oochub.metric import read_facts
from oochub.records.metadata import count_rows
from oochub.records.report_records import ChosenGroup, Gap, MatchedGap, Role, Side, SidePairs, Slice
from oochub.records.sides import GroupsOfRows, Rows, WorstOfGroups
from oochub.stats.array_checks import Array, check_group, check_same_length, check_score
from oochub.stats.bootstrap import draw_replicates
from oochub.stats.delong import compute_auc_influence
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import difference

_ROUNDING = 1e-24  # of squared influences


_ROLES: Mapping[str, tuple[Role, ...]] = {
    "auc_hard": ("all",),
    "adjusted_accuracy": ("all",),
    "worst_group": ("all", "out"),
}
"""Metrics that pick their own rows, or need all groups: a slice of another role says nothing new, or nothing."""


_SIDES: tuple[Side, ...] = ("in", "out")
_NO_CONTEXT = "no context is named"


_Metric = Callable[..., object]
_RowNumbers = NDArray[np.int64]


class SideCorrelation(NamedTuple):
    """How two numbers of different rows go together.

    Attributes:
        value: The correlation in [-1, 1]; 0 if nothing is shared, or if one side does not vary.
        both: Number of units, such as things, with rows on both sides.
        only_first: Number of units with rows on the first side alone.
        only_second: Number of units with rows on the second side alone.
    """

    value: float
    both: int
    only_first: int
    only_second: int


def side_correlation(
    first: ArrayLike, second: ArrayLike, *, first_unit: ArrayLike, second_unit: ArrayLike, are_shares: bool = False
) -> SideCorrelation:
    """The correlation of two numbers by the units that have rows on both sides.

    For shares of things that have one row on each side it is the phi of their table, with Newcombe's correction, which
    leaves a width if no thing differs: half a row is taken from the rows of things that go together, down to none.

    Args:
        first: What each row (n,) of the first side adds to its number: (value - mean) / n for a mean.
        second: The same (m,) for the second side.
        first_unit: The unit of each row (n,) of the first side, any hashable.
        second_unit: The same (m,) for the second side.
        are_shares: Whether both numbers are shares of rows.

    Raises:
        OochubError: NaN, or different lengths.

    Source:
        Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions based on paired
        data" (Statist. Med. 17:2635-2650), method 10.

    >>> right = np.array([1, 1, 0, 0]) / 4 - 1 / 8
    >>> side_correlation(right, right, first_unit=list("abcd"), second_unit=list("abce"))
    SideCorrelation(value=0.75, both=3, only_first=1, only_second=1)
    """
    sides = [check_score(values, name="values").astype(np.float64, copy=False) for values in (first, second)]
    sizes = [
        check_same_length(values=values, unit=unit)
        for values, unit in zip(sides, (first_unit, second_unit), strict=True)
    ]
    names, units = np.unique(np.concatenate([np.asarray(first_unit), np.asarray(second_unit)]), return_inverse=True)
    codes = units[: sizes[0]], units[sizes[0] :]
    there = [np.bincount(code, minlength=len(names)) > 0 for code in codes]
    sums: list[Array] = [np.bincount(code, side, len(names)) for code, side in zip(codes, sides, strict=True)]
    shared = float((sums[0] * sums[1]).sum())
    if are_shares and shared > 0:
        shared = max(0.0, shared - 0.5 / (sizes[0] * sizes[1]))
    spread = float((sums[0] ** 2).sum()) * float((sums[1] ** 2).sum())
    both = int((there[0] & there[1]).sum())
    value = shared / math.sqrt(spread) if both and spread > _ROUNDING**2 else 0.0
    return SideCorrelation(float(np.clip(value, -1, 1)), both, int(there[0].sum()) - both, int(there[1].sum()) - both)


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
    benchmark, columns, is_known = evaluated.benchmark, evaluated.columns, evaluated.known
    split = columns["split"]
    present = list(count_rows(evaluated.predictions.rows.light.column("split")))  # in order of appearance
    main = benchmark.evaluation_split if benchmark.evaluation_split in present else present[-1]
    sets = [RowSet("all", "all", f"All of {main}", main, is_known & (split == main))]
    sides: tuple[tuple[Role, str, Any], ...] = (
        ("in", "in_context", benchmark.in_context),
        ("out", "out_of_context", benchmark.out_of_context),
    )
    for role, name, rows in sides:
        needed = {*rows.where, *([rows.column] if isinstance(rows, GroupsOfRows) else [])}
        if needed <= set(columns):
            sets.append(RowSet(name, role, rows.name, rows.split, is_known & rows.mask(columns)))
    if "challenge" in columns:
        parts: tuple[tuple[Role, str], ...] = (
            ("hard_positive", benchmark.words.hard_positive),
            ("hard_negative", benchmark.words.hard_negative),
        )
        for part, title in parts:
            rows_of_part = is_known & (split == main) & (columns["challenge"] == part)
            sets.append(RowSet(part, part, title, main, rows_of_part))
    shown = {part.split for part in sets}
    sets += [
        RowSet(name, "split", f"Split {name}", name, is_known & (split == name))
        for name in present
        if name not in shown
    ]
    sets = [part for part in sets if part.role == "all" or part.mask.any()]
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
                among = len(np.unique(check_group(group).codes))
                for key, chosen in evaluated.value(metric, rows.mask).items():
                    if key.endswith("_group"):
                        number = f"worst_group.{key.removesuffix('_group')}"
                        worst_groups[number] = ChosenGroup(name=str(chosen), among=among)
            named = value if isinstance(value, dict) else {"": value}
            estimates |= {f"{name}.{key}" if key else name: estimate for key, estimate in named.items()}
        is_lacking = rows.role in _SIDES and primary not in metrics
        if is_lacking and {*read_metric(of_primary).required} <= {*evaluated.columns}:
            estimates[primary] = estimate_side(rows, of_primary, evaluated)
    evaluated.gathered.clear()  # else it is held while all else is measured
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


def describe_no_class(sets: Sequence[RowSet], evaluated: EvaluationRows) -> str:
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
        is_new = not any(np.array_equal(rows.mask, mask) for mask in (evaluated.known, *(one.mask for one in shown)))
        if rows.role in ("all", "in", "out", "split") and is_new:
            shown.append(rows)
    parts = f": {', '.join(f'{rows.title} {count(rows.mask)}' for rows in shown)}" if shown else ""
    verbs = ("fits", "counts") if int(outside[evaluated.known].sum()) == 1 else ("fit", "count")
    return f"{count(evaluated.known)} answers {verbs[0]} no class and {verbs[1]} as wrong{parts}"


def describe_boxes(sets: Sequence[RowSet], evaluated: EvaluationRows) -> str:
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
            words = " and ".join(f"{int(mask[rows.mask].sum()):,} {kind}" for kind, mask in counts.items())
            parts.append(f"{title} {words} in {n:,} {example}{'' if n == 1 else 's'}")
    return f"number of boxes: {'; '.join(parts)}" if parts else ""


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
        sets: The rows of the slices by role.
        evaluated: What they are rows of.

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


def pair_sides(metric: _Metric, sides: "Mapping[Role, RowSet]", models: Sequence[EvaluationRows]) -> SidePairs | None:
    """The pairs of two sides, with the correlation of the metric on them; None if they share nothing.

    Args:
        metric: A metric with one number.
        sides: The rows of either side by their role, "in" and "out".
        models: The evaluated rows of a model; or those of two models on the same rows, for the change from the first
            to the second.
    """
    evaluated, benchmark = models[-1], models[-1].benchmark
    if benchmark.cluster is None or isinstance(benchmark.out_of_context, GroupsOfRows):
        return None
    places = [np.flatnonzero(sides[role].mask) for role in ("in", "out")]
    column = evaluated.columns[benchmark.cluster]
    units = [np.asarray(getattr(column, "codes", column)[rows]) for rows in places]
    influences = [_find_influence(metric, rows, models) for rows in places]
    if not np.isin(units[0], units[1]).any():
        if benchmark.pair is None:
            return None
        correlation = SideCorrelation(0.0, 0, *(len(np.unique(unit)) for unit in units))
    elif influences[0] is None or influences[1] is None:
        correlation = _correlate_by_bootstrap(metric, places, units, models)
    else:
        correlation = side_correlation(
            influences[0].values,
            influences[1].values,
            first_unit=units[0],
            second_unit=units[1],
            are_shares=influences[0].are_shares and influences[1].are_shares,
        )
    return SidePairs(
        column=benchmark.cluster,
        both=correlation.both,
        only_in=correlation.only_first,
        only_out=correlation.only_second,
        correlation=correlation.value,
    )


class _Influence(NamedTuple):
    """What each row adds to a number (n,), and whether the number is a share of rows."""

    values: Array
    are_shares: bool


def _find_influence(metric: _Metric, rows: _RowNumbers, models: Sequence[EvaluationRows]) -> _Influence | None:
    """That of the metric of one model, or of its change; None for a metric that is no mean and no AUC."""
    facts, influences = read_facts(metric), []
    for model in models:
        arrays = model.arrays(metric, rows)
        if getattr(metric, "__name__", "") == "auc":
            label = arrays["label"]
            if label.all() or not label.any():  # no AUC, and nothing to correlate
                return _Influence(np.zeros(len(rows)), are_shares=False)
            influences.append(_Influence(compute_auc_influence(label, arrays["score"]), are_shares=False))
        elif facts is not None and facts.row_numbers is not None:
            values, is_share = facts.row_numbers(arrays, **model.options(metric))[:2]
            if len(values) != len(rows):  # some rows have no number
                return None
            is_share = is_share and len(models) == 1 and bool(np.isin(values, (0, 1)).all())
            influences.append(_Influence((values - values.mean()) / len(rows), is_share))
        else:
            return None
    return (
        influences[0]
        if len(influences) == 1
        else _Influence(influences[1].values - influences[0].values, are_shares=False)
    )


def _correlate_by_bootstrap(
    metric: _Metric, sides: Sequence[_RowNumbers], units: Sequence[Array], models: Sequence[EvaluationRows]
) -> SideCorrelation:
    """That of the metric on resamples of units with all their rows."""
    rows, is_outside = np.concatenate(sides), np.arange(sum(map(len, sides))) >= len(sides[0])

    def measure(place: _RowNumbers) -> Array:
        numbers = [np.nan, np.nan]
        for side, chosen in enumerate((place[~is_outside[place]], place[is_outside[place]])):
            if len(chosen):
                values = [float(model.value(metric, rows[chosen])) for model in models]
                numbers[side] = values[-1] - (values[0] if len(values) > 1 else 0.0)
        return np.array(numbers)

    sampling = Sampling(cluster=np.concatenate(units), **models[-1].sampling)
    drawn = draw_replicates(measure, {"place": np.arange(len(rows))}, sampling)
    kept = drawn[~np.isnan(drawn).any(axis=1)]
    varies = len(kept) > 2 and bool((np.ptp(kept, axis=0) > 0).all())
    counted = side_correlation(
        np.zeros(len(sides[0])), np.zeros(len(sides[1])), first_unit=units[0], second_unit=units[1]
    )
    return counted._replace(value=float(np.corrcoef(kept.T)[0, 1]) if varies else 0.0)
