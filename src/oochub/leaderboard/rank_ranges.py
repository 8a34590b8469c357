"""Ranks that intervals allow: a range of places for each entry, none where nothing is known."""

from collections.abc import Sequence

import numpy as np

from oochub.report import format_numbers
from oochub.stats.estimate import Estimate


def rank_ranges(estimates: Sequence[Estimate | None], *, direction: str) -> list[tuple[int, int] | None]:
    """The best and the worst place of each of n entries.

    The best place is 1 + the number of entries whose 95% interval lies wholly on the better side of its own, the worst
    n minus the number of those wholly on the worse side, n being the entries that have an interval. Intervals that only
    touch are not apart. Entries are compared unpaired, so that a range is at most too wide.

    Args:
        estimates: A number an entry; None, or one without an interval, has no rank and counts for none.
        direction: "higher" or "lower" is better.

    >>> best = Estimate(0.9, low=0.88, high=0.92, n=9, method="")
    >>> tied = Estimate(0.7, low=0.6, high=0.8, n=9, method="")
    >>> rank_ranges([tied, best, None, tied], direction="higher")
    [(2, 3), (1, 1), None, (2, 3)]
    """
    known = [e is not None and not format_numbers.is_undefined(e) and format_numbers.has_interval(e) for e in estimates]
    ranked = [e for e, is_known in zip(estimates, known, strict=True) if e is not None and is_known]
    ends = np.array([(e.low, e.high) for e in ranked], np.float64).reshape(-1, 2)
    low, high = (-ends[:, ::-1] if direction == "lower" else ends).T
    better = len(low) - np.searchsorted(np.sort(low), high, side="right")
    worse = np.searchsorted(np.sort(high), low, side="left")
    places = iter(zip((1 + better).tolist(), (len(low) - worse).tolist(), strict=True))
    return [next(places) if is_known else None for is_known in known]
