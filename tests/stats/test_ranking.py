"""The one sort against counts by loops, and the protocol's numbers against the metrics one by one."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import oochub
from oochub.errors import OochubError
from oochub.stats import ranking
from oochub.stats.ranking import check_kinds, count_by_score, count_needed, ood_numbers, order_tallies, take_share


def columns(n: int, seed: int, dtype: type = np.float64) -> dict[str, np.ndarray]:
    """Scores in halves, so that there are ties; each kind of row has some."""
    rng = np.random.default_rng(seed)
    is_ood, correct = rng.random(n) < 0.4, rng.random(n) < 0.7
    is_ood[:3], correct[:3] = [True, False, False], [False, False, True]
    score = np.round(2 * rng.normal(np.where(is_ood, 0, 1 + correct))) / 2
    return {"score": score.astype(dtype), "is_ood": is_ood, "correct": correct}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_tallies_equal_counts_by_a_loop(dtype: type) -> None:
    """Planted fault: scores ranked without their last tie (`ranked[1:] == ranked[:-1]`)."""
    for seed in range(10):
        arguments = columns(70, seed, dtype)
        if dtype is not np.int64:
            arguments["score"][::15] = [-np.inf, np.inf, -0.0, 0.0, np.inf]
        kind = [0 if ood else 1 + right for ood, right in zip(arguments["is_ood"], arguments["correct"], strict=True)]
        distinct = sorted(set(arguments["score"].tolist()))
        rows = list(zip(kind, arguments["score"].tolist(), strict=True))
        expected = [[0, *(sum(k == item and s <= at for k, s in rows) for at in distinct)] for item in range(3)]
        result = count_by_score(**arguments)
        np.testing.assert_array_equal(result, expected)
        assert check_kinds(**arguments)[1].tolist() == kind
        of_two = count_by_score(arguments["score"], arguments["is_ood"])
        np.testing.assert_array_equal(of_two, [result[0], result[1] + result[2]])


def test_negative_zero_ties_with_zero() -> None:
    for dtype in (np.float32, np.float64):
        assert count_by_score(np.array([0.0, -0.0], dtype), [False, True]).tolist() == [[0, 1], [0, 1]]


def test_accepted_from_the_top() -> None:
    """Counts of rows at or above each score, by a loop. Planted fault: counts strictly above (no shift)."""
    arguments = columns(50, 0)
    score, is_ood = arguments["score"], arguments["is_ood"]
    positives, negatives = order_tallies(*count_by_score(score, is_ood), "id")
    descending = sorted(set(score.tolist()), reverse=True)
    assert positives.tolist() == [0, *(int((score[~is_ood] >= at).sum()) for at in descending)]
    assert negatives.tolist() == [0, *(int((score[is_ood] >= at).sum()) for at in descending)]


def test_numbers_are_those_of_the_metrics() -> None:
    """One sort gives what ten calls give. Planted fault: the negatives of fpr_at_tpr_ood and _id exchanged."""
    for seed in range(5):
        arguments = columns(200, seed)
        two = {name: arguments[name] for name in ("score", "is_ood")}
        expected = {name: oochub.get("metric", name)(**two) for name in ("auroc_new_class",)}
        for name in ("fpr_at_tpr", "average_precision"):
            for positive in ("id", "ood"):
                expected[f"{name}_{positive}"] = oochub.get("metric", name)(**two, positive=positive)
        assert ood_numbers(**two) == expected
        for name in ("auroc_failure", "correct_discarded"):
            expected[name] = oochub.get("metric", name)(**arguments)
        assert ood_numbers(**arguments) == expected | oochub.get("metric", "ood_breakdown")(**arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_rows_than_one_piece(dtype: type) -> None:
    """Against scikit-learn. Planted fault: pieces that do not share their end points."""
    rng = np.random.default_rng(0)
    is_ood = rng.random(60_000) < 0.4
    for score in (rng.normal(~is_ood), np.round(rng.normal(~is_ood), 1)):
        score = score.astype(dtype)
        result = ood_numbers(score, is_ood)
        assert len(np.unique(score)) < 100 or len(np.unique(score)) > 2 * ranking._PIECE
        assert result["auroc_new_class"] == pytest.approx(roc_auc_score(~is_ood, score), abs=1e-12)
        for positive, truth, sign in (("id", ~is_ood, 1), ("ood", is_ood, -1)):
            expected = average_precision_score(truth, sign * score)
            assert result[f"average_precision_{positive}"] == pytest.approx(expected, abs=1e-12)


def test_rows_needed_are_the_smallest_number_that_suffices() -> None:
    """Planted fault: math.ceil(share * n), which asks for 8 of 100 rows at 0.07."""
    for n in (1, 3, 7, 40, 100, 700, 50_000):
        for share in (0.01, 0.05, 0.07, 0.1, 0.28, 0.29, 0.55, 0.56, 0.57, 0.58, 0.75, 0.8, 0.95, 0.99, 1.0):
            k = count_needed(n, share)
            assert k / n >= share > (k - 1) / n


def test_share_taken_is_undefined_without_rows() -> None:
    assert np.isnan(take_share(np.zeros(3), np.arange(3.0), 0.5))
    assert np.isnan(take_share(np.arange(3.0), np.zeros(3), 0.5))


def test_memory() -> None:
    """200,000 rows, tallies and all numbers: at most a fifth of 120 MiB."""
    rng = np.random.default_rng(0)
    is_ood, correct = rng.random(200_000) < 0.4, rng.random(200_000) < 0.7
    score = rng.normal(size=200_000)
    tracemalloc.start()
    ood_numbers(score, is_ood, correct)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * 2**20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": [1, 2], "is_ood": [0, 2]}, "is_ood must be one of 0..1, got 2 at row 1"),
        ({"score": [1, 2], "is_ood": [0, 1], "correct": [0.5, 1.0]}, "correct must hold whole numbers"),
        ({"score": [1, 2], "is_ood": [0, 1], "tpr": 95}, "tpr must be a share of rows, .* got 95"),
        ({"score": [1, 2], "is_ood": [0, 1], "rejected": 0.0}, "rejected must be a share of rows, .* got 0.0"),
    ],
)
def test_messages(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(OochubError, match=message):
        ood_numbers(**arguments)
