"""Writes docs/levels.md: how often each test of a report refuses what is true, and what is not, in simulated worlds.

`python docs/make/levels_page.py` goes on where it was ended: each cell is a line of docs/levels/cells.jsonl. `--only`
takes a part of a test's name, `--page` writes the page alone. Its last sections are of `seed_worlds.py` and
`verdict_worlds.py`.
"""

import argparse
import json
import math
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import seed_worlds
import verdict_worlds
from scipy import stats

from oochub import get
from oochub.comparison.model_difference import measure_worst_difference
from oochub.records.sides import PercentileOfGroups
from oochub.stats.bootstrap import drop_no_width, replicate_interval
from oochub.stats.delong import paired_delong
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import difference, estimate
from oochub.stats.group_intervals import worst_group_interval
from oochub.stats.p_values import interval_p_value, sign_flips
from oochub.stats.proportion import paired_shares
from oochub.stats.stratified_gap import stratified_gap, unpaired_shares

DOCS = Path(__file__).parents[1]
PAGE, CELLS = DOCS / "levels.md", DOCS / "levels" / "cells.jsonl"
WORLDS, LEVEL, IN_CLUSTER, GROUPS = 5_000, 0.05, 5, 4
RESAMPLES = 1000
HIGH, LOW = 0.06, 0.04
_SURE = 0.01  # a level is out of bounds where a binomial test at this level says so
Values = Any


class Models(NamedTuple):
    """Two models on the same rows: `margin` (2, n) of the truth over the other class, `label` and `cluster` (n,)."""

    margin: Values
    label: Values
    cluster: Values | None

    @property
    def right(self) -> Values:
        """Whether each model is right on each row (2, n)."""
        return self.margin > 0

    @property
    def loss(self) -> Values:
        """Each model's loss of each row (2, n)."""
        return np.logaddexp(0, -2 * self.margin)

    @property
    def score(self) -> Values:
        """For class 1."""
        return self.margin * (2 * self.label - 1)

    @property
    def sampling(self) -> Sampling:
        """With the clusters."""
        return Sampling(cluster=self.cluster)


