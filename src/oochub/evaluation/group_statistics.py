"""The number of a side that is a statistic over groups: the metric of the worst group, or a percentile of groups.

Metrics of weighted rows, for many weightings at once: what reweighting and its bootstrap need.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import unknown_name
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.metric import read_facts
from oochub.records.sides import GroupsOfRows, PercentileOfGroups, WorstOfGroups
from oochub.stats.array_checks import Array, check_group, check_same_length
from oochub.stats.estimate import Estimate
from oochub.stats.group_intervals import quantile_interval, worst_group_interval

WEIGHTED = ("auc", "accuracy", "error_rate", "nll")
"""The metrics that have a weighted form."""


def make_weighted_form(metric: str, columns: Mapping[str, Array]) -> Callable[[Array], Array]:
    """A metric of weighted rows as a function of the weights; scores are sorted once.

        auc: sum_ij w_i w_j ([score_i > score_j] + 1/2 [score_i = score_j]) / (W+ W-),  i positive, j negative
        accuracy, error_rate, nll: sum_i w_i v_i / sum_i w_i

    Args:
        metric: Name of the metric, one of `WEIGHTED`.
        columns: `label` and `score`; `label` and `prediction`; or `loss` in nats; each (n,).

    Returns:
        Takes nonnegative weights, float64 (k, n), a row for each weighting; gives float64 (k,), unit, range and
        direction of the metric, nan where a class, or every row, weighs nothing.

    Raises:
        OochubError: Another metric.

    >>> form = make_weighted_form("nll", {"loss": np.array([1.0, 2.0])})
    >>> form(np.array([[1.0, 1.0], [0.0, 2.0]]))
    array([1.5, 2. ])
    """
    if metric not in WEIGHTED:
        raise unknown_name("metric with a weighted form", metric, WEIGHTED)
    return _make_auc(columns) if metric == "auc" else _mean(_ROW_VALUES[metric](columns))


def read_row_values(metric: Callable[..., object] | str, columns: Mapping[str, Array]) -> Array | None:
    """The value of each row (n,) whose mean the metric is; None for a metric that is no mean over rows.

    >>> from oochub import get
    >>> read_row_values(get("metric", "accuracy"), {"label": np.array([0, 1]), "prediction": np.array([0, 0])})
    array([1., 0.])
    >>> read_row_values(get("metric", "auc"), {}) is None
    True
    """
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    values = _ROW_VALUES.get(name)
    return None if values is None else values(columns)


def _make_auc(columns: Mapping[str, Array]) -> Callable[[Array], Array]:
    order = np.argsort(columns["score"], kind="stable")
    score, positive = columns["score"][order], columns["label"][order] == 1
    starts = np.flatnonzero(np.r_[True, score[1:] != score[:-1]])  # equal scores are summed before they are compared

    def form(weights: Array) -> Array:
        weights = weights[:, order]
        ahead = np.add.reduceat(weights * positive, starts, axis=1)
        behind = np.add.reduceat(weights * ~positive, starts, axis=1)
        won = ahead * (np.cumsum(behind, axis=1) - behind / 2)
        area: Array = _divide(won.sum(axis=1), ahead.sum(axis=1) * behind.sum(axis=1))
        return area

    return form


def _mean(values: Array) -> Callable[[Array], Array]:
    return lambda weights: _divide(weights @ values, weights.sum(axis=1))


def _divide(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.where(below > 0, above / below, np.nan)
    return ratio


_ROW_VALUES: Mapping[str, Callable[[Mapping[str, Array]], Array]] = {
    "accuracy": lambda columns: (columns["label"] == columns["prediction"]).astype(np.float64),
    "error_rate": lambda columns: (columns["label"] != columns["prediction"]).astype(np.float64),
    "nll": lambda columns: np.asarray(columns["loss"], dtype=np.float64),
    "mean_squared_error": lambda columns: np.asarray(columns["label"] - columns["prediction"], dtype=np.float64) ** 2,
    "mean_absolute_error": lambda columns: np.abs(columns["label"] - columns["prediction"]).astype(np.float64),
}


def estimate_group_side(
    side: GroupsOfRows, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: EvaluationRows
) -> Estimate:
    """The statistic of a metric over the groups of some rows, with its interval.

    The interval of the worst group is simultaneous over the G groups, each at level 1 - 0.05 / G, since the group was
    picked by the same rows; where all of them hold, the worst true value lies between the worst lower end and the
    worst upper end. That of a percentile is that of the groups in order, and covers the percentile of groups measured
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
    groups, higher_is_better = _list_groups(side, mask, evaluated), _is_higher_better(metric)
    if not groups:
        return Estimate(np.nan, n=0, method="none", reason=f"no row has a group in {side.column}")
    if isinstance(side, PercentileOfGroups):
        return _compute_percentile(side, metric, groups, evaluated, higher_is_better)
    return _find_worst(metric, groups, evaluated, higher_is_better)


