"""Failure AUROC against pairs counted one by one and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oochub.eval_modules.metrics.auroc_failure.auroc_failure import auroc_failure
from oochub.stats.delong import delong
from oochub.stats.estimation import estimate


def columns(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_ood, correct = rng.random(80) < 0.4, rng.random(80) < 0.7
    return {"score": rng.integers(-3, 4, 80) + correct, "is_ood": is_ood, "correct": correct}


def test_equals_pairs_counted() -> None:
    """Planted faults: OOD rows left out; incorrect rows counted as positives."""
    for seed in range(10):
        arrays = columns(seed)
        rows = list(zip(*(column.tolist() for column in arrays.values()), strict=True))
        good = [score for score, is_ood, correct in rows if correct and not is_ood]
        bad = [score for score, is_ood, correct in rows if is_ood or not correct]
        wins = sum((a > b) + (a == b) / 2 for a in good for b in bad)
        assert auroc_failure(**arrays) == wins / (len(good) * len(bad))
        truth = arrays["correct"] & ~arrays["is_ood"]
        assert auroc_failure(**arrays) == pytest.approx(roc_auc_score(truth, arrays["score"]), abs=1e-14)


def test_correct_is_not_looked_at_on_ood_rows() -> None:
    """Planted fault: `correct` alone as the truth."""
    arrays = columns(0)
    changed = arrays | {"correct": np.where(arrays["is_ood"], ~arrays["correct"], arrays["correct"])}
    assert auroc_failure(**changed) == auroc_failure(**arrays)


def test_undefined_is_nan_with_a_reason() -> None:
    none = {"score": [1, 2], "is_ood": [0, 1], "correct": [0, 0]}
    assert np.isnan(auroc_failure(**none))
    assert estimate(auroc_failure, none).reason == "no row is correct ID"
    sound = {"score": [1, 2], "is_ood": [0, 0], "correct": [1, 1]}
    assert np.isnan(auroc_failure(**sound))
    assert estimate(auroc_failure, sound).reason == "no row is OOD or incorrect ID"


def test_without_ood_rows_it_detects_mistakes() -> None:
    assert auroc_failure(score=[3, 2, 1], is_ood=[0, 0, 0], correct=[1, 0, 1]) == 0.5


def test_interval_is_delong() -> None:
    arrays = columns(1)
    interval = estimate(auroc_failure, arrays, confidence=0.9)
    assert (
        interval.to_dict() == delong(arrays["correct"] & ~arrays["is_ood"], arrays["score"], confidence=0.9).to_dict()
    )
