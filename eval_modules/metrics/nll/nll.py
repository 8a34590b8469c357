"""Negative log-likelihood: the mean of minus the log of the probability given to the true class.

    NLL = -1/n sum_i log p_i[label_i]     (natural logarithm)

It is a proper score: the true probabilities, and only they, make it smallest on average.

Interval: Student's t, joined with that of two right and two wrong rows more, whose losses the model's own probabilities
give: in few rows that are all right, the loss of a wrong one is not seen yet. From 10,000 rows on, the normal law.

Limitations: A few confident mistakes can outweigh all else; float32 probabilities round to 0 and 1, so compute the
softmax in float64.

Source: Good 1952, "Rational decisions", Journal of the Royal Statistical Society B 14:107-114 (the logarithmic score);
"NLL" of NOOCH, Section 6.1.
"""

import math
from typing import Any

import numpy as np

from oochub.metric import MeanState, MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_class_probability
from oochub.stats.logits import ClassProbability
from oochub.stats.mean_interval import Answers, RowNumbers

_LEFT = float(np.finfo(np.float64).eps)  # the least that a confidence in float64 leaves to other classes
_SMALLEST = float(np.finfo(np.float64).tiny)  # 2.2e-308: a probability of 0 costs 708.4 nats, not infinity


def nll(label: Any, probability: Any) -> float:
    """Mean negative log-likelihood of the true classes.

    A probability of 0 for the true class counts as 2.2e-308, the smallest normal float64 (708.4 nats), so
    that one row cannot make the mean infinite; compute probabilities in float64 from logits to avoid it.

    Args:
        label: The class of each row (n,), int.
        probability: Probability of class 1 (n,), or of each class (n, c), rows that sum to 1. Logits are an error, not
            a guess.

    Returns:
        Nats, 0 or larger, lower is better; log(c) is a uniform guess.

    Raises:
        OochubError: No rows, different lengths, a label without a column, NaN, probabilities outside [0, 1] or rows
            that do not sum to 1.

    >>> round(nll(label=[1, 0], probability=[0.5, 0.75]), 4)  # (log 2 + log 4) / 2
    1.0397
    >>> round(nll(label=[2, 0], probability=[[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]), 4)
    0.6931
    """
    return float(_compute_losses(label, probability).mean())


def _find_confidence(probability: Any) -> Array:
    """The largest probability of each row (n,)."""
    if isinstance(probability, ClassProbability):
        return probability.confidence
    matrix = np.asarray(probability, dtype=np.float64)
    return np.maximum(matrix, 1 - matrix) if matrix.ndim == 1 else matrix.max(axis=1)


def _compute_losses(label: Any, probability: Any) -> Array:
    if isinstance(probability, ClassProbability) and probability.is_of(label):
        return probability.loss
    label, probability = check_class_probability(label, probability)
    if probability.ndim == 2:
        true = probability[np.arange(len(label)), label].astype(np.float64)
    else:
        of_one = probability.astype(np.float64)
        true = np.where(label == 1, of_one, 1 - of_one)
    losses: Array = np.maximum(-np.log(np.maximum(true, _SMALLEST)), 0.0)  # the outer one: no -0.0
    return losses


class _NllState(MeanState):
    def update(self, *, label: Any, probability: Any) -> None:
        self._take(_compute_losses(label, probability))


def _make_row_numbers(columns: dict[str, Array]) -> RowNumbers:
    losses, confidence = _compute_losses(**columns), _find_confidence(columns["probability"])

    def answer(rows: Array | slice) -> Answers:
        # A wrong row costs at least what all that the model leaves to other classes would: -log(1 - confidence).
        return Answers(-np.log(confidence[rows]), -np.log(np.maximum(1 - confidence[rows], _LEFT)))

    return RowNumbers(losses, are_shares=False, answers=answer, within=(0.0, math.inf))


FACTS = MetricFacts(
    title="NLL", direction="lower", maximum=None, unit="nats", row_numbers=_make_row_numbers, compact=True
)


class Nll(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "nll"))
    >>> module.add_batch(label=[1], probability=[0.25])
    >>> module.add_batch(label=[0], probability=[0.0])
    >>> module.compute()["nll"] == nll(label=[1, 0], probability=[0.25, 0.0])
    True
    """

    state = _NllState
