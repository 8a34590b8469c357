"""The difference of two methods that were trained with several seeds each and judged on the same images.

Two things vary: another seed gives another model, and other images other numbers. The images are shared by all runs,
so Student's t over the seeds alone sees the first, a test over the images of a few given models the second. With the
numbers a_s and b_s of the runs and the covariance C of their errors over the images (a grouped jackknife),

    V = var(a) / S_a + var(b) / S_b + max(c, 0),   c = mean C(a, a') + mean C(b, b') - 2 mean C(a, b)

over pairs of different runs: the runs' spread holds what images do to one run alone, c what they do to all runs of a
method. This is the analysis of many readers and cases by Obuchowski and Rockette (1995, Communications in Statistics
24:285-308) with variances of each method's own, and Satterthwaite's degrees of freedom (Hillis 2007, Statistics in
Medicine 26:596-619). In simulated worlds of 3, 5 and 10 seeds it is wrong in 3 to 6% at no difference, where Student's
t over the seeds is wrong in up to 26%, a hierarchical bootstrap in 1 to 17% (docs/levels.md). The seeds of two methods
count as independent; if one seed makes both methods better or both worse, the test refuses more seldom.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy

from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate
from oochub.stats.model_places import POWER

METHOD = "t interval of seeds and images"
GROUPS = 100
"""Groups of images of which one at a time is left out."""
_TAIL = (1 - 0.95) / 2


class SeededNumbers(NamedTuple):
    """The number of each run of a method.

    Attributes:
        values: The numbers (s,).
        left: The same without each group of images in turn (s, g), the groups of all runs being the same images; nan
            where a run has no image of a group.
        units: How many independent things of one size the images are, see `oochub.stats.estimate.effective_clusters`.
        limit: What limits an interval of such numbers; "" for nothing.
    """

    values: Array
    left: Array
    units: float
    limit: str = ""


class SeededDifference(NamedTuple):
    """The second method minus the first.

    Attributes:
        difference: The difference of the means over seeds, n the runs of both.
        p_value: Two-sided p-value of no difference; nan if a method has a single seed, or nothing varies.
        error: Its standard error.
        freedom: Degrees of freedom of the error.
    """

    difference: Estimate
    p_value: float
    error: float
    freedom: float

    def smallest_found(self, tests: int) -> float:
        """The true difference that a test with this error, the first of Holm's, would find with the chance `POWER`.

        Args:
            tests: How many differences are tested together.
        """
        steps = -scipy.special.stdtrit(self.freedom, 0.05 / (2 * tests)) + scipy.special.stdtrit(self.freedom, POWER)
        return float(steps * self.error)


def seeded_difference(first: SeededNumbers, second: SeededNumbers) -> SeededDifference:
    """The mean over seeds of the second method minus that of the first, with the interval and test of the header.

    Args:
        first: Runs of the first method.
        second: Runs of the second method, on the same images.

    Returns:
        In the unit of the numbers; without interval, with the reason, for a single seed or numbers that do not vary.

    >>> left = np.zeros((3, 100))
    >>> runs = [SeededNumbers(np.array(values), left, 100) for values in ([0.5, 0.6, 0.7], [0.8, 0.9, 1.0])]
    >>> seeded_difference(*runs).difference  # images that change nothing: Welch's t of the seeds
    0.300 [0.073, 0.527] n=6
    """
    methods = first, second
    value, n = float(second.values.mean() - first.values.mean()), sum(len(method.values) for method in methods)
    nothing = SeededDifference(Estimate(value, n=n, method="none"), math.nan, math.nan, math.nan)
    if math.isnan(value) or any(len(method.values) < 2 for method in methods):
        reason = "a number is undefined" if math.isnan(value) else "a method has a single seed"
        return nothing._replace(difference=Estimate(value, n=n, method="none", reason=reason))
    parts = [(float(method.values.var(ddof=1)) / len(method.values), len(method.values) - 1.0) for method in methods]
    covariance = _jackknife(np.concatenate([first.left, second.left]))
    a, b = slice(len(first.left)), slice(len(first.left), None)
    between = float(covariance[a, b].mean())
    shared = _average_others(covariance[a, a]) + _average_others(covariance[b, b]) - 2 * between  # c of the header
    parts.append((max(shared, 0.0), min(first.units, second.units) - 1))
    variance = sum(part for part, _ in parts)
    if variance <= (np.finfo(float).eps * max(np.abs(method.values).max() for method in methods)) ** 2:
        return nothing._replace(difference=Estimate(value, n=n, method="none", reason="all seeds give the same number"))
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts if part)
    error = math.sqrt(variance)
    half = -float(scipy.special.stdtrit(freedom, _TAIL)) * error
    return SeededDifference(
        Estimate(value, low=value - half, high=value + half, n=n, method=METHOD, reason=first.limit or None),
        float(2 * scipy.special.stdtr(freedom, -abs(value) / error)),
        error,
        freedom,
    )


def _jackknife(left: Array) -> Array:
    """The covariance over images of numbers (k, g) that leave out each of g groups: (g - 1) / g sum of products."""
    is_there = ~np.isnan(left)
    middle = np.where(is_there, left, 0.0).sum(axis=1, keepdims=True) / is_there.sum(axis=1, keepdims=True).clip(1)
    residuals = np.where(is_there, left - middle, 0.0)
    groups = max(int(is_there.any(axis=0).sum()), 1)
    covariance: Array = residuals @ residuals.T * (groups - 1) / groups
    return covariance


def _average_others(covariance: Array) -> float:
    runs = len(covariance)
    return float(covariance.sum() - np.trace(covariance)) / (runs * (runs - 1))
