"""Writes the table of docs/repair.md of what `repair --collect` promises. `python docs/make/collect_page.py`.

Each world is a JSON of docs/repair/, written when it is whole: an interrupted run resumes. `--only`
takes part of a world's name, `--page` writes the page alone.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from collect_numbers import CHOSEN, FOREIGN, KINDS, SCARCE, Collected, Promise, read_collected, run_collect
from repair_page import _KINDS, PAGE, page, read_words, run_side_by_side
from repair_worlds import World

BEGIN, END = "<!-- begin: made by docs/make/collect_page.py -->", "<!-- end: collect_page -->"
_CLOSE = 0.10
_NAMES = {"dogs": "toy dogs", "coco": "toy COCO", "birds": "toy Waterbirds", "shapes": "discs and triangles"}
_TITLES = {
    "whole": "The worlds as they are",
    "scarce": f"The same with {SCARCE} rows of each class out of context",
    "foreign": "Smaller worlds, and a linear probe on a network that saw none of them",
}
EVERY = (*CHOSEN, *FOREIGN)

Results = Mapping[World, Mapping[str, Collected]]


def collect_tables(results: Results) -> str:
    """What stands between the markers of the page.

    Args:
        results: What was promised and what came, see `read_collected`.
    """
    heads = ("as many more rows of a cell", "worlds as they are", f"{SCARCE} rows out of context", "a foreign network")
    lines = [f"| {' | '.join(heads)} |"]
    lines += ["|---|---|---|---|", *_summarize(results), ""]
    for kind in KINDS:
        lines += [f"### {_TITLES[kind]}\n", *_HEADER]
        lines += [_write_row(world, both[kind]) for world, both in results.items() if kind in both]
        lines.append("")
    return "\n".join(lines)


def count_close(results: Results, kind: str, *, every: bool = False) -> int:
    """Worlds in which promise and truth are within 10 points: of the first cell, or of every cell that is told.

    Args:
        results: See `collect_tables`.
        kind: "whole", "scarce" or "foreign".
        every: Whether every cell counts.
    """
    told = [both[kind].promises for both in results.values() if kind in both and both[kind].promises]
    return sum(max(map(_miss, cells if every else cells[:1])) <= _CLOSE for cells in told)


def _miss(promise: Promise) -> float:
    return abs(promise.gain - promise.true)


def _summarize(results: Results) -> list[str]:
    cells = {}
    for kind in KINDS:
        n = sum(kind in both for both in results.values())
        told = [both[kind] for both in results.values() if kind in both and both[kind].promises]
        first = [each.promises[0] for each in told]
        out = [promise for each in told for promise in each.promises if promise.side == "out"]
        cells[kind] = {
            "promise and truth within 10 points, first cell": f"{count_close(results, kind)} of {n}",
            "the same, every cell of the world": f"{count_close(results, kind, every=True)} of {n}",
            "the same, if no gain is promised for any cell": (
                f"{sum(max(abs(p.true) for p in each.promises) <= _CLOSE for each in told)} of {n}"
            ),
            "mean distance of promise and truth, cells out of context": _points(np.mean([_miss(p) for p in out])),
            "the same, if no gain is promised": _points(np.mean([abs(p.true) for p in out])),
            "truth within the 95% interval, cells out of context": (
                f"{sum(p.low <= p.true <= p.high for p in out)} of {len(out)}"
            ),
            "mean true gain of the first cell": _points(np.mean([p.true for p in first])),
            "mean true gain of as many rows like the training rows": _points(np.mean([each.alike for each in told])),
            "first cell gains at least as much as those, within 1 point": (
                f"{sum(p.true >= each.alike - 0.01 for p, each in zip(first, told, strict=True))} of {n}"
            ),
            "share of the first cell among the 20 images ranked first": (
                f"{100 * np.mean([each.precision for each in told]):.0f}%"
            ),
            "its share among all images that are ranked": f"{100 * np.mean([each.chance for each in told]):.0f}%",
        }
    return [f"| {what} | {' | '.join(cells[kind][what] for kind in KINDS)} |" for what in cells["whole"]]


_HEADER = (
    "| world | correlation | model | worse side | first cell | rows added | promised | true "
    "| rows like the training rows |",
    "|" + "---|" * 9,
)


def _write_row(world: World, found: Collected) -> str:
    names = (_NAMES[world.family], f"{world.correlation:.2f}", _KINDS[world.kind])
    if not found.promises:
        return f"| {' | '.join(names)} | | {found.reason} | | | | |"
    first = found.promises[0]
    promised = f"{_signed(first.gain)} ({_signed(first.low)} to {_signed(first.high)})"
    first_cells = (f"{100 * found.base:.1f}", first.cell, f"{first.rows} + {first.more}")
    cells = (*names, *first_cells, promised, _signed(first.true), _signed(found.alike))
    return f"| {' | '.join(cells)} |"


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def _points(value: Any) -> str:
    return f"{100 * float(value):.1f} points".replace("-", "−")


def collect_page(text: str, made: str) -> str:
    """A page with what stands between its markers replaced."""
    return page(text, made, BEGIN, END)


def _run(world: World, folder: Path, numbers: Path) -> None:
    run_collect([world], folder, numbers)


def main(words: Sequence[str] | None = None) -> None:
    """Runs what is missing and writes the page."""
    arguments = read_words(words, __doc__)
    if not arguments.page:
        from repair_numbers import make_encoders

        worlds = [world for world in EVERY if arguments.only in str(world)]
        make_encoders([world for world in worlds if world in CHOSEN], arguments.folder)
        run_side_by_side(_run, worlds, arguments)
    results = read_collected(arguments.numbers, EVERY)
    PAGE.write_text(collect_page(PAGE.read_text("utf-8"), collect_tables(results)), "utf-8")
    sys.stdout.write(f"{PAGE}: {count_close(results, 'whole')} of {len(results)}\n")


if __name__ == "__main__":
    main()
