"""ReAct: the energy after activations are clipped at a high percentile of the training activations."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._kept_rows import KeptFeatures
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array

_DIGIT = 16  # bits settled by one pass, with one counter for each of their values


class React(Detector):
    """s(x) = log sum_c exp(W min(f, threshold) + b)_c, the threshold a percentile of all training activations.

    The percentile is over all n d numbers together and exact, interpolated as in numpy: a few passes count the digits
    of the features, in memory that does not grow with them. `fit` passes over the array that it is given; batches of
    `partial_fit` are kept in a temporary file until `finalize`. The score is any real number, at most the energy of
    the uncut features where no weight is negative.

    Args:
        percentile: 0 to 100. Default 90, as in the paper.

    Attributes:
        threshold: float.
        weight: float64 (c, d), the head's.
        bias: float64 (c,).

    Raises:
        OochubError: A percentile out of range; something missing or unfit; no room for the temporary file.

    Source: Sun, Guo and Li 2021 (arXiv 2111.12797), Section 3 and Section 4.1; ImageNet-OOD, Section 4.

    >>> head = {"weight": [[1.0, 1.0], [0.0, 0.0]], "bias": [0.0, 0.0]}
    >>> detector = React(percentile=50).fit(features=[[0.0, 1.0], [1.0, 9.0]], **head)
    >>> detector.threshold, detector.score(features=[[0.0, 9.0], [0.0, 1.0]]).round(4).tolist()
    (1.0, [1.3133, 1.3133])
    """

    fit_needs = ("features", "weight", "bias")
    score_needs = ("features",)
    fitted = ("threshold float64", "weight float64 c d", "bias float64 c")
    gathers = KeptFeatures
    threshold: float
    weight: Array
    bias: Array

    def __init__(self, *, percentile: float = 90.0) -> None:
        super().__init__()
        self.percentile = check_number("percentile", percentile, low=0, high=100)

    def _finish(self, gathered: KeptFeatures) -> None:
        self.weight, self.bias = self._head
        self.threshold = _percentile(gathered.blocks, gathered.size, self.percentile)

    def _score(self, rows: dict[str, Array]) -> Array:
        return log_partition(np.minimum(rows["features"], self.threshold) @ self.weight.T + self.bias)


def _percentile(read: Callable[[], Iterable[Array]], size: int, percent: float) -> float:
    """The percentile of all numbers, interpolated between the two nearest of them as `numpy.percentile` does.

    The bits of a float, a little changed, are a whole number of the same order. Each pass counts the next 16 of them
    among the numbers that agree with what is known: 1 pass of float16, 2 of float32, 4 of float64, and one more where
    the two neighbors differ. Memory is that of the counters and a block.

    Args:
        read: Gives all numbers, in blocks of one float type, each time it is called.
        size: Count of the numbers.
        percent: 0 to 100.

    >>> _percentile(lambda: iter([np.array([3.0, 1.0]), np.array([2.0])]), 3, 75)
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
