"""The mean of a number over several sets that share rows, with an interval that is not too narrow."""

import math
from collections.abc import Sequence

from oochub.errors import OochubError
from oochub.stats.estimate import Estimate


def average_sets(estimates: Sequence[Estimate], *, n: int) -> Estimate:
    """The mean of a number over sets, each set counted alike, with the mean of their intervals.

    The standard deviation of a mean is at most the mean of the standard deviations, whatever rows the sets share. So
    the interval from the mean of the lower ends to the mean of the upper ends covers as each of them does, or more:
    the full width is that of sets that move together, as they do where the rows in common are the few ones.

    Args:
        estimates: The number of each set, with its interval.
        n: Number of rows of all sets together, rows in common counted once.

    Returns:
        The mean; without interval if a set has none, and nan if one is undefined, with the reason.

    Raises:
        OochubError: There is no set.

    >>> sets = [Estimate(0.8, low=0.7, high=0.85, n=30, method="delong"), Estimate(0.6, low=0.5, high=0.65, n=30,
    ...         method="delong")]
    >>> average_sets(sets, n=50)
    0.700 [0.600, 0.750] n=50
    """
    if not estimates:
        raise OochubError("A mean over sets needs at least one set, got none.")
    if len(estimates) == 1:
        return estimates[0]
    value, low, high = (
        math.fsum(ends) / len(estimates) for ends in zip(*((e.value, e.low, e.high) for e in estimates), strict=True)
    )
    reasons = dict.fromkeys(reason for e in estimates if e.reason for reason in e.reason.split("; "))
    methods = " and ".join(dict.fromkeys(e.method for e in estimates))
    return Estimate(
        value,
        low=low,
        high=high,
        n=n,
        method=f"mean of the intervals of {len(estimates)} sets ({methods})",
        reason="; ".join(reasons) or None,
    )
