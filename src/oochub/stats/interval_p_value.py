"""The p-value that an interval implies."""

import math

from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.estimate import Estimate


def interval_p_value(estimate: Estimate, *, confidence: float = 0.95) -> float:
    """The two-sided p-value of 0, by the normal law that the interval's half towards 0 has.

        p = 2 Phi(-z |value| / h),  h = value - low above 0, high - value below 0

    It is below 1 - confidence exactly where the interval leaves 0 out.

    Args:
        estimate: A difference with its interval.
        confidence: Level of that interval.

    Returns:
        In [0, 1]; 1 for a difference of 0; nan for an estimate without interval.

    >>> round(interval_p_value(Estimate(0.1, low=0.0, high=0.3, n=50, method="bootstrap")), 12)
    0.05
    >>> interval_p_value(Estimate(0.0, n=50, method="bootstrap"))
    1.0
    """
    value = estimate.value
    if value == 0:
        return 1.0
    half = value - estimate.low if value > 0 else estimate.high - value
    if math.isnan(half):
        return math.nan
    if half <= 0:
        return 0.0
    return float(2 * special.ndtr(special.ndtri((1 - confidence) / 2) * abs(value) / half))
