"""Pearson correlation: how closely the predicted numbers follow the true ones on a line.

    r = sum_i (y_i - mean y) (p_i - mean p) / sqrt(sum_i (y_i - mean y)^2 sum_i (p_i - mean p)^2)

of the true numbers y and the predicted ones p.

Interval: a percentile bootstrap; of 10,000 independent rows and more, the normal law of Fisher's z, of any distribution
of the rows. Rows on one line have none, for every resample is on it.

Limitations: Answers that are all too large, or all on another scale, cost nothing: see mean_absolute_error beside it.
It depends on how far the labels spread: rows of a narrow range (one country, one group) have a lower one.

Source: Pearson 1895, "Note on Regression and Inheritance in the Case of Two Parents", Proceedings of the Royal Society
of London 58:240-242; the metric of PovertyMap in WILDS, Section 4.3. States merge as in Chan, Golub and LeVeque 1979,
"Updating Formulae and a Pairwise Algorithm for Computing Sample Variances".
"""

import math
from typing import Any

import numpy as np
from scipy import special

from oochub.errors import OochubError
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_numbers
from oochub.stats.bootstrap import bootstrap, drop_no_width
from oochub.stats.estimate import Estimate, Sampling

_MANY = 10_000  # independent rows from here: a test shows that the limit law covers, at a thousandth of the cost


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


def _estimate_normal_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    """Fisher's z +- its standard error, from the influence of each row on the correlation.

    Influence function: Devlin, Gnanadesikan and Kettenring 1975, "Robust estimation and outlier detection with
    correlation coefficients", Biometrika 62:531-545.
    """
    value, rows = pearson(**columns), np.stack(check_numbers(**columns))
    n, method = rows.shape[1], "normal law of Fisher's z"
    if not abs(value) < 1:
        return Estimate(value, low=value, high=value, n=n, method=method)
    y, p = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    influence = y * p - value * (y * y + p * p) / 2
    half = -special.ndtri(sampling.tail) * influence.std() / (1 - value**2) / math.sqrt(n)
    low, high = np.tanh(math.atanh(value) + np.array([-half, half]))
    return Estimate(value, low=low, high=high, n=n, method=method)


def _bootstrap(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    label, prediction = check_numbers(**columns)
    return bootstrap(_correlate, {"label": label, "prediction": prediction}, sampling)


def _correlate(label: Array, prediction: Array) -> float:
    """`pearson` of float64 that was checked, at a tenth of its time, for a thousand resamples."""
    y, p = label - label.mean(), prediction - prediction.mean()
    spread = math.sqrt(y @ y) * math.sqrt(p @ p)
    if label.min() == label.max() or prediction.min() == prediction.max() or not spread:
        return math.nan
    return min(1.0, max(-1.0, float(y @ p) / spread))


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    is_large = sampling.cluster is None and len(columns["label"]) >= _MANY
    of_rows = _estimate_normal_interval(columns, sampling) if is_large else _bootstrap(columns, sampling)
    estimate = drop_no_width(of_rows)
    if not math.isnan(estimate):
        return estimate
    reason = "fewer than two rows" if estimate.n < 2 else "all labels or all predictions are equal"
    return Estimate(estimate, n=estimate.n, method=estimate.method, reason=reason)


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
