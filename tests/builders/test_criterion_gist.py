"""The gist rule against hand-worked cases and a loop over its definition, by threshold and by count."""

import numpy as np
import pytest

from oochub.builders.criteria.gist import gist
from oochub.errors import OochubError


def test_exactly_at_the_threshold_is_easy_by_hand():
    similarity = [0.4999, 0.5, 0.5001]
    assert gist([True] * 3, similarity, tau=0.5).tolist() == ["hard_positive", "easy", "easy"]
    assert gist([False] * 3, similarity, tau=0.5).tolist() == ["easy", "easy", "hard_negative"]


def test_a_threshold_for_each_by_hand():
    """reference: NOOCH Table 6, car .48/.48 and kite .57/.19; planted fault seen: one threshold for both."""
    present, similarity = [1, 1, 0, 0], [0.5, 0.6, 0.15, 0.3]
    assert gist(present, similarity, tau=(0.57, 0.19)).tolist() == ["hard_positive", "easy", "easy", "hard_negative"]
    assert gist(present, similarity, tau=(0.48, 0.48)).tolist() == ["easy"] * 4


def test_ties_go_to_the_earlier_rows_by_hand():
    """Planted fault seen: a descending order reversed, which takes the last of equals."""
    present = [1, 0, 1, 0, 1, 0]
    got = gist(present, [0.3] * 6, hard_positives=2, hard_negatives=1)
    assert got.tolist() == ["hard_positive", "hard_negative", "hard_positive", "easy", "easy", "easy"]


def test_against_a_loop():
    rng = np.random.default_rng(0)
    for _ in range(20):
        present, similarity = rng.random(60) < 0.4, np.round(rng.uniform(-1, 1, 60), 1)  # with ties
        low, high = rng.uniform(-1, 1, 2)
        expected = []
        for shown, s in zip(present, similarity, strict=True):
            hard = s < low if shown else s > high
            expected.append(("hard_positive" if shown else "hard_negative") if hard else "easy")
        assert gist(present, similarity, tau=(low, high)).tolist() == expected
        a, b = int(rng.integers(present.sum() + 1)), int(rng.integers((~present).sum() + 1))
        by_similarity = sorted(range(60), key=lambda row: similarity[row])  # Python's sort is stable
        by_unlikeness = sorted(range(60), key=lambda row: -similarity[row])
        hard_positives = set([row for row in by_similarity if present[row]][:a])
        hard_negatives = set([row for row in by_unlikeness if not present[row]][:b])
        got = gist(present, similarity, hard_positives=a, hard_negatives=b)
        assert set(np.flatnonzero(got == "hard_positive")) == hard_positives
        assert set(np.flatnonzero(got == "hard_negative")) == hard_negatives


def test_counts_and_their_thresholds_agree():
    """The counts of a threshold give the same examples (no ties), as Appendix B.3 sets tau."""
    rng = np.random.default_rng(1)
    present, similarity = rng.random(500) < 0.3, rng.uniform(-1, 1, 500)
    by_tau = gist(present, similarity, tau=(0.2, 0.1))
    counts = {f"{kind}s": int((by_tau == kind).sum()) for kind in ("hard_positive", "hard_negative")}
    assert (gist(present, similarity, **counts) == by_tau).all() and min(counts.values()) > 50


def test_no_examples():
    assert gist([], [], tau=0.5).tolist() == [] == gist([], [], hard_positives=0, hard_negatives=0).tolist()


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([1], [0.5]), {}, "either tau or both counts"),
        (([1], [0.5]), {"tau": 0.5, "hard_negatives": 1}, "either tau or both counts"),
        (([1, 1, 0], [0.5] * 3), {"hard_positives": 3, "hard_negatives": 0}, "hard_positives must be 0 to 2"),
        (([1, 1, 0], [0.5] * 3), {"hard_positives": 0, "hard_negatives": 2}, "hard_negatives must be 0 to 1"),
        (([1, 1, 0], [0.5] * 3), {"hard_positives": -1, "hard_negatives": 0}, "hard_positives must be 0 to 2"),
        (([1, 0], [0.5, np.nan]), {"tau": 0.5}, "nan in 1 of 2 examples, first in row 1"),
        (([1, 0], [0.5, np.inf]), {"tau": 0.5}, "finite"),
        (([1, 0], [0.5]), {"tau": 0.5}, "similarity (n,)"),
        (([1], [[0.5]]), {"tau": 0.5}, "one value per example"),
        (([1], [0.5]), {"tau": np.nan}, "one cosine or a pair"),
        (([1], [0.5]), {"tau": (0.1, 0.2, 0.3)}, "one cosine or a pair"),
        (([2], [0.5]), {"tau": 0.5}, "0 and 1 only"),
    ],
)
def test_bad_input_is_said(arguments, options, words):
    with pytest.raises(OochubError) as caught:
        gist(*arguments, **options)
    assert words in str(caught.value)
