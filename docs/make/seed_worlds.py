"""Simulates tests between two methods with a few seeds each, for docs/levels.md: level, power, coverage, others.

`python docs/make/seed_worlds.py` goes on where it was ended: each cell is a line of docs/levels/seeds.jsonl. The page
is written by `levels_page.py`.
"""

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from oochub.evaluation.group_statistics import make_weighted_form
from oochub.stats.seeded_difference import GROUPS, SeededNumbers, seeded_difference

CELLS = Path(__file__).parents[1] / "levels" / "seeds.jsonl"
WORLDS, ROWS, SEEDS = 2_000, 400, (3, 5, 10)
OURS = "seeds and images"
_LEVEL = 0.05
_RESAMPLES, _OF_BOOTSTRAP, _PARTS = 200, 500, 4
_HARDER = 0.6  # the margin of the worst group is less by this
Values = Any


class World(NamedTuple):
    """What varies: standard deviations of a run's margin over seeds, and of each image's margin for a method."""

    words: str
    metric: str = "accuracy"
    seeds: float = 0.1
    images: float = 0.7
    shared: float = 0.0  # share of the seeds' variance that the same seed gives both methods
    effect: float = 0.4
    rows: int = ROWS
    is_tied: bool = False  # the groups of the first method are alike, and the second has one that is clearly worst


ASKED: Mapping[str, World] = {
    "images": World("only images vary, apart from noise", seeds=0.0),
    "seeds": World("only seeds vary, apart from noise", seeds=0.4, images=0.0, effect=1.0),
    "both": World("both vary"),
    "AUC": World("both vary, AUC", "auc"),
    "worst group": World("both vary, accuracy of the worst of four groups of 100 images", "worst"),
    "same seeds": World("seeds vary, and 0.7 of that is common to both methods with a seed", seeds=0.4, shared=0.7),
}
TIED = World("the worst of four groups of 200 images, all alike for one method", "worst", rows=800, is_tied=True)
"""A world in which only the coverage is simulated."""
TIED_NAME, _TIED_WORLDS = "tied groups", 1_000


class Cell(NamedTuple):
    """A simulated world: worlds in which each test refuses no difference that is true, and one that is not.

    Attributes:
        asked: Key of `ASKED`.
        seeds: Seeds of each method.
        worlds: Worlds with and without a difference.
        refused: How often each test refuses where there is no difference, of how many.
        found: How often ours refuses where there is one.
        held: How often the interval holds the true difference where there is one.
    """

    asked: str
    seeds: int
    worlds: int
    refused: dict[str, tuple[int, int]]
    found: int
    held: int


def draw(rng: np.random.Generator, world: World, seeds: int, effect: float) -> Values:
    """The margins of two methods (2, seeds, n): right where above 0; the second is better by `effect`."""
    image, own = rng.normal(size=world.rows), world.images * rng.normal(size=(2, 1, world.rows))
    common, alone = rng.normal(size=(1, seeds, 1)), rng.normal(size=(2, seeds, 1))
    run = world.seeds * (math.sqrt(world.shared) * common + math.sqrt(1 - world.shared) * alone)
    better = np.array([-effect / 2, effect / 2])[:, None, None]
    worst = _HARDER * (np.arange(world.rows) % _PARTS == 0) if world.metric == "worst" else 0.0
    has_worst = np.array([not world.is_tied, True])[:, None, None]
    return 1 - has_worst * worst + better + run + image + own + rng.normal(size=(2, seeds, world.rows))


def true_difference(world: World, effect: float) -> float:
    """The difference over all seeds and images, by the normal law; each margin has this variance about its mean."""
    variance = 2 + world.images**2
    has_worst = np.array([not world.is_tied, True]) & (world.metric == "worst")
    ends = 1 - _HARDER * has_worst + np.array([-effect / 2, effect / 2])
    if world.metric == "auc":  # two images, and the margins of both are those of one run
        return float(np.diff(special.ndtr(2 * ends / np.sqrt(2 * variance + 4 * world.seeds**2)))[0])
    return float(np.diff(special.ndtr(ends / np.sqrt(variance + world.seeds**2)))[0])


