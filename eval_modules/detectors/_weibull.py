"""Weibull distributions of the largest distances, fitted by maximum likelihood as in libMR."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from oochub.stats.array_checks import Array

_SHIFT = 10_000.0  # libMR's: distances are moved so that the smallest of the tail lies here


class Weibull(NamedTuple):
    """w(d) = 1 - exp(-((d - start + 10,000) / scale)^shape), one or many at once.

    Attributes:
        start: The smallest distance of the tail.
        shape: Above 0.
        log_scale: log(scale / 10,000); the scale itself would lose the digits that count.
    """

    start: Array | float
    shape: Array | float
    log_scale: Array | float

    def __call__(self, distance: Array) -> Array:
        """The share of the distribution below each distance, in [0, 1]."""
        z = np.log1p(np.maximum((distance - self.start) / _SHIFT, np.finfo(np.float64).tiny - 1))
        with np.errstate(over="ignore"):  # exp(-inf) is the right answer
            share: Array = -np.expm1(-np.exp(self.shape * (z - self.log_scale)))
        return share


def fit_weibull(tail: Array) -> Weibull | None:
    """The Weibull distribution under which these distances (t,) are likeliest; None if they are all equal.

    With z = log(x / 10,000) of the moved distances x, the shape k solves

        sum z exp(k z) / sum exp(k z) - 1 / k = mean z

    and the scale follows. On unmoved distances this is the equation of every Weibull fit; the shift makes it nearly
    one of Gumbel distributions, so the score does not jump at the start of the tail.

    >>> fitted = fit_weibull(np.array([1.0, 1.5, 2.0, 4.0]))
    >>> fitted(np.array([0.0, 2.0, 4.0, 9.0])).round(2).tolist()
    [0.1, 0.42, 0.94, 1.0]
    """
    start = float(tail.min())
    z = np.log1p((tail - start) / _SHIFT)
    spread = z.std()
    if spread <= 1e-9 * np.abs(tail).max() / _SHIFT:
        return None
    unit = (z - z.mean()) / spread

    def slope(shape: float) -> float:
        weights = np.exp(shape * (unit - unit.max()))
        return float(weights @ unit / weights.sum()) - 1 / shape

    high = 1.0
    while slope(high) < 0:
        high *= 2
    shape = brentq(slope, 1e-3, high, xtol=1e-14, rtol=1e-14)
    log_scale = np.log(np.exp(shape * (unit - unit.max())).mean()) / shape + unit.max()
    return Weibull(start, shape / spread, log_scale * spread + z.mean())
