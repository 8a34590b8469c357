"""Intervals of a proportion: Wilson's, near its level on average, and Clopper and Pearson's, never below it."""

import math

from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.errors import OochubError
from oochub.stats.estimate import Estimate


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> Estimate:
    """A proportion with Wilson's score interval (Wilson 1927; Brown, Cai and DasGupta 2001, Section 3.1.1).

    Args:
        successes: How many of the rows; of weighted rows any number, as of `n`.
        n: How many rows.
        confidence: Level of the interval.

    Returns:
        successes / n; nan with a reason if n is 0.

    Raises:
        OochubError: Not 0 <= successes <= n.

    >>> wilson(56, 70)
    0.800 [0.692, 0.877] n=70
    """
    _check(successes, n)
    if n == 0:
        return Estimate(math.nan, n=0, method="wilson", reason="no rows")
    z2 = special.ndtri((1 - confidence) / 2) ** 2
    middle = (successes + z2 / 2) / (n + z2)
    half = math.sqrt(z2) / (n + z2) * math.sqrt(successes * (n - successes) / n + z2 / 4)
    low = 0.0 if successes == 0 else middle - half  # the formula's own ends, free of rounding
    high = 1.0 if successes == n else middle + half
    return Estimate(successes / n, low=low, high=high, n=int(n), method="wilson")


def clopper_pearson(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """A proportion with the exact interval, whose coverage is never below its level.

    Args:
        successes: How many of the rows.
        n: How many rows.
        confidence: Level of the interval.

    Returns:
        successes / n; nan with a reason if n is 0.

    Raises:
        OochubError: Not 0 <= successes <= n.

    >>> clopper_pearson(0, 10)  # the rule of three, exactly: 1 - 0.025 ** (1 / 10)
    0.000 [0.000, 0.308] n=10
    """
    _check(successes, n)
    if n == 0:
        return Estimate(math.nan, n=0, method="clopper-pearson", reason="no rows")
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else special.betaincinv(successes, n - successes + 1, tail)
    high = 1.0 if successes == n else special.betainccinv(successes + 1, n - successes, tail)
    return Estimate(successes / n, low=low, high=high, n=n, method="clopper-pearson")


def _check(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise OochubError(f"successes must lie between 0 and n = {n}, got {successes}.")
