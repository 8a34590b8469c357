"""Holm's correction: which of several tests hold at once."""

from collections.abc import Sequence

_LEVEL = 0.05  # as the 95% intervals of a report


def holm(p_values: Sequence[float | None], *, level: float = _LEVEL) -> list[bool]:
    """Whether each test is clear when the chance of a single false one among all is at most `level`.

    The k-th smallest of m p-values is held against level / (m - k + 1); the first that fails ends it (Holm 1979,
    Scand. J. Statist. 6:65-70).

    Args:
        p_values: Of each test; None or nan, where there is none, counts as 1.
        level: Of all of them together.

    >>> holm([0.01, 0.03, 0.02]), holm([0.02, 0.02, 0.04]), holm([None, 0.02])
    ([True, True, True], [False, False, False], [False, True])
    """
    known = [1.0 if p is None or p != p else float(p) for p in p_values]
    clear = [False] * len(known)
    for rank, i in enumerate(sorted(range(len(known)), key=lambda i: known[i])):
        if known[i] > level / (len(known) - rank):
            break
        clear[i] = True
    return clear
