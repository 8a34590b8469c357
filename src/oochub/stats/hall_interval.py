"""Student's interval of a skewed estimate: Hall's transformation takes the skewness off."""

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

_SYMMETRIC = 1e-6  # a skewness below moves no end


def hall_interval(value: float, error: float, skewness: float, freedom: float, tail: float) -> tuple[float, float]:
    """Both ends of the interval of an estimate, from its standard error and its skewness.

    T + k T^2 / 3 + k^2 T^3 / 27 + k / 6, of the studentized estimate T and its skewness k, is nearer to Student's law
    than T is. The ends are the values at which it has the law's quantiles. If k is above 0, an estimate that is too
    small has a standard error that is too small as well, so the interval reaches further up than down.

    Args:
        value: The estimate.
        error: Its standard error, above 0.
        skewness: Skewness of the estimate, for the mean of n rows that of a row over the root of n.
        freedom: Degrees of freedom of the standard error.
        tail: Probability that lies outside the interval on either side.

    Source: Hall 1992, "On the removal of skewness by transformation" (J. R. Statist. Soc. B 54:221-228), Section 2.

    >>> low, high = hall_interval(0.0, 1.0, 0.3, 1e9, 0.025)
    >>> round(low, 2), round(high, 2)
    (-1.63, 2.65)
    """
    quantile = -float(special.stdtrit(freedom, tail))
    low, high = (value - error * _undo(at, skewness) for at in (quantile, -quantile))
    return min(low, value), max(high, value)


def _undo(at: float, skewness: float) -> float:
    """The studentized estimate that the transformation takes to `at`."""
    if abs(skewness) < _SYMMETRIC:
        return at
    return 3 / skewness * (float(np.cbrt(1 + skewness * (at - skewness / 6))) - 1)
