"""Writes the table of docs/few_labels.md: how many labels are saved, and how often intervals hold the true number.

A world has two classes in two contexts, or two kinds of two classes. A model answers with a calibrated probability,
or one that is too sure; few rows have a label, all have a context. The true numbers follow from the law of the world.

Beside what is saved stands what could be: the variance of what a row adds, of which the best guess from everything that
is seen of the row explains a part, times the part of the other rows among all.

An engineer's session is typed in a shell: 3,000 images without labels, 150 of them labeled, and then all.

`python docs/make/few_labels_page.py` types the session and draws 2,000 worlds a cell (about six minutes), keeps the
numbers in docs/few_labels/worlds.json and writes the tables; `--page` writes the table of the worlds alone. The lines
of ppi-python are drawn if that package is on the path.
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from oochub.builders.toy_worlds.toy_pictures import toy_pictures
from oochub.evaluation.unlabeled_rows import KnownRows, estimate_numbers
from oochub.records.finding_records import FewLabelNumbers
from oochub.report import format_numbers
from oochub.report.report import Report
from oochub.sections.few_labels import FewLabels
from oochub.studies.demo.example import example

DOCS = Path(__file__).parents[1]
PAGE, NUMBERS = DOCS / "few_labels.md", DOCS / "few_labels" / "worlds.json"
BEGIN, END = "<!-- made by docs/make/few_labels_page.py -->", "<!-- end of the worlds -->"
BEGIN_SESSION, END_SESSION = "<!-- typed by docs/make/few_labels_page.py -->", "<!-- end of the session -->"
TYPED = (150, 3_000)  # labels in the session
USUAL = ("--usual", "bulldog=beach,desert", "--usual", "dachshund=jungle,snow")
WORLDS, LABELED = 2_000, (50, 100, 300)
BESIDE = 100  # labels with which ppi-python is tried
NAMES = ("accuracy", "in_context", "out_of_context", "gap", "worst_group")


class World(NamedTuple):
    """The law of a world.

    Attributes:
        title: It in words.
        correlation: What the probability of the answer is to be correlated with being right, in every context.
        usual: How often the model is right if it answers the class that is usual in the context.
        unusual: The same for the other class.
        sharpness: What the log-odds of the probability are multiplied with: 1 is calibrated.
        keeps_side: Whether the right class of a wrong answer has the same usual context as the answer, so that the side
            of each image is known. Else it is the other class, for which the context is what it is not for the answer.
        images: Images in all.
        unaware: What is added to the log-odds where the context is unusual for the answer.
    """

    title: str
    correlation: float
    usual: float
    unusual: float
    sharpness: float = 1.0
    keeps_side: bool = False
    images: int = 3_000
    unaware: float = 0.0


def list_worlds() -> Iterator[World]:
    """Every world."""
    yield World("a confidence that says nothing", 0.0, 0.85, 0.6)
    for correlation in (0.33, 0.43, 0.5):
        yield World(f"a calibrated confidence, {correlation:g} in each context", correlation, 0.85, 0.6)
    yield World("a confidence that is too sure, 0.4 in each context", 0.4, 0.85, 0.6, 3.0)
    yield World("a confidence that is too sure in unusual contexts, 0.43 in each", 0.43, 0.85, 0.6, unaware=1.5)
    yield World("a model that is nearly always right, 0.5 in each context", 0.5, 0.97, 0.9)
    yield World("sides that are known, 0.5 in each context", 0.5, 0.85, 0.6, keeps_side=True)
    yield World("600 images in all, 0.43 in each context", 0.43, 0.85, 0.6, images=600)


def find_truths(world: World) -> dict[str, float]:
    """The numbers of all images of a world, by the law."""
    right_in, right_out = world.usual, world.unusual
    accuracy = (right_in + right_out) / 2
    inside, outside = right_in, right_out
    if not world.keeps_side:
        inside, outside = right_in / (right_in + 1 - right_out), right_out / (right_out + 1 - right_in)
    truths = {"accuracy": accuracy, "in_context": inside, "out_of_context": outside, "gap": outside - inside}
    return truths | {"worst_group": min(inside, outside)}


def draw(world: World, labeled: int, rng: np.random.Generator) -> tuple[KnownRows, np.ndarray, np.ndarray]:
    """The rows of a world, whether each answer is right (n,), and how probable that is."""
    images = world.images
    classes = 4 if world.keeps_side else 2
    context, answer = rng.integers(0, 2, images), rng.integers(0, classes, images)
    is_usual = answer % 2 == context
    mean = np.where(is_usual, world.usual, world.unusual)
    if world.correlation:
        size = 1 / world.correlation**2 - 1  # of a beta law, whose variance is then r^2 of that of being right
        chance = np.clip(rng.beta(mean * size, (1 - mean) * size), 1e-9, 1 - 1e-9)
        shown = special.expit(world.sharpness * special.logit(chance) + world.unaware * ~is_usual)
    else:
        chance, shown = mean, rng.beta(4, 1, images)
    right = rng.random(images) < chance
    other = (answer + classes // 2) % classes
    label = np.where(right, answer, other)
    probability = np.zeros((images, classes))
    probability[np.arange(images), answer], probability[np.arange(images), other] = shown, 1 - shown
    label, place = label[:labeled], context[:labeled]
    rows = KnownRows(
        label=label,
        prediction=answer,
        probability=probability,
        context=context,
        is_usual=label % 2 == place,
        is_unusual=label % 2 != place,
    )
    return rows, right, chance


def find_possible(world: World, images: int = 200_000) -> dict[str, float]:
    """The part of each number's variance that is known without a label, if all images but one have none."""
    rows, right, chance = draw(world._replace(images=images), images, np.random.default_rng(3))
    truths, is_usual = find_truths(world), rows.prediction % 2 == rows.context
    adds = {"accuracy": (right - truths["accuracy"], chance - truths["accuracy"])}
    for name, members, answers in (
        ("in_context", rows.is_usual, is_usual),
        ("out_of_context", rows.is_unusual, ~is_usual),
    ):
        others = answers if world.keeps_side else ~answers  # whether a wrong answer is one of the members
        probable = chance * answers, chance * answers + (1 - chance) * others
        pairs = (members * right, members), probable
        adds[name] = tuple((ones - truths[name] * side) / members.mean() for ones, side in pairs)
    adds["gap"] = tuple(np.subtract(*pair) for pair in zip(adds["out_of_context"], adds["in_context"], strict=True))
    return {name: round(float(guess.var() / value.var()), 3) for name, (value, guess) in adds.items()}


