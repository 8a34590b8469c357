"""Writes the table of docs/check.md: how often a release whose true number lies at the bound passes or fails.

Each simulated release is a draw of rows from a population whose number is known, predictions of them, their report and
a check of it. Beside the bound at the true number, two more show the power: one that is easier to keep, one harder.

`python docs/make/check_page.py` goes on where it was ended: each cell is a line of docs/check/releases.jsonl. `--only`
takes a part of a cell's name, `--page` writes the table alone.
"""

import argparse
import json
import math
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ranking_worlds import NOISE
from scipy import integrate, stats

import oochub
from oochub.report.report import Report
from oochub.stats.proportion import wilson

DOCS = Path(__file__).parents[1]
PAGE, CELLS = DOCS / "check.md", DOCS / "check" / "releases.jsonl"
BEGIN, END = "<!-- made by docs/make/check_page.py -->", "<!-- end of what is made -->"
RELEASES = 1_000
AT_MOST = 0.025
SURE = 0.01  # a rate is above 2.5% where a binomial test at this level says so
_GROUPS = 8
_SHIFT = 0.1  # what the new model's margin lacks

Random = np.random.Generator
Columns = dict[str, Any]


class World(NamedTuple):
    """What is drawn and held to a bound.

    Attributes:
        title: The rule in words.
        rule: The rule without its bound.
        bound: Which bound it has.
        truth: The number of the population.
        step: How much easier and harder the other two bounds are; in the good direction of the number.
        draw: Of a generator and the rows: the columns of predictions, of the old model first if it compares two.
        rows: How many rows are drawn.
        is_paired: Whether the predictions stand beside the reports.
    """

    title: str
    rule: Mapping[str, str]
    bound: str
    truth: float
    step: float
    draw: Callable[[Random, int], list[Columns]]
    rows: tuple[int, ...]
    is_paired: bool = True

    @property
    def limits(self) -> tuple[float, ...]:
        """The bound at the truth, an easier one, a harder one; for an AUC near 1 half of the way there."""
        easier = -self.step if self.bound == "at_least" else self.step
        harder = self.truth - easier
        if self.rule["metric"] == "auc":
            harder = min(harder, (1 + self.truth) / 2)
        limits = (self.truth, self.truth + easier, harder)
        return tuple(max(0.0, limit) if self.bound == "at_most_worse" else limit for limit in limits)


def _answers(right: Any, label: Any, **columns: Any) -> Columns:
    return {"logits": 2.0 * np.eye(2)[np.where(right, label, 1 - label)], "label": label, **columns}


def _labels(n: int) -> Any:
    return np.arange(n) % 2


def _share(p: float) -> Callable[[Random, int], list[Columns]]:
    return lambda rng, n: [_answers(rng.random(n) < p, _labels(n))]


def _sides(outside: float, inside: float) -> Callable[[Random, int], list[Columns]]:
    def draw(rng: Random, n: int) -> list[Columns]:
        label, is_out = _labels(n), np.arange(n) % 4 > 1
        hard = np.where(label == 1, "hard_positive", "hard_negative")
        right = rng.random(n) < np.where(is_out, outside, inside)
        return [_answers(right, label, challenge=np.where(is_out, hard, "easy"))]

    return draw


def _groups(p: tuple[float, ...]) -> Callable[[Random, int], list[Columns]]:
    def draw(rng: Random, n: int) -> list[Columns]:
        group = np.arange(n) // 2 % _GROUPS
        return [_answers(rng.random(n) < np.array(p)[group], _labels(n), group=np.array(list("abcdefgh"))[group])]

    return draw


def _margins(margin: Any, label: Any) -> Columns:
    """Two logits whose difference is the margin of the truth over the other class."""
    signed = margin * (2 * label - 1)
    return {"logits": np.stack([np.zeros(len(label)), signed], 1), "label": label}


def _normal(rng: Random, n: int) -> list[Columns]:
    return [_margins(1 + rng.normal(size=n), _labels(n))]


def _rank(base: float, positives: float, noise: str, mislabeled: float) -> Callable[[Random, int], list[Columns]]:
    """The rows of `docs/make/ranking_worlds.py`, without hard ones."""

    def draw(rng: Random, n: int) -> list[Columns]:
        label = (rng.random(n) < positives).astype(int)
        label[:2] = 0, 1
        margin = base + NOISE[noise](rng, n)
        return [_margins(np.where(rng.random(n) < mislabeled, -margin, margin), label)]

    return draw


def _auc_of(base: float, law: Any, mislabeled: float) -> float:
    """P(first + second margin > 0) of two rows of other classes, each of which may be mislabeled."""
    means = [(base, 1 - mislabeled), (-base, mislabeled)]
    places = np.linspace(-60, 60, 24_001)
    density = law.pdf(places)
    return float(
        sum(
            of_first * of_second * integrate.trapezoid(density * law.cdf(first + second + places), places)
            for first, of_first in means
            for second, of_second in means
        )
    )


