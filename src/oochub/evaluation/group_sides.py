"""The number of a side that is a statistic over groups: the metric of the worst group, or a percentile of groups."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.weighted_metric import row_values
from oochub.metric import facts_of
from oochub.sides import GroupsOfRows, PercentileOfGroups, WorstOfGroups
from oochub.stats.bootstrap import bootstrap
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.worst_group_interval import worst_group_interval

_FEW_BEYOND = 5  # groups beyond a percentile: with 3, of 30 groups, its bootstrap covered 0.83 in simulations


def group_side(
    side: GroupsOfRows, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: Evaluated
) -> Estimate:
    """The statistic of a metric over the groups of some rows, with its interval.

    The interval of the worst group is simultaneous over the G groups, each at level 1 - 0.05 / G, since the group was
    picked by the same rows; where all of them hold, the worst true value lies between the worst lower end and the
    worst upper end. That of a percentile is a bootstrap of whole groups, and covers the percentile of groups measured
    by as many rows as these; the noise of few rows spreads what is measured, so that of true values is less extreme
    (60 groups of 40 rows: a 10th percentile of 0.60 is measured of true accuracies with one of 0.63).

    Args:
        side: What the statistic is.
        metric: A metric with one number.
        mask: The rows (n,).
        evaluated: What they are rows of.

    Returns:
        The Estimate; n is the rows of the worst group, or all rows; nan with a reason where no group has a number.
    """
    groups, higher_is_better = _groups(side, mask, evaluated), _is_higher_better(metric)
    if not groups:
        return Estimate(np.nan, n=0, method="none", reason=f"no row has a group in {side.column}")
    if isinstance(side, PercentileOfGroups):
        return _percentile(side, metric, groups, evaluated, higher_is_better)
    return _worst(metric, groups, evaluated, higher_is_better)


def worst_group_rows(
    side: WorstOfGroups, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: Evaluated
) -> NDArray[np.bool_]:
    """The rows (n,) of the group where a metric is worst, the first of equal ones; none where no group has a number.

    Args:
        side: See `group_side`.
        metric: See `group_side`.
        mask: See `group_side`.
        evaluated: See `group_side`.
    """
    groups = list(_groups(side, mask, evaluated).values())
    values = np.array([float(evaluated.value(metric, rows)) for rows in groups])
    of_worst = np.zeros(len(mask), dtype=bool)
    if groups and not np.isnan(values).all():
        of_worst[groups[int(np.nanargmin(values if _is_higher_better(metric) else -values))]] = True
    return of_worst


def _groups(side: GroupsOfRows, mask: NDArray[np.bool_], evaluated: Evaluated) -> dict[str, NDArray[np.int64]]:
    groups = {name: rows[mask[rows]] for name, rows in side.rows_of_groups(evaluated.columns).items()}
    return {name: rows for name, rows in groups.items() if len(rows)}


def _is_higher_better(metric: Callable[..., Any]) -> bool:
    facts = facts_of(metric)
    return facts is None or facts.direction != "lower"


def _percentile(
    side: PercentileOfGroups,
    metric: Callable[..., Any],
    groups: dict[str, NDArray[np.int64]],
    evaluated: Evaluated,
    higher_is_better: bool,
) -> Estimate:
    values = row_values(metric, evaluated.columns)
    of_group = [
        float(values[rows].mean()) if values is not None else float(evaluated.value(metric, rows))
        for rows in groups.values()
    ]
    sampling = Sampling(**evaluated.sampling)
    estimate = bootstrap(
        lambda value: side.statistic(value.tolist(), higher_is_better=higher_is_better),
        {"value": np.array(of_group)},
        sampling,
    )
    method = f"percentile bootstrap of {len(groups)} groups, {sampling.resamples} resamples"
    n, beyond = sum(map(len, groups.values())), min(side.percentile, 100 - side.percentile) / 100 * len(groups)
    few = f"only {len(groups)} groups: the interval may be too narrow" if beyond < _FEW_BEYOND else None
    reason = "; ".join(filter(None, (estimate.reason, few))) or None
    return Estimate(estimate.value, low=estimate.low, high=estimate.high, n=n, method=method, reason=reason)


def _worst(
    metric: Callable[..., Any],
    groups: dict[str, NDArray[np.int64]],
    evaluated: Evaluated,
    higher_is_better: bool,
) -> Estimate:
    values, rows = row_values(metric, evaluated.columns), np.concatenate(list(groups.values()))
    if values is not None:
        names = np.repeat(list(groups), [len(part) for part in groups.values()])
        return worst_group_interval(
            values[rows], names, worst="smallest" if higher_is_better else "largest", cluster=evaluated.cluster(rows)
        )
    level = 1 - 0.05 / len(groups)
    estimates = [evaluated.of(metric, part, confidence=level) for part in groups.values()]
    defined = [each for each in estimates if not np.isnan(each.value)]
    if not defined:
        reason = f"none of {len(groups)} groups has a value: {estimates[0].reason}"
        return Estimate(np.nan, n=0, method="none", reason=reason)
    pick = min if higher_is_better else max
    worst = pick(defined, key=float)
    ends = [[getattr(each, end) for each in defined] for end in ("low", "high")]
    low, high = (pick(end) if not np.isnan(end).any() else np.nan for end in ends)
    method = f"{worst.method}, simultaneous over {len(groups)} groups"
    left_out, without = len(estimates) - len(defined), sum(bool(np.isnan(each.low)) for each in defined)
    reasons = [f"{left_out} of {len(groups)} groups have no value"] if left_out else []
    reasons += [f"{without} of {len(groups)} groups have no interval"] if without else []
    reason = "; ".join(reasons) or worst.reason
    return Estimate(worst.value, low=low, high=high, n=worst.n, method=method, reason=reason)
