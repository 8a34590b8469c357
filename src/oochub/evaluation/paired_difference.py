"""How much two models differ in a metric on the same rows, by the test that fits the metric."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.weighted_metric import read_row_values
from oochub.metric import read_facts
from oochub.records.sides import PercentileOfGroups
from oochub.stats.array_checks import check_group
from oochub.stats.bootstrap import bootstrap, drop_no_width
from oochub.stats.delong import paired_delong
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import difference as difference_of
from oochub.stats.p_values import interval_p_value, sign_flips
from oochub.stats.proportion import paired_shares

FROM_INTERVAL = "by its interval"
_SHARES = ("accuracy", "error_rate")
OF_ROWS = ("label", "prediction", "loss")
"""What the value of a row is made of."""

Pair = tuple[EvaluationRows, EvaluationRows]
Rows = NDArray[np.int64]


class TestedDifference(NamedTuple):
    """The second model minus the first, whether it is 0 (two-sided), and by what test."""

    difference: Estimate
    p_value: float
    test: str


def measure_difference(
    metric: Callable[..., Any], pair: Pair, rows: Rows, *, key: str | None = None
) -> TestedDifference:
    """The metric of the second model minus that of the first on the same rows.

    Shares of independent rows get McNemar's exact test, the AUC that of DeLong (with clusters: Obuchowski), means of
    rows random signs of the rows' differences, of whole clusters where the benchmark declares them
    (`oochub.stats.p_values`), and every other metric Student's t, with the standard deviation of a bootstrap in which
    each resample scores both models on the same rows; of whole groups, where groups are a sample
    (`MetricFacts.whole_groups`). The p-value of a bootstrap is that of its interval (`oochub.stats.p_values`).

    Args:
        metric: A metric function.
        pair: The pair that `oochub.evaluation.paired_rows.pair_rows` gives.
        rows: Row numbers (n,), at least one.
        key: Name of the number to compare, for a metric that gives a dict.
    """
    first, second = pair
    name = getattr(metric, "__name__", "")
    sampling = _choose_sampling(first, rows)
    values = [
        read_row_values(metric, {column: each.columns[column][rows] for column in OF_ROWS if column in each.columns})
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
        return TestedDifference(*sign_flips(values[1] - values[0], sampling))

    facts = read_facts(metric)
    if facts is not None and facts.whole_groups:
        return _resample_whole_groups(metric, pair, rows)

    def value(each: EvaluationRows, drawn: Rows) -> float:
        number = each.value(metric, drawn)
        return float(number[key] if key is not None else number)

    return _test_by_t(lambda drawn: value(second, drawn) - value(first, drawn), {"drawn": rows}, sampling)


def measure_worst_difference(first: Estimate, second: Estimate) -> TestedDifference:
    """The worst group of the second model minus that of the first, of their intervals alone.

    The two may be two groups, so nothing is paired; and a bootstrap of the difference of two minima covers too little
    (0.73 of 0.95 in a simulation of eight groups of 50 rows, where only the first model has one that is clearly worst).
    The intervals of both are simultaneous over the groups, so this one is wide. The groups' own differences are paired.

    Args:
        first: Estimate of the first model from `oochub.stats.group_intervals`, or one like it.
        second: The same for the second model.
    """
    return _test_by_interval(difference_of(second, first))


def measure_percentile_difference(
    side: PercentileOfGroups, metric: Callable[..., Any], pair: Pair, rows: Rows
) -> TestedDifference:
    """The same of a percentile of groups, by a bootstrap of whole groups with both models' numbers.

    Args:
        side: The percentile, and the groups that it is over.
        metric: A metric with one number.
        pair: See `measure_difference`.
        rows: Row numbers (n,) of the side.
    """
    facts = read_facts(metric)
    higher = facts is None or facts.direction != "lower"
    chosen = np.isin(np.arange(len(pair[0].known)), rows)
    groups = [of[chosen[of]] for of in side.rows_of_groups(pair[0].columns).values()]
    groups = [of for of in groups if len(of)]
    if not groups:
        nothing = Estimate(np.nan, n=0, method="none", reason=f"no row has a group in {side.column}")
        return TestedDifference(nothing, np.nan, FROM_INTERVAL)
    first, second = (np.array([each.value(metric, of) for of in groups], np.float64) for each in pair)

    def change(first: Any, second: Any) -> float:
        ends = [side.statistic(values.tolist(), higher_is_better=higher) for values in (second, first)]
        return ends[0] - ends[1]

    sampling = Sampling(**pair[0].sampling)
    return _test_by_interval(bootstrap(change, {"first": first, "second": second}, sampling, unit="groups"))


def _resample_whole_groups(metric: Callable[..., float], pair: Pair, rows: Rows) -> TestedDifference:
    """Tests whole groups, or clusters if each group lies in one; in a bootstrap each copy is a group of its own."""
    first, facts = pair[0], read_facts(metric)
    rows = first.rows_for(metric, rows)
    group = np.unique(check_group(first.columns["group"][rows]).codes, return_inverse=True)[1]
    sampling = _choose_sampling(first, rows)
    if facts is not None and facts.group_means is not None:
        before, after = (facts.group_means(each.arrays(metric, rows), **each.options(metric)) for each in pair)
        if group.max() == 0:  # a single one: its rows, as its interval draws them
            return TestedDifference(*sign_flips(after - before, sampling))
        means = np.bincount(group, after - before) / np.bincount(group)
        mean, p_value, test = sign_flips(means, sampling.of_groups(group))
        return TestedDifference(Estimate.from_dict({**mean.to_dict(), "n": len(rows)}), p_value, test)
    whole = sampling if sampling.of_groups(group).cluster is not None else replace(sampling, cluster=group)

    def change(place: Rows) -> float:
        order = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.diff(place[order], prepend=-1))
        copy = np.empty_like(place)  # the k-th time that a row is drawn, as are all rows of its cluster
        copy[order] = np.arange(len(place)) - np.repeat(starts, np.diff(starts, append=len(place)))
        own = {"group": group[place] + (group.max() + 1) * copy}
        values = [metric(**{**each.arrays(metric, rows[place]), **own}, **each.options(metric)) for each in pair[::-1]]
        return values[0] - values[1]

    return _test_by_interval(bootstrap(change, {"place": np.arange(len(rows))}, whole))  # percentiles: t covers less


def _choose_sampling(evaluated: EvaluationRows, rows: Rows) -> Sampling:
    return Sampling(cluster=evaluated.cluster(rows), **evaluated.sampling)


def _test_by_t(change: Callable[..., float], columns: Mapping[str, Any], sampling: Sampling) -> TestedDifference:
    difference = bootstrap(change, columns, sampling, by_t=True)
    units = difference.n if sampling.clusters is None else sampling.clusters
    return TestedDifference(difference, interval_p_value(difference, degrees=units - 1), FROM_INTERVAL)


def _test_by_interval(difference: Estimate) -> TestedDifference:
    difference = drop_no_width(difference)
    return TestedDifference(difference, interval_p_value(difference), FROM_INTERVAL)
