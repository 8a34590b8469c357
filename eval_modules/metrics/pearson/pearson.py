"""Pearson correlation: how closely the predicted numbers follow the true ones on a line.

    r = sum_i (y_i - mean y) (p_i - mean p) / sqrt(sum_i (y_i - mean y)^2 sum_i (p_i - mean p)^2)

of the true numbers y and the predicted ones p.

Interval: Fisher's z with its jackknife standard error, over rows or whole clusters, and Student's t: for rows of any
distribution. If few rows make most of that error, it may be too narrow, and says so. Rows on one line have none.

Limitations: Answers that are all too large, or all on another scale, cost nothing: see mean_absolute_error beside it.
It depends on how far the labels spread: rows of a narrow range (one country, one group) have a lower one.

Source: Pearson 1895, "Note on Regression and Inheritance in the Case of Two Parents", Proceedings of the Royal Society
of London 58:240-242; the metric of PovertyMap in WILDS, Section 4.3. States merge as in Chan, Golub and LeVeque 1979,
"Updating Formulae and a Pairwise Algorithm for Computing Sample Variances"; the interval as in Miller 1974, "The
Jackknife: a Review", Biometrika 61:1-15, Section 4.
"""

import math
from typing import Any

import numpy as np
from scipy import special

from oochub.errors import OochubError
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_numbers, check_same_length
from oochub.stats.bootstrap import note_few_rows
from oochub.stats.estimate import Estimate, Sampling

_ROUNDING = 1e-12
_SURE = 300  # rows; below, a few far ones may be missing in most samples of heavy errors
_FEW = 15  # rows that the standard error may rest on at least; of fewer, as many may be missing that decide


def pearson(label: Any, prediction: Any) -> float:
    """Pearson's correlation of predicted numbers with the true ones.

    Args:
        label: The true number of each row (n,), any finite float; leave out rows without one.
        prediction: The predicted number of each row (n,), any finite float.

    Returns:
        In [-1, 1], higher is better, 0 is chance. nan of fewer than two rows, and where all labels or all predictions
        are equal.

    Raises:
        OochubError: No rows, different lengths, NaN or infinite numbers.

    >>> round(pearson(label=[-1, 0, 1], prediction=[1, 2, 9]), 4)  # 8 / sqrt(2 * 38)
    0.9177
    """
    state = _PearsonState()
    state.update(label=label, prediction=prediction)
    return state.compute()


class _PearsonState:
    """Means of labels and predictions, sums of products about the means (2, 2), smallest and largest."""

    def __init__(self) -> None:
        self._n = 0
        self._mean, self._products = np.zeros(2), np.zeros((2, 2))
        self._low, self._high = np.full(2, np.inf), np.full(2, -np.inf)

    def update(self, *, label: Any, prediction: Any) -> None:
        rows = np.stack(check_numbers(label=label, prediction=prediction))
        mean = rows.mean(axis=1)
        centered = rows - mean[:, None]
        self._take(rows.shape[1], mean, centered @ centered.T, rows.min(axis=1), rows.max(axis=1))

    def merge(self, other: "_PearsonState") -> None:
        if other._n:
            self._take(other._n, other._mean, other._products, other._low, other._high)

    def compute(self) -> float:
        if self._n == 0:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        of_label, of_prediction = np.sqrt(np.diag(self._products))
        # The sums of a constant are not 0 but rounding, so its range says it.
        if (self._low == self._high).any() or not (of_label and of_prediction):
            return math.nan
        return float(np.clip(self._products[0, 1] / of_label / of_prediction, -1.0, 1.0))

    def _take(self, n: int, mean: Array, products: Array, low: Array, high: Array) -> None:
        total, shift = self._n + n, mean - self._mean
        self._products = self._products + products + np.outer(shift, shift) * (self._n * n / total)
        self._mean = self._mean + shift * (n / total)
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        self._n = total


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    """Fisher's z -+ Student's t times its jackknife standard error, over rows or whole clusters."""
    label, prediction = check_numbers(**columns)
    value, n = pearson(label, prediction), len(label)
    check_same_length(label=label, cluster=sampling.cluster)
    method = f"jackknife of {sampling.unit}, Fisher's z"
    if math.isnan(value):
        reason = "fewer than two rows" if n < 2 else "all labels or all predictions are equal"
        return Estimate(value, n=n, method=method, reason=reason)
    if sampling.clusters == 1:
        return Estimate(value, n=n, method=method, reason=sampling.warning)
    if abs(value) >= 1 - _ROUNDING:
        return Estimate(value, n=n, method=method, reason="all rows are on one line: no interval can be estimated")
    without = _compute_without_each(label, prediction, sampling.cluster)
    if np.isnan(without).any():
        reason = "without one row or cluster all labels or all predictions are equal"
        return Estimate(value, n=n, method=method, reason=reason)
    parts = (np.arctanh(without) - np.arctanh(without).mean()) ** 2
    units = len(parts)
    error = math.sqrt(float(parts.sum()) * (units - 1) / units)
    effective = sampling.effective_clusters or units
    half = -float(special.stdtrit(max(effective - 1, 1), sampling.tail)) * error
    low, high = np.tanh(math.atanh(value) + np.array([-half, half]))
    is_few = sampling.cluster is None and float(parts.sum()) ** 2 < _FEW * float((parts**2).sum())
    few = "a few values make most of the spread: the interval may be too narrow" if is_few else sampling.warning
    estimate = Estimate(value, low=low, high=high, n=n, method=method, reason=few)
    return estimate if sampling.cluster is not None else note_few_rows(estimate, at_least=_SURE)


def _compute_without_each(label: Array, prediction: Array, cluster: Array | None) -> Array:
    """The correlation (units,) without each row or cluster in turn; nan where it has none."""
    y, p = ((values - values.mean()) / values.std() for values in (label, prediction))
    sums = np.stack([np.ones(len(y)), y, p, y * y, p * p, y * p])
    if cluster is not None:
        sums = np.stack([np.bincount(cluster, values) for values in sums])
    n, of_y, of_p, of_yy, of_pp, of_yp = sums.sum(axis=1, keepdims=True) - sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (of_yy - of_y**2 / n) * (of_pp - of_p**2 / n)
        correlations = (of_yp - of_y * of_p / n) / np.sqrt(np.where(spread > _ROUNDING * n**2, spread, np.nan))
    kept: Array = np.clip(correlations, _ROUNDING - 1, 1 - _ROUNDING)
    return kept


FACTS = MetricFacts(
    title="Pearson correlation",
    direction="higher",
    minimum=-1.0,
    unit="correlation",
    outputs=("number",),
    interval=_estimate_interval,
)


class Pearson(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "pearson"))
    >>> module.add_batch(label=[-1, 0], prediction=[1, 2])
    >>> module.add_batch(label=[1], prediction=[9])
    >>> round(module.compute()["pearson"], 4)
    0.9177
    """

    state = _PearsonState
