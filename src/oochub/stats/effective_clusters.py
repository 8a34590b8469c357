"""How many clusters of one size tell as much as these."""

import numpy as np

from oochub.stats.array_checks import Array


def effective_clusters(cluster: Array, weight: Array | None = None) -> float:
    """The number of clusters of one size that tell as much of a mean as these: (sum of sizes)^2 / sum of sizes^2.

    A mean over clusters is mostly that of the largest ones, so few large clusters and many small ones tell little more
    than the large ones alone (Kish 1965, Survey Sampling, Section 11.7; Carter, Schnepel and Steigerwald 2017, Review
    of Economics and Statistics 99:698, for clusters that are all of one piece).

    Args:
        cluster: Cluster of each row (n,), numbered from 0 on; numbers without a row count for nothing.
        weight: What each row counts (n,), 0 or more; None if all count the same.

    Returns:
        In [1, number of clusters]; nan without rows, or if all weights are 0.

    >>> effective_clusters(np.array([0, 0, 1, 1, 2, 2]))
    3.0
    >>> round(effective_clusters(np.array([0, 0, 0, 0, 1, 2])), 6)  # 36 / 18
    2.0
    """
    sizes = np.bincount(cluster, weight).astype(np.float64)
    squares = float((sizes**2).sum())
    return float(sizes.sum()) ** 2 / squares if squares else float("nan")
