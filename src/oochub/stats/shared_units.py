"""A mean of rows each of which belongs to several units at once: to an image, and to those that lent a background.

Two rows that have a unit in common, in whatever role, may go together; all others are independent. The variance is the
sum over such pairs (Fafchamps and Gubert 2007; Aronow, Samii and Assenova 2015), here by unit:

    V = c (sum_u U_u^2 - sum_uv U_uv^2 + sum_uvw U_uvw^2) / n^2,

U_u the sum of the rows' distances from the mean over the rows of unit u, U_uv and U_uvw over those that have two units
or three, so that each pair counts once. c undoes the bias of distances from the rows' own mean, exactly where each unit
adds as much to each of its rows (as Bell and McCaffrey 2002 for clusters). Against Student's t with the degrees of
freedom of that many units of unequal size. A row may stand several times, once for each background that it is put on:
these have one own unit. Simulated coverage of the 95% interval where 2 to 200 images of a class lend to 30 to 400 rows
is 0.89 to 1 (tests/stats/test_shared_units.py, tests/probing/test_gap_in_worlds.py), where rows taken as independent
cover 0.42 to 0.99.
"""

import math
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_same_length, check_score
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import effective_share
from oochub.stats.proportion import adjusted_wald

_MOST_OF_ALL = 0.9  # of the rows, by which the sum of a unit is scaled at most
METHOD = "t interval of rows and of what they share"


def mean_of_shared(
    values: Any,
    units: Any,
    sampling: Sampling = Sampling(),  # noqa: B008 frozen
    *,
    of: str = "numbers",
    rows: int | None = None,
) -> Estimate:
    """The mean of one number per row, with the interval of the header.

    Args:
        values: One number per row (n,), without NaN.
        units: The units of each row (n, k), numbers, its own the first; one that stands twice in a row counts once.
        sampling: The level.
        of: "numbers" of any kind; "shares", 0 and 1, by Clopper and Pearson with the effective number of rows;
            "changes" of shares, -1, 0 and 1, joined with the adjusted Wald interval of that many rows.
        rows: The n that the estimate says, where a row stands several times; None for all.

    Returns:
        The mean; without interval for a single row or unit, and for numbers that are all one.

    Raises:
        OochubError: No rows, NaN, different lengths, or values that are not what `of` says.

    Source:
        Fafchamps and Gubert 2007 (J. Dev. Econ. 83:326-350); Aronow, Samii and Assenova 2015 (Polit. Anal. 23:564-577).

    >>> mean_of_shared([0.1, 0.4, 0.2, 0.9, 0.8, 0.6], [[0, 6], [1, 6], [2, 6], [3, 7], [4, 7], [5, 7]])
    0.500 [-0.474, 1.474] n=6
    """
    values = check_score(values, name="values").astype(np.float64, copy=False)
    check_same_length(values=values, units=units)
    if of != "numbers" and not np.isin(values, (0, 1) if of == "shares" else (-1, 0, 1)).all():
        raise OochubError(f"{of} are values of 0 and 1{', or -1' if of == 'changes' else ''}, got others.")
    estimate = _estimate(values, np.asarray(units), sampling, of)
    return estimate if rows is None else Estimate.from_dict({**estimate.to_dict(), "n": rows})


def _estimate(values: Array, units: NDArray[Any], sampling: Sampling, of: str) -> Estimate:
    n, mean, spread = len(values), float(values.mean()), _spread(values, units)
    if n < 2 or spread.largest == n:
        reason = (
            "one row says nothing about others" if n < 2 else "all rows share one unit: nothing is known about others"
        )
        return Estimate(mean, n=n, method="none", reason=reason)
    half = -float(scipy.special.stdtrit(spread.freedom, sampling.tail)) * spread.error
    if of == "shares":
        return effective_share(
            float(values.sum()), n, spread.error, spread.freedom, spread.alike, sampling, unit="rows that share units"
        )
    if of == "changes":
        rows = n / max(1.0, spread.alike if spread.error == 0 else spread.error**2 * n / float(values.var()))
        only_first, only_second = (float((values == sign).mean()) * rows for sign in (1, -1))
        low, high = adjusted_wald(only_first, only_second, rows, sampling.tail)
        low, high = max(-1.0, min(low, mean - half)), min(1.0, max(high, mean + half))
        return Estimate(mean, low=low, high=high, n=n, method=f"{METHOD}, joined with adjusted wald")
    if spread.error <= 1e-12 * abs(mean):
        reason = f"{mean:g} in every row: no interval can be estimated"
        return Estimate(mean, n=n, method=METHOD, reason=reason)
    return Estimate(mean, low=mean - half, high=mean + half, n=n, method=METHOD)


class _Spread(NamedTuple):
    """Standard error of a mean, its degrees of freedom, and the rows of the largest unit.

    `alike` is how many rows count for one where units decide all: those of one role, or of all roles in equal parts.
    """

    error: float
    freedom: float
    alike: float
    largest: int


def _spread(values: Array, units: NDArray[Any]) -> _Spread:
    n, apart = len(values), values - values.mean()
    codes: NDArray[np.int64] = np.unique(units, return_inverse=True)[1].reshape(n, -1)
    roles = codes.shape[1]
    in_order = np.sort(codes, axis=1)
    is_new = np.ones(codes.shape, bool)
    is_new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    shared, mates = 0.0, np.zeros(n)  # the sum over pairs that share a unit; how many rows each row shares one with
    sizes = np.bincount(in_order[is_new]).astype(np.float64)
    for several in range(1, roles + 1):
        sets = [(is_new[:, of].all(axis=1), in_order[:, of]) for of in map(list, combinations(range(roles), several))]
        rows = np.concatenate([np.flatnonzero(has) for has, _ in sets])
        place = np.unique(np.concatenate([of[has] for has, of in sets]), axis=0, return_inverse=True)[1].reshape(-1)
        size, sign = np.bincount(place), 1 if several % 2 else -1
        shared += sign * float((np.bincount(place, apart[rows]) ** 2).sum())
        mates += sign * np.bincount(rows, size[place], minlength=n)
    by_role = [np.bincount(role).astype(np.float64) for role in codes.T]
    expected = sum(float((size**2).sum()) for size in by_role)
    met = sum(float((size * np.bincount(role, mates)).sum()) for size, role in zip(by_role, codes.T, strict=True))
    seen = expected - 2 * met / n + expected * float(mates.sum()) / n**2
    shared *= expected / max(seen, (1 - _MOST_OF_ALL) * expected)
    own = np.bincount(codes[:, 0], apart)
    least = float((own**2 / (1 - np.minimum(by_role[0] / n, _MOST_OF_ALL))).sum())  # that of the rows' own units alone
    variance = max(shared, least, float((apart**2).sum()) * n / max(n - 1, 1))
    squares = float((sizes**2).sum())
    freedom = max(squares**2 / float((sizes**4).sum()) - 1, 1.0)
    alike = max(squares / roles, *(float((size**2).sum()) for size in by_role)) / n
    return _Spread(math.sqrt(variance) / n, freedom, alike, int(sizes.max()))
