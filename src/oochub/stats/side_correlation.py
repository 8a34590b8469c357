"""The correlation of two numbers of different rows that are of the same things: what pairs take off their difference.

If both sides of a comparison show the same things, such as a foreground on two backgrounds, a thing that is hard on one
side is hard on the other one too. The two numbers then go together, and their difference is known better than that of
other things:

    r = sum_u A_u B_u / sqrt(sum_u A_u^2 sum_u B_u^2),

A_u and B_u what the rows of thing u add to either number, as its influence. A thing without a row on one side adds to
the other one alone, so it is no pair and is not left out either. `oochub.stats.estimation.difference` takes r.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from oochub.stats.array_checks import Array, check_same_length, check_score

_ROUNDING = 1e-24  # of squared influences


class SideCorrelation(NamedTuple):
    """How two numbers of different rows go together.

    Attributes:
        value: The correlation in [-1, 1]; 0 if nothing is shared, or if one side does not vary.
        both: Number of units, such as things, with rows on both sides.
        only_first: Number of units with rows on the first side alone.
        only_second: Number of units with rows on the second side alone.
    """

    value: float
    both: int
    only_first: int
    only_second: int


def side_correlation(
    first: ArrayLike, second: ArrayLike, *, first_unit: ArrayLike, second_unit: ArrayLike, are_shares: bool = False
) -> SideCorrelation:
    """The correlation of two numbers by the units that have rows on both sides.

    For shares of things that have one row on each side it is the phi of their table, with Newcombe's correction, which
    leaves a width if no thing differs: half a row is taken from the rows of things that go together, down to none.

    Args:
        first: What each row (n,) of the first side adds to its number: (value - mean) / n for a mean.
        second: The same (m,) for the second side.
        first_unit: The unit of each row (n,) of the first side, any hashable.
        second_unit: The same (m,) for the second side.
        are_shares: Whether both numbers are shares of rows.

    Raises:
        OochubError: NaN, or different lengths.

    Source:
        Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions based on paired
        data" (Statist. Med. 17:2635-2650), method 10.

    >>> right = np.array([1, 1, 0, 0]) / 4 - 1 / 8
    >>> side_correlation(right, right, first_unit=list("abcd"), second_unit=list("abce"))
    SideCorrelation(value=0.75, both=3, only_first=1, only_second=1)
    """
    sides = [check_score(values, name="values").astype(np.float64, copy=False) for values in (first, second)]
    sizes = [
        check_same_length(values=values, unit=unit)
        for values, unit in zip(sides, (first_unit, second_unit), strict=True)
    ]
    names, units = np.unique(np.concatenate([np.asarray(first_unit), np.asarray(second_unit)]), return_inverse=True)
    codes = units[: sizes[0]], units[sizes[0] :]
    there = [np.bincount(code, minlength=len(names)) > 0 for code in codes]
    sums: list[Array] = [np.bincount(code, side, len(names)) for code, side in zip(codes, sides, strict=True)]
    shared = float((sums[0] * sums[1]).sum())
    if are_shares and shared > 0:
        shared = max(0.0, shared - 0.5 / (sizes[0] * sizes[1]))
    spread = float((sums[0] ** 2).sum()) * float((sums[1] ** 2).sum())
    both = int((there[0] & there[1]).sum())
    value = shared / math.sqrt(spread) if both and spread > _ROUNDING**2 else 0.0
    return SideCorrelation(float(np.clip(value, -1, 1)), both, int(there[0].sum()) - both, int(there[1].sum()) - both)
