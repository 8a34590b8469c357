"""Softmax probabilities and their log-partition in float64, exact where the largest logit is far above the rest."""

import numpy as np
from scipy.special import expit

from oochub.stats.array_checks import Array

_SPENT = 1e-12  # of a probability, on the order of those that float64 cannot tell from 1
_FAR = 1000.0  # a log-odds beyond which they tie; exp leaves float64 at 745


def log_partition(logits: Array) -> Array:
    """Logarithm of sum_c exp(l_c) of each row (n,); `logits` (n, c) float64 are used up.

    >>> log_partition(np.log([[1.0, 3.0]])).round(6).tolist(), np.log(4).round(6).item()
    ([1.386294], 1.386294)
    """
    largest, rest = _split_largest(logits)
    total: Array = largest + np.log1p(rest)
    return total


def softmax(logits: Array) -> Array:
    """The softmax of each row of float64 (n, c), which is used up.

    >>> softmax(np.log([[1.0, 3.0]])).round(6).tolist()
    [[0.25, 0.75]]
    """
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def largest_probability(logits: Array) -> Array:
    """The largest softmax probability of each row (n,), as `probability` gives it; `logits` are used up.

    >>> largest_probability(np.log([[1.0, 3.0]])).round(6).tolist()
    [0.75]
    """
    with np.errstate(divide="ignore"):  # no other class has any probability: infinite odds
        return probability(-np.log(_split_largest(logits)[1]))


def probability(log_odds: Array) -> Array:
    """The probability of each log-odds g, strictly increasing also where 1 / (1 + exp(-g)) rounds to 1.

    It is right to 1e-12 of itself and in [0, 1]. What is below that orders log-odds from 0 to 1000 in steps of 0.2,
    where float64 would give 1 from 37 on (float32 from 17 on).

    >>> p = probability(np.array([0.0, 40.0, 41.0]))
    >>> p[0].round(9).item(), bool(p[1] < p[2] <= 1)
    (0.5, True)
    """
    probability: Array = expit(log_odds) * (1 - _SPENT * (1 - np.clip(log_odds, 0, _FAR) / _FAR))
    return probability


def _split_largest(logits: Array) -> tuple[Array, Array]:
    """Per row the largest logit, and the sum of exp(logit - largest) over all others."""
    row, at = np.arange(len(logits)), logits.argmax(axis=1)
    largest = logits[row, at]
    logits -= largest[:, None]
    np.exp(logits, out=logits)
    logits[row, at] = 0.0  # exactly, not as total - 1
    return largest, logits.sum(axis=1)