def _two_shares(right: float, lost: float, won: float) -> Callable[[Random, int], list[Columns]]:
    """Two models by the share that the old one has right, and what the new one loses and wins of all rows."""

    def draw(rng: Random, n: int) -> list[Columns]:
        kind, label = rng.choice(4, size=n, p=[right - lost, lost, won, 1 - right - won]), _labels(n)
        return [_answers(kind <= 1, label), _answers((kind == 0) | (kind == 2), label)]

    return draw


def _two_losses(rng: Random, n: int) -> list[Columns]:
    shared, label = 1 + rng.normal(size=n), _labels(n)
    return [_margins(shared + 0.5 * rng.normal(size=n) - shift, label) for shift in (0.0, _SHIFT)]


def _mean_loss(mean: float, spread: float) -> float:
    """The mean of log(1 + exp(-margin)) for a normal margin."""
    margins = np.linspace(mean - 12, mean + 12, 24_001)
    return float(integrate.trapezoid(np.logaddexp(0, -margins) * stats.norm.pdf(margins, mean, spread), margins))


_WIDE = math.sqrt(1.25)
_T4 = stats.t(4, scale=math.sqrt(0.5))
_ACCURACY, _NLL = {"metric": "accuracy"}, {"metric": "nll"}
_WORST_OF_EQUAL, _WORST_OF_ONE = (0.8,) * _GROUPS, (0.7, *(0.9,) * (_GROUPS - 1))
WORLDS = [
    World("accuracy at least 80%", _ACCURACY, "at_least", 0.8, 0.05, _share(0.8), (50, 200, 1000)),
    World("accuracy at least 98%", _ACCURACY, "at_least", 0.98, 0.015, _share(0.98), (50, 200, 1000)),
    World("NLL at most that of the population", _NLL, "at_most", _mean_loss(1, 1), 0.05, _normal, (50, 200, 1000)),
    World(
        *("AUC at least that of the population", {"metric": "auc"}, "at_least"),
        *(float(stats.norm.cdf(math.sqrt(2))), 0.04, _normal, (50, 200, 1000)),
    ),
    World(
        *("AUC of .998 at least that, t4 noise", {"metric": "auc"}, "at_least"),
        *(_auc_of(2.715, _T4, 0), 0.02, _rank(2.715, 0.5, "t4", 0), (600,)),
    ),
    World(
        *("AUC of .96 at least that, t4 noise, 10% positive", {"metric": "auc"}, "at_least"),
        *(_auc_of(1.188, _T4, 0), 0.05, _rank(1.188, 0.1, "t4", 0), (1000,)),
    ),
    World(
        *("AUC of .998 at least that, t4 noise, 3% positive", {"metric": "auc"}, "at_least"),
        *(_auc_of(2.715, _T4, 0), 0.08, _rank(2.715, 0.03, "t4", 0), (2000,)),
    ),
    World(
        *("AUC of .99 at least that, 0.5% mislabeled", {"metric": "auc"}, "at_least"),
        *(_auc_of(3.0, stats.norm, 0.005), 0.03, _rank(3.0, 0.5, "normal", 0.005), (400,)),
    ),
    World("gap at least −10 points", {"metric": "gap"}, "at_least", -0.1, 0.08, _sides(0.8, 0.9), (200, 1000)),
    World("gap at least −2 points", {"metric": "gap"}, "at_least", -0.02, 0.04, _sides(0.97, 0.99), (200, 1000)),
    World(
        *("worst of 8 groups at least 80%, all at 80%", {"metric": "worst_group"}, "at_least", 0.8, 0.1),
        *(_groups(_WORST_OF_EQUAL), (400, 1600)),
    ),
    World(
        *("worst of 8 groups at least 70%, the others at 90%", {"metric": "worst_group"}, "at_least", 0.7, 0.1),
        *(_groups(_WORST_OF_ONE), (400, 1600)),
    ),
    World(
        *("accuracy of 80% at most 2 points worse, paired", _ACCURACY, "at_most_worse", 0.02, 0.02),
        *(_two_shares(0.8, 0.06, 0.04), (200, 1000)),
    ),
    World(
        *("accuracy of 98% at most 2 points worse, paired", _ACCURACY, "at_most_worse", 0.02, 0.02),
        *(_two_shares(0.98, 0.025, 0.005), (200, 1000)),
    ),
    World(
        *("accuracy of 80% at most 2 points worse, reports alone", _ACCURACY, "at_most_worse", 0.02, 0.02),
        *(_two_shares(0.8, 0.06, 0.04), (200, 1000), False),
    ),
    World(
        *("NLL at most so much worse, paired", _NLL, "at_most_worse"),
        *(_mean_loss(1 - _SHIFT, _WIDE) - _mean_loss(1, _WIDE), 0.02, _two_losses, (200, 1000)),
    ),
]


