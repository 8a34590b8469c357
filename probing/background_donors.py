"""On whose background each object is put: a row of the same class, and one of another."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Donors(NamedTuple):
    """Numbers of rows (n,), -1 where there is none."""

    same: NDArray[np.int64]
    other: NDArray[np.int64]


def background_donors(label: NDArray[np.int64], can_lend: NDArray[np.bool_], *, seed: int) -> Donors:
    """Draws for each row another row of its class, and a row of another class: first the class, then the row.

    Args:
        label: Class number of each row (n,).
        can_lend: Whether the background of a row is known (n,); only such rows are drawn.
        seed: Of the draw.

    Returns:
        No row is drawn for itself, and `other` never has the row's class.

    Source: Xiao et al. 2020, Section 2, Mixed-Same and Mixed-Rand; there "Rand" may be the row's own class.

    >>> drawn = background_donors(np.array([0, 0, 1]), np.array([True, False, True]), seed=0)
    >>> drawn.same.tolist(), drawn.other.tolist()
    ([-1, 0, -1], [2, 2, 0])
    """
    generator = np.random.default_rng([seed, 1])
    lending = {int(number): np.flatnonzero((label == number) & can_lend) for number in np.unique(label[can_lend])}
    same, other = np.full(len(label), -1), np.full(len(label), -1)
    for row, own in enumerate(label.tolist()):
        first, second, third = generator.random(3)  # as many a row, whichever can lend
        alike = lending.get(own, np.zeros(0, np.int64))
        alike = alike[alike != row]
        classes = [number for number in lending if number != own]
        if len(alike):
            same[row] = alike[int(first * len(alike))]
        if classes:
            among = lending[classes[int(second * len(classes))]]
            other[row] = among[int(third * len(among))]
    return Donors(same, other)
