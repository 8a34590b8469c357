"""Comparisons of two detectors against DeLong's, permutations, simulated truth and Table 4."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import oochub
from oochub.errors import OochubError
from oochub.figures._detector_comparison import compare_auroc, gain_from_incorrect, rank_comparison
from oochub.stats.delong import paired_delong

TABLE_4 = {  # C1, C2, C3 in percent; a = 0.7613, nI = 11,935, nO = 31,807
    "MSP": ((86.9, 54.7, 86.4), (79.21, 86.76)),
    "Max-Logit": ((86.3, 61.8, 77.7), (80.45, 83.95)),
    "Energy": ((85.4, 62.4, 76.2), (79.91, 82.89)),
}
KEYS = ("correct_vs_ood", "incorrect_vs_ood", "correct_vs_incorrect")


def columns(n: int, seed: int, gain: float = 0.0) -> dict[str, np.ndarray]:
    """Two detectors that share half of their noise; `gain` lifts the ID rows of the first, the incorrect ones twice."""
    rng = np.random.default_rng(seed)
    is_ood, correct = rng.random(n) < 0.4, rng.random(n) < 0.7
    is_ood[:4], correct[:4] = [True, True, False, False], False
    shared = rng.normal(np.where(is_ood, 0, 0.5 + correct))
    baseline, score = (np.round(shared + rng.normal(size=n), 1) for _ in range(2))
    score += gain * ~is_ood * (2 - correct)
    return {"score": score, "baseline": baseline, "is_ood": is_ood, "correct": correct}


def sides(arguments: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    ood, right = arguments["is_ood"], arguments["correct"] & ~arguments["is_ood"]
    wrong = ~arguments["correct"] & ~ood
    return {
        "auroc_new_class": (~ood, ood),
        "auroc_failure": (right, ~right),
        "correct_vs_ood": (right, ood),
        "incorrect_vs_ood": (wrong, ood),
        "correct_vs_incorrect": (right, wrong),
    }


def test_differences_are_those_of_delong() -> None:
    """Planted faults: variances added as if unpaired; the baseline minus the detector."""
    for seed in range(3):
        arguments = columns(70, seed, gain=0.3)
        result = compare_auroc(**arguments)
        assert list(result) == list(sides(arguments))
        for name, (ahead, behind) in sides(arguments).items():
            rows = ahead | behind
            change, p_value = paired_delong(ahead[rows], arguments["score"][rows], arguments["baseline"][rows])
            assert result[name].difference.value == pytest.approx(float(change), abs=1e-12)
            assert result[name].p_value == pytest.approx(p_value, rel=1e-9)
            assert result[name].difference.n == (ahead | behind).sum()
            metric = oochub.get("metric", name if name.startswith("auroc") else "ood_breakdown")
            flags = (arguments["is_ood"],) if name == "auroc_new_class" else (arguments["is_ood"], arguments["correct"])
            values = [metric(arguments[item], *flags) for item in ("score", "baseline")]
            first, second = (item[name] if isinstance(item, dict) else item for item in values)
            assert result[name].difference.value == pytest.approx(first - second, abs=1e-12)
        del arguments["correct"]
        assert list(compare_auroc(**arguments)) == ["auroc_new_class"]


@pytest.mark.slow
def test_p_value_is_that_of_a_permutation() -> None:
    """Where both detectors may be exchanged row by row, the permutation test is exact; 2,000 exchanges a data set."""
    rng = np.random.default_rng(0)
    for seed, gain in ((0, 0.0), (1, 0.1), (2, 0.25)):
        arguments = columns(200, seed, gain)
        score, baseline, ood = arguments["score"], arguments["baseline"], arguments["is_ood"]
        result = compare_auroc(score, baseline, ood)["auroc_new_class"]

        def difference(first: np.ndarray, second: np.ndarray, ood: np.ndarray = ood) -> float:
            ranks = stats.rankdata([first, second], axis=1)[:, ~ood].sum(axis=1)
            return abs(ranks[0] - ranks[1])

        own, beyond = difference(score, baseline), 0
        for swapped in rng.random((2000, 200)) < 0.5:
            swap = np.where(swapped, baseline, score), np.where(swapped, score, baseline)
            beyond += difference(*swap) >= own - 1e-9
        assert result.p_value == pytest.approx(beyond / 2000, abs=0.035)


def test_size_under_no_difference() -> None:
    """Of 400 pairs of equally good detectors about 5% differ at 0.05 for either goal (0.05 +- 3 standard errors)."""
    below = np.zeros(2)
    for seed in range(400):
        arguments = columns(120, seed)
        result = compare_auroc(**arguments)
        below += [result[name].p_value < 0.05 for name in ("auroc_new_class", "auroc_failure")]
    assert np.all(np.abs(below / 400 - 0.05) < 0.033), below / 400


def test_a_monotone_rescaling_is_no_difference() -> None:
    arguments = columns(100, 0)
    result = compare_auroc(arguments["score"], np.exp(arguments["score"]), arguments["is_ood"], arguments["correct"])
    assert all(item.difference == 0 and item.p_value == 1 for item in result.values())


def test_ranks_and_histograms_equal_a_loop() -> None:
    """Planted faults: ranks without the half of a row itself; the histograms of both detectors exchanged."""
    arguments = columns(90, 0, gain=0.5)
    result = rank_comparison(**arguments, bins=4)
    kind = [
        "ood" if o else "correct" if c else "incorrect"
        for o, c in zip(arguments["is_ood"], arguments["correct"], strict=True)
    ]
    for name, rank, histogram in (
        ("score", result.rank, result.histogram),
        ("baseline", result.baseline_rank, result.baseline_histogram),
    ):
        values = arguments[name].tolist()
        expected = [100 * sum((v < item) + (v == item) / 2 for v in values) / 90 for item in values]
        np.testing.assert_allclose(rank, expected, rtol=1e-14)
        for of in ("correct", "incorrect", "ood"):
            own = [r for r, item in zip(expected, kind, strict=True) if item == of]
            counted = [sum(low <= r < low + 25 for r in own) for low in (0, 25, 50, 75)]
            assert histogram[of].tolist() == counted
    assert result.edges.tolist() == [0, 25, 50, 75, 100]


def test_shift_is_the_difference_of_mean_ranks() -> None:
    """Planted fault: the AUROC against the rest without the share of the rest as its factor."""
    arguments = columns(300, 1, gain=0.5)
    result = rank_comparison(**arguments)
    moved = result.rank - result.baseline_rank
    right = arguments["correct"] & ~arguments["is_ood"]
    rows = {"correct": right, "incorrect": ~right & ~arguments["is_ood"], "ood": arguments["is_ood"]}
    for name, own in rows.items():
        shift = result.shift[name]
        assert shift.difference.value == pytest.approx(moved[own].mean(), abs=1e-10)
        assert shift.difference.low < shift.difference.value < shift.difference.high
        _, p_value = paired_delong(own, arguments["score"], arguments["baseline"])
        assert shift.p_value == pytest.approx(p_value, rel=1e-9)
    assert result.shift["incorrect"].difference.low > 0 > result.shift["ood"].difference.high
    assert sum(float(result.shift[name].difference) * own.sum() for name, own in rows.items()) == pytest.approx(0)


def test_gain_equals_the_metrics() -> None:
    """The share from the five AUROCs of scikit-learn. Planted fault: a share of all ID rows' gain, without 1 - a."""
    for seed in range(5):
        arguments = columns(200, seed, gain=0.5)
        by = {}
        for name, (ahead, behind) in sides(arguments).items():
            rows = ahead | behind
            of = [roc_auc_score(ahead[rows], arguments[item][rows]) for item in ("score", "baseline")]
            by[name] = of[0] - of[1]
        wrong = 1 - arguments["correct"][~arguments["is_ood"]].mean()
        expected = wrong * by["incorrect_vs_ood"] / by["auroc_new_class"]
        result = gain_from_incorrect(**arguments)
        assert result == pytest.approx(expected, rel=1e-12) and result.n == 200
        assert result.low < result < result.high


