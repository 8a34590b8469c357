"""The threshold rule against hand-worked cases and a loop."""

import numpy as np
import pytest

from oochub.builders.criteria.threshold import threshold
from oochub.errors import OochubError


def test_exactly_at_the_threshold_is_hard_by_hand():
    """Planted fault seen: a strict inequality."""
    assert threshold([-1, 0, 1], at=0).tolist() == ["easy", "hard", "hard"]
    assert threshold([1.4999, 1.5, np.nextafter(1.5, 2)], at=1.5).tolist() == ["easy", "hard", "hard"]
    assert threshold([2013, 2012], at=np.int64(2013), label=[False, True]).tolist() == ["hard_negative", "easy"]


def test_against_a_loop():
    rng = np.random.default_rng(0)
    value, label = np.round(rng.normal(size=400), 1), rng.integers(2, size=400)
    for at in (-1.0, 0.0, 0.3):
        unsigned = ["hard" if v >= at else "easy" for v in value]
        assert threshold(value, at).tolist() == unsigned
        names = {0: "hard_negative", 1: "hard_positive"}
        signed = [names[y] if v >= at else "easy" for v, y in zip(value, label, strict=True)]
        assert threshold(value, at, label).tolist() == signed == threshold(value, at, label.astype(bool)).tolist()


def test_no_examples():
    assert threshold([], 1.0).tolist() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0, np.nan], 0.0), "missing or nan in 1 of 2"),
        (([1.0, np.inf], 0.0), "finite numbers"),
        ((["2013"], 2013), "finite numbers, got <U4"),
        (([[1.0]], 0.0), "one value per example"),
        (([1.0], np.nan), "at must be a number"),
        (([1.0], 0.0, [2]), "0 and 1 only"),
        (([1.0], 0.0, [0, 1]), "label has 2 examples"),
    ],
)
def test_bad_input_is_said(arguments, words):
    with pytest.raises(OochubError) as caught:
        threshold(*arguments)
    assert words in str(caught.value)
