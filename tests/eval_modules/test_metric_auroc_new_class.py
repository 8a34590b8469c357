"""New-class AUROC against pairs counted one by one and scikit-learn."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oochub.errors import OochubError
from oochub.eval_modules.metrics.auroc_new_class.auroc_new_class import auroc_new_class
from oochub.stats.delong import delong
from oochub.stats.estimation import estimate


def test_equals_pairs_counted() -> None:
    """Planted faults: ties counted as wins; the sides exchanged."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        is_ood = rng.permutation(60) < 25
        score = rng.integers(-3, 4, 60) + ~is_ood
        wins = sum(Fraction(2 if a > b else a == b, 2) for a in score[~is_ood].tolist() for b in score[is_ood].tolist())
        assert auroc_new_class(score=score, is_ood=is_ood) == float(wins / (25 * 35))
        assert auroc_new_class(score, is_ood) == pytest.approx(roc_auc_score(~is_ood, score), abs=1e-14)


def test_one_side_is_nan_with_a_reason() -> None:
    assert np.isnan(auroc_new_class([1, 2], [False, False]))
    assert estimate(auroc_new_class, {"score": [1, 2], "is_ood": [False, False]}).reason == "no row is OOD"
    assert estimate(auroc_new_class, {"score": [1, 2], "is_ood": [True, True]}).reason == "no row is ID"


def test_interval_is_delong() -> None:
    rng = np.random.default_rng(0)
    is_ood, cluster = rng.random(300) < 0.3, np.arange(300) % 40
    score = rng.normal(~is_ood)
    for groups in (None, cluster):
        interval = estimate(auroc_new_class, {"score": score, "is_ood": is_ood}, cluster=groups)
        assert interval.to_dict() == delong(~is_ood, score, cluster=groups).to_dict()


def test_flags_are_not_guessed() -> None:
    """A label column in the place of is_ood, with -1 for OOD, is refused."""
    with pytest.raises(OochubError, match="is_ood must be 0 or larger, got -1"):
        auroc_new_class([1.0, 2.0], [-1, 0])
    with pytest.raises(OochubError, match="is_ood must hold whole numbers"):
        auroc_new_class([1.0, 2.0], ["ood", "id"])