def test_gain_of_the_published_rows() -> None:
    """Max-Logit over MSP: 0.2387 * 7.1 / 1.238 = 1.37, for correct rows lost. Scores as for ood_breakdown."""

    def made(c1: float, c2: float, c3: float) -> np.ndarray:
        top, above, won = round((c3 - 1 + c2) / c2 * 38_065), round(c1 * 38_065), round(c2 * 11_935)
        return np.repeat([3, 1, -1, 2, -2, 0], [top, above - top, 38_065 - above, won, 11_935 - won, 31_807])

    msp, other = (made(*(value / 100 for value in TABLE_4[name][0])) for name in ("MSP", "Max-Logit"))
    is_ood, correct = np.arange(81_807) >= 50_000, np.arange(81_807) < 38_065
    expected = 0.2387 * (61.8 - 54.7) / (0.7613 * (86.3 - 86.9) + 0.2387 * (61.8 - 54.7))
    assert gain_from_incorrect(other, msp, is_ood, correct) == pytest.approx(expected, abs=0.01)
    assert expected == pytest.approx(1.369, abs=1e-3)


def test_interval_of_the_gain_covers() -> None:
    """Normal scores, whose AUROCs are known; 300 simulations. Planted fault: the covariance of both parts left out."""

    def area(shift: float) -> float:
        return float(stats.norm.cdf(shift / math.sqrt(2)))

    wrong = 0.3 * (area(1.0) - area(0.4))
    truth, covered, rng = wrong / (wrong + 0.7 * (area(1.8) - area(1.4))), 0, np.random.default_rng(0)
    for _ in range(300):
        is_ood, correct = np.arange(500) < 200, rng.random(500) < 0.7
        noise = rng.normal(size=500)
        score = np.where(is_ood, 0, np.where(correct, 1.8, 1.0)) + noise
        baseline = np.where(is_ood, 0, np.where(correct, 1.4, 0.4)) + 0.8 * noise + 0.6 * rng.normal(size=500)
        result = gain_from_incorrect(score, baseline, is_ood, correct)
        covered += result.low <= truth <= result.high
    assert 0.92 <= covered / 300 <= 0.98


