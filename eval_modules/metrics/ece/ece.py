"""Expected calibration error: the difference between confidence and accuracy, averaged over confidence bins.

    ECE = sum_b n_b / n |accuracy_b - confidence_b|,   bin b = (lo, hi], all of equal width

Interval: bounds the residuals of all bins together, by the wider of two laws: that of resampled rows, and that of
answers which are right as often as the model says. So it holds for calibrated models too, where percentiles of the ECE
itself never do. From 10,000 independent rows on, the residuals are drawn from their normal law. With fewer than 100
rows it may be too narrow, and says so.

Limitations: The ECE of few rows is too large even for a calibrated model (about 0.043 of 300 rows, 0.017 of 2,000,
measured): compare models on the same number of rows. Values with other bins do not compare.

Source: Guo, Pleiss, Sun and Weinberger 2017, "On Calibration of Modern Neural Networks", ICML, Section 2, Equation 3,
15 bins; "ECE" of NOOCH, Section 6.1.
"""

from typing import Any, Literal

import numpy as np

from oochub.errors import OochubError
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_class_probability, check_same_length
from oochub.stats.bootstrap import draw_sums, drop_no_width, note_few_rows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.logits import ClassProbability
from oochub.stats.row_blocks import row_blocks

_TOGETHER = 1 << 16  # rows looked at together
_CELLS = 60  # of confidence: rows that differ by less than 1/60 count as alike
_MANY = 10_000  # independent rows from here: a test shows that the limit law covers, at a hundredth of the cost


def ece(label: Any, probability: Any, bins: int = 15, of: Literal["confidence", "positive"] = "confidence") -> float:
    """Expected calibration error over bins of equal width.

    Args:
        label: The class of each row (n,), int.
        probability: Probability of class 1 (n,), or of each class (n, c), rows that sum to 1. Logits are an error, not
            a guess.
        bins: Number of bins on [0, 1], 15 as in the paper; a confidence of exactly 0 belongs to the first.
        of: "confidence" bins the largest class probability (two classes: max(p, 1 - p)) and compares it with the
            accuracy; "positive" bins P(y = 1) and compares it with the share of class 1.

    Returns:
        A fraction in [0, 1], lower is better. With few rows it is too large even for a calibrated model.

    Raises:
        OochubError: No rows, different lengths, a label without a column, NaN, probabilities outside [0, 1] or rows
            that do not sum to 1, bins below 1, another `of`, or of="positive" with three classes or more.

    >>> round(ece(label=[1, 1, 0, 1], probability=[0.9, 0.9, 0.1, 0.3]), 4)  # 3/4 |1 - .9| + 1/4 |0 - .7|
    0.25
    >>> round(ece(label=[1, 1, 0, 1], probability=[0.9, 0.9, 0.1, 0.3], of="positive"), 4)
    0.25
    >>> round(ece(label=[0, 0], probability=[0.1, 0.3], of="positive"), 4)
    0.2
    """
    state = _EceState(bins=bins, of=of)
    state.update(label=label, probability=probability)
    return state.compute()


def _check_inputs(label: Any, probability: Any, of: str) -> tuple[Array, Any]:
    if of == "confidence" and isinstance(probability, ClassProbability) and probability.is_of(label):
        return label, probability
    label, probability = check_class_probability(label, probability)
    if of == "positive" and probability.ndim == 2 and probability.shape[1] > 2:
        raise OochubError(
            f'of="positive" needs two classes, got {probability.shape[1]} columns. '
            'Use of="confidence", or give the probability of one class against the rest.'
        )
    return label, probability


def _compute_surplus(label: Array, probability: Any, of: str) -> tuple[Array, Array]:
    """What is binned (n,), and outcome minus it (n,)."""
    if isinstance(probability, ClassProbability):
        return probability.confidence, (probability.prediction == label) - probability.confidence
    if of == "positive":
        binned = (probability if probability.ndim == 1 else probability[:, 1]).astype(np.float64)
        return binned, label - binned
    if probability.ndim == 1:
        of_one = probability.astype(np.float64)
        binned, predicted = np.maximum(of_one, 1 - of_one), of_one > 0.5
    else:
        predicted = probability.argmax(axis=1)
        binned = probability[np.arange(len(label)), predicted].astype(np.float64)
    return binned, (predicted == label) - binned


def _assign_bins(binned: Array, bins: int) -> Array:
    # Edges are compared, not multiplied: 0.2 * 15 is above 3 in floats, and 0.2 belongs to the third bin.
    places = np.searchsorted(np.linspace(0, 1, bins + 1)[:-1], binned, side="left") - 1
    return np.maximum(places, 0)


class _EceState:
    """Per bin, the sum of outcome minus confidence: n_b |accuracy_b - confidence_b| is its size."""

    def __init__(self, *, bins: int = 15, of: Literal["confidence", "positive"] = "confidence") -> None:
        if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
            raise OochubError(f"bins must be a whole number, 1 or more, got {bins!r}. The usual value is 15.")
        if of not in ("confidence", "positive"):
            raise OochubError(f'of must be "confidence" or "positive", got {of!r}.')
        self._of = of
        self._surplus = np.zeros(bins)
        self._n = 0

    def update(self, *, label: Any, probability: Any) -> None:
        binned, surplus = _compute_surplus(*_check_inputs(label, probability, self._of), self._of)
        bins = len(self._surplus)
        self._surplus += np.bincount(_assign_bins(binned, bins), surplus, bins)
        self._n += len(binned)

    def merge(self, other: "_EceState") -> None:
        if (len(other._surplus), other._of) != (len(self._surplus), self._of):
            raise OochubError("Only states with the same bins and the same `of` can be merged.")
        self._surplus += other._surplus
        self._n += other._n

    def compute(self) -> float:
        if self._n == 0:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return float(np.abs(self._surplus).sum()) / self._n


