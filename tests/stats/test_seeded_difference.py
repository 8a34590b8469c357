"""Differences of methods over seeds and images: against Welch's t of scipy, a bootstrap by loops, numpy by hand."""

import math

import numpy as np
import pytest
import seed_worlds as worlds
from scipy import stats

from oochub.stats.seeded_difference import SeededNumbers, seeded_difference


def _accuracies(right, units):
    """Accuracy of each run (s, n) with one image a group left out, by a loop."""
    left = np.array([[np.delete(run, k).mean() for k in range(units)] for run in right])
    return SeededNumbers(right.mean(axis=1), left, units)


def test_without_images_it_is_welch():
    """scipy.stats.ttest_ind, equal_var=False."""
    first, second = np.array([0.52, 0.61, 0.47]), np.array([0.70, 0.68, 0.81, 0.77])
    found = seeded_difference(*(SeededNumbers(each, np.zeros((len(each), 9)), 9) for each in (first, second)))
    expected = stats.ttest_ind(second, first, equal_var=False)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.freedom == pytest.approx(expected.df, rel=1e-9)
    ends = expected.confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((ends.low, ends.high), rel=1e-9)


def test_without_seeds_it_is_a_paired_t_of_images():
    """All runs of a method answer alike: scipy.stats.ttest_rel of the images, whatever the number of runs."""
    rng = np.random.default_rng(0)
    right = (rng.normal(size=60) + rng.normal(size=(2, 60)) > -1).astype(float)
    found = seeded_difference(*(_accuracies(np.repeat(each[None], 3, axis=0), 60) for each in right))
    expected = stats.ttest_rel(right[1], right[0])
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9) and found.freedom == pytest.approx(59)


def test_the_error_by_hand():
    """The header's formula in plain numpy: variances of the runs, and covariances of rows over images."""
    rng = np.random.default_rng(1)
    runs = (rng.normal(size=(1, 1, 80)) + rng.normal(size=(2, 1, 80)) + rng.normal(size=(2, 4, 80)) > 0).astype(float)
    found = seeded_difference(*(_accuracies(each, 80) for each in runs))
    cov = np.cov(runs.reshape(8, 80)) / 80
    c = sum(np.mean([cov[i + k, j + k] for i in range(4) for j in range(4) if i != j]) for k in (0, 4))
    c -= 2 * np.mean([cov[i, j] for i in range(4) for j in range(4, 8)])
    spread = sum(each.mean(axis=1).var(ddof=1) / 4 for each in runs)
    assert c > 0 and found.error == pytest.approx(math.sqrt(spread + c), rel=1e-9)


def test_many_seeds_agree_with_a_hierarchical_bootstrap():
    """Of 40 seeds, a bootstrap of seeds and images by loops has this error within 10%, once its own bias is taken off.

    Drawing images and seeds again counts the noise of a single answer twice more: (1 + 1 + 1) times s^2 / (n S).
    """
    rng = np.random.default_rng(2)
    runs = 0.3 * rng.normal(size=(2, 40, 1)) + rng.normal(size=(2, 1, 60)) + rng.normal(size=(2, 40, 60))
    found = seeded_difference(*(_accuracies(each, 60) for each in runs))
    drawn = []
    for _ in range(2_000):
        images = rng.integers(60, size=60)
        first, second = (each[rng.integers(40, size=40)][:, images].mean() for each in runs)
        drawn.append(second - first)
    noise = 2 * 2 * 1 / (60 * 40)  # two methods, twice
    assert found.error == pytest.approx(math.sqrt(np.var(drawn) - noise), rel=0.1)


def test_turned_round_and_shifted():
    rng = np.random.default_rng(3)
    first, second = (_accuracies((rng.normal(size=(3, 30)) > 0).astype(float), 30) for _ in range(2))
    there, back = seeded_difference(first, second), seeded_difference(second, first)
    assert there.difference.value == -back.difference.value and there.p_value == pytest.approx(back.p_value)
    moved = second._replace(values=second.values + 1, left=second.left + 1)
    assert seeded_difference(first, moved).error == pytest.approx(there.error)


def test_what_cannot_be_tested_says_why():
    one = SeededNumbers(np.array([0.5]), np.zeros((1, 5)), 5)
    two = SeededNumbers(np.array([0.5, 0.6]), np.zeros((2, 5)), 5)
    alike = SeededNumbers(np.array([0.7, 0.7]), np.zeros((2, 5)), 5)
    for pair, reason in (((one, two), "single seed"), ((alike, alike), "same number")):
        found = seeded_difference(*pair)
        assert math.isnan(found.p_value) and reason in found.difference.reason


def test_a_group_that_a_run_lacks_tells_nothing():
    """Trials divide the images anew: a run without an image of a group has nan there, as if the group did not exist."""
    rng = np.random.default_rng(4)
    left = 5 + rng.normal(size=(2, 1, 8)) + 0.1 * rng.normal(size=(2, 3, 8))  # images do the same to all runs of one
    whole = [SeededNumbers(rng.normal(size=3), each, 8) for each in left]
    more = [each._replace(left=np.hstack([each.left, np.full((3, 4), np.nan)])) for each in whole]
    assert seeded_difference(*more).error == pytest.approx(seeded_difference(*whole).error)


def test_a_difference_as_large_as_said_is_found_8_times_in_10():
    """A single pair of 5 seeds, images apart; by the noncentral t of scipy."""
    runs = [SeededNumbers(np.array([0.0, 0.1, 0.2, 0.3, 0.4]) + k, np.zeros((5, 9)), 9) for k in range(2)]
    found = seeded_difference(*runs)
    away, freedom = found.smallest_found(1) / found.error, found.freedom
    power = stats.nct.sf(stats.t.isf(0.025, freedom), freedom, away)
    assert power == pytest.approx(0.8, abs=0.03)


@pytest.mark.campaign
@pytest.mark.parametrize("seeds", worlds.SEEDS)
@pytest.mark.parametrize("asked", [asked for asked in worlds.ASKED if asked != "same seeds"])
def test_level_and_coverage_in_worlds(asked, seeds):
    """1,000 worlds of docs/levels.md, 200 of AUCs: level at no difference, coverage of a difference."""
    cell = worlds.cell(asked, seeds, worlds=200 if asked == "AUC" else 1_000, others=False)
    refused, of = cell.refused[worlds.OURS]
    assert stats.binomtest(refused, of, 0.06, alternative="greater").pvalue > 0.01
    assert stats.binomtest(refused, of, 0.03, alternative="less").pvalue > 0.01
    assert stats.binomtest(cell.held, of, 0.92, alternative="less").pvalue > 0.01


def test_the_stored_worlds_are_within_bounds():
    """docs/levels/seeds.jsonl: every cell there, level 0.03 to 0.06 and coverage 0.92, or "same seeds" too seldom.

    Groups that are alike cover less, which the page says, and a table in a caveat.
    """
    cells = worlds.read()
    tied = [cells.pop((worlds.TIED_NAME, seeds)) for seeds in worlds.SEEDS]
    again = worlds.hold_tied(3, 100)
    assert all(cell.worlds == 1_000 for cell in tied) and 60 <= again.held <= 100
    assert set(cells) == {(asked, seeds) for asked in worlds.ASKED for seeds in worlds.SEEDS}
    for (asked, _), cell in cells.items():
        refused, of = cell.refused[worlds.OURS]
        assert of >= worlds.WORLDS and cell.held / cell.worlds >= 0.92
        assert refused / of <= 0.06
        assert asked == "same seeds" or stats.binomtest(refused, of, 0.03, "less").pvalue > 0.01