def simulate(world: World, labeled: int, worlds: int, seed: int = 1) -> dict[str, Any]:
    """Of each number: coverage and squared error, from the labels alone and together; what is said to be saved.

    Returns:
        By name of the number; and `correlation`, and the same of ppi-python for accuracy if it is there.
    """
    rng, truths = np.random.default_rng([seed, labeled]), find_truths(world)
    peer = find_peer() if labeled == BESIDE else None
    found: dict[str, list[list[float]]] = {name: [] for name in (*NAMES, *(("peer",) if peer else ()))}
    correlations = []
    for _ in range(worlds):
        rows, right, _ = draw(world, labeled, rng)
        shown = rows.answered
        correlations.append(float(np.corrcoef(shown, right)[0, 1]))
        for name, number in estimate_numbers(rows).items():
            if not isinstance(number, str):
                truth, pair = truths[name], (number.alone, number.together)
                held = [float(each.low <= truth <= each.high) for each in pair]
                found[name].append([*held, *((each - truth) ** 2 for each in pair), number.saved])
        if peer:
            value, low, high = peer(right[:labeled] * 1.0, shown[:labeled], shown[labeled:])
            found["peer"].append([0.0, low <= truths["accuracy"] <= high, 0.0, (value - truths["accuracy"]) ** 2, 0.0])
    means = {name: [round(float(one), 6) for one in np.mean(rows, axis=0)] for name, rows in found.items() if rows}
    counts = {name: len(rows) for name, rows in found.items()}
    part = 1 - labeled / world.images
    possible = {name: round(each * part, 3) for name, each in find_possible(world).items()}
    facts = {"worlds": worlds, "correlation": round(float(np.mean(correlations)), 3), "counts": counts}
    return facts | {"possible": possible} | means


