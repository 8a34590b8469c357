"""Writes docs/intervals.md: how often the intervals of a report hold the truth. `python docs/make/intervals_page.py`.

Each cell of docs/intervals/ is a JSON of counts over worlds with a known truth (docs/make/interval_worlds.py), written
when it is whole: an interrupted run resumes.
"""

import argparse
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from interval_worlds import CELLS, Cell, holds, truths, world
from ranking_worlds import RANKINGS
from scipy import stats
from tqdm import tqdm

DOCS = Path(__file__).parents[1]
FOLDER, PAGE = DOCS / "intervals", DOCS / "intervals.md"
WORLDS = 2000
RESAMPLES = 200  # in place of 1,000: the ends are less exact, so coverage is if anything lower, at a fifth of the time
LEAST = 0.92
"""What an interval of 95% shall cover at least."""
LEAST_WITH_CAVEAT = 0.8
"""What it shall cover at least where a caveat stands beside it."""
_OFTEN = 20  # a caveat in one of so many worlds is of the cell, a rarer one of odd draws alone
_LEVEL = 0.01  # of the test of each cell


@dataclass(frozen=True)
class Count:
    """One number in one cell: in how many worlds it had an interval, with a caveat and without, and was held.

    `plain_above` is in how many an interval without a caveat lies wholly above the truth.
    """

    plain: int = 0
    plain_held: int = 0
    caveat: int = 0
    caveat_held: int = 0
    without: int = 0
    plain_above: int = 0

    @property
    def worlds(self) -> int:
        """In how many the number was asked for."""
        return self.plain + self.caveat + self.without

    @property
    def is_fine(self) -> bool:
        """Whether intervals with and without a caveat cover what they shall: a miss is a binomial test at 1%."""
        tests = [(self.plain_held, self.plain, LEAST)]
        if _OFTEN * self.caveat >= self.worlds:
            tests.append((self.caveat_held, self.caveat, LEAST_WITH_CAVEAT))
        return all(stats.binom.cdf(held, of, least) >= _LEVEL for held, of, least in tests)


def counted(cell: Cell, worlds: int = WORLDS, *, resamples: int = RESAMPLES) -> dict[str, Count]:
    """The counts of one cell.

    Args:
        cell: What is drawn.
        worlds: How many.
        resamples: Of the intervals that are bootstraps.
    """
    truth, counts = truths(cell.family, cell.groups), defaultdict[str, dict[str, int]](dict)
    for seed in range(worlds):
        for name, number in world(cell, seed, resamples=resamples).items():
            held = holds(number, truth[name])
            kind = "without" if held is None else "plain" if number.reason is None else "caveat"
            own = counts[name]
            own[kind] = own.get(kind, 0) + 1
            if held:
                own[f"{kind}_held"] = own.get(f"{kind}_held", 0) + 1
            if kind == "plain" and number.low > truth[name]:
                own["plain_above"] = own.get("plain_above", 0) + 1
    return {name: Count(**own) for name, own in counts.items()}


def simulate(folder: Path, cells: Iterable[Cell] = CELLS, *, worlds: int = WORLDS, jobs: int | None = None) -> None:
    """Counts every cell that `folder` does not hold yet.

    Args:
        folder: Gets a JSON for each cell.
        cells: What is drawn.
        worlds: Of each cell.
        jobs: Processes; None takes one a core.
    """
    folder.mkdir(parents=True, exist_ok=True)
    left = [cell for cell in cells if not (folder / f"{cell}.json").exists()]
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        running = {pool.submit(counted, cell, worlds): cell for cell in left}
        for done in tqdm(as_completed(running), total=len(left), desc="Cells", disable=None):
            if done.exception() is not None:
                pool.shutdown(cancel_futures=True)  # else the error is told when all others are done, and those lost
            cell, counts = running[done], done.result()
            content = {"worlds": worlds, "numbers": {name: asdict(each) for name, each in counts.items()}}
            draft = folder / f".{cell}.part"
            draft.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
            draft.replace(folder / f"{cell}.json")


def read(folder: Path) -> dict[Cell, dict[str, Count]]:
    """The counts of every cell that a folder holds, in the order of the table."""
    worlds = {}
    for cell in CELLS:
        path = folder / f"{cell}.json"
        if path.exists():
            content = json.loads(path.read_text("utf-8"))
            worlds[cell] = {name: Count(**own) for name, own in content["numbers"].items()}
    return worlds


def page(counts: Mapping[Cell, Mapping[str, Count]]) -> str:
    """docs/intervals.md."""
    worlds = [each.worlds for own in counts.values() for each in own.values() if each.worlds]
    lines = [_PREFACE.format(fewest=min(worlds), most=max(worlds), resamples=RESAMPLES)]
    left = [cell for cell in CELLS if cell not in counts]
    if left:
        families = ", ".join(dict.fromkeys(_TITLES[_title_family(cell)].lower() for cell in left))
        lines.append(f"\nNot simulated yet: {len(left)} of {len(CELLS)} cells ({families}).")
    for family, title in _TITLES.items():
        cells = [cell for cell in counts if _title_family(cell) == family]
        if not cells:
            continue
        names = list(dict.fromkeys(name for cell in cells for name in counts[cell]))
        if family == _RANKINGS:
            lines += [
                f"\n## {title}\n",
                _ABOUT_RANKINGS,
                *_list_rankings({cell: counts[cell] for cell in cells}, names),
            ]
            continue
        lines += [f"\n## {title}\n", "| number | " + " | ".join(map(_heading, cells)) + " |"]
        lines.append("|" + "---|" * (len(cells) + 1))
        for name in names:
            shown = [_shown(counts[cell].get(name)) for cell in cells]
            lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def _title_family(cell: Cell) -> str:
    return _RANKINGS if cell.family in RANKINGS else cell.family


