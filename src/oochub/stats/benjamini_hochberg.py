"""Benjamini and Hochberg's correction: which of several tests hold, with few false ones among them."""

from collections.abc import Sequence

from oochub.stats.adjusted_p_values import adjusted_p_values

_LEVEL = 0.05  # as the 95% intervals of a report


def benjamini_hochberg(p_values: Sequence[float | None], *, level: float = _LEVEL) -> list[bool]:
    """Whether each test is clear when the expected share of false ones among the clear is at most `level`.

    With the largest k for which the k-th smallest of m p-values is at most k level / m, the k smallest are clear, of
    tests that are independent or go together (Benjamini and Hochberg 1995, J. R. Statist. Soc. B 57:289-300).

    Args:
        p_values: Of each test; None or nan, where there is none, counts as 1, as in `holm`.
        level: The share of false ones among the clear.

    >>> benjamini_hochberg([0.01, 0.03, 0.04]), benjamini_hochberg([None, 0.02]), benjamini_hochberg([])
    ([True, True, True], [False, True], [])
    """
    known = [1.0 if p is None or p != p else float(p) for p in p_values]
    return [p <= level for p in adjusted_p_values(known, correction="benjamini_hochberg")]
