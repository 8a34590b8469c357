"""The gap: the primary metric out of context minus in context, plain and at equal values of a column."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.matching import matched_gap
from oochub.evaluation.row_sets import RowSet, missing_side, primary_metric, side_estimate
from oochub.records.report_records import Gap, MatchedGap, Role, Side, Slice
from oochub.records.sides import GroupsOfRows
from oochub.stats.estimate import Estimate
from oochub.stats.estimation import difference

_SIDES: tuple[Side, ...] = ("in", "out")


def gap_of(sets: Mapping[Role, RowSet], slices: Mapping[Role, Slice], evaluated: Evaluated) -> Gap:
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
    estimate = Estimate(np.nan, n=n, method="none", reason=missing_side(sets, evaluated.benchmark))
    if set(_SIDES) <= set(sets):
        metric = primary_metric(evaluated)
        inside, outside = (
            slices[side].metrics.get(name) or side_estimate(sets[side], metric, evaluated) for side in _SIDES
        )
        estimate = difference(outside, inside)
    return Gap(
        metric=name,
        estimate=estimate,
        n_in=sizes.get("in", 0),
        n_out=sizes.get("out", 0),
        n_out_smallest=sizes.get("out", 0) if smallest is None else smallest,
    )


def gap_at_equal(column: str, sets: Mapping[Role, RowSet], evaluated: Evaluated) -> MatchedGap:
    """The gap at equal values of a column; see `oochub.evaluation.matching.matched_gap`.

    Args:
        column: A numeric auxiliary column.
        sets: See `gap_of`.
        evaluated: See `gap_of`.

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
    if isinstance(evaluated.benchmark.out_of_context, GroupsOfRows):
        n = int(masks["in"].sum())
        reason = "one side is a statistic over groups of the same rows"
        absent = Estimate(np.nan, n=n, method="none", reason=reason)
        return MatchedGap(column=column, metric=primary, n_in=n, n_out=n, share_out=np.nan, estimate=absent, strata=())
    return matched_gap(primary, inside, outside, column=column, **clusters, **evaluated.sampling)
