"""How much two models differ in a metric on the same rows, by the test that fits the metric."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.weighted_metric import row_values
from oochub.metric import facts_of
from oochub.sides import GroupsOfRows, PercentileOfGroups
from oochub.stats.bootstrap import bootstrap, mean_estimate, with_width
from oochub.stats.delong import paired_delong
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.interval_p_value import interval_p_value
from oochub.stats.paired_shares import paired_shares

FROM_INTERVAL = "by its interval"
_SHARES = ("accuracy", "error_rate")
_OF_ROWS = ("label", "prediction", "loss")  # what the value of a row is made of

Pair = tuple[Evaluated, Evaluated]
Rows = NDArray[np.int64]


class TestedDifference(NamedTuple):
    """The second model minus the first, whether it is 0 (two-sided), and by what test."""

    difference: Estimate
    p_value: float
    test: str


def paired_difference(
    metric: Callable[..., Any], pair: Pair, rows: Rows, *, key: str | None = None
) -> TestedDifference:
    """The metric of the second model minus that of the first on the same rows.

    Shares of independent rows get McNemar's exact test, the AUC that of DeLong (with clusters: Obuchowski), means of
    rows a bootstrap of the rows' differences, of whole clusters where the benchmark declares them, and every other
    metric a bootstrap in which each resample scores both models on the same rows. A bootstrap has no test of its own:
    its p-value is that of its interval (`oochub.stats.interval_p_value`).

    Args:
        metric: A metric function.
        pair: Of `oochub.evaluation.paired_rows.paired_rows`.
        rows: Row numbers (n,), at least one.
        key: Of a metric that gives a dict, which number.
    """
    first, second = pair
    name = getattr(metric, "__name__", "")
    sampling = _sampling(first, rows)
    values = [
        row_values(metric, {column: each.columns[column][rows] for column in _OF_ROWS if column in each.columns})
        for each in pair
    ]
    if name == "auc":
        label, scores = first.columns["label"][rows], [each.columns["score"][rows] for each in (second, first)]
        difference, p_value = paired_delong(label, *scores, cluster=sampling.cluster)
        return TestedDifference(
            difference, p_value, "paired DeLong" if sampling.cluster is None else "paired Obuchowski"
        )
    if values[0] is not None and values[1] is not None:
        if name in _SHARES and sampling.cluster is None:
            return TestedDifference(*paired_shares(values[1], values[0]), "exact McNemar")
        return _by_interval(mean_estimate(values[1] - values[0], sampling, are_shares=False))

    def value(each: Evaluated, drawn: Rows) -> float:
        number = metric(**each.arrays(metric, drawn))
        return float(number[key] if key is not None else number)

    return _by_interval(bootstrap(lambda drawn: value(second, drawn) - value(first, drawn), {"drawn": rows}, sampling))


def group_difference(side: GroupsOfRows, metric: Callable[..., Any], pair: Pair, rows: Rows) -> TestedDifference:
    """The same of a side that is a statistic over groups, such as the worst group of each model, by a bootstrap.

    Each resample of the rows scores both models and looks for the worst group of each anew; of a percentile of groups
    whole groups are drawn, as for the interval of one model.

    Args:
        side: What the statistic is.
        metric: A metric with one number.
        pair: See `paired_difference`.
        rows: Row numbers (n,) of the side.
    """
    mask = np.zeros(len(pair[0].known), dtype=bool)
    mask[rows] = True
    groups = [of[mask[of]] for of in side.rows_of_groups(pair[0].columns).values()]
    groups = [of for of in groups if len(of)]
    if not groups:
        nothing = Estimate(np.nan, n=0, method="none", reason=f"no row has a group in {side.column}")
        return TestedDifference(nothing, np.nan, FROM_INTERVAL)
    facts = facts_of(metric)
    higher = facts is None or facts.direction != "lower"
    scores = [_group_scores(metric, each, groups) for each in pair]

    def statistic(values: Any) -> float:
        return side.statistic(values.tolist(), higher_is_better=higher)

    if isinstance(side, PercentileOfGroups):
        every = np.ones(len(mask))
        values = {"a": scores[0](every), "b": scores[1](every)}
        return _by_interval(bootstrap(lambda a, b: statistic(b) - statistic(a), values, Sampling(**pair[0].sampling)))

    def change(drawn: Rows) -> float:
        counts = np.bincount(drawn, minlength=len(mask))
        return statistic(scores[1](counts)) - statistic(scores[0](counts))

    return _by_interval(bootstrap(change, {"drawn": rows}, _sampling(pair[0], rows)))


def _group_scores(metric: Callable[..., Any], evaluated: Evaluated, groups: list[Rows]) -> Callable[[Any], Any]:
    """The metric of each group (g,), as a function of how often each row counts (n,)."""
    values, members = row_values(metric, evaluated.columns), np.concatenate(groups)
    starts = np.cumsum([0, *(len(of) for of in groups)])[:-1]
    if values is None:
        return lambda counts: np.array(
            [_on(metric, evaluated, np.repeat(of, counts[of].astype(np.int64))) for of in groups]
        )

    def means(counts: Any) -> Any:
        weights = counts[members]
        with np.errstate(invalid="ignore"):
            return np.add.reduceat(weights * values[members], starts) / np.add.reduceat(weights, starts)

    return means


def _on(metric: Callable[..., Any], evaluated: Evaluated, rows: Rows) -> float:
    return float(metric(**evaluated.arrays(metric, rows))) if len(rows) else np.nan


def _sampling(evaluated: Evaluated, rows: Rows) -> Sampling:
    column = evaluated.benchmark.cluster
    sampling: Mapping[str, Any] = evaluated.sampling
    return Sampling(cluster=evaluated.columns[column][rows] if column else None, **sampling)


def _by_interval(difference: Estimate) -> TestedDifference:
    difference = with_width(difference)
    return TestedDifference(difference, interval_p_value(difference), FROM_INTERVAL)
