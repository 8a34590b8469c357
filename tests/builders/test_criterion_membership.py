"""The membership rule against hand-worked cases and a loop."""

import numpy as np
import pytest

from oochub.builders.criteria.membership import membership
from oochub.errors import OochubError


def test_outside_or_inside_by_hand():
    """Planted fault seen: `inside` read the wrong way round."""
    assert membership([0, 1, 245, 246], range(1, 246)).tolist() == ["hard", "easy", "easy", "hard"]
    assert membership([0, 1, 245, 246], range(1, 246), inside=True).tolist() == ["easy", "hard", "hard", "easy"]
    assert membership(["a", "b"], {"a"}, label=[0, 1]).tolist() == ["easy", "hard_positive"]
    assert membership(["a", "b"], ["a"], inside=True, label=[0, 1]).tolist() == ["hard_negative", "easy"]


def test_any_iterable_and_any_category():
    for allowed in ([1, 2], (1, 2), {1, 2}, np.array([1, 2]), iter([1, 2]), {1: "x", 2: "y"}, range(1, 3)):
        assert membership([2.0, 3.0], allowed).tolist() == ["easy", "hard"]
    assert membership([True, False], [True]).tolist() == ["easy", "hard"]
    assert membership(["north pole", "Südsee"], ["Südsee", "nowhere"]).tolist() == ["hard", "easy"]


def test_against_a_loop():
    rng = np.random.default_rng(0)
    value, label = rng.integers(-5, 30, 500), rng.integers(2, size=500)
    allowed = set(rng.choice(30, 10, replace=False).tolist())
    signs = {0: "hard_negative", 1: "hard_positive"}
    for inside in (False, True):
        expected = ["hard" if (v in allowed) == inside else "easy" for v in value.tolist()]
        assert membership(value, allowed, inside).tolist() == expected
        signed = [signs[y] if each == "hard" else "easy" for each, y in zip(expected, label.tolist(), strict=True)]
        assert membership(value, allowed, inside, label).tolist() == signed


def test_no_examples():
    assert membership([], [1]).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1], []), "allowed is empty"),
        (([1], ["1"]), "never equal"),
        ((["ab"], "ab"), "Write ['ab']"),
        ((["a", None], ["a"]), "missing or nan in 1 of 2"),
        (([[1]], [1]), "one value per example"),
        (([1], [1], False, [3]), "0 and 1 only"),
    ],
)
def test_bad_input_is_said(arguments, words):
    with pytest.raises(OochubError) as caught:
        membership(*arguments)
    assert words in str(caught.value)