def leave_out(margin: Values, metric: str, group: Values) -> tuple[Values, Values]:
    """The number of each run (2, s), and without each group of images (2, s, GROUPS)."""
    rows = margin.shape[-1]
    right, flat = (margin > 0).astype(float), margin.reshape(-1, rows)
    weights = np.concatenate([np.ones((1, rows)), 1.0 - (group == np.arange(GROUPS)[:, None])])
    if metric == "auc":
        label = np.arange(rows) % 2
        forms = [make_weighted_form("auc", {"label": label, "score": each * (2 * label - 1)}) for each in flat]
        found = np.stack([form(weights) for form in forms])
    else:
        part = np.arange(rows) % _PARTS == np.arange(_PARTS)[:, None] if metric == "worst" else np.ones((1, rows))
        right = right.reshape(-1, rows)
        found = np.min([(right @ (weights * of).T) / (weights * of).sum(axis=1) for of in part], axis=0)
    found = found.reshape(*margin.shape[:2], GROUPS + 1)
    return found[..., 0], found[..., 1:]


def ask_images(values: Values, left: Values) -> float:
    """The p-value of Student's t of the images, the runs being all that there are."""
    change = left[1].mean(axis=0) - left[0].mean(axis=0)
    error = np.sqrt(np.sum((change - change.mean()) ** 2) * (GROUPS - 1) / GROUPS)
    return float(2 * special.stdtr(GROUPS - 1, -abs(values[1].mean() - values[0].mean()) / error))


def ask_resamples(drawn: Values) -> float:
    """The p-value of the percentiles of a bootstrap."""
    return float(min(1.0, 2 * min((1 + np.sum(sign * drawn <= 0)) / (1 + len(drawn)) for sign in (1, -1))))


def resample(rng: np.random.Generator, margin: Values) -> Values:
    """Differences of accuracies (r,) of which seeds, of each method, and images are drawn again."""
    seeds, right = margin.shape[1], (margin > 0).astype(float)
    drawn = rng.multinomial(ROWS, np.full(ROWS, 1 / ROWS), size=_RESAMPLES) / ROWS
    of_runs = right @ drawn.T  # (2, s, r)
    chosen = rng.integers(seeds, size=(2, seeds, _RESAMPLES))
    of_methods = np.take_along_axis(of_runs, chosen, axis=1).mean(axis=1)
    return of_methods[1] - of_methods[0]


def cell(asked: str, seeds: int, *, worlds: int = WORLDS, others: bool = True) -> Cell:
    """Simulates a cell; the same worlds each time.

    Args:
        asked: Key of `ASKED`.
        seeds: Seeds of each method.
        worlds: How many.
        others: Whether the other tests are made too.
    """
    world, rng = ASKED[asked], np.random.default_rng(zlib.crc32(f"{asked} {seeds}".encode()))
    truth, found, held = true_difference(world, world.effect), 0, 0
    p_values: dict[str, list[float]] = {OURS: []}
    every = np.empty((2, worlds, seeds))
    for number in range(worlds):
        for effect in (0.0, world.effect):
            margin = draw(rng, world, seeds, effect)
            values, left = leave_out(margin, world.metric, rng.permutation(ROWS) % GROUPS)
            ours = seeded_difference(*(SeededNumbers(values[m], left[m], ROWS) for m in range(2)))
            if effect:
                found += ours.p_value <= _LEVEL
                held += bool(ours.difference.low <= truth <= ours.difference.high)
                continue
            p_values[OURS].append(ours.p_value)
            every[:, number] = values
            if others:
                p_values.setdefault("images alone", []).append(ask_images(values, left))
            if others and number < _OF_BOOTSTRAP and world.metric == "accuracy":
                p_values.setdefault("hierarchical bootstrap", []).append(ask_resamples(resample(rng, margin)))
    if others:
        p_values["paired t of seeds"] = stats.ttest_rel(*every, axis=1).pvalue.tolist()
        p_values["Welch's t of seeds"] = stats.ttest_ind(*every, axis=1, equal_var=False).pvalue.tolist()
    refused = {name: (int(np.sum(np.array(of) <= _LEVEL)), len(of)) for name, of in p_values.items()}
    return Cell(asked, seeds, worlds, refused, int(found), int(held))


