"""The end of an interval of a ranking near 1, where few rows decide all: what no row has shown yet counts too.

An AUC of .998 is lost by one row in a hundred that lies far on the wrong side. A sample without such a row has almost
no variance, and an interval made of its variance alone ends too close to 1. Wilson's interval of a share does not: its
variance is that of the share that is asked about. Here a ranking gets the same, as a share of so many effective rows:

    loss = 1 - value,   n = (loss + d) (1 - loss) / (variance + sum_i a_i u_i^2),   d = sum_i a_i u_i

where a_i further rows lose u_i each, as much as one row can. Without variance and with m rows of each of two classes
this is Wilson's interval of 0 among m. If many rows are misranked, what the further ones add vanishes, and the end is
that of the logit scale to within 1% to 5% of the width. The other end is that of Clopper and Pearson with the effective
rows of the sample itself, because a few rows may be misranked by chance.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from oochub.stats.array_checks import Array
from oochub.stats.estimate import Estimate, Sampling, effective_clusters

UNITS = 2
"""How many units of rows that go together are added, where rows are in clusters: simulated."""


class Unseen(NamedTuple):
    """Rows, or units of rows, that a sample of this size may lack.

    Attributes:
        times: How many of them are added; 1 in all for independent rows.
        loss: By how much each lowers the value, above 0.
    """

    times: float
    loss: float


def reach_of_unseen(loss: float, variance: float, unseen: Sequence[Unseen], quantile: float) -> float:
    """The largest loss that agrees with the rows, where those that nobody saw may lose all they can.

    Args:
        loss: What the value lacks to its best, in [0, 1).
        variance: Variance of the value, 0 or more.
        unseen: What is added.
        quantile: Of the normal law, or of Student's t: 1.96 for a 95% interval of many rows.

    Returns:
        The end, in [loss, 1].

    Source:
        Wilson 1927 (J. Am. Stat. Assoc. 22:209) with an effective number of rows, as Korn and Graubard 1998 (Survey
        Methodology 24:193) have it; Agresti and Coull 1998 (The American Statistician 52:119) add rows to a share.

    >>> round(reach_of_unseen(0.0, 0.0, [Unseen(1.0, 1 / 300)], 1.96), 4)  # as Wilson's, for 0 of 300
    0.0126
    >>> round(reach_of_unseen(0.05, 0.01**2, [Unseen(1.0, 1 / 1000)], 1.96), 4)
    0.0733
    """
    further = sum(row.times * row.loss for row in unseen)
    total = variance + sum(row.times * row.loss**2 for row in unseen)
    if total <= 0:
        return loss
    squared = quantile**2 * total / ((loss + further) * (1 - loss))  # over the effective rows
    middle = loss + squared / 2
    half = math.sqrt(squared * (loss * (1 - loss) + squared / 4))
    return min(1.0, (middle + half) / (1 + squared))


def least_loss(loss: float, variance: float, tail: float) -> float:
    """The smallest loss that agrees with the rows, where few may have lost by chance.

    Args:
        loss: What the value lacks to its best, in (0, 1).
        variance: Variance of the value, above 0.
        tail: Probability that lies below it.

    Source:
        Clopper and Pearson's end with an effective number of rows: Korn and Graubard 1998 (Survey Methodology 24:193).

    >>> round(least_loss(0.01, 0.01 * 0.99 / 400, 0.025), 4)  # as 4 of 400
    0.0027
    """
    rows = loss * (1 - loss) / variance
    return float(scipy.special.betaincinv(loss * rows, (1 - loss) * rows + 1, tail))


def count_together(design: float, cluster: Array) -> float:
    """How many rows of a class count for one: as many as the design effect says, at most those of one cluster.

    Args:
        design: Variance of the value over that of independent rows.
        cluster: Cluster of each row of the class (n,).

    >>> count_together(2.5, np.arange(100) % 20), count_together(7.0, np.arange(100) % 20)
    (2.5, 5.0)
    """
    return min(max(1.0, design), len(cluster) / effective_clusters(cluster))


def extend_by_unseen(estimate: Estimate, unseen: Sequence[Unseen], sampling: Sampling) -> Estimate:
    """The estimate of a value that is 1 at best, whose lower end leaves room for what no row has shown.

    Args:
        estimate: Its interval may have no width, as that of a perfect order; without one it stays as it is.
        unseen: What a sample of this size may lack.
        sampling: Clusters and level.

    >>> perfect = Estimate(1.0, low=1.0, high=1.0, n=600, method="bootstrap")
    >>> extend_by_unseen(perfect, unseen_of_precision(300, 300), Sampling())
    1.000 [0.941, 1.000] n=600
    """
    if math.isnan(estimate.low) or estimate.value < 0.5:
        return estimate
    reach = reach_of_unseen(1 - estimate.value, find_variance(estimate, sampling), unseen, _find_quantile(sampling))
    method = f"{estimate.method}, or wilson with unseen rows where wider"
    return Estimate.from_dict({**estimate.to_dict(), "low": min(estimate.low, 1 - reach), "method": method})


def find_variance(estimate: Estimate, sampling: Sampling) -> float:
    """The variance that the width of an interval stands for; nan without one.

    Args:
        estimate: Its ends are as many standard errors apart as those of `reach_of_unseen`.
        sampling: Clusters and level.

    >>> round(find_variance(Estimate(0.5, low=0.304, high=0.696, n=9, method=""), Sampling()), 3)
    0.01
    """
    return ((estimate.high - estimate.low) / (2 * _find_quantile(sampling))) ** 2


def _find_quantile(sampling: Sampling) -> float:
    """The quantile of the normal law; with clusters that of Student's t of so many of equal size."""
    equal = sampling.effective_clusters
    tail = sampling.tail
    return -float(scipy.special.ndtri(tail) if equal is None else scipy.special.stdtrit(equal - 1, tail))


def unseen_of_precision(
    positives: int, negatives: int, *, together: tuple[float, float] = (1.0, 1.0), count: float = 1.0
) -> list[Unseen]:
    """What average precision may lack: a positive row below all others, or a negative row above them.

    k negatives above m positives lower the precision at the i-th positive to i / (i + k); k of the m positives below n
    negatives have the precision m / (m + n) themselves.

    Args:
        positives: Number m of rows.
        negatives: Number n of rows.
        together: How many positives, and how many negatives, go together; more than one in clusters.
        count: How many there are, half of them of each kind.

    >>> [round(each.loss, 4) for each in unseen_of_precision(2, 2)]  # by hand: 1/2 of 2/4; (1/2 + 1/3) / 2
    [0.25, 0.4167]
    """
    of_positives, of_negatives = together
    ranks = np.arange(1, positives + 1)
    above = float((of_negatives / (ranks + of_negatives)).mean())
    below = of_positives / positives * negatives / (positives + negatives)
    return [Unseen(count / 2, below), Unseen(count / 2, above)]
