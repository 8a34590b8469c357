"""Lift: how many times more frequent a context is with a class than without it."""

import math
from typing import Any

import numpy as np

from oochub.stats.array_checks import check_same_length
from oochub.stats.estimate import Estimate
from oochub.stats.proportion import wilson


def lift(has: Any, is_class: Any, *, confidence: float = 0.95) -> Estimate:
    """P(context | class) / P(context | not class) of two columns; see `lift_of_counts`.

    Args:
        has: Whether each row has the context (n,), bool.
        is_class: Whether each row is of the class (n,), bool.
        confidence: Level of the interval.

    Raises:
        OochubError: Different lengths.

    >>> lift([True] * 30 + [False] * 10 + [True] * 10 + [False] * 30, [True] * 40 + [False] * 40)
    3.000 [1.766, 5.357] n=80
    """
    has, is_class = (np.asarray(column).astype(bool) for column in (has, is_class))
    check_same_length(has=has, is_class=is_class)
    inside, outside = int(is_class.sum()), int((~is_class).sum())
    return lift_of_counts(
        int((has & is_class).sum()), inside, int((has & ~is_class).sum()), outside, confidence=confidence
    )


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
    of, other = wilson(having, rows, confidence=confidence), wilson(other_having, other_rows, confidence=confidence)
    n, method = rows + other_rows, "mover-r of wilson intervals"
    if rows == 0 or other_rows == 0:
        whose = "no row is of the class" if rows == 0 else "every row is of the class"
        return Estimate(math.nan, n=n, method=method, reason=whose)
    if having == other_having == 0:
        return Estimate(math.nan, n=n, method=method, reason="no row has the context")
    p, q = of.value, other.value
    over = _product(of.low, p)
    low = over / (p * q + _root(p * q, over * _product(other.high, q))) if having else 0.0
    if other_having == 0:
        return Estimate(math.nan, low=low, n=n, method=method, reason="no row of another class has it")
    under = _product(other.low, q)
    high = (p * q + _root(p * q, _product(of.high, p) * under)) / under
    return Estimate(p / q, low=low, high=high, n=n, method=method)


def _product(end: float, share: float) -> float:
    return end * (2 * share - end)


def _root(product: float, subtracted: float) -> float:
    return math.sqrt(max(0.0, product**2 - subtracted))
