"""Whether two shares of different rows differ: the chi-square test, or where rows come in clusters Student's t."""

import math
from typing import Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub.stats.array_checks import check_same_length
from oochub.stats.stratified_gap import stratified_gap


def unpaired_shares(value: Any, is_first: Any, *, cluster: Any = None) -> float:
    """The two-sided p-value of equal shares.

    Independent rows: Pearson's chi-square with Yates' correction, which refuses less often than its level says.
    With clusters: the clusters' parts of the difference against Student's t, see `stratified_gap`; a cluster may have
    rows of both kinds.

    Args:
        value: Whether each row is true (n,), such as whether the answer is right.
        is_first: Which rows (n,) are of the first share, bool.
        cluster: What the rows (n,) share; None if they are independent.

    Returns:
        In [0, 1]; 1 where all values are one; nan without rows of both kinds, and for clusters that amount to fewer
        than 10 of equal weight.

    Raises:
        OochubError: Different lengths.

    Source:
        Yates 1934 (J. R. Statist. Soc. Suppl. 1:217-235).

    >>> round(unpaired_shares([1, 1, 1, 1, 0, 0, 0, 0], np.arange(8) < 4), 4)
    0.0339
    """
    values, first = np.asarray(value).astype(bool), np.asarray(is_first).astype(bool)
    n = check_same_length(value=values, is_first=first, cluster=cluster)
    if not 0 < first.sum() < n:
        return math.nan
    if values.all() or not values.any():
        return 1.0
    if cluster is not None:
        return stratified_gap(values, first, np.zeros(n, np.int8), cluster=cluster).p_value
    return chi_square_p_value(
        (int(values[first].sum()), int(values[~first].sum())), (int(first.sum()), n - first.sum())
    )


def chi_square_p_value(ones: tuple[float, float], rows: tuple[float, float]) -> float:
    """The chi-square test with Yates' correction, of counts.

    Args:
        ones: How many rows are true on either side.
        rows: How many rows there are.

    >>> chi_square_p_value((80, 215), (200, 240)) < 1e-20
    True
    """
    pooled, per_row = sum(ones) / sum(rows), 1 / rows[0] + 1 / rows[1]
    if not 0 < pooled < 1:
        return 1.0
    corrected = max(abs(ones[0] / rows[0] - ones[1] / rows[1]) - per_row / 2, 0.0)
    # one degree of freedom: the upper tail of chi-square is erfc of the root of half the statistic
    return float(special.erfc(corrected / math.sqrt(2 * pooled * (1 - pooled) * per_row)))
