"""The p-value that an interval implies."""

import math

from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.estimate import Estimate

_ROUNDING = 1e-12


def interval_p_value(estimate: Estimate, *, degrees: int | None = None, confidence: float = 0.95) -> float:
    """The two-sided p-value of 0, by the normal law that the interval's half towards 0 has, or by Student's t.

        p = 2 Phi(-z |value| / h),  h = value - low above 0, high - value below 0

    It is at most 1 - confidence exactly where the interval leaves 0 out; an end at 0 does not.

    Args:
        estimate: A difference with its interval.
        degrees: Of freedom of the t that the interval was made with; None for the normal law.
        confidence: Level of that interval.

    Returns:
        In [0, 1]; 1 for a difference of 0; nan for an estimate without interval.

    >>> round(interval_p_value(Estimate(0.1, low=0.0, high=0.3, n=50, method="bootstrap")), 12)
    0.05
    >>> t = Estimate(8.0, low=8 - 4.303, high=8 + 4.303, n=3, method="t interval")
    >>> round(interval_p_value(t, degrees=2), 3)  # 8 standard errors, of three numbers
    0.015
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
    level, ratio = 1 - confidence, abs(value) / half
    if degrees is None:
        p_value = 2 * special.ndtr(special.ndtri(level / 2) * ratio)
    else:
        p_value = 2 * special.stdtr(degrees, special.stdtrit(degrees, level / 2) * ratio)
    return float(max(p_value, math.nextafter(level, 1.0)) if ratio <= 1 + _ROUNDING else p_value)
