"""Percentiles of more numbers than memory holds, exact: found digit by digit in a few passes over the numbers."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from oochub.stats.array_checks import Array

_DIGIT = 16  # bits settled by one pass, with one counter for each of their values


def percentile(read: Callable[[], Iterable[Array]], size: int, percent: float) -> float:
    """The percentile of all numbers, interpolated between the two nearest of them as `numpy.percentile` does.

    The bits of a float, a little changed, are a whole number of the same order. Each pass counts the next 16 of them
    among the numbers that agree with what is known: 1 pass of float16, 2 of float32, 4 of float64, and one more where
    the two neighbors differ. Memory is that of the counters and a block.

    Args:
        read: Gives all numbers, in blocks of one float type, each time it is called.
        size: Count of the numbers.
        percent: 0 to 100.

    >>> percentile(lambda: iter([np.array([3.0, 1.0]), np.array([2.0])]), 3, 75)
    2.5
    """
    place = (size - 1) * (percent / 100)
    rank = int(place)
    low, equal_above = _find_rank(read, rank)
    if place == rank or equal_above:
        return low
    high = min(float(above.min()) for block in read() if (above := block[block > low]).size)
    return low + (high - low) * (place - rank)


def _find_rank(read: Callable[[], Iterable[Array]], rank: int) -> tuple[float, int]:
    """The number of that rank from 0, and how many numbers equal to it stand above it."""
    bits, kind = 0, next(iter(read())).dtype
    for shift in range(8 * kind.itemsize - _DIGIT, -1, -_DIGIT):
        counts = np.zeros(1 << _DIGIT, np.int64)
        for block in read():
            counts += _count_block(block, shift, bits)
        below = np.cumsum(counts) - counts
        digit = int(np.searchsorted(below, rank, side="right")) - 1
        rank -= int(below[digit])
        bits = bits << _DIGIT | digit
    return _number(bits, kind), int(counts[digit]) - 1 - rank


def _count_block(block: Array, shift: int, known: int) -> Array:
    digits = _order_bits(block) >> shift
    digits = digits[digits >> _DIGIT == known]
    return np.bincount((digits & ((1 << _DIGIT) - 1)).astype(np.int64), minlength=1 << _DIGIT)


def _order_bits(values: Array) -> Array:
    """Unsigned whole numbers in the order of the floats."""
    bits = (values.ravel() + values.dtype.type(0)).view(f"u{values.itemsize}")  # + 0 turns -0.0 into 0.0
    sign = bits.dtype.type(1 << (8 * values.itemsize - 1))
    ordered: Array = np.where(bits & sign, ~bits, bits | sign)
    return ordered


def _number(known: int, kind: np.dtype[Any]) -> float:
    sign = 1 << (8 * kind.itemsize - 1)
    bits = known ^ sign if known & sign else known ^ ((sign << 1) - 1)
    return float(np.array(bits, f"u{kind.itemsize}").view(kind))
