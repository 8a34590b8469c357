"""How many rows two sides need so that a smaller difference between them is found."""

import math
from typing import NamedTuple


class RowsNeeded(NamedTuple):
    """How many rows two sides need in all: none fewer than they have."""

    inside: int
    outside: int


def count_needed(inside: int, outside: int, *, found: float, wanted: float) -> RowsNeeded:
    """The rows with which a smaller difference of two sides is found as often, by adding as few as possible.

        1 / inside + 1 / outside  shrinks to  (wanted / found)**2  of what it is

    It takes rows of both sides to be equally noisy. Rows are added to the smaller side first.

    Args:
        inside: Rows of one side.
        outside: Rows of the other.
        found: The smallest difference that these find.
        wanted: The difference to be found.

    >>> count_needed(100, 100, found=0.2, wanted=0.1)
    RowsNeeded(inside=400, outside=400)
    >>> count_needed(1000, 50, found=0.12, wanted=0.08)  # 1/1000 + 1/120 is 4/9 of 1/1000 + 1/50
    RowsNeeded(inside=1000, outside=120)
    >>> count_needed(100, 100, found=0.1, wanted=0.2)
    RowsNeeded(inside=100, outside=100)
    """
    allowed = (1 / inside + 1 / outside) * (wanted / found) ** 2
    few, many = sorted((inside, outside))
    even = 2 / allowed
    if even <= many and 1 / allowed < many:
        needed = max(few, math.ceil(1 / (allowed - 1 / many) - 1e-9)), many
    else:
        needed = max(few, math.ceil(even - 1e-9)), max(many, math.ceil(even - 1e-9))
    return RowsNeeded(*(needed if inside <= outside else reversed(needed)))
