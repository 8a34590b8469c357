"""The three AUROCs against scikit-learn, the identities that tie them to both goals, and the published Table 4."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import oochub
from oochub.eval_modules.metrics.ood_breakdown.ood_breakdown import ood_breakdown
from oochub.stats.delong import delong
from oochub.stats.estimation import estimate

KEYS = ["correct_vs_ood", "incorrect_vs_ood", "correct_vs_incorrect"]


def columns(n: int, seed: int, levels: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_ood, correct = rng.random(n) < 0.4, rng.random(n) < 0.7
    score = rng.normal(np.where(is_ood, 0, 0.5 + correct))
    return {"score": np.round(score * levels) / levels, "is_ood": is_ood, "correct": correct}


def test_equals_scikit_learn() -> None:
    """Planted fault: C3 with its sides exchanged."""
    for seed in range(5):
        arrays = columns(150, seed, 2)
        groups = {
            "correct": arrays["correct"] & ~arrays["is_ood"],
            "incorrect": ~arrays["correct"] & ~arrays["is_ood"],
            "ood": arrays["is_ood"],
        }
        areas = ood_breakdown(**arrays)
        assert list(areas) == KEYS
        for key, value in areas.items():
            ahead, behind = (groups[name] for name in key.split("_vs_"))
            rows = ahead | behind
            assert value == pytest.approx(roc_auc_score(ahead[rows], arrays["score"][rows]), abs=1e-14)
            assert estimate(ood_breakdown, arrays)[key].to_dict() == (
                delong(ahead[rows], arrays["score"][rows]).to_dict()
            )


@pytest.mark.parametrize("levels", [1, 8, 1e9])
def test_identities(levels: float) -> None:
    """New = a C1 + (1 - a) C2 and failure = (nI C3 + nO C1) / (nI + nO), with ties and without, to 1e-12."""
    for n in (30, 1000, 40_000):
        arrays = columns(n, n, levels)
        inside = ~arrays["is_ood"]
        accuracy = arrays["correct"][inside].mean()
        incorrect, ood = (inside & ~arrays["correct"]).sum(), arrays["is_ood"].sum()
        c1, c2, c3 = ood_breakdown(**arrays).values()
        new = oochub.get("metric", "auroc_new_class")(arrays["score"], arrays["is_ood"])
        failure = oochub.get("metric", "auroc_failure")(**arrays)
        assert new == pytest.approx(accuracy * c1 + (1 - accuracy) * c2, abs=1e-12)
        assert failure == pytest.approx((incorrect * c3 + ood * c1) / (incorrect + ood), abs=1e-12)


@pytest.mark.parametrize(
    ("row", "goals"),
    [
        pytest.param((86.9, 54.7, 86.4), (79.21, 86.76), id="MSP"),
        pytest.param((86.3, 61.8, 77.7), (80.45, 83.95), id="Max-Logit"),
        pytest.param((85.4, 62.4, 76.2), (79.91, 82.89), id="Energy"),
    ],
)
def test_published_table_4(row: tuple[float, ...], goals: tuple[float, float]) -> None:
    """81,807 rows in the paper's numbers (a = 0.7613), made to have a row of Table 4, score both goals as derived.

    All OOD rows score 0. A share C2 of the incorrect rows scores 2, the others -2. Of the correct rows a share x
    scores 3 and C1 - x scores 1, the others -1: then C3 = x + (1 - x) (1 - C2). Table 3 prints 79.2 and 86.8 of MSP.
    """
    c1, c2, c3 = (value / 100 for value in row)
    correct, incorrect, ood = 38_065, 11_935, 31_807
    top, above, won = round((c3 - 1 + c2) / c2 * correct), round(c1 * correct), round(c2 * incorrect)
    scores = [3, 1, -1, 2, -2, 0]
    counts = [top, above - top, correct - above, won, incorrect - won, ood]
    arrays = {
        "score": np.repeat(scores, counts),
        "is_ood": np.repeat([0, 0, 0, 0, 0, 1], counts),
        "correct": np.repeat([1, 1, 1, 0, 0, 0], counts),
    }
    assert [100 * value for value in ood_breakdown(**arrays).values()] == pytest.approx(row, abs=0.005)
    assert round(100 * oochub.get("metric", "auroc_new_class")(arrays["score"], arrays["is_ood"]), 2) == goals[0]
    assert round(100 * oochub.get("metric", "auroc_failure")(**arrays), 2) == goals[1]


def test_a_missing_kind_is_nan_with_a_reason_and_spares_the_others() -> None:
    arrays = {"score": [3, 2, 1], "is_ood": [0, 0, 1], "correct": [1, 1, 0]}
    areas = ood_breakdown(**arrays)
    assert areas["correct_vs_ood"] == 1.0 and np.isnan([areas[key] for key in KEYS[1:]]).all()
    reasons = [estimate(ood_breakdown, arrays)[key].reason for key in KEYS[1:]]
    assert reasons == ["no row is incorrect ID"] * 2