def compute_group_side(
    side: GroupsOfRows, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: EvaluationRows
) -> float:
    """The value of `estimate_group_side` without its interval; nan where no group has a number."""
    groups = _list_groups(side, mask, evaluated).values()
    values = [value for rows in groups if not np.isnan(value := _compute_value(metric, rows, evaluated))]
    return side.statistic(values, higher_is_better=_is_higher_better(metric)) if values else np.nan


def find_worst_group_rows(
    side: WorstOfGroups, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: EvaluationRows
) -> NDArray[np.bool_]:
    """The rows (n,) of the group where a metric is worst, the first of equal ones; none where no group has a number."""
    groups = list(_list_groups(side, mask, evaluated).values())
    values = np.array([float(evaluated.value(metric, rows)) for rows in groups])
    of_worst = np.zeros(len(mask), dtype=bool)
    if groups and not np.isnan(values).all():
        of_worst[groups[int(np.nanargmin(values if _is_higher_better(metric) else -values))]] = True
    return of_worst


def measure_worst_group_apart(
    side: WorstOfGroups, metric: Callable[..., Any], mask: NDArray[np.bool_], evaluated: EvaluationRows
) -> dict[str, NDArray[np.int64]]:
    """Rows on which the worst group is measured that were not those by which it was chosen, by its name.

    The group that is worst on one half of the rows is measured on the other half, each in turn, so there are one or two
    groups, and about as many rows as a group has. Chosen and measured by the same rows, a group is worse than it is: of
    a model whose confidence is right, that of 30 groups of 20 rows seems 18 points too sure of itself, and of 400 such
    models 23% clearly so; by halves 0 points, and 3%. The sampling of `evaluated` gives the seed of the halves.

    Returns:
        Row numbers; nothing where no half has a group with rows in the other.
    """
    groups, higher_is_better = _list_groups(side, mask, evaluated), _is_higher_better(metric)
    if not groups:
        return {}
    rows, at = np.unique(np.concatenate(list(groups.values())), return_index=True)
    names = np.repeat(np.arange(len(groups)), [len(part) for part in groups.values()])[at]
    of_first = np.zeros(len(mask), dtype=bool)
    of_first[rows] = _split_in_halves(names, cluster=evaluated.cluster(rows), seed=evaluated.sampling.get("seed", 0))
    measured: dict[str, NDArray[np.int64]] = {}
    for chosen_on in (of_first, ~of_first):
        values = {name: _compute_value(metric, part[chosen_on[part]], evaluated) for name, part in groups.items()}
        defined = {name: value for name, value in values.items() if not np.isnan(value)}
        if defined:
            worst = (min if higher_is_better else max)(defined, key=defined.__getitem__)
            other = groups[worst][~chosen_on[groups[worst]]]
            measured[worst] = np.concatenate([measured.get(worst, other[:0]), other])
    return {name: part for name, part in measured.items() if len(part)}


def _compute_value(metric: Callable[..., Any], rows: NDArray[np.int64], evaluated: EvaluationRows) -> float:
    return float(evaluated.value(metric, rows)) if len(rows) else np.nan


def _list_groups(
    side: GroupsOfRows, mask: NDArray[np.bool_], evaluated: EvaluationRows
) -> dict[str, NDArray[np.int64]]:
    named = evaluated.named(side.column)
    mask = mask if named is None else mask & named
    groups = {name: rows[mask[rows]] for name, rows in side.rows_of_groups(evaluated.columns).items()}
    return {name: rows for name, rows in groups.items() if len(rows)}


def _is_higher_better(metric: Callable[..., Any]) -> bool:
    facts = read_facts(metric)
    return facts is None or facts.direction != "lower"


