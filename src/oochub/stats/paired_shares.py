"""Two shares of the same rows: how much they differ, and whether at all (McNemar)."""

import math
from typing import Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.array_checks import check_same_length
from oochub.stats.delong import PairedDifference
from oochub.stats.estimate import Estimate


def paired_shares(first: Any, second: Any, *, confidence: float = 0.95) -> PairedDifference:
    """The share of the first minus that of the second, with an adjusted Wald interval and McNemar's exact test.

    Of n rows b are true in the first alone and c in the second alone; with p = (b + 1) / (n + 2), q = (c + 1) / (n + 2)
    the interval is  p - q +- z sqrt((p + q - (p - q)^2) / (n + 2)),  which has a width where no row differs, and is
    recommended by Fagerland, Lydersen and Laake 2014 (Statist. Med. 33:2850-2875). The test asks whether b of b + c is
    one half. Near its level the two may disagree.

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
    p_value = min(1.0, 2 * float(special.bdtr(min(b, c), b + c, 0.5))) if b + c else 1.0
    return PairedDifference(Estimate((b - c) / n, low=low, high=high, n=n, method=method), p_value)


def adjusted_wald(only_first: float, only_second: float, n: float, tail: float) -> tuple[float, float]:
    """Both ends of the interval of `paired_shares`, also of counts that are no whole numbers.

    Args:
        only_first: Rows that are true in the first alone.
        only_second: In the second alone.
        n: All rows.
        tail: What lies outside on either side.
    """
    p, q = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    half = -special.ndtri(tail) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return max(-1.0, p - q - half), min(1.0, p - q + half)
