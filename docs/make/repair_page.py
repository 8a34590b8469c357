"""Writes the tables of docs/repair.md: repairs in planted worlds and in controls. `python docs/make/repair_page.py`.

Each world is a JSON of docs/repair/, written when it is whole: an interrupted run resumes. `--only`
takes part of a world's name, `--page` writes the page alone.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from repair_worlds import WORLDS, World

from oochub.stats.proportion import clopper_pearson

DOCS = Path(__file__).parents[1]
PAGE, NUMBERS, FOLDER = DOCS / "repair.md", DOCS / "repair", Path("runs/repair")
BEGIN, END = "<!-- begin: made by docs/make/repair_page.py -->", "<!-- end -->"
_KINDS = {"resnet": "ResNet", "vit": "ViT", "probe": "linear probe"}
_OUTCOMES = {
    "better": "**better**",
    "no_worse": "no worse",
    "not_shown": "not shown",
    "nothing_to_repair": "nothing to repair",
}
_FAMILIES = {
    "dogs": "toy dogs on sand, or in jungle or snow",
    "coco": "toy COCO: a car or a cow, on a road or on grass",
    "birds": "toy Waterbirds: land and water birds before land or water",
    "shapes": "discs and triangles on grain or stripes",
}


def tables(results: Mapping[World, Any], controls: Mapping[str, Mapping[str, int]], tuned: Mapping[World, Any]) -> str:
    """What stands between the markers of the page.

    Args:
        results: What repair did in each world, see `repair_numbers.read`.
        controls: Outcomes of the controls on features, see `repair_numbers.read_controls`.
        tuned: What it did with fine-tuning.
    """
    planted = {world: result for world, result in results.items() if world.is_planted}
    plain = {world: result for world, result in results.items() if not world.is_planted}
    lines = [*_summary(planted, plain, controls), *_planted(planted), *_controls(plain, controls)]
    return "\n".join([*lines, *_deep(planted, tuned)])


def _deep(planted: Mapping[World, Any], tuned: Mapping[World, Any]) -> list[str]:
    """Fine-tuning beside last layers, in the worlds whose rows suffice."""
    own = {world: result for world, result in tuned.items() if world.is_planted}
    plain = [result.outcome for world, result in tuned.items() if not world.is_planted]
    better = sum(result.outcome == "better" for result in own.values())
    closed = [100 * median(each[world].closed for world in own) for each in (tuned, planted)]
    lines = [
        "### With `--deep`\n",
        f"{better} of {len(own)} planted worlds are repaired. {closed[0]:.0f}% of the gap is closed in the median, and "
        f"{closed[1]:.0f}% without `--deep` in the same worlds. {plain.count('better')} of {len(plain)} trained "
        "controls are called better.\n",
        "| world | correlation | model | in context, before → after | out of context, before → after | gap closed "
        "| without `--deep` | chosen | outcome |",
        "|" + "---|" * 9,
    ]
    for world, result in own.items():
        cells = (
            _FAMILIES[world.family].partition(":")[0],
            f"{world.correlation:.2f}",
            _KINDS[world.kind],
            _before_after(result.inside),
            _before_after(result.outside),
            f"{100 * result.closed:.0f}%".replace("-", "−"),
            f"{100 * planted[world].closed:.0f}%",
            "network" if result.method == "fine_tune" else "last layer",
            _OUTCOMES[result.outcome],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _summary(
    planted: Mapping[World, Any], plain: Mapping[World, Any], controls: Mapping[str, Mapping[str, int]]
) -> list[str]:
    better = [result for result in planted.values() if result.outcome == "better"]
    within = sum(result.inside.difference.value >= -0.05 for result in better)
    goals = {
        "planted worlds that are repaired": (f"{len(better)} of {len(planted)}", "at least 18 of 20"),
        "share of the gap that is closed, median of all planted worlds": (
            f"{100 * median(result.closed for result in planted.values()):.0f}%",
            "at least 50%",
        ),
        "repaired models that lose at most 5 points in context": (f"{within} of {len(better)}", "all"),
        "trained controls that are called better": (
            f"{sum(result.outcome == 'better' for result in plain.values())} of {len(plain)}",
            "at most 5%",
        ),
        "controls on features that are called better": (_claims(controls["plain"]), "at most 5%"),
        "harder controls on features that are called better": (_claims(controls["harder"]), "at most 5%"),
    }
    lines = ["| what | measured | asked |", "|---|---|---|"]
    return [*lines, *(f"| {what} | {found} | {goal} |" for what, (found, goal) in goals.items()), ""]


def _claims(outcomes: Mapping[str, int]) -> str:
    count, n = outcomes.get("better", 0), sum(outcomes.values())
    if not n:
        return "not run"
    return f"{count} of {n} ({100 * count / n:.1f}%; 95% interval up to {100 * clopper_pearson(count, n).high:.1f}%)"


def _planted(results: Mapping[World, Any]) -> list[str]:
    lines = ["### Planted worlds\n"]
    for family, words in _FAMILIES.items():
        own = {world: result for world, result in results.items() if world.family == family}
        lines += [f"{words[0].upper()}{words[1:]}:\n", *_HEADER]
        for world, result in own.items():
            lost = "" if result.outside.difference is None else _signed(result.outside.difference)
            cells = (
                f"{world.correlation:.2f}",
                _KINDS[world.kind],
                _before_after(result.inside),
                _before_after(result.outside),
                lost,
                f"{100 * result.closed:.0f}%",
                _OUTCOMES[result.outcome],
            )
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return lines


_HEADER = (
    "| correlation | model | in context, before → after | out of context, before → after | difference | gap closed "
    "| outcome |",
    "|" + "---|" * 7,
)


def _controls(results: Mapping[World, Any], controls: Mapping[str, Mapping[str, int]]) -> list[str]:
    lines = ["### Controls\n", "| world | model | in context | out of context | outcome |", "|" + "---|" * 5]
    for world, result in results.items():
        inside, outside = (100 * side.before.value for side in (result.inside, result.outside))
        cells = (_FAMILIES[world.family].partition(":")[0], _KINDS[world.kind], f"{inside:.1f}", f"{outside:.1f}")
        lines.append(f"| {' | '.join(cells)} | {_OUTCOMES[result.outcome]} |")
    lines += ["", "| controls on features | " + " | ".join(words.strip("*") for words in _OUTCOMES.values()) + " |"]
    lines.append("|" + "---|" * (1 + len(_OUTCOMES)))
    for name, words in {"plain": "contexts say nothing", "harder": "contexts are harder"}.items():
        counts = [str(controls[name].get(outcome, 0)) for outcome in _OUTCOMES]
        lines.append(f"| {words} | {' | '.join(counts)} |")
    return [*lines, ""]


def _before_after(side: Any) -> str:
    after = "" if side.after is None else f" → {100 * side.after.value:.1f}"
    return f"{100 * side.before.value:.1f}{after}"


def _signed(number: Any) -> str:
    value, low, high = (f"{100 * each:+.1f}".replace("-", "−") for each in (number.value, number.low, number.high))
    return f"{value} ({low} to {high})"


def page(text: str, made: str, begin: str = BEGIN, end: str = END) -> str:
    """A page with what stands between two markers replaced."""
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{made}\n{end}{rest.partition(end)[2]}"


def read_words(words: Sequence[str] | None, description: str | None) -> Any:
    """What was typed behind a script of worlds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="Keeps images, models and repaired models.")
    parser.add_argument("--numbers", type=Path, default=NUMBERS, help="Keeps the numbers, a JSON a world.")
    parser.add_argument("--only", default="", help="Part of the names of the worlds that are run.")
    parser.add_argument("--jobs", type=int, default=2, help="Worlds side by side.")
    parser.add_argument("--page", action="store_true", help="Write the page alone.")
    return parser.parse_args(words)


