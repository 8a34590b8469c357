"""The gap of backgrounds in drawn worlds: what its interval covers, and that nothing is claimed where nothing is."""

from typing import NamedTuple

import numpy as np
import pytest

from oochub.probing.altered_answers import VARIANTS
from oochub.probing.altered_pictures import draw_donors
from oochub.probing.background_numbers import compare_answers

CELLS = [
    (rows, classes, size, spread, backgrounds, effect)
    for rows, classes in ((30, 3), (150, 5), (150, 40))
    for size in (1, 3)
    for spread in (0.5, 2.0)
    for backgrounds in (1, 8)
    for effect in (0.0, 0.4)
]


class World(NamedTuple):
    """The gap of a world, and which rows of which class and cluster it is made of."""

    gap: object
    deviation: float | None


def _logits(sure):
    """Of two answers, the class and another; the first of (..., ) is how sure the class is."""
    return np.stack([sure, np.zeros_like(sure)], axis=-1)


def _make_gap(rng, rows, classes, size, backgrounds, *, spread=0.0, effect=0.0, by_background=0.0):
    """The gap of rows in clusters of some size, each row's background lent to others of the world.

    Args:
        rng: Draws the world.
        rows: Number of rows.
        classes: Number of classes.
        size: Rows of a cluster, which share a part of their objects and backgrounds.
        backgrounds: Draws of each kind for a row.
        spread: How much backgrounds change the answer, whatever their class.
        effect: By how much backgrounds of the row's class help and others hinder.
        by_background: Share of rows whose answer goes by the class of the background alone.
    """
    label, cluster = rng.integers(0, classes, rows), np.arange(rows) // size
    together = rng.normal(size=(2, rows))[:, cluster] * (size > 1)
    thing = rng.normal(size=rows) + 0.7 * together[0]
    ground = spread * (rng.normal(size=rows) + together[1])
    lent = draw_donors(
        label, np.ones(rows, bool), cluster=cluster, backgrounds=backgrounds, seed=int(rng.integers(2**31))
    )
    follows = (rng.random(rows) < by_background)[:, None]
    altered = {name: _logits(thing) for name in VARIANTS}
    for name, of, sign in (("mixed_same", lent.same, 1), ("mixed_rand", lent.other, -1)):
        sure = thing[:, None] + ground[of] + 0.3 * rng.normal(size=of.shape) + sign * effect
        sure = np.where(follows, 9.0 * sign, sure)
        altered[name] = np.where((of >= 0)[..., None], _logits(sure), np.nan)
    own = np.broadcast_to(cluster[:, None], lent.same.shape)
    units = np.stack([own, *(np.where(of < 0, own, cluster[of]) for of in lent)], axis=-1)
    found = compare_answers(np.zeros(rows, int), _logits(thing), altered, units=units, resamples=100)
    return World(found.gap, found.draw_deviation)


def _cover(cell, worlds):
    """How often the interval of 95% holds the gap; without an effect it is 0, else the mean of all worlds."""
    rows, classes, size, spread, backgrounds, effect = cell
    rng = np.random.default_rng([rows, classes, size, int(10 * spread), backgrounds, int(10 * effect)])
    gaps = [_make_gap(rng, rows, classes, size, backgrounds, spread=spread, effect=effect).gap for _ in range(worlds)]
    truth = float(np.mean(gaps)) if effect else 0.0
    return float(np.mean([gap.low <= truth <= gap.high for gap in gaps])), gaps


@pytest.mark.campaign
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(map(str, cell)))
def test_the_interval_of_the_gap_covers_other_rows_and_backgrounds(cell):
    """200 worlds: 0.95 less two standard errors are 0.92; and it is at most twice as wide as the gaps vary."""
    covered, gaps = _cover(cell, 200)
    assert covered >= 0.92
    assert np.mean([(gap.high - gap.low) / 2 for gap in gaps]) < 2 * 1.96 * np.std(gaps)


@pytest.mark.slow
@pytest.mark.parametrize("backgrounds", [1, 8])
def test_the_interval_covers_where_clusters_lend(backgrounds):
    """60 worlds of 50 photographs of three objects."""
    covered, _ = _cover((150, 5, 3, 2.0, backgrounds, 0.0), 60)
    assert covered >= 0.9


@pytest.mark.slow
def test_eight_backgrounds_vary_less_than_one():
    """What the page says of one draw is how much the gaps of one draw differ, the rows kept."""
    rng = np.random.default_rng(7)
    several = [_make_gap(rng, 100, 5, 1, 8, spread=2.0) for _ in range(20)]
    said = np.sqrt(np.mean([each.deviation**2 for each in several]))
    ones = []
    for seed in range(15):
        same = [_make_gap_of_seed(seed, draw) for draw in range(10)]
        ones.append(np.var(same, ddof=1))
    assert said == pytest.approx(np.sqrt(np.mean(ones)), rel=0.15)


def _make_gap_of_seed(seed, draw):
    """One draw a row in a world whose objects and backgrounds a seed gives."""
    rng, rows = np.random.default_rng(seed), 100
    label, thing, ground = rng.integers(0, 5, rows), rng.normal(size=rows), 2.0 * rng.normal(size=rows)
    lent = draw_donors(label, np.ones(rows, bool), backgrounds=1, seed=1000 * seed + draw)
    noise = np.random.default_rng([seed, draw]).normal(size=(2, rows)) * 0.3
    same, other = (thing + ground[of[:, 0]] + each > 0 for of, each in zip(lent, noise, strict=True))
    return float(same.mean() - other.mean())


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_no_gap_is_claimed_where_the_answer_does_not_go_by_the_class_of_the_background(spread):
    """40 worlds of 150 rows, backgrounds that do nothing or disturb whatever their class: at most 5 claims."""
    rng = np.random.default_rng([11, int(spread)])
    gaps = [_make_gap(rng, 150, 5, 1 + 2 * (k % 2), 8, spread=spread).gap for k in range(40)]
    assert sum(not gap.low <= 0 <= gap.high for gap in gaps) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_gap_is_claimed_where_a_fifth_of_the_rows_go_by_the_background(spread):
    """40 worlds of 150 rows: at least 36 claims, all of the right sign."""
    rng = np.random.default_rng([12, int(spread)])
    gaps = [_make_gap(rng, 150, 5, 1 + 2 * (k % 2), 8, spread=spread, by_background=0.2).gap for k in range(40)]
    assert sum(gap.low > 0 for gap in gaps) >= 36