class Cell(NamedTuple):
    """How the releases of one world came out: at the true number, at the easier bound and at the harder one."""

    title: str
    rows: int
    releases: int
    passed: int
    failed: int
    passed_easier: int
    failed_harder: int
    failed_easier: int
    passed_harder: int


def simulate(world: World, rows: int, releases: int = RELEASES) -> Cell:
    """Draws releases and counts what their checks say.

    Args:
        world: What is drawn.
        rows: Rows of each release.
        releases: How many are drawn.
    """
    rng = np.random.default_rng(zlib.crc32(f"{world.title} {rows}".encode()))
    rules = {"rule": [{**world.rule, world.bound: limit} for limit in world.limits]}
    counts: dict[tuple[int, str], int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(releases):
            reports = [_report(columns, world, Path(folder, str(k))) for k, columns in enumerate(world.draw(rng, rows))]
            baseline = {"baseline": reports[0]} if world.bound == "at_most_worse" else {}
            for place, outcome in enumerate(oochub.check(reports[-1], rules, **baseline).outcomes):
                if world.is_paired and outcome.paired not in (None, "paired"):
                    raise oochub.OochubError(str(outcome.paired))
                counts[place, outcome.state] = counts.get((place, outcome.state), 0) + 1
    wanted = [(0, "pass"), (0, "fail"), (1, "pass"), (2, "fail"), (1, "fail"), (2, "pass")]
    return Cell(world.title, rows, releases, *(counts.get(each, 0) for each in wanted))


def _report(columns: Columns, world: World, folder: Path) -> Report | Path:
    """The report of one model; its path, where predictions stand beside it."""
    metric = world.rule["metric"]
    options = {"metrics": ["accuracy" if metric in ("gap", "worst_group") else metric]}
    predictions = oochub.Predictions.from_arrays(**columns, class_names=["no", "yes"])
    if world.bound != "at_most_worse" or not world.is_paired:
        return oochub.evaluate(predictions, **options)
    folder.mkdir(exist_ok=True)
    oochub.evaluate(predictions.save(folder / "predictions.parquet"), **options).save(folder / "report.json")
    return folder


def read_cells() -> list[Cell]:
    """The cells that were simulated, in the order of the table."""
    lines = CELLS.read_text("utf-8").splitlines() if CELLS.exists() else []
    cells = [Cell(**json.loads(line)) for line in lines]
    order = [world.title for world in WORLDS]
    return sorted(cells, key=lambda cell: (order.index(cell.title), cell.rows))


def is_above(count: int, releases: int) -> bool:
    """Whether a rate is surely above 2.5%."""
    return bool(stats.binomtest(count, releases, AT_MOST, alternative="greater").pvalue < SURE)


def make_table(cells: list[Cell]) -> str:
    """The table in Markdown."""
    lines = [
        "| rule, true at the bound | rows | releases | pass, % | fail, % | undecided, % | pass if easier, % | "
        "fail if harder, % |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    steps = {world.title: world.step for world in WORLDS}
    for cell in cells:
        n = cell.releases
        rates = [_format_rate(count, n) for count in (cell.passed, cell.failed)]
        undecided = 100 * (1 - (cell.passed + cell.failed) / n)
        power = [f"{100 * count / n:.0f}" for count in (cell.passed_easier, cell.failed_harder)]
        title = f"{cell.title} (± {steps[cell.title]:g})"
        lines.append(
            f"| {title} | {cell.rows:,} | {n:,} | {' | '.join(rates)} | {undecided:.1f} | {' | '.join(power)} |"
        )
    return "\n".join(lines)


def _format_rate(count: int, releases: int) -> str:
    rate = wilson(count, releases)
    mark = " (high)" if is_above(count, releases) else ""
    return f"{100 * rate.value:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]{mark}"


def write_table() -> str:
    """docs/check.md with the table of all cells."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{make_table(read_cells())}\n\n{END}{after}"


def main() -> None:
    """Simulates the cells that are missing, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="A part of a cell's name.")
    parser.add_argument("--page", action="store_true", help="Write the table alone.")
    arguments = parser.parse_args()
    done = {(cell.title, cell.rows) for cell in read_cells()}
    CELLS.parent.mkdir(exist_ok=True)
    for world in WORLDS if not arguments.page else []:
        for rows in world.rows:
            if (world.title, rows) in done or arguments.only not in f"{world.title} {rows}":
                continue
            cell = simulate(world, rows)
            with CELLS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(cell._asdict()) + "\n")
            print(make_table([cell]).splitlines()[-1], flush=True)  # noqa: T201
    if PAGE.exists():
        PAGE.write_text(write_table(), "utf-8")


if __name__ == "__main__":
    main()
