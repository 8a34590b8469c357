"""Intervals of a proportion, and of the difference of two proportions of the same rows.

Wilson's interval is near its level on average, Clopper and Pearson's never below it.
"""

import math
from typing import Any

import numpy as np
import scipy

from oochub.errors import OochubError
from oochub.stats.array_checks import check_same_length
from oochub.stats.delong import PairedDifference
from oochub.stats.estimate import Estimate


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> Estimate:
    """A proportion with Wilson's score interval (Wilson 1927; Brown, Cai and DasGupta 2001, Section 3.1.1).

    Args:
        successes: How many of the rows; for weighted rows any number, as for `n`.
        n: Number of rows.
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
    z2 = scipy.special.ndtri((1 - confidence) / 2) ** 2
    middle = (successes + z2 / 2) / (n + z2)
    half = math.sqrt(z2) / (n + z2) * math.sqrt(successes * (n - successes) / n + z2 / 4)
    low = 0.0 if successes == 0 else middle - half  # the formula's own ends, free of rounding
    high = 1.0 if successes == n else middle + half
    return Estimate(successes / n, low=low, high=high, n=int(n), method="wilson")


def clopper_pearson(successes: float, n: float, *, confidence: float = 0.95) -> Estimate:
    """A proportion with the exact interval, whose coverage is never below its level.

    Args:
        successes: How many of the rows; for weighted rows any number, as for `n`.
        n: Number of rows.
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
    low = 0.0 if successes == 0 else scipy.special.betaincinv(successes, n - successes + 1, tail)
    high = 1.0 if successes == n else scipy.special.betainccinv(successes + 1, n - successes, tail)
    return Estimate(successes / n, low=low, high=high, n=int(n), method="clopper-pearson")


def paired_shares(first: Any, second: Any, *, confidence: float = 0.95) -> PairedDifference:
    """The share of the first minus that of the second, with an adjusted Wald interval and McNemar's exact test.

    Among n rows, b are true in the first alone and c in the second alone; with p = (b + 1) / (n + 2) and
    q = (c + 1) / (n + 2) the interval is  p - q +- z sqrt((p + q - (p - q)^2) / (n + 2)),  which has a width where no
    row differs, and is recommended by Fagerland, Lydersen and Laake 2014 (Statist. Med. 33:2850-2875). The test asks
    whether b of b + c is one half. Near its level the two may disagree.

    Args:
        first: Whether each row is true (n,), such as whether the first model is right.
        second: The same of the second.
        confidence: Level of the interval.

    Returns:
        The difference in [-1, 1]; nan with a reason for no rows. Rows that are alike everywhere differ by 0 with p = 1.

    Raises:
        OochubError: Different lengths.

    Source:
        Bonett and Price 2012, "Adjusted Wald confidence interval for a difference of binomial proportions based on
        paired data" (J. Educ. Behav. Stat. 37:479-488); McNemar 1947 (Psychometrika 12:153-157).

    >>> paired_shares([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0])
    PairedDifference(difference=0.500 [-0.107, 0.857] n=6, p_value=0.25)
    """
    first, second = (np.asarray(values).astype(bool) for values in (first, second))
    n = check_same_length(first=first, second=second)
    method = "adjusted wald of paired shares"
    if n == 0:
        return PairedDifference(Estimate(math.nan, n=0, method=method, reason="no rows"), math.nan)
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    low, high = adjusted_wald(b, c, n, (1 - confidence) / 2)
    p_value = min(1.0, 2 * float(scipy.special.bdtr(min(b, c), b + c, 0.5))) if b + c else 1.0
    return PairedDifference(Estimate((b - c) / n, low=low, high=high, n=n, method=method), p_value)


def adjusted_wald(only_first: Any, only_second: Any, n: float, tail: float) -> tuple[Any, Any]:
    """Both ends of the interval of `paired_shares`, also of counts that are no whole numbers; of many pairs at once.

    Args:
        only_first: Rows that are true in the first alone, or an array of such counts.
        only_second: Rows that are true in the second alone.
        n: All rows.
        tail: Probability that lies outside on either side.
    """
    p, q = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    half = -scipy.special.ndtri(tail) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return np.maximum(-1.0, p - q - half), np.minimum(1.0, p - q + half)


def _check(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise OochubError(f"successes must lie between 0 and n = {n}, got {successes}.")
