"""Resamples of the area under precision over recall from a few hundred cells of scores, without drawing rows.

A resample needs of a cell only how many of its positives and negatives it draws. These are Poisson numbers (Hanley and
MacGibbon 2006, "Creating non-parametric bootstrap samples using Poisson frequencies"); given them, the mean position
of a drawn positive within its cell is known.
"""

import numpy as np

from oochub.stats.array_checks import Array
from oochub.stats.estimate import Sampling
from oochub.stats.ranking import Form, check_choice

_CELLS = 512
_FINE = 25.0  # at both ends of the order cells hold a row or two; from here they grow with the distance to the end
_TOGETHER = 64  # resamples looked at together: they stay in the processor's cache


def resampled_precision_area(positive: Array, negative: Array, sampling: Sampling, form: Form = "step") -> Array:
    """The area of each bootstrap resample of independent rows; see `oochub.stats.ranking.precision_area`.

    Up to 512 distinct scores are a cell each, and nothing is approximated but the number of rows, which varies by its
    root. Above, neighbors share a cell, within which precision changes by 2% or less.

    Args:
        positive: Tally (d + 1,) of the positives, in the order in which rows are taken.
        negative: Tally (d + 1,) of the negatives at the same scores.
        sampling: Number of resamples and seed.
        form: As in `precision_area`.

    Returns:
        float64 (resamples,); nan where a resample has no positive or no negative.

    Raises:
        OochubError: Another `form`.

    >>> rows = np.arange(101.0)
    >>> drawn = resampled_precision_area(rows, rows, Sampling(resamples=200))  # chance, 100 of either kind
    >>> len(drawn), round(float(drawn.mean()), 1)
    (200, 0.5)
    """
    check_choice(form, Form, "form")
    ends = _ends(positive + negative)
    starts = np.append(0, ends[:-1])
    of_score = np.diff(positive)
    rows = np.stack([np.diff(positive[np.append(0, ends)]), np.diff(negative[np.append(0, ends)])])
    share = of_score / np.repeat(np.maximum(rows[0], 1), np.diff(np.append(0, ends)))
    others = (1 - np.add.reduceat(share**2, starts)) / 2  # of a cell's other positives, how many are before one of them
    base, width = np.repeat(negative[starts], ends - starts), np.maximum(rows[1], 1)
    after = np.add.reduceat(share * (negative[1:] - base), starts) / width
    before = np.add.reduceat(share * (negative[:-1] - base), starts) / width
    generator = np.random.default_rng(sampling.seed)
    areas = np.empty(sampling.resamples)
    for start in range(0, sampling.resamples, _TOGETHER):
        count = min(_TOGETHER, sampling.resamples - start)
        p, n = generator.poisson(rows, (count, *rows.shape)).astype(np.float64).swapaxes(0, 1)
        p_before, n_before = np.cumsum(p, axis=1) - p, np.cumsum(n, axis=1) - n
        apart = others * (p - 1)
        precision = _precision(p_before + p - apart, n_before + after * n)
        if form == "trapezoid":
            precision = (precision + _precision(p_before + apart, n_before + before * n)) / 2
        with np.errstate(invalid="ignore"):
            areas[start : start + count] = (p * precision).sum(axis=1) / p.sum(axis=1)
        areas[start : start + count][n.sum(axis=1) == 0] = np.nan
    return areas


def _ends(taken: Array) -> Array:
    """Where cells end: places in the tallies."""
    distinct = len(taken) - 1
    if distinct <= _CELLS:
        return np.arange(1, distinct + 1)
    place = np.arcsinh(taken[1:] / _FINE) - np.arcsinh((taken[-1] - taken[1:]) / _FINE)
    ends: Array = np.flatnonzero(np.append(np.diff(np.floor(_CELLS / 2 * place / place[-1])) > 0, True)) + 1
    return ends


def _precision(positive: Array, negative: Array) -> Array:
    taken = positive + negative
    precision: Array = np.divide(positive, taken, out=np.ones_like(taken), where=taken > 0)
    return precision