def hold_tied(seeds: int, worlds: int = _TIED_WORLDS) -> Cell:
    """How often the interval holds the true difference from a method whose groups are alike."""
    rng, held = np.random.default_rng(zlib.crc32(f"{TIED_NAME} {seeds}".encode())), 0
    truth = true_difference(TIED, 0.0)
    for _ in range(worlds):
        values, left = leave_out(draw(rng, TIED, seeds, 0.0), "worst", rng.permutation(TIED.rows) % GROUPS)
        ours = seeded_difference(*(SeededNumbers(values[m], left[m], TIED.rows) for m in range(2)))
        held += bool(ours.difference.low <= truth <= ours.difference.high)
    return Cell(TIED_NAME, seeds, worlds, {}, 0, held)


def read(path: Path = CELLS) -> dict[tuple[str, int], Cell]:
    """The cells that are there, by `asked` and seeds."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    cells = [Cell(**json.loads(line)) for line in lines]
    return {(each.asked, each.seeds): each for each in cells}


def page(cells: Mapping[tuple[str, int], Cell]) -> str:
    """The section of docs/levels.md."""
    lines = [_PREFACE.format(rows=ROWS, worlds=f"{WORLDS:,}"), ""]
    for asked, world in ASKED.items():
        own = [cells[asked, seeds] for seeds in SEEDS if (asked, seeds) in cells]
        if not own:
            continue
        names = [name for name in own[0].refused if name != OURS]
        heads = ["seeds", "level", "power", "coverage", *(f"level, {name}" for name in names)]
        lines += [f"{world.words[0].upper()}{world.words[1:]}:", "", f"| {' | '.join(heads)} |"]
        lines.append("|" + "---:|" * len(heads))
        for each in own:
            shares = [each.refused[name][0] / each.refused[name][1] for name in (OURS, *names)]
            found, held = each.found / each.worlds, each.held / each.worlds
            row = [str(each.seeds), f"{shares[0]:.3f}", f"{found:.2f}", f"{held:.3f}"]
            lines.append(f"| {' | '.join([*row, *(f'{share:.3f}' for share in shares[1:])])} |")
        lines.append("")
    both = cells["both", 3]
    tied = [cells[TIED_NAME, seeds] for seeds in SEEDS]
    shares = [f"{each.held / each.worlds:.2f}" for each in tied]
    points = 100 * true_difference(ASKED["both"], ASKED["both"].effect)
    return "\n".join(
        [
            *lines,
            _END.format(
                points=f"{points:.0f}",
                found=f"{both.found / both.worlds:.0%}",
                worlds=f"{tied[0].worlds:,}",
                tied=f"{', '.join(shares[:-1])} and {shares[-1]}",
            ),
        ]
    )


_PREFACE = """## Methods over seeds

Test: t interval of seeds and images (`oochub.stats.seeded_difference`), which `oochub compare` makes of a sweep. Two
methods have some seeds each and are judged on the same {rows} images. The margin of a run on an image is 1, plus a part
of the image, a part that the image has for the method, a part of the run, and noise. Coverage is that of the interval
of a true difference, by the normal law; {worlds} worlds, of the bootstrap 500. The columns to the right are the levels
of tests that were not chosen: Student's t over the seeds, paired and unpaired, takes the images for all that there are;
a test of the images takes the runs for all that there are; a bootstrap of seeds and images draws from three seeds as if
they were all, and counts the noise of a run twice."""
_END = """Three seeds show large differences only: if both vary, a difference of {points} points is found in {found} of
worlds. If the same seed makes both methods better or worse together, the test refuses more seldom than it could: a
paired test would find more then, and less in every other world: three differences leave it two degrees of freedom.
The number of a worst group is too low where several groups are alike, so its difference from a method with one group
that is clearly worst is too small: with four groups of 200 images, its interval held the true difference in
{tied} of {worlds} worlds with 3, 5 and 10 seeds.
"""


def main() -> None:
    """Simulates what is missing."""
    cells = read()
    CELLS.parent.mkdir(parents=True, exist_ok=True)
    for seeds in SEEDS:
        for asked in (*ASKED, TIED_NAME):
            if (asked, seeds) not in cells:
                result = hold_tied(seeds) if asked == TIED_NAME else cell(asked, seeds)
                with CELLS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result._asdict()) + "\n")
                print(result, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