def find_peer() -> Callable[..., tuple[float, float, float]] | None:
    """The estimate of the package ppi-python, power tuned: the value and both ends; None if it is not there."""
    try:
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    except ImportError:
        return None

    def estimate(right: np.ndarray, shown: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
        value = ppi_mean_pointestimate(right, shown, other)
        low, high = ppi_mean_ci(right, shown, other, alpha=0.05)
        return float(np.ravel(value)[0]), float(np.ravel(low)[0]), float(np.ravel(high)[0])

    return estimate


def write_table(numbers: dict[str, dict[str, Any]]) -> str:
    """The tables of the page."""
    lines = []
    for world in list_worlds():
        cells = {labeled: numbers[f"{world.title}; {labeled}"] for labeled in LABELED}
        seen = next(iter(cells.values()))["correlation"]
        lines += [
            f"**{world.title[0].upper()}{world.title[1:]}** (correlation over all images: {seen:.2f})",
            "",
            "| number | labels | held, labels alone, % | held, together, % | could be saved, % | labels saved, % | "
            "said to be saved, % |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for name in NAMES:
            for labeled, cell in cells.items():
                if name in cell:
                    alone, together, error, less, said = cell[name]
                    could = f"{round(100 * cell['possible'][name])}" if name in cell["possible"] else ""
                    lines.append(
                        f"| {name.replace('_', ' ')} | {labeled} | {100 * alone:.1f} | {100 * together:.1f} | "
                        f"{could} | {round(100 * (1 - less / error))} | {round(100 * said)} |"
                    )
        for labeled, cell in cells.items():
            if "peer" in cell:
                saved = 100 * (1 - cell["peer"][3] / cell["accuracy"][2])
                lines.append(
                    f"| accuracy, ppi-python | {labeled} | | {100 * cell['peer'][1]:.1f} | | {round(saved)} | |"
                )
        lines.append("")
    return "\n".join(lines).strip()


def run_session(folder: Path) -> dict[int, FewLabelNumbers]:
    """What an audit says with 150 labels and with all 3,000; typed in a shell.

    Args:
        folder: Where the model, the images, the tables and the reports go.
    """
    example(folder / "example", size=200).model.rename(folder / "model")
    photos = toy_pictures(folder / "deployed", size=1_500, seed=1) / "test"
    rows = list(csv.reader((photos / "metadata.csv").open(encoding="utf-8")))[1:]
    photos.rename(folder / "photos")
    random.Random(0).shuffle(rows)
    found = {}
    for labeled in TYPED:
        with (folder / f"{labeled}.csv").open("w", encoding="utf-8", newline="") as file:
            lines = [*rows[:labeled], *([name, "", place] for name, _, place in rows[labeled:])]
            csv.writer(file).writerows([("file_name", "label", "context"), *lines])
        out = f"audit{labeled}"
        run_command(folder, "audit", "model", "photos", "--labels", f"{labeled}.csv", *USUAL, "--out", out)
        found[labeled] = FewLabels().found(Report.load(folder / out / "report.json"))
    return found


def run_command(folder: Path, *words: str) -> str:
    """What `oochub` prints in a folder.

    Raises:
        RuntimeError: It fails.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "oochub.cli", *words], cwd=folder, capture_output=True, text=True, encoding="utf-8"
    )
    if ended.returncode:
        raise RuntimeError(f"oochub {' '.join(words)}: {ended.stderr[-2_000:]}")
    return ended.stdout


def write_session(found: dict[int, FewLabelNumbers]) -> str:
    """The table of the session."""
    few, every = ({row.name: row for row in found[labeled].rows} for labeled in TYPED)
    heads = f"{TYPED[0]} labels alone", f"with {TYPED[1] - TYPED[0]:,} images without a label", "all 3,000 labels"
    lines = [f"| % | {' | '.join(heads)} |", "|---|---:|---:|---:|"]
    for name, row in few.items():
        write = format_numbers.points if name == "gap" else format_numbers.quantity
        between = format_numbers.interval_points if name == "gap" else format_numbers.interval
        cells = [
            f"{write(each, 'fraction')} [{between(each, 'fraction').replace(' to ', ', ')}]"
            for each in (row.alone, row.together, every[name].alone)
        ]
        title = "gap, points" if name == "gap" else name.replace("_", " ")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def replace_between(page: str, begin: str, end: str, text: str) -> str:
    """A page with a text between two marks."""
    head, _, rest = page.partition(begin)
    return f"{head}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def write_page(numbers: dict[str, dict[str, Any]]) -> str:
    """The page with the tables of the worlds in their place."""
    return replace_between(PAGE.read_text("utf-8"), BEGIN, END, write_table(numbers))


def main() -> None:
    """Simulates what is not there yet, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="Write the page of the numbers that are there.")
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    if not parser.parse_args().page:
        with tempfile.TemporaryDirectory() as folder:
            session = write_session(run_session(Path(folder)))
        PAGE.write_text(replace_between(PAGE.read_text("utf-8"), BEGIN_SESSION, END_SESSION, session), "utf-8")
        for world in list_worlds():
            for labeled in LABELED:
                cell = f"{world.title}; {labeled}"
                if cell not in numbers:
                    numbers[cell] = simulate(world, labeled, WORLDS)
                    NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
                    sys.stderr.write(f"{cell} {numbers[cell]}\n")
    PAGE.write_text(write_page(numbers), "utf-8")


if __name__ == "__main__":
    main()
