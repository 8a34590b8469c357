"""Average precision against scikit-learn and a loop; the trapezoid against the area that OpenOOD takes."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import auc, average_precision_score, precision_recall_curve

from oochub.errors import OochubError
from oochub.eval_modules.metrics.average_precision.average_precision import _State, average_precision
from oochub.stats.estimation import estimate


def columns(n: int, seed: int, digits: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_ood = rng.random(n) < 0.4
    is_ood[:2] = [True, False]
    return {"score": np.round(rng.normal(1 - 1.0 * is_ood), digits), "is_ood": is_ood}


def test_equals_scikit_learn() -> None:
    """Planted faults: the positives exchanged; precision of the score before."""
    for seed in range(20):
        arrays = columns(100, seed, digits=seed % 3)
        score, is_ood = arrays.values()
        for positive, truth, sign in (("id", ~is_ood, 1), ("ood", is_ood, -1)):
            expected = average_precision_score(truth, sign * score)
            assert average_precision(**arrays, positive=positive) == pytest.approx(expected, abs=1e-13)
            precision, recall, _ = precision_recall_curve(truth, sign * score)
            area = average_precision(**arrays, positive=positive, form="trapezoid")
            assert area == pytest.approx(auc(recall, precision), abs=1e-13)


def test_equals_a_loop() -> None:
    """Without ties: the mean over the ID rows of the share of ID rows among all that score as high."""
    arrays = columns(60, 3, digits=9)
    score, is_ood = arrays.values()
    of_each = [(~is_ood)[score >= at].mean() for at in score[~is_ood]]
    assert average_precision(**arrays) == pytest.approx(np.mean(of_each), abs=1e-14)


def test_equal_scores_have_the_share_of_positives() -> None:
    """4 of 7: a precision of 4/7 throughout; the trapezoid adds half of the triangle up to 1."""
    score, is_ood = [1] * 7, [0] * 4 + [1] * 3
    assert average_precision(score, is_ood) == 4 / 7
    assert average_precision(score, is_ood, form="trapezoid") == pytest.approx((1 + 4 / 7) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["step", "trapezoid"])
@pytest.mark.parametrize("positive", ["id", "ood"])
def test_resamples_are_those_of_rows(form: str, positive: str) -> None:
    """The interval, made without sorting again, is the percentile bootstrap of scikit-learn's value on drawn rows."""
    arrays, rng = columns(40, 1), np.random.default_rng(0)
    options = {"form": form, "positive": positive}
    interval = estimate(average_precision, arrays, resamples=300, options=options)
    assert interval == average_precision(**arrays, **options)
    areas = []
    for _ in range(300):
        rows = rng.integers(40, size=40)
        truth = arrays["is_ood"][rows] == (positive == "ood")
        score = arrays["score"][rows] * (1 if positive == "id" else -1)
        precision, recall, _ = precision_recall_curve(truth, score)
        areas.append(average_precision_score(truth, score) if form == "step" else auc(recall, precision))
    low, high = np.quantile(areas, (0.025, 0.975))
    wilson = lower_end_by_hand(interval.value, high - low, truth_of_all=arrays["is_ood"] == (positive == "ood"))
    assert [interval.low, interval.high] == pytest.approx([min(low, wilson), high], abs=1e-12)


def test_a_perfect_order_leaves_room_for_a_row_that_nobody_saw() -> None:
    """10 + 10 rows: one row more loses 1/20 as a positive below all, the mean of 1/2 to 1/11 as a negative above."""
    interval = estimate(average_precision, {"score": range(20), "is_ood": np.arange(20) < 10}, resamples=200)
    losses = np.array([1 / 20, np.mean([1 / k for k in range(2, 12)])])
    effective = losses.sum() / (losses**2).sum()
    assert (interval.value, interval.high) == (1, 1)
    assert interval.low == pytest.approx(1 - 1.959964**2 / (effective + 1.959964**2), abs=1e-6)  # Wilson, 0 of so many


def lower_end_by_hand(value: float, width: float, truth_of_all: np.ndarray) -> float:
    """Wilson's with effective rows, of scipy's normal law, as `oochub.stats.unseen_rows` writes it down."""
    m, n, z = truth_of_all.sum(), (~truth_of_all).sum(), stats.norm.ppf(0.975)
    losses = np.array([n / (m + n) / m, np.mean([1 / (k + 1) for k in range(1, m + 1)])])
    loss, variance = 1 - value, (width / 2 / z) ** 2
    rows = (loss + losses.sum() / 2) * (1 - loss) / (variance + (losses**2).sum() / 2)
    root = z * np.sqrt(loss * (1 - loss) / rows + z**2 / (4 * rows**2))
    return float(1 - (loss + z**2 / (2 * rows) + root) / (1 + z**2 / rows)) if value >= 0.5 else np.inf


def test_undefined_is_nan_with_a_reason() -> None:
    for form in ("step", "trapezoid"):
        assert np.isnan(average_precision([1, 2], [1, 1], form=form))
    assert estimate(average_precision, {"score": [1, 2], "is_ood": [1, 1]}).reason == "no row is ID"


def test_messages() -> None:
    for run in (lambda **some: average_precision([1, 2], [0, 1], **some), _State):
        with pytest.raises(OochubError, match=r"form must be 'step' or 'trapezoid', got 'linear'\."):
            run(form="linear")
        with pytest.raises(OochubError, match=r"positive must be 'id' or 'ood', got 'in'\."):
            run(positive="in")
