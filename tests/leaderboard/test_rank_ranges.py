"""Ranks that intervals allow, against the rule as two loops over all pairs."""

import math

import numpy as np
import pytest

from oochub.leaderboard.board import range_ranks
from oochub.stats.estimate import Estimate


def _by_loops(ends, direction):
    """The rule of docs/leaderboard.md, word by word."""
    ranges = []
    for low, high in ends:
        above = [l > high if direction == "higher" else h < low for l, h in ends]  # noqa: E741
        below = [h < low if direction == "higher" else l > high for l, h in ends]  # noqa: E741
        ranges.append((1 + sum(above), len(ends) - sum(below)))
    return ranges


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_ranges_are_those_of_the_rule(direction):
    """Planted faults seen: `side` of one search the other way, so that intervals that touch are apart; no mirror."""
    draws = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        middle = draws.integers(0, 12, n) / 8  # with ties, and ends that touch
        ends = [(m - w, m + w) for m, w in zip(middle, draws.integers(0, 4, n) / 8, strict=True)]
        estimates = [Estimate((low + high) / 2, low=low, high=high, n=9, method="") for low, high in ends]
        assert range_ranks(estimates, direction=direction) == _by_loops(ends, direction)


def test_what_has_no_interval_has_no_rank_and_counts_for_none():
    known = Estimate(0.5, low=0.4, high=0.6, n=9, method="")
    bare, undefined = Estimate(0.9, n=9, method=""), Estimate(math.nan, n=0, method="")
    assert range_ranks([None, bare, known, undefined], direction="higher") == [None, None, (1, 1), None]
    assert range_ranks([], direction="higher") == []