def _estimate_interval(
    columns: dict[str, Array],
    sampling: Sampling,
    bins: int = 15,
    of: Literal["confidence", "positive"] = "confidence",
) -> Estimate:
    """Value +- the 95% quantile of sum_b |residual_b* - residual_b| over bootstrap resamples *.

    The residual of a bin is the sum of outcome minus confidence, over n. By the triangle inequality no true ECE
    is further from the value than the residuals are from the truth. Percentiles of the ECE itself never cover
    the truth of a calibrated model: the ECE of a resample is larger than that of its sample. From 10,000 independent
    rows on, the residuals are drawn from their normal limit law, without resampling rows.
    """
    label, probability = _check_inputs(columns["label"], columns["probability"], of)
    n = len(label)
    if sampling.cluster is None and n >= _MANY:
        return _resample_by_limit_law(label, probability, sampling, bins, of)
    binned, surplus = _compute_surplus(label, probability, of)
    bin_of = _assign_bins(binned, bins)

    unit = np.arange(n) if sampling.cluster is None else sampling.cluster
    check_same_length(label=label, cluster=unit)
    sizes = np.bincount(unit)
    sums = np.bincount(unit * bins + bin_of, surplus, len(sizes) * bins).reshape(len(sizes), bins)
    own = np.bincount(bin_of, surplus, bins) / n
    drawn = draw_sums(np.column_stack([sums, sizes]), sampling)
    deviations = drawn[:, :-1] / drawn[:, -1:] - own
    method = f"bootstrap of the bins' residuals, {sampling.resamples} resamples of {sampling.unit}"
    if sampling.clusters == 1:
        return Estimate(float(np.abs(own).sum()), n=n, method=method, reason=sampling.warning)
    return _bound_by_reach(
        own, deviations, n, method, sampling, calibrated=_resample_calibrated(bin_of, binned, bins, sampling)
    )


def _resample_calibrated(bin_of: Array, binned: Array, bins: int, sampling: Sampling) -> Array:
    """Residuals (resamples, bins) of answers that are right as often as the model says, the bins as they are.

    How many rows of a cell of confidence are right is binomial.
    """
    parts = max(1, _CELLS // bins)  # of each bin
    cell_of = bin_of * parts + ((binned * bins - bin_of) * parts).astype(np.int64).clip(0, parts - 1)
    cells, cell, rows = np.unique(cell_of, return_inverse=True, return_counts=True)
    expected = np.bincount(cell, binned)
    share = (expected / rows).clip(0, 1)
    right = np.random.default_rng(sampling.seed).binomial(rows, share, (sampling.resamples, len(rows)))
    in_bin = (cells[:, None] // parts == np.arange(bins)).astype(np.float64)
    residuals: Array = (right - expected) @ in_bin / len(binned)
    return residuals


def _resample_by_limit_law(label: Array, probability: Any, sampling: Sampling, bins: int, of: str) -> Estimate:
    """Sums over blocks of rows, then draws of the residuals."""
    n, sums, squares = len(label), np.zeros(bins), np.zeros(bins)
    for rows in row_blocks(n, _TOGETHER):
        binned, surplus = _compute_surplus(label[rows], probability[rows], of)
        bin_of = _assign_bins(binned, bins)
        sums += np.bincount(bin_of, surplus, bins)
        squares += np.bincount(bin_of, surplus**2, bins)
    own = sums / n
    covariance = (np.diag(squares / n) - np.outer(own, own)) / n
    generator = np.random.default_rng(sampling.seed)
    deviations = generator.multivariate_normal(np.zeros(bins), covariance, sampling.resamples)
    method = f"normal law of the bins' residuals, {sampling.resamples} draws"
    return _bound_by_reach(own, deviations, n, method, sampling)


def _bound_by_reach(
    own: Array, deviations: Array, n: int, method: str, sampling: Sampling, *, calibrated: Array | None = None
) -> Estimate:
    laws = [deviations] if calibrated is None else [deviations, calibrated]
    value = float(np.abs(own).sum())
    reach = max(float(np.quantile(np.abs(law).sum(axis=1), sampling.confidence)) for law in laws)
    low, high = max(0.0, value - reach), min(1.0, value + reach)
    estimate = drop_no_width(Estimate(value, low=low, high=high, n=n, method=method, reason=sampling.warning))
    return estimate if sampling.cluster is not None else note_few_rows(estimate)


FACTS = MetricFacts(title="ECE", direction="lower", interval=_estimate_interval, compact=True)


class Ece(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "ece"))
    >>> module.compute(label=[1, 1, 1, 0], probability=[0.75, 0.75, 0.75, 0.75], bins=10)
    {'ece': 0.0}
    """

    state = _EceState
