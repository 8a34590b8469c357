"""A line through points by least squares, with intervals for its slope and its intercept."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.estimate import Estimate

_METHOD = "least squares, Student's t"


@dataclass(frozen=True, kw_only=True)
class LinearFit:
    """y = slope x + intercept.

    Attributes:
        slope: Slope with its interval; nan, with the reason, where all x are equal or there are fewer than 2 points.
        intercept: The same.
        slope_error: Standard error of the slope; nan below 3 points.
        intercept_error: Standard error of the intercept.
        x_mean: Mean of x.
        x_spread: Sum of squared deviations of x from their mean.
        residual: Standard deviation of the points around the line, with n - 2 degrees of freedom.
        confidence: Level of the intervals.
    """

    slope: Estimate
    intercept: Estimate
    slope_error: float
    intercept_error: float
    x_mean: float
    x_spread: float
    residual: float
    confidence: float

    def at(self, x: Any) -> tuple[Array, Array, Array]:
        """The line at x (m,), and both ends (m,) of the interval of its height there (not of new points)."""
        x = np.asarray(x, np.float64)
        middle = self.intercept.value + self.slope.value * x
        error = self.residual * np.sqrt(1 / self.slope.n + (x - self.x_mean) ** 2 / self.x_spread)
        half = _compute_quantile(self.slope.n, self.confidence) * error
        return middle, middle - half, middle + half


def linear_fit(x: Any, y: Any, *, confidence: float = 0.95) -> LinearFit:
    """Fits a line by ordinary least squares.

        slope +- t se,  se^2 = s^2 / Sxx;   intercept +- t se,  se^2 = s^2 (1 / n + mean(x)^2 / Sxx)

    with t Student's quantile at n - 2 degrees of freedom: 1.98 of 100 points, where the paper takes 2. The points are
    taken as independent, with errors of one variance.

    Args:
        x: Finite numbers (n,).
        y: Finite numbers (n,).
        confidence: Level of the intervals.

    Returns:
        The LinearFit, equal to scipy.stats.linregress to rounding.

    Raises:
        OochubError: No points, different lengths, or a number that is not finite.

    >>> fit = linear_fit([0, 1, 2, 3], [1, 3, 2, 5])
    >>> fit.slope, fit.intercept
    (1.100 [-1.136, 3.336] n=4, 1.100 [-3.083, 5.283] n=4)
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    check_same_length(x=x, y=y)
    if x.ndim != 1 or not len(x) or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise OochubError(f"A line is fitted to finite numbers x (n,) and y (n,), got shape {x.shape} with nan or inf.")
    n, across = len(x), x - x.mean()
    spread = float(across @ across)
    if n < 2 or spread <= (np.finfo(float).eps * np.abs(x).max()) ** 2 * n:
        reason = f"{n} point: a line needs 2" if n < 2 else f"all {n} points have the same x: no line is steepest"
        nothing = Estimate(math.nan, n=n, method=_METHOD, reason=reason)
        numbers = dict.fromkeys(("slope_error", "intercept_error", "residual"), math.nan)
        return LinearFit(
            slope=nothing, intercept=nothing, x_mean=float(x.mean()), x_spread=0.0, confidence=confidence, **numbers
        )
    slope = float(across @ (y - y.mean())) / spread
    intercept = float(y.mean()) - slope * float(x.mean())
    left = y - y.mean() - slope * across
    residual = math.sqrt(float(left @ left) / (n - 2)) if n > 2 else math.nan
    slope_error = residual / math.sqrt(spread)
    intercept_error = residual * math.sqrt(1 / n + float(x.mean()) ** 2 / spread)

    def estimate(value: float, error: float) -> Estimate:
        if n < 3:
            return Estimate(value, n=n, method=_METHOD, reason=f"{n} points lie on one line: it has no interval")
        half = _compute_quantile(n, confidence) * error
        return Estimate(value, low=value - half, high=value + half, n=n, method=_METHOD)

    return LinearFit(
        slope=estimate(slope, slope_error),
        intercept=estimate(intercept, intercept_error),
        slope_error=slope_error,
        intercept_error=intercept_error,
        x_mean=float(x.mean()),
        x_spread=spread,
        residual=residual,
        confidence=confidence,
    )


def _compute_quantile(n: int, confidence: float) -> float:
    return -float(scipy.special.stdtrit(n - 2, (1 - confidence) / 2)) if n > 2 else math.nan
