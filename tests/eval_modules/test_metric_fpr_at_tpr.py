"""FPR at TPR in both conventions against scikit-learn's ROC curve and a loop; its interval against simulated truth."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from oochub.errors import OochubError
from oochub.eval_modules.metrics._ranking import _resample_shares
from oochub.eval_modules.metrics.fpr_at_tpr.fpr_at_tpr import _State, fpr_at_tpr
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import estimate
from oochub.stats.ranking import count_by_score, order_tallies


def columns(n: int, seed: int, digits: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_ood = rng.random(n) < 0.4
    is_ood[:2] = [True, False]
    return {"score": np.round(rng.normal(1 - 1.0 * is_ood), digits), "is_ood": is_ood}


def test_equals_scikit_learn() -> None:
    """The first point of the curve with TPR >= 0.95, as OpenOOD takes it. Planted fault: the conventions exchanged."""
    for seed in range(20):
        arrays = columns(100, seed, digits=seed % 3)
        score, is_ood = arrays.values()
        for positive, truth, sign in (("id", ~is_ood, 1), ("ood", is_ood, -1)):
            for tpr in (0.5, 0.8, 0.95, 1.0):
                fpr, tprs, _ = roc_curve(truth, sign * score, drop_intermediate=False)
                expected = fpr[np.argmax(tprs >= tpr)]
                assert fpr_at_tpr(**arrays, tpr=tpr, positive=positive) == expected


def test_equals_the_order_statistic() -> None:
    """Planted faults: rows that tie with the threshold left out; k rounded down."""
    for seed in range(5):
        arrays = columns(70, seed)
        score, is_ood = (column.tolist() for column in arrays.values())
        for positive, sign in (("id", -1), ("ood", 1)):
            positives = sorted(sign * s for s, out in zip(score, is_ood, strict=True) if out == (positive == "ood"))
            others = [sign * s for s, out in zip(score, is_ood, strict=True) if out != (positive == "ood")]
            for tpr in ("0.07", "0.29", "0.95"):
                tau = positives[math.ceil(Fraction(tpr) * len(positives)) - 1]
                expected = sum(s <= tau for s in others) / len(others)
                assert fpr_at_tpr(**arrays, tpr=float(tpr), positive=positive) == expected


def test_conventions_differ() -> None:
    """By hand, three of four positives found.

    Three ID rows stand at 0.3 or above, as do three of four OOD rows. Three OOD rows stand at 0.5 or below, as do two
    of four ID rows.
    """
    score, is_ood = [0.9, 0.7, 0.3, 0.2, 0.6, 0.5, 0.4, 0.1], [0, 0, 0, 0, 1, 1, 1, 1]
    assert fpr_at_tpr(score, is_ood, tpr=0.75) == 0.75
    assert fpr_at_tpr(score, is_ood, tpr=0.75, positive="ood") == 0.5


def test_equal_scores_take_all() -> None:
    for positive in ("id", "ood"):
        assert fpr_at_tpr([1, 1, 1], [0, 1, 1], positive=positive) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("positive", ["id", "ood"])
def test_resamples_are_those_of_rows(positive: str) -> None:
    """Mean and spread against 4,000 resamples of the rows of each side by a loop, ties included; 3 standard errors."""
    rng = np.random.default_rng(1)
    is_ood = np.arange(32) < 20
    score = np.round(rng.normal(1.2 - 1.2 * is_ood), 1)
    by_hand = []
    for _ in range(4000):
        rows = np.concatenate([rng.integers(0, 20, 20), rng.integers(20, 32, 12)])
        by_hand.append(fpr_at_tpr(score[rows], is_ood[rows], tpr=0.8, positive=positive))
    positives, negatives = order_tallies(*count_by_score(score, is_ood), positive)
    shares = _resample_shares(negatives, positives, 0.8, Sampling(resamples=100_000))
    assert shares.mean() == pytest.approx(np.mean(by_hand), abs=3 * np.std(by_hand) / 4000**0.5)
    assert shares.std() == pytest.approx(np.std(by_hand), rel=0.04)


def test_clusters_widen_the_interval() -> None:
    """Ten copies of each row say no more than one."""
    rng = np.random.default_rng(0)
    is_ood = np.repeat(rng.random(60) < 0.4, 10)
    arrays = {"score": np.repeat(rng.normal(size=60), 10) - is_ood, "is_ood": is_ood}
    alone, together = (estimate(fpr_at_tpr, arrays, cluster=unit) for unit in (None, np.arange(600) // 10))
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert "60 clusters" in together.method


def test_a_threshold_that_the_outermost_row_sets_has_no_interval() -> None:
    """5% of 11 rows is half a row; 5% of 12, or 20% of 3, is 0.6 of one. Planted fault: an interval there."""
    rng, few = np.random.default_rng(0), "rows set the threshold"
    for inside, tpr, words in (
        (11, 0.95, f"only 11 {few}"),
        (12, 0.95, None),
        (2, 0.8, f"only 2 {few}"),
        (3, 0.8, None),
    ):
        arrays = {"score": rng.normal(size=inside + 40), "is_ood": np.arange(inside + 40) >= inside}
        for cluster in (None, np.arange(inside + 40) % 30):
            number = estimate(fpr_at_tpr, arrays, cluster=cluster, options={"tpr": tpr})
            assert number == fpr_at_tpr(**arrays, tpr=tpr) and number.n == inside + 40
            assert np.isnan(number.low) == np.isnan(number.high) == (words is not None)
            assert (words or "") in number.reason


def test_undefined_is_nan_with_a_reason() -> None:
    assert np.isnan(fpr_at_tpr([1, 2], [1, 1]))
    assert estimate(fpr_at_tpr, {"score": [1, 2], "is_ood": [1, 1]}).reason == "no row is ID"


def test_messages() -> None:
    for run in (lambda **some: fpr_at_tpr([1, 2], [0, 1], **some), _State):
        with pytest.raises(OochubError, match=r"tpr must be a share of rows, above 0 and at most 1, got 95\."):
            run(tpr=95)
        with pytest.raises(OochubError, match=r"positive must be 'id' or 'ood', got 'in'\."):
            run(positive="in")