def _models(rng: np.random.Generator, n: int, clusters: bool, better: float) -> Models:
    """Alike but for chance; the second by `better` where that is not 0. Half of a cluster's noise is common to it."""
    cluster = np.arange(n) // IN_CLUSTER if clusters else None

    def noise() -> Values:
        own = rng.normal(size=n)
        return own if cluster is None else math.sqrt(0.5) * (rng.normal(size=n // IN_CLUSTER)[cluster] + own)

    label = (rng.random(n) < 0.5).astype(int)
    label[:2] = 0, 1
    margin = 1 + noise() + 0.8 * np.stack([noise(), noise()]) + np.array([[0], [better]])
    return Models(margin, label, cluster)


class Sides(NamedTuple):
    """Whether answers are right on two sides; clusters lie on one side, as scenes have one background."""

    right: Values
    is_out: Values
    label: Values
    cluster: Values | None


def _sides(rng: np.random.Generator, n: int, clusters: bool, worse: float) -> Sides:
    """One model; out of context its margin is less by `worse`."""
    models = _models(rng, n, clusters, 0.0)
    of_unit = rng.permutation(n // IN_CLUSTER if clusters else n) % 2 == 0
    is_out = of_unit[models.cluster] if models.cluster is not None else of_unit
    return Sides(models.margin[0] - worse * is_out > 0, is_out, rng.integers(3, size=n), models.cluster)


def _shares(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    models = _models(rng, n, clusters, effect)
    if models.cluster is None:
        return paired_shares(models.right[1], models.right[0]).p_value
    return sign_flips(models.right[1] * 1.0 - models.right[0], models.sampling).p_value


def _losses(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    models = _models(rng, n, clusters, effect)
    return sign_flips(models.loss[1] - models.loss[0], models.sampling).p_value


def _areas(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    models = _models(rng, n, clusters, effect)
    return paired_delong(models.label, models.score[1], models.score[0], cluster=models.cluster).p_value


def _gap(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    sides, accuracy = _sides(rng, n, clusters, effect), get("metric", "accuracy")
    of = {}
    for out in (False, True):
        rows = sides.is_out == out
        columns = {"label": np.ones(int(rows.sum()), int), "prediction": sides.right[rows].astype(int)}
        of[out] = estimate(accuracy, columns, cluster=None if sides.cluster is None else sides.cluster[rows])
    return _by_interval(difference(of[True], of[False]))


def _drop(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    sides = _sides(rng, n, clusters, effect)
    return unpaired_shares(sides.right, sides.is_out, cluster=sides.cluster)


def _context(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    sides = _sides(rng, n, clusters, effect)
    return stratified_gap(sides.right, sides.is_out, sides.label, cluster=sides.cluster).p_value


def _worst(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    models = _models(rng, n, clusters, effect)
    group = np.arange(n) // IN_CLUSTER % GROUPS
    return measure_worst_difference(
        *(worst_group_interval(of * 1.0, group, worst="smallest", cluster=models.cluster) for of in models.right)
    ).p_value


def _percentile(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    models, side = _models(rng, n, True, effect), PercentileOfGroups(split="test")
    shares = np.stack([np.bincount(models.cluster, of) / IN_CLUSTER for of in models.right])
    groups = shares.shape[1]
    first, second = np.percentile(shares[:, rng.integers(groups, size=(RESAMPLES, groups))], side.percentile, axis=2)
    change = side.statistic(shares[1]) - side.statistic(shares[0])
    return _by_interval(drop_no_width(replicate_interval(second - first, change, groups, Sampling())))


def _f1(rng: np.random.Generator, n: int, clusters: bool, effect: float) -> float:
    models = _models(rng, n, clusters, effect)
    answers = np.where(models.right, models.label, 1 - models.label)
    counts = np.bincount(4 * models.label + 2 * answers[0] + answers[1], minlength=8)
    drawn = f1_change(rng.multinomial(n, counts / n, RESAMPLES))  # rows drawn again, counted by what they are
    change = drop_no_width(replicate_interval(drawn, float(f1_change(counts)), n, Sampling(), by_t=True))
    return interval_p_value(change, degrees=n - 1)


def f1_change(counts: Values) -> Values:
    """Macro F1 of the second model less that of the first, of two classes.

    Args:
        counts: How many rows (..., 8) have each label, first and second answer, the second changing fastest.
    """
    cells = counts.reshape(*counts.shape[:-1], 2, 2, 2)
    rows = cells.sum(axis=(-1, -2))
    scores = []
    for table in (cells.sum(axis=-1), cells.sum(axis=-2)):  # (..., label, answer)
        with np.errstate(invalid="ignore"):
            each = 2 * np.diagonal(table, axis1=-2, axis2=-1) / (rows + table.sum(axis=-2))
        scores.append(np.nanmean(np.where(rows > 0, each, np.nan), axis=-1))
    return scores[1] - scores[0]


def _by_interval(changed: Any) -> float:
    return interval_p_value(changed)


class Test(NamedTuple):
    """One test of a report: what it is asked of, its name, and the effect whose power is shown."""

    asked: str
    name: str
    world: Callable[[np.random.Generator, int, bool, float], float]
    effect: float
    effect_words: str
    is_conservative: str = ""
    rows: tuple[int, ...] = (20, 60, 200)
    rows_in_clusters: tuple[int, ...] = (100, 500)


_BETTER, _WORSE = "the margin of B is larger by {:g}", "the margin is smaller by {:g} out of context"
TESTS = (
    Test("accuracy of two models", "exact McNemar; sign flips of clusters", _shares, 0.5, _BETTER,
         "McNemar's test is exact, of whole numbers, and refuses less often where few rows differ"),
    Test("NLL of two models", "sign flips; Student's t from 300 rows on", _losses, 0.5, _BETTER,
         rows=(20, 60, 200, 1000)),
    Test("AUC of two models", "paired DeLong; paired Obuchowski", _areas, 0.5, _BETTER,
         "few rows of a class make the test refuse less often"),
    Test("gap of a model's accuracy", "interval of the difference", _gap, 0.7, _WORSE,
         "the interval is made of those of both sides"),
    Test("a group against its class", "chi-square with Yates' correction; t of clusters", _drop, 0.7, _WORSE,
         "Yates' correction is for the exact level of few rows"),
    Test("a context that was found", "exact mid-p of Cochran, Mantel and Haenszel; t of clusters", _context, 0.7,
         _WORSE,
         "a mid-p value of whole numbers is at times below its level, and too few rows are not tested"),
    Test("worst group of two models", "interval of the difference", _worst, 1.0, _BETTER,
         "both intervals hold for all groups at once", rows=(80, 200, 1000)),
    Test("F1 of two models", "Student's t with the standard deviation of a bootstrap", _f1, 0.5, _BETTER,
         "few rows differ", rows=(20, 60, 200), rows_in_clusters=()),
    Test("10th percentile of groups of two models", "interval of a bootstrap of groups", _percentile, 0.5, _BETTER,
         "a percentile of shares of few rows takes few values", rows=(), rows_in_clusters=(200, 500)),
)  # fmt: skip


class Cell(NamedTuple):
    """How often one test refused, of so many worlds: where nothing differs, and where `effect` does."""

    asked: str
    n: int
    clusters: int
    worlds: int
    refused: int
    refused_effect: int
    untested: int

    @property
    def key(self) -> tuple[str, int, bool]:
        """The test, its rows, and whether they come in clusters."""
        return self.asked, self.n, self.clusters > 0

    def is_above(self, bound: float) -> bool:
        """Whether it surely refuses more often than this."""
        return bool(stats.binomtest(self.refused, self.worlds, bound, alternative="greater").pvalue < _SURE)

    def is_below(self, bound: float) -> bool:
        """Whether it surely refuses less often than this."""
        return bool(stats.binomtest(self.refused, self.worlds, bound, alternative="less").pvalue < _SURE)


def keys() -> list[tuple[Test, int, bool]]:
    """Every cell of the table: the test, its rows, and whether they come in clusters."""
    return [
        (test, n, clusters)
        for test in TESTS
        for clusters, sizes in ((False, test.rows), (True, test.rows_in_clusters))
        for n in sizes
    ]


def cell(test: Test, n: int, clusters: bool, *, worlds: int = WORLDS) -> Cell:
    """Simulates a cell; the same worlds each time.

    Args:
        test: One of `TESTS`.
        n: Rows.
        clusters: Whether they come in clusters of five.
        worlds: How many.
    """
    rng = np.random.default_rng(zlib.crc32(f"{test.asked} {n} {clusters}".encode()))
    p_values = np.array(
        [[test.world(rng, n, clusters, effect) for effect in (0.0, test.effect)] for _ in range(worlds)]
    )
    refused = (p_values <= LEVEL).sum(axis=0).tolist()
    return Cell(
        test.asked, n, n // IN_CLUSTER if clusters else 0, worlds, *refused, int(np.isnan(p_values[:, 0]).sum())
    )


def read(path: Path) -> dict[tuple[str, int, bool], Cell]:
    """The cells that are there; a line that was cut short is none.

    Args:
        path: A file of lines of JSON, which need not exist.
    """
    cells = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
        try:
            each = Cell(**json.loads(line))
        except (ValueError, TypeError):
            continue
        cells[each.key] = each
    return cells


def run(path: Path, *, worlds: int = WORLDS, only: str = "") -> dict[tuple[str, int, bool], Cell]:
    """Simulates the cells that are missing, or had fewer worlds, and writes each down as it ends.

    Args:
        path: See `read`.
        worlds: Of each cell.
        only: A part of the name of a test.
    """
    cells = read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for test, n, clusters in keys():
        earlier = cells.get((test.asked, n, clusters))
        if only in test.asked and (earlier is None or earlier.worlds < worlds):
            result = cells[test.asked, n, clusters] = cell(test, n, clusters, worlds=worlds)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result._asdict()) + "\n")
            print(result, flush=True)  # noqa: T201
    return cells


def faults(cells: Sequence[Cell]) -> list[str]:
    """What the page must not say silently: tests that refuse too often, and too seldom without a word of it.

    Args:
        cells: Of any number of worlds.
    """
    conservative = {test.asked: test.is_conservative for test in TESTS}
    too_often = [
        f"{cell.asked}, n = {cell.n}: {cell.refused} of {cell.worlds}" for cell in cells if cell.is_above(HIGH)
    ]
    silent = [
        f"{cell.asked}, n = {cell.n}: too seldom"
        for cell in cells
        if cell.is_below(LOW) and not conservative[cell.asked]
    ]
    return too_often + silent


def page(cells: dict[tuple[str, int, bool], Cell]) -> str:
    """docs/levels.md.

    Args:
        cells: By their keys, see `read`.
    """
    lines = [_PREFACE.format(in_cluster=IN_CLUSTER, groups=GROUPS)]
    for test in TESTS:
        own = [cells[key] for t, n, c in keys() if t is test and (key := (t.asked, n, c)) in cells]
        lines += [f"## {test.asked[0].upper()}{test.asked[1:]}\n", f"Test: {test.name}.", ""]
        if not own:
            lines += ["Not simulated yet (`python docs/make/levels_page.py`).", ""]
            continue
        lines += ["| rows | clusters | level | power | worlds | not tested |", "|" + "---:|" * 6]
        for each in own:
            share = f"{each.refused / each.worlds:.3f}{' (seldom)' if each.is_below(LOW) else ''}"
            cells_of_row = (each.n, each.clusters or "–", share, f"{each.refused_effect / each.worlds:.2f}")
            untested = f"{each.untested / each.worlds:.0%}" if each.untested else "–"
            lines.append("| " + " | ".join(map(str, (*cells_of_row, f"{each.worlds:,}", untested))) + " |")
        lines += ["", f"Power: {test.effect_words.format(test.effect)}."]
        if test.is_conservative and any(each.is_below(LOW) for each in own):
            lines += [f"It refuses seldom in some cells: {test.is_conservative}."]
        lines += [""]
    return "\n".join([*lines, seed_worlds.page(seed_worlds.read()), verdict_worlds.page(verdict_worlds.read())])


_PREFACE = """# Levels of the tests

A test at 5% should say that something differs in 5 of 100 worlds in which nothing does. Here each test that a report or
a comparison makes is asked so in simulated worlds, and beside it stands its power, how often it finds an effect that is
there. A level is within 0.04 to 0.06, or the test refuses *seldom*, which costs power and deceives nobody. How well the
intervals cover is told in [intervals.md](intervals.md).

Two models have a margin of the truth over the other class, 1 plus a part that the image has, plus 0.8 of a part of
their own, all normal; they are right where it is above 0, and their loss is log(1 + exp(-2 margin)). Clusters are of
{in_cluster} rows, which share half of the variance of each part; on two sides of a context whole clusters lie on one
side. There are {groups} groups where groups are asked about. The worlds in which nothing differs are those of two
models that are alike but for chance: of two that fail in other ways, one often a little and one rarely and loudly,
random signs and Student's t of few rows refuse more often (0.3 of 30 rows for a model whose loss is ten times as loud),
and below 100 rows the number says that it may be so. Made by `python docs/make/levels_page.py`.
"""


def main() -> None:
    """Simulates what is missing, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--only", default="")
    parser.add_argument("--page", action="store_true", help="write the page of the cells that are there")
    arguments = parser.parse_args()
    cells = read(CELLS) if arguments.page else run(CELLS, worlds=arguments.worlds, only=arguments.only)
    PAGE.write_text(page(cells), "utf-8")


if __name__ == "__main__":
    main()