def _compute_percentile(
    side: PercentileOfGroups,
    metric: Callable[..., Any],
    groups: dict[str, NDArray[np.int64]],
    evaluated: EvaluationRows,
    higher_is_better: bool,
) -> Estimate:
    by_row = read_row_values(metric, evaluated.columns)
    of_group = [
        float(by_row[rows].mean()) if by_row is not None else float(evaluated.value(metric, rows))
        for rows in groups.values()
    ]
    facts, values = read_facts(metric), np.array(of_group)
    values = values[~np.isnan(values)]
    if not len(values):
        return Estimate(np.nan, n=0, method="none", reason=f"none of {len(groups)} groups has a value")
    estimate = quantile_interval(
        values,
        side.percentile if higher_is_better else 100 - side.percentile,
        value=side.statistic(values.tolist(), higher_is_better=higher_is_better),
        within=(None, None) if facts is None else (facts.minimum, facts.maximum),
    )
    return Estimate.from_dict({**estimate.to_dict(), "n": sum(map(len, groups.values()))})


def _find_worst(
    metric: Callable[..., Any],
    groups: dict[str, NDArray[np.int64]],
    evaluated: EvaluationRows,
    higher_is_better: bool,
) -> Estimate:
    values, rows = read_row_values(metric, evaluated.columns), np.concatenate(list(groups.values()))
    if values is not None:
        names = np.repeat(list(groups), [len(part) for part in groups.values()])
        return worst_group_interval(
            values[rows], names, worst="smallest" if higher_is_better else "largest", cluster=evaluated.cluster(rows)
        )
    level = 1 - 0.05 / len(groups)
    estimates = [evaluated.of(metric, part, confidence=level) for part in groups.values()]
    defined = [estimate for estimate in estimates if not np.isnan(estimate.value)]
    if not defined:
        reason = f"none of {len(groups)} groups has a value: {estimates[0].reason}"
        return Estimate(np.nan, n=0, method="none", reason=reason)
    pick = min if higher_is_better else max
    worst = pick(defined, key=float)
    ends = [[getattr(estimate, end) for estimate in defined] for end in ("low", "high")]
    low, high = (pick(end) if not np.isnan(end).any() else np.nan for end in ends)
    method = f"{worst.method}, simultaneous over {len(groups)} groups" if len(groups) > 1 else worst.method
    left_out, without = len(estimates) - len(defined), sum(bool(np.isnan(estimate.low)) for estimate in defined)
    reasons = [f"{left_out} of {len(groups)} groups have no value"] if left_out else []
    reasons += [f"{without} of {len(groups)} groups have no interval"] if without else []
    if not np.isnan(low) and not np.isnan(high):  # ends of any group: what limits one limits them
        reasons += dict.fromkeys(estimate.reason for estimate in defined if estimate.reason)
    reason = "; ".join(reasons) or worst.reason
    return Estimate(worst.value, low=low, high=high, n=worst.n, method=method, reason=reason)


def _split_in_halves(stratum: Any, *, cluster: Any = None, seed: int = 0) -> Array:
    """Which rows (n,) are of the first half: at random, of each stratum one half of its rows.

    What is chosen on one half is then measured on the other.

    With clusters, each whole cluster is in one half, and counts for the stratum of its first row. If a stratum has an
    odd number, the one that is left over goes to either half in turn.

    Args:
        stratum: What is to be halved, such as the group of each row (n,), any hashable.
        cluster: What the rows (n,) share; None if they are independent.
        seed: Random seed for the draw.

    Raises:
        OochubError: No rows, or different lengths.

    >>> first = _split_in_halves(["a", "a", "b", "b"]).tolist()
    >>> first in [[True, False] * 2, [False, True] * 2, [True, False, False, True], [False, True, True, False]]
    True
    """
    codes = check_group(stratum, name="stratum").codes
    unit = np.arange(len(codes)) if cluster is None else check_group(cluster, name="cluster").codes
    check_same_length(stratum=codes, cluster=unit)
    _, first, own = np.unique(unit, return_index=True, return_inverse=True)
    generator = np.random.default_rng([seed, 2])
    drawn = generator.permutation(len(first))
    drawn = drawn[np.argsort(codes[first[drawn]], kind="stable")]
    is_first = np.empty(len(first), bool)
    is_first[drawn] = (np.arange(len(first)) + generator.integers(2)) % 2 == 0
    in_first: Array = is_first[own]
    return in_first
