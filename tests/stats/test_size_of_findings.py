"""How often a context is "shown" where none matters: signs chosen on half of the rows, gaps tested on the others."""

import math

import numpy as np
import pytest

from oochub.stats.lift import context_signs
from oochub.stats.p_values import adjusted_p_values
from oochub.stats.proportion import wilson
from oochub.stats.stratified_gap import stratified_gap


def _p_values(random, rows, classes, contexts, *, goes_with_class, errors, matters=0.0):
    """Of contexts that have no relation to errors (`matters` apart) within a class; nan where untested."""
    label = random.integers(0, classes, rows)
    share = random.uniform(-2, 0.5, contexts) + goes_with_class * random.normal(size=(classes, contexts))  # log odds
    has = random.random((rows, contexts)) < 1 / (1 + np.exp(-share))[label]
    is_against = has[:, 0] != (share[:, 0] > share[:, 0].mean())[label]
    right = random.random(rows) >= np.linspace(*errors, classes)[label] + matters * is_against
    chosen = np.arange(rows) < rows // 2
    having = np.array([has[chosen & (label == c)].sum(axis=0) for c in range(classes)])
    signs = context_signs(having, np.bincount(label[chosen], minlength=classes))[label]
    p_values = []
    for k in range(contexts):
        tested = ~chosen & (signs[:, k] != 0)
        p_values.append(stratified_gap(right[tested], has[tested, k] == (signs[tested, k] > 0), label[tested]).p_value)
    return p_values


def shares_shown(*, runs, seed, families, contexts, **world):
    """Of each size of a family: families with a finding at 0.05 by Holm, families with a test; a run has many."""
    random, counts = np.random.default_rng(seed), {size: [0, 0] for size in families}
    for _ in range(runs):
        p_values = _p_values(random, contexts=contexts, **world)
        for size, count in counts.items():
            for start in range(0, contexts - size + 1, size):
                family = p_values[start : start + size]
                count[0] += any(p <= 0.05 for p in adjusted_p_values(family))
                count[1] += any(p == p for p in family)
    return {size: (shown, tested) for size, (shown, tested) in counts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 10])
def test_a_finding_by_chance_is_one_in_twenty(classes):
    """Within three errors of 0.04 to 0.06, of 5 and of 20 contexts that go with classes."""
    found = shares_shown(
        runs=120,
        seed=classes,
        families=(5, 20),
        contexts=40,
        rows=800,
        classes=classes,
        goes_with_class=1,
        errors=(0.05, 0.4),
    )
    for shown, tested in found.values():
        error = 3 * math.sqrt(0.05 * 0.95 / tested)
        assert tested > 200 and 0.04 - error <= shown / tested <= 0.06 + error


def test_a_context_that_matters_is_shown():
    """0.3 more errors against the first of ten contexts, in 20 worlds: no finding at all would keep the level too."""
    random, shown, others = np.random.default_rng(0), 0, 0
    for _ in range(20):
        p_values = _p_values(random, 1000, 2, 10, goes_with_class=1, errors=(0.1, 0.2), matters=0.3)
        clear = [p <= 0.05 for p in adjusted_p_values(p_values)]
        shown, others = shown + clear[0], others + any(clear[1:])
    assert shown >= 14 and others <= 4


@pytest.mark.campaign
@pytest.mark.parametrize("errors", [(0.05, 0.4), (0.05, 0.05)])
@pytest.mark.parametrize("goes_with_class", [0, 1])
@pytest.mark.parametrize("rows", [400, 4000])
@pytest.mark.parametrize("classes", [2, 10])
def test_the_level_over_worlds(classes, rows, goes_with_class, errors):
    """Of families of 1, 5, 20 and 100 contexts; a context that goes with no class is seldom tested at all."""
    found = shares_shown(
        runs=600, seed=rows + classes, families=(1, 5, 20, 100), contexts=100,
        rows=rows, classes=classes, goes_with_class=goes_with_class, errors=errors,
    )  # fmt: skip
    for shown, tested in found.values():
        if tested >= 100:
            interval = wilson(shown, tested, confidence=0.999)
            assert interval.low <= 0.06 and interval.high >= 0.04
