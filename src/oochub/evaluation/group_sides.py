"""The number of a side that is a statistic over groups: the metric of the worst group, or a percentile of groups."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.weighted_metric import row_values
from oochub.metric import facts_of
from oochub.sides import GroupsOfRows, PercentileOfGroups
from oochub.stats.bootstrap import bootstrap
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.worst_group_interval import worst_group_interval


def group_side(
    side: GroupsOfRows, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: Evaluated
) -> Estimate:
    """The statistic of a metric over the groups of some rows, with its interval.

    The interval of the worst group is simultaneous over the G groups, each at level 1 - 0.05 / G, since the group was
    picked by the same rows; where all of them hold, the worst true value lies between the worst lower end and the
    worst upper end. That of a percentile is a bootstrap of whole groups.

    Args:
        side: What the statistic is.
        metric: A metric with one number.
        mask: The rows (n,).
        evaluated: What they are rows of.

    Returns:
        The Estimate; n is the rows of the worst group, or all rows; nan with a reason where no group has a number.
    """
    groups = {name: rows[mask[rows]] for name, rows in side.rows_of_groups(evaluated.columns).items()}
    groups = {name: rows for name, rows in groups.items() if len(rows)}
    facts = facts_of(metric)
    higher_is_better = facts is None or facts.direction != "lower"
    if not groups:
        return Estimate(np.nan, n=0, method="none", reason=f"no row has a group in {side.column}")
    if isinstance(side, PercentileOfGroups):
        return _percentile(side, metric, groups, evaluated, higher_is_better)
    return _worst(metric, groups, evaluated, higher_is_better)


def _percentile(
    side: PercentileOfGroups,
    metric: Callable[..., Any],
    groups: dict[str, NDArray[np.int64]],
    evaluated: Evaluated,
    higher_is_better: bool,
) -> Estimate:
    values = row_values(metric, evaluated.columns)
    of_group = [
        float(values[rows].mean()) if values is not None else float(metric(**evaluated.arrays(metric, rows)))
        for rows in groups.values()
    ]
    sampling = Sampling(**evaluated.sampling)
    estimate = bootstrap(
        lambda value: side.statistic(value.tolist(), higher_is_better=higher_is_better),
        {"value": np.array(of_group)},
        sampling,
    )
    method = f"percentile bootstrap of {len(groups)} groups, {sampling.resamples} resamples"
    n = sum(map(len, groups.values()))
    return Estimate(estimate.value, low=estimate.low, high=estimate.high, n=n, method=method, reason=estimate.reason)


def _worst(
    metric: Callable[..., Any],
    groups: dict[str, NDArray[np.int64]],
    evaluated: Evaluated,
    higher_is_better: bool,
) -> Estimate:
    values, rows = row_values(metric, evaluated.columns), np.concatenate(list(groups.values()))
    if values is not None:
        names = np.repeat(list(groups), [len(part) for part in groups.values()])
        column = evaluated.benchmark.cluster
        cluster = evaluated.columns[column][rows] if column else None
        worst = "smallest" if higher_is_better else "largest"
        return worst_group_interval(values[rows], names, worst=worst, cluster=cluster)  # type: ignore[arg-type]
    level = 1 - 0.05 / len(groups)
    estimates = [evaluated.of(metric, part, confidence=level) for part in groups.values()]
    defined = [each for each in estimates if not np.isnan(each.value)]
    if not defined:
        return Estimate(np.nan, n=0, method="none", reason=estimates[0].reason)
    pick = min if higher_is_better else max
    worst_one = pick(defined, key=float)
    ends = [[getattr(each, end) for each in defined] for end in ("low", "high")]
    low, high = (pick(end) if not np.isnan(end).any() else np.nan for end in ends)
    method = f"{worst_one.method}, simultaneous over {len(groups)} groups"
    left_out = len(estimates) - len(defined)
    reason = f"{left_out} of {len(groups)} groups have no value" if left_out else worst_one.reason
    return Estimate(worst_one.value, low=low, high=high, n=worst_one.n, method=method, reason=reason)
