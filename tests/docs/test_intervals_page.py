"""docs/intervals.md is what its counts say; truths by hand; some cells simulated, the whole table as a campaign."""

import math
import os
from pathlib import Path

import interval_worlds
import intervals_page
import numpy as np
import pytest
from few_of import few_of
from interval_worlds import CELLS, Cell
from ranking_worlds import RANKINGS
from scipy import special, stats

from oochub.stats.estimate import Estimate

AT_MOST = 0.035
"""Of intervals that lie wholly above the truth: `oochub check` passes a model that is exactly at its bound so often."""
NEAR_ONE = [cell for cell in CELLS if cell.family in RANKINGS]
SOME = [
    Cell("tokens", 100, 33),
    Cell("tokens", 10, 5),
    Cell("groups", 1000, 0, 10),
    Cell("classes", 100, 0),
    Cell("classes", 600, 50, sizes="falling"),
    Cell("detection", 100, 0),
    Cell("number", 100, 0),
    Cell("errors", 1000, 100),
    Cell("labels", 100, 0),
    Cell("groups", 100, 20, 2),
    Cell("users", 300, 30),
    Cell("boxes", 300, 30),
]


def test_the_page_is_what_the_counts_say(tmp_path, capsys):
    """Every cell is there, so that the maker simulates none. Planted fault: a number of the page changed by hand."""
    counts = intervals_page.read(intervals_page.FOLDER)
    assert counts.keys() == set(CELLS)
    intervals_page.main(["--folder", str(intervals_page.FOLDER), "--page", str(tmp_path / "page.md")])
    assert (tmp_path / "page.md").read_text("utf-8") == intervals_page.PAGE.read_text("utf-8")
    assert "all hold" in capsys.readouterr().out


def test_no_cell_of_the_page_covers_too_little_without_a_caveat():
    """Those that are committed."""
    for cell, counts in intervals_page.read(intervals_page.FOLDER).items():
        for name, count in counts.items():
            assert count.is_fine, f"{name} of {cell}: {count}"


@pytest.mark.slow
def test_truths_are_those_of_the_normal_law():
    """A margin of variance 1.25 around 1.2 - 0.8 hard - 0.6 group / groups; planted fault: clusters without effect."""
    spread = math.sqrt(1.25)
    means = {(hard, group): 1.2 - 0.8 * hard - 0.3 * group for hard in (0, 1) for group in (0, 1)}
    right = {key: special.ndtr(mean / spread) for key, mean in means.items()}
    groups = [0.6 * right[0, k] + 0.4 * right[1, k] for k in (0, 1)]
    assert interval_worlds.truths("classes", 2)["accuracy"] == pytest.approx(np.mean(groups), abs=0.003)
    truths = interval_worlds.truths("groups", 2)
    assert truths["worst group's accuracy"] == pytest.approx(min(groups), abs=0.003)
    assert truths["accuracy of a group"] == pytest.approx(groups[0], abs=0.003)
    assert interval_worlds.truths("boxes", 2)["detection_accuracy"] == pytest.approx(
        special.ndtr(0.9 / spread), abs=0.003
    )


def test_a_cell_is_low_where_a_binomial_test_says_so():
    """By a sum over the binomial law; an interval that is not there is no miss, and .80 is enough beside a caveat."""
    worst = next(k for k in range(1800, 2000) if stats.binom.cdf(k, 2000, 0.92) >= 0.01)
    assert intervals_page.Count(plain=2000, plain_held=worst).is_fine
    assert not intervals_page.Count(plain=2000, plain_held=worst - 1).is_fine
    assert intervals_page.Count(caveat=10, caveat_held=8, without=5).is_fine
    beside = next(k for k in range(2000) if stats.binom.cdf(k, 2000, 0.8) >= 0.01)
    assert intervals_page.Count(caveat=2000, caveat_held=beside).is_fine
    assert not intervals_page.Count(caveat=2000, caveat_held=beside - 1).is_fine
    assert intervals_page.Count(plain=1910, plain_held=1900, caveat=90, caveat_held=20).is_fine  # of odd draws
    assert not intervals_page.Count(plain=1900, plain_held=1900, caveat=100, caveat_held=20).is_fine
    nothing = Estimate(0.5, n=3, method="none", reason="few")
    assert interval_worlds.holds(nothing, 0.5) is None
    assert interval_worlds.holds(Estimate(0.5, low=0.4, high=0.6, n=3, method=""), 0.7) is False


@pytest.mark.slow
@pytest.mark.parametrize("cell", few_of(SOME, few=10), ids=str)
def test_some_cells_cover(cell):
    """500 worlds each; a miss is a binomial test at 1% against .92, or .80 beside a caveat."""
    for name, count in intervals_page.counted(cell, 500).items():
        assert count.is_fine, f"{name}: {count}"


@pytest.mark.slow
@pytest.mark.parametrize("name", few_of(["t4 noise, AUC .998", "some wide noise, AUC .98, 10% positive"], few=1))
def test_rankings_near_one_cover(name):
    """300 worlds. Planted fault: the logit interval and the bootstrap alone, which hold .5 to .9 of these."""
    for number, count in intervals_page.counted(Cell(name, 600, 0), 300).items():
        assert count.is_fine, f"{number}: {count}"
        assert stats.binom.sf(count.plain_above - 1, count.plain, AT_MOST) >= 0.01, f"{number}: {count}"


def test_no_interval_of_the_page_lies_above_the_truth_too_often():
    """Of the committed counts of rankings near 1; a binomial test at 1% for each number of each cell."""
    cells = {cell: own for cell, own in intervals_page.read(intervals_page.FOLDER).items() if cell in NEAR_ONE}
    assert len(cells) == len(NEAR_ONE) >= 24
    for cell, counts in cells.items():
        for name, each in counts.items():
            assert stats.binom.sf(each.plain_above - 1, each.plain, AT_MOST) >= 0.01, f"{name} of {cell}: {each}"


@pytest.mark.campaign
@pytest.mark.parametrize("cell", NEAR_ONE, ids=str)
def test_a_bound_that_is_the_truth_is_passed_seldom(cell):
    """2,000 worlds of each cell of rankings near 1: on the estimators what `check` does with `at_least`."""
    for name, count in intervals_page.counted(cell).items():
        assert stats.binom.sf(count.plain_above - 1, count.plain, AT_MOST) >= 0.01, f"{name}: {count}"


@pytest.mark.campaign
def test_every_cell_covers(tmp_path):
    """2,000 worlds a cell; goes on in the folder that OOCHUB_INTERVALS names."""
    folder = Path(os.environ.get("OOCHUB_INTERVALS", tmp_path))
    intervals_page.simulate(folder)
    counts = intervals_page.read(folder)
    assert counts.keys() == set(CELLS)
    low = [f"{name} of {cell}" for cell, own in counts.items() for name, each in own.items() if not each.is_fine]
    assert not low
