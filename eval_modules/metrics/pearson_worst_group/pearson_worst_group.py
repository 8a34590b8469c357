"""Pearson of the worst group: the correlation in the group where it is lowest.

    r_worst = min_g r_g

Groups without rows do not count. A group of one row, or of equal labels or predictions, has no correlation, and then
there is no worst one: nan.

Interval: simultaneous over the groups, each at level 1 - 0.05 / G by a percentile bootstrap of its rows; it runs from
the smallest lower to the smallest upper end.

Limitations: The worst of several observed groups is biased downwards. Groups of different spread do not compare: see
pearson.

Source: Yeh et al. 2020, Nature Communications 11:2583; Koh et al. 2021, WILDS, Section 4.2.3 (PovertyMap-WILDS: the
worse of urban and rural).
"""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.eval_modules.metrics.pearson.pearson import _estimate_interval as _of_rows
from oochub.eval_modules.metrics.pearson.pearson import _PearsonState
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_group, check_numbers, check_same_length
from oochub.stats.estimate import Estimate, Sampling


def pearson_worst_group(label: Any, prediction: Any, group: Any) -> float:
    """The lowest of the groups' correlations of predicted numbers with the true ones.

    Args:
        label: The true number of each row (n,), any finite float.
        prediction: The predicted number of each row (n,), any finite float.
        group: The group of each row (n,), any hashable: a list of names or tuples, an array of numbers or strings.

    Returns:
        In [-1, 1], higher is better, 0 is chance. nan where a group has no correlation.

    Raises:
        OochubError: The same as for `pearson`; groups that are NaN or not hashable.

    >>> group = ["urban", "urban", "urban", "rural", "rural"]
    >>> round(pearson_worst_group(label=[-1, 0, 1, 0, 1], prediction=[1, 2, 9, 5, 4], group=group), 4)
    -1.0
    """
    state = _PearsonWorstGroupState()
    state.update(label=label, prediction=prediction, group=group)
    return state.compute()


def _split_by_group(label: Any, prediction: Any, group: Any) -> dict[Hashable, Array]:
    """The row numbers of each group that has any."""
    groups = check_group(group)
    check_same_length(label=label, prediction=prediction, group=groups.codes)
    order = np.argsort(groups.codes, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(groups.codes))[:-1])
    return {name: of for name, of in zip(groups.names, rows, strict=False) if len(of)}


class _PearsonWorstGroupState:
    """The sums of products of each group."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _PearsonState] = {}

    def update(self, *, label: Any, prediction: Any, group: Any) -> None:
        label, prediction = check_numbers(label=label, prediction=prediction)
        for name, rows in _split_by_group(label, prediction, group).items():
            self._groups.setdefault(name, _PearsonState()).update(label=label[rows], prediction=prediction[rows])

    def merge(self, other: "_PearsonWorstGroupState") -> None:
        for name, state in other._groups.items():
            self._groups.setdefault(name, _PearsonState()).merge(state)

    def compute(self) -> float:
        if not self._groups:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        values = [state.compute() for state in self._groups.values()]
        return math.nan if any(map(math.isnan, values)) else min(values)


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    label, prediction = check_numbers(label=columns["label"], prediction=columns["prediction"])
    parts = _split_by_group(label, prediction, columns["group"])
    level = 1 - (1 - sampling.confidence) / len(parts)
    correlations = {}
    for name, rows in parts.items():
        cluster = None if sampling.cluster is None else sampling.cluster[rows]
        own = Sampling(cluster=cluster, resamples=sampling.resamples, seed=sampling.seed, confidence=level)
        correlations[name] = _of_rows({"label": label[rows], "prediction": prediction[rows]}, own)
    without = [f"group {name}: {number.reason}" for name, number in correlations.items() if math.isnan(number)]
    if without:
        return Estimate(math.nan, n=len(label), method="none", reason="; ".join(without[:3]))
    worst = min(correlations.values(), key=float)
    narrow = [str(name) for name, number in correlations.items() if math.isnan(number.low)]
    low, high = (
        (math.nan, math.nan)
        if narrow
        else (min(e.low for e in correlations.values()), min(e.high for e in correlations.values()))
    )
    # Both ends are ends of any group: what limits one limits them.
    limits = dict.fromkeys(number.reason for number in correlations.values() if number.reason)
    reason = f"no interval in group {', '.join(narrow[:5])}" if narrow else "; ".join(limits) or None
    method = f"{worst.method}, simultaneous over {len(correlations)} groups"
    return Estimate(worst.value, low=low, high=high, n=worst.n, method=method, reason=reason)


FACTS = MetricFacts(
    title="Worst-group Pearson correlation",
    direction="higher",
    minimum=-1.0,
    unit="correlation",
    outputs=("number",),
    interval=_estimate_interval,
    compact=True,
)


class PearsonWorstGroup(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "pearson_worst_group"))
    >>> columns = {"label": [-1, 0, 1, 0, 1], "prediction": [1, 2, 9, 5, 4], "group": ["a", "a", "a", "b", "b"]}
    >>> round(module.compute(**columns)["pearson_worst_group"], 4)
    -1.0
    """

    state = _PearsonWorstGroupState
