"""Correct discarded against a loop over sorted OOD scores; its interval against simulated truth."""

import math
from fractions import Fraction

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.eval_modules.metrics.correct_discarded import correct_discarded as file
from oochub.eval_modules.metrics.correct_discarded.correct_discarded import correct_discarded
from oochub.stats.estimation import estimate


def columns(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    is_ood, correct = rng.random(n) < 0.4, rng.random(n) < 0.7
    is_ood[:2], correct[:2] = [True, False], True
    return {"score": np.round(rng.normal(1 - 1.0 * is_ood), 1), "is_ood": is_ood, "correct": correct}


def test_equals_the_order_statistic() -> None:
    """Planted faults: score < tau; an interpolated percentile as tau; incorrect rows counted."""
    for seed in range(10):
        arrays = columns(80, seed)
        score, is_ood, correct = (column.tolist() for column in arrays.values())
        ood = sorted(s for s, out in zip(score, is_ood, strict=True) if out)
        correct_scores = [s for s, out, right in zip(score, is_ood, correct, strict=True) if right and not out]
        for rejected in ("0.07", "0.5", "0.75", "0.9", "1"):
            tau = ood[math.ceil(Fraction(rejected) * len(ood)) - 1]
            expected = sum(s <= tau for s in correct_scores) / len(correct_scores)
            assert correct_discarded(**arrays, rejected=float(rejected)) == expected


def test_worked_by_hand() -> None:
    """Of four OOD scores 1, 2, 3, 4 three are rejected at tau = 3; with it the correct rows 2 and 3, not 3.5."""
    score, is_ood = [1, 2, 3, 4, 2, 3, 3.5, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    assert correct_discarded(score, is_ood, correct=[0, 0, 0, 0, 1, 1, 1, 0]) == 2 / 3


def test_undefined_is_nan_with_a_reason() -> None:
    without = {"score": [1, 2], "is_ood": [0, 0], "correct": [0, 1]}
    assert np.isnan(correct_discarded(**without))
    assert estimate(correct_discarded, without).reason == "no row is OOD"
    wrong = {"score": [1, 2], "is_ood": [0, 1], "correct": [0, 0]}
    assert estimate(correct_discarded, wrong).reason == "no row is correct ID"


def test_ties_at_the_threshold_are_said() -> None:
    """Nine of ten OOD rows tie: k = 8 of them cannot be rejected without the ninth."""
    arrays = {"score": [0] * 9 + [1] + [0, 1] * 5, "is_ood": [1] * 10 + [0] * 10, "correct": [1] * 20}
    interval = estimate(correct_discarded, arrays)
    assert interval == 0.5 and "ties at the threshold take 90.0% of the rows that set it" in interval.reason
    assert (
        estimate(correct_discarded, arrays | {"score": np.arange(20)}).reason
        == "only 10 rows of a kind: the interval may be too narrow"
    )


def test_nothing_lost_still_has_an_interval() -> None:
    """All correct rows stand above all OOD rows: a bootstrap alone would say [0, 0]."""
    interval = estimate(correct_discarded, {"score": range(40), "is_ood": [1] * 20 + [0] * 20, "correct": [1] * 40})
    assert interval == 0 == interval.low and interval.high == pytest.approx(0.161, abs=1e-3)  # Wilson, 0 of 20


def test_state_keeps_its_option() -> None:
    arrays = columns(60, 0)
    state, other = file._State(rejected=0.5), file._State(rejected=0.5)
    state.update(**{name: column[:20] for name, column in arrays.items()})
    other.update(**{name: column[20:] for name, column in arrays.items()})
    state.merge(other)
    assert state.compute() == correct_discarded(**arrays, rejected=0.5)
    with pytest.raises(OochubError, match="same options"):
        state.merge(file._State())


@pytest.mark.parametrize("rejected", [0, 75, -0.1, np.nan, True, "0.75"])
def test_messages(rejected: object) -> None:
    arrays = columns(20, 0)
    for run in (correct_discarded, lambda **some: estimate(correct_discarded, arrays, options={"rejected": rejected})):
        with pytest.raises(OochubError, match="rejected must be a share of rows"):
            run(**arrays, rejected=rejected)
    with pytest.raises(OochubError, match="rejected must be a share of rows"):
        file._State(rejected=rejected)
