"""Lift: how many times more frequent a context is with a class than without it, and so what it is to the class."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import share_of_clusters
from oochub.stats.proportion import wilson


def lift(has: Any, is_class: Any, sampling: Sampling = Sampling()) -> Estimate:  # noqa: B008 frozen
    """P(context | class) / P(context | not class) of two columns; see `lift_of_counts`.

    Rows in clusters have the intervals of `oochub.stats.mean_interval.share_of_clusters` in place of Wilson's.

    Args:
        has: Whether each row has the context (n,), bool.
        is_class: Whether each row is of the class (n,), bool.
        sampling: Clusters and level.

    Raises:
        OochubError: Different lengths.

    >>> lift([True] * 30 + [False] * 10 + [True] * 10 + [False] * 30, [True] * 40 + [False] * 40)
    3.000 [1.766, 5.357] n=80
    """
    has, is_class = (np.asarray(column).astype(bool) for column in (has, is_class))
    check_same_length(has=has, is_class=is_class, cluster=sampling.cluster)
    if sampling.cluster is None:
        counts = [int(rows.sum()) for rows in (has & is_class, is_class, has & ~is_class, ~is_class)]
        return lift_of_counts(*counts, confidence=sampling.confidence)
    return _divide(*(_resample_clusters(has, rows, sampling) for rows in (is_class, ~is_class)))


def _resample_clusters(has: Array, rows: Array, whole: Sampling) -> Estimate:
    """The share of rows in clusters; [0, 1] where they are of one cluster, which tells nothing of others."""
    if not rows.any():
        return wilson(0, 0)
    has, sampling = has[rows], whole.of_rows(rows)
    if sampling.clusters == 1:
        return Estimate(has.mean(), low=0.0, high=1.0, n=len(has), method="none", reason=sampling.warning)
    return share_of_clusters(has.astype(np.float64), sampling)


def lift_of_counts(having: int, rows: int, other_having: int, other_rows: int, *, confidence: float = 0.95) -> Estimate:
    """The share of the class' rows that have a context over that of the other rows, with an interval.

    With p, [l, u] and q, [l', u'] the two shares and their Wilson intervals, the ends are

        low = A / (p q + sqrt((p q)^2 - A B)),    A = l (2p - l),  B = u' (2q - u')
        high = (p q + sqrt((p q)^2 - A' B')) / B',  A' = u (2p - u),  B' = l' (2q - l')

    which needs no correction for zero counts and, unlike the log-normal interval of Katz, has a width where a context
    is on all rows or on none of the class.

    Args:
        having: Rows of the class that have the context.
        rows: Rows of the class.
        other_having: Rows of the other classes that have it.
        other_rows: Rows of the other classes.
        confidence: Level of the interval.

    Returns:
        In [0, inf): above 1 the context is usual for the class, below 1 unusual. nan with a reason where either side
        has no rows, or where no other row has the context; in this case the lower end alone is known.

    Raises:
        OochubError: More rows with the context than rows.

    Source:
        The MOVER-R interval with Wilson's: Donner and Zou 2012 (Stat. Methods Med. Res. 21:347-359), compared with
        Katz's and others in Fagerland, Lydersen and Laake 2015 (Stat. Methods Med. Res. 24:224-254).

    >>> lift_of_counts(30, 40, 10, 40)
    3.000 [1.766, 5.357] n=80
    >>> never = lift_of_counts(30, 40, 0, 40)
    >>> never.reason, round(never.low, 1)
    ('no row of another class has it', 8.4)
    """
    return _divide(wilson(having, rows, confidence=confidence), wilson(other_having, other_rows, confidence=confidence))


def _divide(of: Estimate, other: Estimate) -> Estimate:
    """One share over another, with the interval that theirs make."""
    n, method = of.n + other.n, f"mover-r of {of.method} intervals"
    if of.n == 0 or other.n == 0:
        whose = "no row is of the class" if of.n == 0 else "every row is of the class"
        return Estimate(math.nan, n=n, method=method, reason=whose)
    p, q, why = of.value, other.value, of.reason or other.reason
    if p == q == 0:
        return Estimate(math.nan, n=n, method=method, reason="no row has the context")
    over = _multiply(of.low, p)
    root = math.sqrt(max(0.0, (p * q) ** 2 - over * _multiply(other.high, q)))
    low = over / (p * q + root) if over > 0 else 0.0
    if q == 0:
        return Estimate(math.nan, low=low, n=n, method=method, reason="no row of another class has it")
    under = _multiply(other.low, q)
    root = math.sqrt(max(0.0, (p * q) ** 2 - _multiply(of.high, p) * under))
    high = (p * q + root) / under if under > 0 else math.nan
    return Estimate(p / q, low=low, high=high, n=n, method=method, reason=why)


def lift_over_all(has: Any, is_class: Any, sampling: Sampling = Sampling()) -> Estimate:  # noqa: B008 frozen
    """P(context | class) / P(context): of wrong answers and a factor, the error ratio of ImageNet-X.

    With w the share of the class and r the lift over the other rows, this is r / (w r + 1 - w), which grows with r, so
    the ends of the interval of r give those of this one, for as many rows of the class as there are.

    Args:
        has: Whether each row has the context (n,), bool.
        is_class: Whether each row is of the class (n,), bool.
        sampling: Clusters and level.

    Returns:
        In [0, 1 / w]; nan with a reason where `lift` is.

    Raises:
        OochubError: Different lengths.

    Source: Idrissi et al. 2023 (ImageNet-X), `error_ratio` of the package imagenet-x.

    >>> lift_over_all([True] * 30 + [False] * 10 + [True] * 10 + [False] * 30, [True] * 40 + [False] * 40)
    1.500 [1.277, 1.685] n=80
    """
    over = lift(has, is_class, sampling)
    share = float(np.mean(is_class)) if len(is_class) else 0.0
    value, low, high = (value_of / (share * value_of + 1 - share) for value_of in (over.value, over.low, over.high))
    return Estimate(value, low=low, high=high, n=over.n, method=over.method, reason=over.reason)


def _multiply(end: float, share: float) -> float:
    return end * (2 * share - end)


def context_signs(having: Any, rows: Any, *, confidence: float = 0.95) -> NDArray[np.int8]:
    """1 where a context is usual for a class, -1 where it is unusual, 0 where neither is known.

    Usual: the interval of the lift P(context | class) / P(context | other classes) lies above 1; unusual: below 1.
    Over many contexts a sign is wrong as often as the interval fails. This costs a test on other rows nothing of its
    level, only some of its power.

    Args:
        having: How many rows of each class have each context (classes, contexts).
        rows: How many rows each class has (classes,).
        confidence: Level of the intervals.

    Returns:
        The signs (classes, contexts), int8; all 0 where one class has all rows.

    Raises:
        OochubError: Other shapes, or more rows with a context than rows.

    >>> context_signs([[30, 5], [10, 5]], [40, 40])
    array([[ 1,  0],
           [-1,  0]], dtype=int8)
    """
    having, rows = np.asarray(having), np.asarray(rows)
    if rows.ndim != 1 or having.ndim != 2 or len(having) != len(rows):
        raise OochubError(f"having must be (classes, contexts) and rows (classes,), got {having.shape}, {rows.shape}.")
    other_having, other_rows = having.sum(axis=0) - having, rows.sum() - rows
    signs = np.zeros(having.shape, np.int8)
    for at, count in np.ndenumerate(having):
        lift = lift_of_counts(
            int(count), int(rows[at[0]]), int(other_having[at]), int(other_rows[at[0]]), confidence=confidence
        )
        signs[at] = int(lift.low > 1) - int(lift.high < 1)
    return signs
