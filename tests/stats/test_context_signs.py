"""Signs of contexts against scipy's interval of a ratio of shares, and how often chance gives one."""

import math

import numpy as np
import pytest

import oochub
from oochub.stats.lift import context_signs, lift


def test_signs_are_those_of_the_lift_of_each_column():
    """Row by row. Planted faults: the share of all rows in place of other classes'; the sign turned."""
    random = np.random.default_rng(0)
    label = random.integers(0, 3, 300)
    has = (
        random.random((300, 5))
        < np.array([[0.5, 0.1, 0.3, 0.9, 0], [0.2, 0.1, 0.3, 0.9, 0], [0.2, 0.4, 0.3, 0.5, 0]])[label]
    )
    having = np.array([has[label == c].sum(axis=0) for c in range(3)])
    signs = context_signs(having, np.bincount(label))
    assert signs.dtype == np.int8
    for c in range(3):
        for k in range(5):
            of = lift(has[:, k], label == c)
            assert signs[c, k] == (1 if of.low > 1 else -1 if of.high < 1 else 0)
    assert signs[0, 0] == 1 and signs[1, 1] == -1 and signs[2, 1] == 1 and signs[2, 3] == -1
    assert (signs[:, 4] == 0).all()  # no row has it


def test_a_context_that_no_other_class_has_is_usual():
    """Planted fault: a sign only where the lift itself is defined."""
    assert context_signs([[20], [0]], [40, 40]).tolist() == [[1], [-1]]
    assert context_signs([[20]], [40]).tolist() == [[0]]
    assert context_signs([[20], [0]], [40, 0]).tolist() == [[0], [0]]


def test_chance_gives_a_sign_as_often_as_the_interval_fails():
    """1,000 contexts that go with no class: 0.03 to 0.07 lie within three errors of 0.05. Planted fault: level 0.9."""
    random = np.random.default_rng(1)
    having = np.array([random.binomial(rows, 0.3, 1000) for rows in (100, 300)])
    share = (context_signs(having, [100, 300]) != 0)[0].mean()
    assert abs(share - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 1000)


def test_what_is_not_allowed():
    with pytest.raises(oochub.OochubError, match="having must be"):
        context_signs([[1, 2]], [3, 4])
    with pytest.raises(oochub.OochubError, match="successes must lie"):
        context_signs([[5], [1]], [4, 4])
