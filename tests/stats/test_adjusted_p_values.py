"""Corrections over several tests against scipy's, the closure of all subsets, and the yes-or-no of Holm."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import oochub
from oochub.stats.adjusted_p_values import adjusted_p_values
from oochub.stats.benjamini_hochberg import benjamini_hochberg
from oochub.stats.holm import holm

FAMILIES = [np.random.default_rng(seed).random(size) ** 3 for seed, size in enumerate((1, 2, 3, 7, 40))]


@pytest.mark.parametrize("family", FAMILIES[:4])
def test_holms_are_those_of_the_closure(family):
    """A test is clear where every set of tests that holds it is clear by Bonferroni: over all 2^m sets, one by one.

    Planted fault: m - k in place of m - k + 1.
    """
    sets = [s for size in range(1, len(family) + 1) for s in itertools.combinations(range(len(family)), size)]
    closed = [max(min(1, len(s) * min(family[j] for j in s)) for s in sets if i in s) for i in range(len(family))]
    assert adjusted_p_values(family) == pytest.approx(closed)


@pytest.mark.parametrize("family", FAMILIES)
def test_benjamini_and_hochbergs_are_scipys(family):
    """Planted fault: the largest so far from the smallest on, as Holm's."""
    adjusted = adjusted_p_values(family, correction="benjamini_hochberg")
    assert adjusted == pytest.approx(stats.false_discovery_control(family))
    with_gaps = np.insert(family, [0, len(family)], math.nan)
    assert adjusted_p_values(with_gaps, correction="benjamini_hochberg")[1:-1] == pytest.approx(adjusted)


@pytest.mark.parametrize("family", [*FAMILIES, np.array([0.01, 0.01, 0.04, 0.04])])
@pytest.mark.parametrize("level", [0.02, 0.05, 0.3])
def test_yes_or_no_is_as_the_p_values_say(family, level):
    """Planted fault: below the level, not at it."""
    assert holm(family, level=level) == [p <= level for p in adjusted_p_values(family)]
    assert benjamini_hochberg(family, level=level) == list(stats.false_discovery_control(family) <= level)


def test_what_could_not_be_tested():
    """Planted fault: nan as the largest p-value of the family."""
    assert np.array_equal(adjusted_p_values([math.nan, 0.05]), [math.nan, 0.05], equal_nan=True)
    assert adjusted_p_values([]) == [] and benjamini_hochberg([]) == []
    assert benjamini_hochberg([None, 0.03]) == holm([None, 0.03]) == [False, False]
    assert adjusted_p_values([0.7, 0.7]) == [1, 1]
    with pytest.raises(oochub.OochubError, match="p_values must lie in"):
        adjusted_p_values([0.5, 1.5])
    with pytest.raises(oochub.OochubError, match='correction must be "holm"'):
        adjusted_p_values([0.5], correction="bonferroni")
