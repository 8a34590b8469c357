"""Accuracy percentile: a low percentile of the group accuracies.

    accuracies of the groups in order, linear between neighbors; with 10, a tenth of the groups is below it

Groups without rows do not count.

Interval: the groups in order, of which two hold the percentile (`oochub.stats.group_intervals`); a percentile
bootstrap of clusters where several groups lie in one.

Limitations: A group of few rows is low, or high, by chance, so the percentile of many small groups is too low. With
fewer than about 40 groups nothing is known of a tenth: the interval then ends at 0.

Source: Koh et al. 2021, WILDS, Section 4.2.2 (Amazon-WILDS: the 10th percentile of the accuracies of the reviewers);
Hashimoto et al. 2018, "Fairness Without Demographics in Repeated Loss Minimization".
"""

from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.eval_modules.metrics._group_counts import GroupCounts
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_group, number_groups
from oochub.stats.bootstrap import add_reason, bootstrap
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.group_intervals import quantile_interval

_FEW_BEYOND = 5  # groups below the percentile; with fewer the interval is said to be too narrow


def accuracy_percentile(label: Any, prediction: Any, group: Any, percentile: float = 10) -> float:
    """The accuracy of the groups at a percentile.

    Args:
        label: The class of each row (n,), int or bool.
        prediction: The predicted class of each row (n,), int or bool; -1 is none of the classes, which is wrong.
        group: The group of each row (n,), any hashable: a list of names or tuples, an array of numbers or strings.
        percentile: A percentile in [0, 100]; 0 is the worst group, 50 the median.

    Returns:
        A fraction in [0, 1], higher is better.

    Raises:
        OochubError: The same as for `accuracy`; groups that are NaN or not hashable; another percentile.

    >>> columns = {"label": [1, 1, 1, 1], "prediction": [0, 1, 1, 1], "group": ["ann", "ann", "bob", "eve"]}
    >>> accuracy_percentile(**columns, percentile=50), accuracy_percentile(**columns, percentile=25)
    (1.0, 0.75)
    """
    state = _AccuracyPercentileState(percentile)
    state.update(label=label, prediction=prediction, group=group)
    return state.compute()


class _AccuracyPercentileState(GroupCounts):
    def __init__(self, percentile: float = 10) -> None:
        super().__init__()
        if isinstance(percentile, bool) or not isinstance(percentile, int | float) or not 0 <= percentile <= 100:
            raise OochubError(f"percentile must be a number in [0, 100], got {percentile!r}. WILDS' is 10.")
        self._percentile = percentile

    def compute(self) -> float:
        return float(np.percentile(list(self.accuracies().values()), self._percentile))


def _estimate_interval(columns: dict[str, Array], sampling: Sampling, percentile: float = 10) -> Estimate:
    state = _AccuracyPercentileState(percentile)
    state.update(**columns)
    accuracies = np.array(list(state.accuracies().values()))
    group = number_groups(check_group(columns["group"]).codes)
    chosen, n = sampling.of_groups(group), len(columns["label"])
    if chosen.cluster is None or chosen.clusters == len(accuracies):  # each group is drawn by itself
        interval = quantile_interval(accuracies, percentile, within=(0.0, 1.0), confidence=sampling.confidence)
    else:
        interval = bootstrap(lambda value: float(np.percentile(value, percentile)), {"value": accuracies}, chosen)
        if min(percentile, 100 - percentile) / 100 * len(accuracies) < _FEW_BEYOND:
            interval = add_reason(interval, f"only {len(accuracies)} groups: the interval may be too narrow")
    return Estimate.from_dict({**interval.to_dict(), "n": n})


FACTS = MetricFacts(
    title="Accuracy percentile",
    direction="higher",
    outputs=("classes", "choices"),
    interval=_estimate_interval,
    compact=True,
    whole_groups=True,
)


class AccuracyPercentile(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "accuracy_percentile"))
    >>> module.compute(label=[1, 1, 1], prediction=[0, 1, 1], group=["ann", "ann", "bob"], percentile=50)
    {'accuracy_percentile': 0.75}
    """

    state = _AccuracyPercentileState