def _list_rankings(counts: Mapping[Cell, Mapping[str, Count]], names: Sequence[str]) -> list[str]:
    """A line for each world, with how often an interval lies above the truth."""
    lines = ["| world | rows | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 2)]
    for cell, own in counts.items():
        shown = []
        for name in names:
            count = own.get(name)
            above = f" ({count.plain_above / count.plain:.1%})" if count is not None and count.plain else ""
            shown.append(_shown(count) + above)
        lines.append(f"| {cell.family} | {_heading(cell)} | " + " | ".join(shown) + " |")
    return lines


def _heading(cell: Cell) -> str:
    groups = f", {cell.groups} groups" if cell.family == "groups" else ""
    sizes = " of falling size" if cell.sizes == "falling" else ""
    return f"{cell.rows:,} rows{groups}" + (f" in {cell.clusters} clusters{sizes}" if cell.clusters else "")


def _shown(count: Count | None) -> str:
    if count is None:
        return ""
    parts = []
    if count.plain:
        parts.append(f"{count.plain_held / count.plain:.3f}".lstrip("0"))
    if count.caveat:
        parts.append("*" + f"{count.caveat_held / count.caveat:.3f}".lstrip("0") + "*")
    if not count.is_fine:
        parts[-1] += " **low**"
    if count.without >= max(1, count.worlds // 100):
        parts.append(f"none in {math.ceil(100 * count.without / count.worlds)}%")
    return ", ".join(parts)


_RANKINGS = "rankings"
_TITLES = {
    "classes": "Numbers of classes",
    "groups": "Numbers of groups",
    "detection": "Out-of-distribution detection",
    "number": "Numbers that are predicted",
    "labels": "Several labels a row",
    "tokens": "Tokens",
    "users": "A percentile of users (ten rows each)",
    "boxes": "Boxes (ten images a session)",
    "errors": "Numbers that are predicted with heavy errors, which grow with the label (t5)",
    _RANKINGS: "Rankings near 1",
}
_ABOUT_RANKINGS = """A ranking that is nearly perfect is lost by few rows: these worlds have rows far on the wrong side,
wide noise, rare classes and clusters of unequal size (`docs/make/ranking_worlds.py`). Half of the rows are hard, with a
margin that is .5 smaller. In brackets: how often an interval lies wholly above the truth, so that `oochub check` would
pass a model that is exactly at its bound; it shall be 3.5% or less.
"""
_PREFACE = """# Do the intervals hold?

A 95% interval shall hold the true value in 95 of 100 datasets like yours. This page draws such datasets from
populations whose truth is known, {fewest:,} to {most:,} for each number of a cell, gives each the interval that a
report shows, and counts how often it holds the truth. Rows of a cluster share an effect (intraclass correlation 0.2).
Clusters of falling size have 1, 1/2, 1/3, ... of the rows of the largest one.

- A plain number is the coverage of intervals that the report shows without a caveat. It shall be .92 or more.
- A number in *italics* is the coverage of intervals beside which the report says why they may be too narrow: "only 30
  rows", "only 5 clusters". It shall be .80 or more where one in 20 datasets or more gets the caveat.
- **low** marks a cell below these (a binomial test at 1%).
- "none in 40%" counts the datasets that get no interval, and the reason why.

Bootstraps have {resamples} resamples here in place of 1,000, which makes them cover slightly less.
`python docs/make/intervals_page.py` simulates the table again (hours on two cores; it resumes where it was
interrupted), and `docs/make/interval_worlds.py` writes down the populations. [levels.md](levels.md) has the levels of
the tests."""


def main(words: Sequence[str] | None = None) -> None:
    """Simulates what is missing and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=WORLDS, help="Worlds of each cell.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="Where the counts lie.")
    parser.add_argument("--jobs", type=int, default=None, help="Processes; default one a core.")
    parser.add_argument("--page", type=Path, default=PAGE, help="What is written.")
    arguments: Any = parser.parse_args(words)
    simulate(arguments.folder, worlds=arguments.worlds, jobs=arguments.jobs)
    counts = read(arguments.folder)
    arguments.page.write_text(page(counts), "utf-8")
    low = [f"{name} of {cell}" for cell, own in counts.items() for name, each in own.items() if not each.is_fine]
    summary = f"{len(low)} numbers cover too little: {', '.join(low)}" if low else "all hold"
    sys.stdout.write(f"{arguments.page}: {summary}\n")


if __name__ == "__main__":
    main()
