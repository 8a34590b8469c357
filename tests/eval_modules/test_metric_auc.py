"""AUC against the definition by pairs and scikit-learn, on both of its paths."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.auc.auc import auc


def by_pairs(label: np.ndarray, score: np.ndarray) -> float:
    """The definition, in whole numbers."""
    ahead, behind = score[label == 1][:, None], score[label == 0][None, :]
    wins = 2 * int((ahead > behind).sum()) + int((ahead == behind).sum())
    return float(Fraction(wins, 2 * ahead.size * behind.size))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_equals_the_definition(dtype: type, levels: int) -> None:
    """Exact equality, ties and infinities included. Planted fault: ties counted as wins."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 2, 97)
        label[:2] = 0, 1
        score = (rng.integers(-levels, levels, 97) + label).astype(dtype)
        if dtype != np.int64:
            score[::20] = rng.choice([-np.inf, np.inf], 5)
        assert auc(label=label, score=score) == by_pairs(label, score)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_scikit_learn_across_chunks(dtype: type) -> None:
    """More rows than one chunk."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200_000)
    for score in (rng.normal(label).astype(dtype), rng.integers(0, 3, 200_000).astype(dtype)):
        assert auc(label=label, score=score) == pytest.approx(roc_auc_score(label, score), abs=1e-13)


@pytest.mark.parametrize("negatives", [1, 65_535, 65_536, 65_537, 131_072])
def test_a_tie_may_straddle_two_chunks(negatives: int) -> None:
    """All scores are equal, so every pair is a tie. Planted fault: chunks without the row of overlap (gave 1.0)."""
    label = np.arange(negatives + 10) >= negatives
    assert auc(label=label, score=np.zeros(negatives + 10, np.float32)) == 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_negative_zero_ties_with_zero(dtype: type) -> None:
    """Planted fault: rank bits taken from the score itself, where -0.0 comes before 0.0 (gave 0.0 and 1.0)."""
    assert auc(label=[0, 1], score=np.array([0.0, -0.0], dtype)) == 0.5
    assert auc(label=[0, 1], score=np.array([-0.0, 0.0], dtype)) == 0.5


def test_float32_and_float64_agree_on_all_signs() -> None:
    score = np.array([-3e38, -1e-45, -1.5, 0, 1e-45, 1.5, 3e38, np.inf, -np.inf], np.float32)
    for seed in range(50):
        label = np.random.default_rng(seed).permutation([0, 0, 0, 0, 1, 1, 1, 1, 1])
        assert auc(label=label, score=score) == auc(label=label, score=score.astype(float))


def test_many_pairs_do_not_overflow() -> None:
    """2 m n is above 2^32; in the order of the score all pairs are won."""
    n = 200_000
    assert auc(label=np.arange(n) >= n // 2, score=np.arange(n)) == 1.0


@pytest.mark.parametrize(
    ("label", "score", "message"),
    [
        ([0, 1, 1], [0.1, np.nan, np.nan], "score contains NaN in 2 of 3 rows, the first at row 1"),
        ([0, 2], [0.1, 0.2], "label must be one of 0..1, got 2 at row 1"),
        ([0, -1], [0.1, 0.2], "label must be 0 or larger, got -1 at row 1"),
        ([0.0, 1.0], [0.1, 0.2], "label must hold whole numbers"),
        (["no", "yes"], [0.1, 0.2], "label must hold whole numbers"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], r"score must have shape \(n,\)"),
        ([0, 1], ["a", "b"], "score must hold real numbers"),
        ([0, 1], [0.1, 0.2, 0.3], "same number of rows, got label 2, score 3"),
        ([], [], "label has no rows"),
        ([[0, 1], [0]], [0.1, 0.2], "label cannot become a numpy array"),
    ],
)
def test_messages(label: list[object], score: list[object], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        auc(label=label, score=score)