def run_side_by_side(run: Callable[[World, Path, Path], None], worlds: Sequence[World], given: Any) -> None:
    """Runs worlds in processes of their own.

    Args:
        run: Takes a world, the folder and that of the numbers; a function of a module.
        worlds: The worlds whose encoders are there.
        given: What `read_words` gives.
    """
    with ProcessPoolExecutor(given.jobs, get_context("spawn"), initializer=_limit_to_one_thread) as pool:
        for world, done in [(each, pool.submit(run, each, given.folder, given.numbers)) for each in worlds]:
            done.result()
            sys.stdout.write(f"{world}\n")


def _limit_to_one_thread() -> None:
    import datasets
    import torch
    from transformers.utils import logging

    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    logging.disable_progress_bar()


def _run(world: World, folder: Path, numbers: Path) -> None:
    from repair_numbers import run, run_controls

    run([world], folder, numbers)
    if world.balanced or not world.is_planted:  # else too few rows choose that the model was not trained on
        run([world], folder, numbers, deep=True)
    if not world.is_planted:
        run_controls([world], folder, numbers)


def main(words: Sequence[str] | None = None) -> None:
    """Runs what is missing and writes the page."""
    arguments = read_words(words, __doc__)
    from repair_numbers import make_encoders, read, read_controls

    if not arguments.page:
        worlds = [world for world in WORLDS if arguments.only in str(world)]
        make_encoders(worlds, arguments.folder)
        run_side_by_side(_run, worlds, arguments)
    results = read(arguments.numbers, WORLDS)
    text = tables(results, read_controls(arguments.numbers, WORLDS), read(arguments.numbers, WORLDS, deep=True))
    PAGE.write_text(page(PAGE.read_text("utf-8"), text), "utf-8")
    counted = Counter(result.outcome for world, result in results.items() if world.is_planted)
    sys.stdout.write(f"{PAGE}: {json.dumps(counted)}\n")


if __name__ == "__main__":
    main()
