"""Places by paired tests: the rule by loops, and boards whose true order is known, against an oracle's ranges.

A board is some models with true accuracies, whose answers to the same rows go together. The oracle knows the true
variance of each difference and holds it against the normal law, with Holm's correction too.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from oochub.stats.model_places import PairedGain, clear_pairs, find_rank_ranges, smallest_found


def by_loops(pairs, models):
    """Holm word by word, then each model's places by counting."""
    order, clear, stopped = sorted(pairs, key=lambda pair: pairs[pair].p_value), set(), False
    for rank, pair in enumerate(order):
        stopped = stopped or pairs[pair].p_value * (len(order) - rank) > 0.05
        if not stopped:
            clear.add(pair)
    ranges = []
    for model in range(models):
        better = sum((pairs[pair].gain > 0) == (pair[0] == model) for pair in clear if model in pair)
        met = sum(model in pair for pair in clear)
        ranges.append((1 + better, models - (met - better)))
    return ranges


@pytest.mark.parametrize("seed", range(6))
def test_places_are_those_of_the_rule(seed):
    """Planted faults: winner and loser turned; no correction."""
    draws = np.random.default_rng(seed)
    pairs = {
        pair: PairedGain(float(draws.normal()), float(draws.uniform() ** 6))
        for pair in itertools.combinations(range(7), 2)
    }
    assert find_rank_ranges(pairs, 7) == by_loops(pairs, 7)


def test_what_was_not_tested_and_what_is_equal_part_nobody():
    pairs = {(0, 1): PairedGain(0.4, math.nan), (0, 2): PairedGain(0.0, 0.0), (1, 2): PairedGain(-0.4, 0.01)}
    assert find_rank_ranges(pairs, 3) == [(1, 3), (1, 2), (2, 3)]
    assert find_rank_ranges({}, 1) == [(1, 1)] and find_rank_ranges({}, 0) == []
    assert clear_pairs([]) == []


def test_the_smallest_difference_is_found_four_times_in_five():
    """By simulation. Planted fault: without the part of the power, which finds it half the time."""
    errors = [0.02] * 6
    least = smallest_found(errors, tests=6)
    z = np.random.default_rng(0).normal(least / 0.02, 1, 20_000)
    found = (2 * stats.norm.sf(np.abs(z)) * 6 <= 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.01)
    assert math.isnan(smallest_found([0.0, math.nan], tests=2))
