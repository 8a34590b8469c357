"""The means of many groups of independent rows with their intervals, at once; each is that of `mean_estimate`."""

import math
from functools import cache

import numpy as np
from scipy import special

from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import ADDED, MANY, WITH_ADDED, RowNumbers, share_of_rows


def estimate_means(numbers: RowNumbers, sizes: Array, sampling: Sampling) -> list[Estimate]:
    """The mean of each of many groups, as `mean_estimate` gives it one by one.

    Shares depend on two counts alone, so each pair of them is worked out once. Means of numbers with answers are summed
    in another order than one by one, so their ends differ by rounding.

    Args:
        numbers: The numbers (n,) of the rows of the first group, then of the second, and so on; without NaN.
        sizes: Number of rows of each group (g,), 1 or more.
        sampling: Number of resamples, seed and level; rows are independent.

    >>> estimate_means(RowNumbers(np.array([0.0, 1, 1, 1, 1, 0])), np.array([4, 2]), Sampling())
    [0.750 [0.301, 0.954] n=4, 0.500 [0.095, 0.905] n=2]
    """
    values, starts = np.asarray(numbers.values, np.float64), np.cumsum(sizes) - sizes
    if numbers.are_shares and bool(np.isin(values, (0, 1)).all()):
        of_pair = cache(lambda ones, n: share_of_rows(ones, n, sampling))
        ones = np.add.reduceat(values, starts).astype(np.int64)
        return [of_pair(one, n) for one, n in zip(ones.tolist(), sizes.tolist(), strict=True)]
    if numbers.answers is None or sizes.max() >= MANY:
        ends = np.cumsum(sizes)
        rows = np.arange(len(values))
        parts = (rows[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
        return [numbers.take(part).estimate(sampling) for part in parts]
    return _estimate_with_added_rows(numbers, values, sizes, starts, sampling)


def _estimate_with_added_rows(
    numbers: RowNumbers, values: Array, sizes: Array, starts: Array, sampling: Sampling
) -> list[Estimate]:
    """The hull of each group's t interval and of that with two right and two wrong rows more."""
    assert numbers.answers is not None  # noqa: S101
    n = sizes.astype(np.float64)
    sums = np.add.reduceat(values, starts)
    mean = sums / n
    apart = np.add.reduceat((values - np.repeat(mean, sizes)) ** 2, starts)
    right, wrong = (np.add.reduceat(np.asarray(each, np.float64), starts) / n for each in numbers.answers)
    freedom = np.maximum(n - 1, 1)
    scale = -special.stdtrit(freedom, sampling.tail)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(n > 1, scale * np.sqrt(apart / (n - 1)) / np.sqrt(n), math.nan)
    more = n + 2 * ADDED
    middle = (sums + ADDED * (right + wrong)) / more
    squares = apart + n * (mean - middle) ** 2 + ADDED * ((right - middle) ** 2 + (wrong - middle) ** 2)
    joined = scale * np.sqrt(squares / (1 - 1 / more)) / more
    low = np.fmin(middle - joined, mean - own).clip(*numbers.within)
    high = np.fmax(middle + joined, mean + own).clip(*numbers.within)
    method = WITH_ADDED.format(unit=sampling.unit)
    return [
        Estimate(value, low=below, high=above, n=count, method=method)
        for value, below, above, count in zip(mean.tolist(), low.tolist(), high.tolist(), sizes.tolist(), strict=True)
    ]