def test_gain_that_is_not_decided_has_no_interval() -> None:
    arguments = columns(60, 0)
    result = gain_from_incorrect(**arguments)
    assert "is not decided" in result.reason and np.isnan([result.low, result.high]).all()
    assert compare_auroc(**arguments)["auroc_new_class"].p_value > 0.05
    equal = gain_from_incorrect(**arguments | {"score": 2 * arguments["baseline"]})
    assert np.isnan(equal) and "there is no gain" in equal.reason
    sound = gain_from_incorrect(**arguments | {"correct": np.ones(60, bool)})
    assert np.isnan(sound) and sound.reason.endswith("0 incorrect ID rows: two of each are needed")


def test_undecided_agrees_with_the_test_of_the_gain() -> None:
    """Fieller's interval is bounded exactly where the paired test of the gain rejects no gain."""
    decided = []
    for seed in range(60):
        arguments = columns(100, seed, gain=0.25)
        rejected = compare_auroc(**arguments)["auroc_new_class"].p_value < 0.05
        assert np.isfinite(gain_from_incorrect(**arguments).low) == rejected
        decided.append(rejected)
    assert 5 < sum(decided) < 55


def test_a_kind_without_rows_is_nan_with_a_reason() -> None:
    score, is_ood, correct = [4, 3, 2, 1], [0, 0, 1, 1], [1, 1, 0, 0]
    result = compare_auroc(score, score[::-1], is_ood, correct)["incorrect_vs_ood"]
    assert np.isnan(result.difference) and result.difference.reason == "0 rows ahead and 2 behind: an AUROC needs both"
    shift = rank_comparison(score, score[::-1], is_ood, correct).shift["incorrect"]
    assert np.isnan(shift.difference) and np.isnan(shift.p_value)


def test_clusters_are_those_of_paired_delong() -> None:
    arguments, cluster = columns(200, 0, gain=0.3), np.arange(200) % 30
    result = compare_auroc(**arguments, cluster=cluster.tolist())
    assert "30 clusters" in result["auroc_new_class"].difference.method
    rank_comparison(**arguments, cluster=cluster)
    with pytest.raises(OochubError, match="same number of rows"):
        compare_auroc(**arguments, cluster=cluster[1:])


def test_messages() -> None:
    arguments = columns(20, 0)
    for run in (compare_auroc, rank_comparison, gain_from_incorrect):
        with pytest.raises(OochubError, match="baseline contains NaN in 1 of 20 rows"):
            run(**arguments | {"baseline": np.append(arguments["baseline"][1:], np.nan)})
        with pytest.raises(OochubError, match="same number of rows, got score 20, baseline 19"):
            run(**arguments | {"baseline": arguments["baseline"][1:]})
    with pytest.raises(OochubError, match="bins must be a whole number, 1 or more, got 0"):
        rank_comparison(**arguments, bins=0)
