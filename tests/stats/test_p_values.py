"""Corrections over several tests against the closure of all subsets and plain loops."""

import itertools
import math

import numpy as np
import pytest

import oochub
from oochub.stats.p_values import adjusted_p_values, holm

FAMILIES = [np.random.default_rng(seed).random(size) ** 3 for seed, size in enumerate((1, 2, 3, 7, 40))]


@pytest.mark.parametrize("family", FAMILIES[:4])
def test_holms_are_those_of_the_closure(family):
    """A test is clear where every set of tests that holds it is clear by Bonferroni: over all 2^m sets, one by one."""
    sets = [s for size in range(1, len(family) + 1) for s in itertools.combinations(range(len(family)), size)]
    closed = [max(min(1, len(s) * min(family[j] for j in s)) for s in sets if i in s) for i in range(len(family))]
    assert adjusted_p_values(family) == pytest.approx(closed)


@pytest.mark.parametrize("family", FAMILIES)
def test_benjamini_and_hochbergs_are_those_of_a_loop(family):
    """The least level q at which k tests are at most q k / m, this one among them, by every level that there can be."""
    m = len(family)
    levels = sorted({m * p / k for p in family for k in range(1, m + 1)})

    def found(q):
        k = max((k for k in range(1, m + 1) if np.sum(family <= q * k / m * (1 + 1e-12)) >= k), default=0)
        return family <= q * k / m * (1 + 1e-12) if k else np.zeros(m, bool)

    at_each = [(q, found(q)) for q in levels]
    wanted = [min(1.0, next(q for q, clear in at_each if clear[i])) for i in range(m)]
    adjusted = adjusted_p_values(family, correction="benjamini_hochberg")
    assert adjusted == pytest.approx(wanted)
    with_gaps = np.insert(family, [0, m], math.nan)
    assert adjusted_p_values(with_gaps, correction="benjamini_hochberg")[1:-1] == pytest.approx(adjusted)


@pytest.mark.parametrize("family", [*FAMILIES, np.array([0.01, 0.01, 0.04, 0.04])])
@pytest.mark.parametrize("level", [0.02, 0.05, 0.3])
def test_yes_or_no_is_that_of_a_loop(family, level):
    """Step by step from the smallest, until one is above its share. Planted faults: below the level; level ignored."""
    clear, left = dict.fromkeys(range(len(family)), False), len(family)
    for k in sorted(range(len(family)), key=lambda k: family[k]):
        if family[k] * left > level:
            break
        clear[k], left = True, left - 1
    assert holm(family, level=level) == list(clear.values())


def test_what_could_not_be_tested():
    """The same of every function: nan, never clear, and of no family."""
    for correction in ("holm", "benjamini_hochberg"):
        adjusted = adjusted_p_values([math.nan, 0.05, None], correction=correction)
        assert np.array_equal(adjusted, [math.nan, 0.05, math.nan], equal_nan=True)
        assert adjusted_p_values([], correction=correction) == []
    assert holm([]) == []
    assert holm([None, 0.03]) == holm([math.nan, 0.03]) == [False, True]
    assert holm([math.nan, math.nan]) == [False, False]
    assert adjusted_p_values([0.7, 0.7]) == [1, 1]
    with pytest.raises(oochub.OochubError, match="p_values must lie in"):
        adjusted_p_values([0.5, 1.5])
    with pytest.raises(oochub.OochubError, match='correction must be "holm"'):
        adjusted_p_values([0.5], correction="bonferroni")
