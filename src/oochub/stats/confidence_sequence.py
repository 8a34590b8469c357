"""Intervals that hold at every look, however often and whenever one looks: confidence sequences.

Each end of a fixed interval errs in 2.5% of data sets of one size. Who adds rows until the interval decides, looks
often, and errs more often. An e-process bets against every mean: where the mean is not above m, its wealth exceeds 1 /
e at any look with probability e at most (Ville 1939; Howard, Ramdas, McAuliffe and Sekhon 2021, Annals of Statistics
49:1055-1080). The lower end is the smallest mean against which it has not won that much. Bets here depend on the rows
alone and not on their order, so a look needs nothing from those before it.

Rows, or clusters, must be drawn alike and independently, and each look must keep those of the looks before.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate

TAIL = 0.025
"""The chance, over all looks, that an end is ever on the wrong side of the mean."""
METHOD = "confidence sequence"
_PRIOR_ROWS = (
    20  # what the prior of a share counts: the interval is then 1.5 to 1.8 times a fixed one up to 30,000 rows
)
_STAKES, _SMALLEST_STAKE, _LARGEST_STAKE = 40, 0.02, 0.99
_KEPT = 0.1  # of the wealth, which is not staked
_STEPS = 50  # halvings of an end's place
_GRID = 25  # places of the nuisance mean at which a minimum is looked for


class ShareEvidence(NamedTuple):
    """What rows of 0 and 1 say of their share: the beta-binomial mixture of larger shares, against the share itself.

    The prior is a beta distribution around the tested share that counts as 20 rows, above it alone (Robbins 1970,
    Annals of Mathematical Statistics 41:1397-1409; Howard et al. 2021, Section 3.5).

    Attributes:
        ones: Rows of 1.
        n: All rows, at least one.

    >>> make_interval(ShareEvidence(170, 200))
    0.850 [0.762, 0.916] n=200
    """

    ones: int
    n: int
    least: float = 0.0
    most: float = 1.0

    @property
    def value(self) -> float:
        """The share."""
        return self.ones / self.n

    def log_above(self, mean: float) -> float:
        """The log of the wealth that was won against a true mean of at most `mean`."""
        if mean >= 1:
            return 0.0
        if mean <= 0:
            return math.inf if self.ones else 0.0
        own, other, zeros = _PRIOR_ROWS * mean, _PRIOR_ROWS * (1 - mean), self.n - self.ones
        above = scipy.special.betainc([other + zeros, other], [own + self.ones, own], 1 - mean)
        if not above[0]:
            return _hedge(-math.inf)
        mixture = scipy.special.betaln(own + self.ones, other + zeros) - scipy.special.betaln(own, other)
        wealth = mixture + math.log(above[0] / above[1]) - self.ones * math.log(mean) - zeros * math.log1p(-mean)
        return _hedge(wealth)

    def log_below(self, mean: float) -> float:
        """The log of the wealth that was won against a true mean of at least `mean`."""
        return ShareEvidence(self.n - self.ones, self.n).log_above(1 - mean)


class MeanEvidence:
    """What numbers within bounds say of their mean: the mean wealth of 40 gamblers of fixed stakes.

    Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting" (JRSS B 86:1-27), Section 4;
    stakes are fixed, from .02 to what a total loss allows, so that the order of the rows does not matter.

    Args:
        values: The numbers (n,), at least one.
        least: The smallest that is possible.
        most: The largest that is possible.
        are_clusters: Whether each number is the mean of a cluster of rows.

    >>> make_interval(MeanEvidence(np.repeat([0.0, 0.5, 1.0], [10, 40, 50]), 0.0, 1.0))
    0.700 [0.581, 0.803] n=100
    """

    def __init__(self, values: Array, least: float, most: float, *, are_clusters: bool = False) -> None:
        self.are_clusters = are_clusters
        self.least, self.most, self.n, self.value = least, most, len(values), float(np.mean(values))
        scaled = (np.asarray(values, dtype=np.float64) - least) / (most - least)
        self._values, self._counts = np.unique(scaled, return_counts=True)

    def log_above(self, mean: float) -> float:
        """The log of the wealth that was won against a true mean of at most `mean`."""
        return self._bet(self._values, (mean - self.least) / (self.most - self.least))

    def log_below(self, mean: float) -> float:
        """The log of the wealth that was won against a true mean of at least `mean`."""
        return self._bet(1 - self._values, (self.most - mean) / (self.most - self.least))

    def _bet(self, values: Array, mean: float) -> float:
        """The wealth of those who bet that the mean of numbers in [0, 1] is larger."""
        if mean >= 1:
            return 0.0
        if mean <= 0:
            return math.inf if values.max() > 0 else 0.0
        stakes = np.geomspace(min(_SMALLEST_STAKE, _LARGEST_STAKE / mean), _LARGEST_STAKE / mean, _STAKES)
        wealth = np.log1p(stakes[:, None] * (values - mean)) @ self._counts
        return _hedge(float(scipy.special.logsumexp(wealth)) - math.log(_STAKES))


Evidence = ShareEvidence | MeanEvidence
"""What rows say of their mean, which lies between `least` and `most`; `n` counts the rows, or clusters."""


def _hedge(wealth: float) -> float:
    """The log of the wealth of one who keeps a tenth: against two means at once a lost bet does not lose all."""
    return float(np.logaddexp(math.log1p(-_KEPT) + wealth, math.log(_KEPT)))


def make_interval(evidence: Evidence, *, tail: float = TAIL) -> Estimate:
    """The mean with both ends of its confidence sequence.

    Args:
        evidence: What the rows say.
        tail: The chance that either end is ever on the wrong side of the true mean.
    """
    bar = -math.log(tail)
    low = _find_end(lambda mean: evidence.log_above(mean) >= bar, evidence.least, evidence.value)
    high = _find_end(lambda mean: evidence.log_below(mean) >= bar, evidence.most, evidence.value)
    return Estimate(evidence.value, low=low, high=high, n=evidence.n, method=METHOD)


def make_difference(first: Evidence, second: Evidence, *, are_independent: bool = True) -> Estimate:
    """The difference of two means, first minus second, with both ends of its confidence sequence.

    The wealth of independent bets on both means is their product. Against a difference it is the smallest product of
    all pairs of means with this difference. If both have rows of one cluster, each mean has half of the error.

    Args:
        first: What the rows of one side say.
        second: What those of the other side say, within the same bounds.
        are_independent: Whether no row or cluster is on both sides.

    >>> make_difference(ShareEvidence(400, 500), ShareEvidence(450, 500))
    -0.100 [-0.178, -0.023] n=1000
    """
    value, n = first.value - second.value, first.n + second.n
    if not are_independent:
        one, other = (make_interval(evidence, tail=TAIL / 2) for evidence in (first, second))
        return Estimate(value, low=one.low - other.high, high=one.high - other.low, n=n, method=METHOD)
    span, bar = first.most - first.least, -math.log(TAIL)
    low = _find_end(lambda gap: log_difference_above(first, second, gap) >= bar, -span, value)
    high = _find_end(lambda gap: log_difference_above(second, first, -gap) >= bar, span, value)
    return Estimate(value, low=low, high=high, n=n, method=METHOD)


def log_difference_above(first: Evidence, second: Evidence, gap: float) -> float:
    """The log of the wealth that was won against a true difference, first minus second, of at most `gap`.

    Args:
        first: What the rows of one side say.
        second: What independent rows of the other side say.
        gap: The difference.
    """

    def wealth(mean: float) -> float:
        return first.log_above(mean + gap) + second.log_below(mean)

    low, high = max(second.least, first.least - gap), min(second.most, first.most - gap)
    places = np.linspace(low, high, _GRID)
    at = int(np.argmin([wealth(place) for place in places]))
    ends = places[max(at - 1, 0)], places[min(at + 1, _GRID - 1)]
    optimum = scipy.optimize.minimize_scalar(wealth, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return float(min(optimum.fun, wealth(places[at])))


def _find_end(is_excluded: Callable[[float], bool], bound: float, value: float) -> float:
    """The place between a bound and the estimate at which means begin not to be excluded."""
    if not is_excluded(bound):
        return bound
    out, inside = bound, value
    for _ in range(_STEPS):
        middle = (out + inside) / 2
        out, inside = (middle, inside) if is_excluded(middle) else (out, middle)
    return out
