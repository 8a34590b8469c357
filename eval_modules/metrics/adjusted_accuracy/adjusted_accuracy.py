"""Adjusted accuracy: group accuracies weighted by the group's share of the training rows.

    adjusted accuracy = sum_g w_g accuracy_g / sum_g w_g

It is the average accuracy on data whose groups are as frequent as in training, measured on data whose groups are not:
the test set of Waterbirds holds as many water birds on land as on water, its training set one in twenty.

Interval: Wilson's of each group, squared and added (Zou, Huang and Zhang 2009, Comput. Stat. Data Anal. 53:1080-1085);
with clusters a percentile bootstrap.

Limitations: It hides the small groups, which is what it is for; read it beside worst_group.

Source: Sagawa, Koh, Hashimoto and Liang 2020, "Distributionally Robust Neural Networks for Group Shifts", ICLR, Section
2 (average test accuracy of Waterbirds); `adj_acc_avg` of WILDS.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.errors import OochubError
from oochub.eval_modules.metrics._group_counts import GroupCounts
from oochub.eval_modules.metrics.worst_group.worst_group import _check_inputs
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.bootstrap import draw_sums, drop_no_width, note_few_rows, replicate_interval
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.proportion import wilson

Weights = Mapping[Hashable, float]


def adjusted_accuracy(
    label: Any, prediction: Any, group: Any, weights: Weights | None = None, form: str | None = None
) -> float:
    """Mean of the groups' accuracies, weighed by how frequent each group is elsewhere.

    Args:
        label: The class of each row (n,), int or bool.
        prediction: The predicted class of each row (n,), int or bool; -1 is none of the classes, which is wrong.
        group: The group of each row (n,), any hashable: a list of names or tuples, an array of numbers or strings.
        weights: Group to how often it occurs in training, as counts or shares; a group that is not named weighs
            nothing. None weighs all groups alike. A report takes the training rows of each group from the build record.
        form: "wilds" counts a group without rows as wrong, as WILDS' code does.

    Returns:
        A fraction in [0, 1], higher is better; nan where a group that weighs has no row, since its accuracy is not
        known, and where no group weighs.

    Raises:
        OochubError: The same as for `accuracy`; groups that are NaN or not hashable; weights that are negative, not
            finite or all 0.

    >>> columns = {"label": [0, 0, 1, 1], "prediction": [0, 0, 1, 0], "group": ["sea", "sea", "land", "land"]}
    >>> adjusted_accuracy(**columns, weights={"sea": 95, "land": 5})
    0.975
    >>> adjusted_accuracy(**columns)
    0.75
    """
    state = _AdjustedAccuracyState(weights=weights, form=form)
    state.update(label=label, prediction=prediction, group=group)
    return state.compute()


class _AdjustedAccuracyState(GroupCounts):
    def __init__(self, weights: Weights | None = None, form: str | None = None) -> None:
        super().__init__()
        if form not in (None, "wilds"):
            raise OochubError(f'form must be None or "wilds", got {form!r}.')
        self._weights = None if weights is None else _check_weights(weights)
        self._empty_is_wrong = form == "wilds"

    def compute(self) -> float:
        accuracies, weights = self.accuracies(), self._compute_shares()
        if not self._empty_is_wrong and self._refuse_empty_groups(weights):
            return math.nan
        return math.fsum(share * accuracies.get(name, 0.0) for name, share in weights.items())

    def weigh(self, names: Sequence[Hashable], rows: Array, right: Array) -> Array:
        """What `compute` gives of other counts (k, groups) of the groups of these names."""
        present, accuracies = rows > 0, right / np.maximum(rows, 1)
        if self._weights is None:
            weighed: Array = accuracies.sum(axis=1) / present.sum(axis=1)
            return weighed
        shares = self._compute_shares()
        share = np.array([shares.get(name, 0.0) for name in names])
        is_unknown = (~present[:, share > 0]).any(axis=1) | bool(set(shares) - set(names))
        return np.where(is_unknown & (not self._empty_is_wrong), math.nan, accuracies @ share)

    def estimate(self, sampling: Sampling) -> Estimate:
        value, weights, n = self.compute(), self._compute_shares(), sum(n for n, _ in self.counts.values())
        method = f"wilson of {len(weights)} groups, squared and added, or the normal law of the sum where wider"
        if empty := self._refuse_empty_groups(weights):
            shown = ", ".join(map(str, empty[:3])) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
            return Estimate(value, n=n, method="none", reason=f"no row of the training groups {shown}")
        below = above = variance = 0.0
        for name, share in weights.items():
            rows, right = self.counts[name]
            interval = wilson(right, rows, confidence=sampling.confidence)
            below += (share * (interval.value - interval.low)) ** 2
            above += (share * (interval.high - interval.value)) ** 2
            variance += share**2 * (right + 1) * (rows - right + 1) / ((rows + 2) ** 2 * rows)
        normal = -float(special.ndtri(sampling.tail)) * math.sqrt(variance)
        low, high = value - max(math.sqrt(below), normal), value + max(math.sqrt(above), normal)
        return Estimate(value, low=max(0.0, low), high=min(1.0, high), n=n, method=method)

    def _compute_shares(self) -> dict[Hashable, float]:
        """What each group weighs, 1 in all; groups that weigh nothing are left out."""
        weights = dict.fromkeys(self.counts, 1.0) if self._weights is None else self._weights
        total = math.fsum(weights.values())
        return {name: weight / total for name, weight in weights.items() if weight}

    def _refuse_empty_groups(self, weights: Weights) -> list[Hashable]:
        return [name for name in weights if name not in self.counts]


def _check_weights(weights: Weights) -> dict[Hashable, float]:
    checked = {name: float(weight) for name, weight in weights.items()}
    wrong = [name for name, weight in checked.items() if not (math.isfinite(weight) and weight >= 0)]
    if wrong:
        raise OochubError(f"weights must be counts or shares, 0 or more; {wrong[0]!r} has {checked[wrong[0]]}.")
    if not any(checked.values()):
        raise OochubError("weights are all 0 or empty: give at least one group a weight above 0.")
    return checked


def _estimate_interval(
    columns: dict[str, Array], sampling: Sampling, weights: Weights | None = None, form: str | None = None
) -> Estimate:
    state = _AdjustedAccuracyState(weights=weights, form=form)
    state.update(**columns)
    if sampling.cluster is None and form is None:
        return state.estimate(sampling)
    label, prediction, groups = _check_inputs(**columns)
    n, places = len(label), len(groups.names)
    unit = np.arange(n) if sampling.cluster is None else sampling.cluster
    check_same_length(label=label, cluster=unit)
    at, units = unit * places + groups.codes, int(unit.max()) + 1
    counts = [np.bincount(at, of, units * places).reshape(units, places) for of in (None, label == prediction)]
    rows, right = np.split(draw_sums(np.hstack(counts), sampling), 2, axis=1)
    drawn = state.weigh(groups.names, rows, right)
    estimate = drop_no_width(replicate_interval(drawn, state.compute(), n, sampling))
    return estimate if sampling.cluster is not None else note_few_rows(estimate)


FACTS = MetricFacts(
    title="Adjusted accuracy",
    direction="higher",
    outputs=("classes", "choices"),
    interval=_estimate_interval,
    compact=True,
    from_record={"weights": "group_counts"},
)


class AdjustedAccuracy(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "adjusted_accuracy"))
    >>> columns = {"label": [0, 0, 1, 1], "prediction": [0, 0, 1, 0], "group": ["sea", "sea", "land", "land"]}
    >>> module.compute(**columns, weights={"sea": 95, "land": 5})
    {'adjusted_accuracy': 0.975}
    """

    state = _AdjustedAccuracyState
