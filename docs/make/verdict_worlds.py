"""Worlds of own data in which a model uses its contexts or does not, and what the verdict of their reports says.

Everything goes through the public calls: `oochub.load` decides what is usual, `oochub.evaluate` scores the answers, and
the verdict speaks. `python docs/make/verdict_worlds.py` goes on where it was ended: twenty draws more of a world are a
line of docs/levels/verdicts.jsonl, the last of a world counts. `levels_page.py` prints them.
"""

import argparse
import json
import tempfile
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pandas as pd
from scipy import special, stats

import oochub
from oochub.report.verdict import verdict

WORLDS = Path(__file__).parents[1] / "levels" / "verdicts.jsonl"
TIMES, TEST = 200, 1000
_TOGETHER = 20  # draws of a world before the next one's turn
CLASSES, CONTEXTS = ("dog", "cat", "fox"), ("park", "house", "night")
SAID = ("relies", "slight", "harder", "easier", "better", "untold", "no effect", "unclear", "too few", "group")
_SURE = 0.01  # a rate is above its bound where a binomial test at this level says so
_MIXED = ((0.45, 0.4, 0.15), (0.4, 0.45, 0.15), (0.1, 0.1, 0.8))
_OWN = ((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8))
_ANY = ((0.34, 0.33, 0.33),) * 3
_NIGHT, _DUSK, _EVEN = (0.9, 0.9, 0.65), (0.9, 0.9, 0.8), (0.85, 0.85, 0.85)
Values = Any


class World(NamedTuple):
    """Own data and a model.

    Attributes:
        name: What is so in it.
        right: Chance of a right answer of each class in each context, or in each context for all classes.
        share: Share of each class' rows in each context.
        weight: Share of the rows of each class.
        train: Training rows, which decide what is usual.
        clusters: Clusters of the test rows, whose answers go together (ICC .3); 0 for none.
        relies: Whether the model uses contexts.
    """

    name: str
    right: Values
    share: Values = _OWN
    weight: Values = (1 / 3, 1 / 3, 1 / 3)
    train: int = 200
    clusters: int = 0
    relies: bool = False


def _reliance(usual: float, unusual: float, night: float = 0.0) -> Values:
    return np.where(np.eye(3) > 0, usual, unusual) - np.array([0, 0, night])


_RARE, _FREQUENT = (0.45, 0.45, 0.1), (0.6, 0.25, 0.15)
EVERY = (
    World("night is harder for all (.65, else .9) and usual for a rare class alone", _NIGHT, _MIXED, _RARE),
    World("the same, .8 else .9", _DUSK, _MIXED, _RARE),
    World("the same, .65 else .9, 60 clusters", _NIGHT, _MIXED, _RARE, clusters=60),
    World("a context is easier for all (.95, else .75) and usual for the most frequent class alone",
          (0.95, 0.75, 0.75), ((0.8, 0.1, 0.1), (0.2, 0.4, 0.4), (0.2, 0.4, 0.4)), _FREQUENT),
    World("the rare class, nothing harder", _EVEN, _MIXED, _RARE),
    World("night is harder for all, classes equally frequent", _NIGHT),
    World("night is harder for all, one class is harder too",
          special.expit(special.logit(np.array(_NIGHT)) - np.array([[0], [0], [1.0]])), _MIXED, _RARE),
    World("night is harder for all, two classes, one of them rare", _NIGHT,
          ((0.6, 0.2, 0.2), (0.15, 0.15, 0.7), (1, 0, 0)), (0.75, 0.25, 0.0)),
    World("contexts are independent of the class, one is harder, 30 training rows", _NIGHT, _ANY, train=30),
    World("the same, 200 training rows", _NIGHT, _ANY),
    World("contexts are independent of the class, nothing harder, 60 training rows", _EVEN, _ANY, train=60),
    World("nothing harder, 40 clusters", _EVEN, clusters=40),
    World("it relies on context (.95, else .70)", _reliance(0.95, 0.70), relies=True),
    World("the same, 20 training rows", _reliance(0.95, 0.70), train=20, relies=True),
    World("the same, 60 training rows", _reliance(0.95, 0.70), train=60, relies=True),
    World("it relies on context (.95, else .72), and night is harder by .08", _reliance(0.95, 0.72, 0.08), relies=True),
    World("it relies on context (.95, else .70), one class rare", _reliance(0.95, 0.70), _MIXED, _RARE, relies=True),
    World("it relies on context (.95, else .70), 60 clusters", _reliance(0.95, 0.70), clusters=60, relies=True),
    World("it relies on context a little (.90, else .82)", _reliance(0.90, 0.82), relies=True),
)  # fmt: skip


class Told(NamedTuple):
    """What the verdict said in one world, how often."""

    name: str
    worlds: int
    said: dict[str, int]


def _draw(rng: np.random.Generator, world: World, n: int) -> tuple[Values, Values]:
    label = rng.choice(3, n, p=np.array(world.weight))
    return label, (rng.random(n)[:, None] > np.cumsum(world.share, axis=1)[label, :2]).sum(axis=1)


def make_report(world: World, number: int, folder: Path) -> Any:
    """The report of one draw of a world; the same each time.

    Args:
        world: One of `EVERY`.
        number: Number of the draw.
        folder: An empty folder that the data may take.
    """
    rng = np.random.default_rng([zlib.crc32(world.name.encode()), number])
    rows = {"train": _draw(rng, world, world.train), "test": _draw(rng, world, TEST)}
    shared = rng.integers(max(world.clusters, 1), size=TEST)
    label, context = rows["test"]
    chance = np.broadcast_to(np.array(world.right), (3, 3))[label, context]
    noise = rng.normal(size=TEST)
    if world.clusters:
        noise = np.sqrt(0.3) * rng.normal(size=world.clusters)[shared] + np.sqrt(0.7) * noise
    classes = int((np.array(world.weight) > 0).sum())
    wrong = (label + rng.integers(1, classes, TEST)) % classes
    answer = np.where(special.ndtr(noise) < chance, label, wrong)
    parts = {
        split: {
            "animal": [CLASSES[each] for each in labels],
            "place": [CONTEXTS[each] for each in contexts],
            "walk": [f"{split}{each}" for each in (shared if split == "test" else range(world.train))],
        }
        for split, (labels, contexts) in rows.items()
    }
    datasets.DatasetDict({split: datasets.Dataset.from_dict(of) for split, of in parts.items()}).save_to_disk(folder)
    data = oochub.load(folder, label="animal", context="place", cluster="walk" if world.clusters else None)
    answers = {"example_id": data["test"]["example_id"][:], "split": "test", "prediction": np.array(CLASSES)[answer]}
    pd.DataFrame(answers).to_parquet(folder / "answers.parquet")
    return oochub.evaluate(folder / "answers.parquet", benchmark=data, metrics=["accuracy"])


def read_answer(report: Any) -> str:
    """Which of `SAID` the head of a report says.

    Args:
        report: Any report of own data.
    """
    said = verdict(report)
    if report.benchmark.out_of_context.form == "worst_group":
        return "group"
    words = {"harder": "harder regardless", "easier": "easier regardless", "untold": "cannot be told"}
    for answer, part in words.items():
        if part in said.headline:
            return answer
    return {"no_effect": "no effect", "too_few": "too few", "reversed": "better", "failed": "too few"}.get(
        said.case, said.case
    )


def tell(world: World, draws: range) -> Told:
    """What the verdict says in some draws of a world.

    Args:
        world: One of `EVERY`.
        draws: Their numbers.
    """
    counts: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in draws:
            with tempfile.TemporaryDirectory() as folder:
                counts[read_answer(make_report(world, number, Path(folder)))] += 1
    return Told(world.name, len(draws), dict(counts))


def read(path: Path = WORLDS) -> dict[str, Told]:
    """The worlds that are there; a line that was cut short is none.

    Args:
        path: A file of lines of JSON, which need not exist.
    """
    results = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
        try:
            each = Told(**json.loads(line))
        except (ValueError, TypeError):
            continue
        results[each.name] = each
    return results


def faults(told: dict[str, Told]) -> list[str]:
    """What must not be: a world without reliance in which more than 5% surely are said to rely, or to do better.

    Args:
        told: Worlds by their names, see `read`.
    """
    null = [told[world.name] for world in EVERY if not world.relies and world.name in told]
    wrong = []
    for answer in ("relies", "better"):
        parts = [(each.name, each.said.get(answer, 0), each.worlds) for each in null]
        for name, n, of in [*parts, ("all of them", sum(n for _, n, _ in parts), sum(of for *_, of in parts))]:
            if of and stats.binomtest(n, of, 0.05, alternative="greater").pvalue < _SURE:
                wrong.append(f"{answer}, {name}: {n} of {of}")
    return wrong


def page(told: dict[str, Told]) -> str:
    """The section of docs/levels.md.

    Args:
        told: Worlds by their names, see `read`.
    """
    lines = [_PREFACE.format(test=TEST)]
    for relies, title in ((False, "The model uses no context"), (True, "The model relies on context")):
        lines += [f"### {title}\n", f"| world | {' | '.join(SAID)} | draws |", "|---|" + "---:|" * (len(SAID) + 1)]
        own = [told[world.name] for world in EVERY if world.relies == relies and world.name in told]
        every = Told(
            "**all of them**", sum(each.worlds for each in own), dict(sum((Counter(e.said) for e in own), Counter()))
        )
        for each in [*own, *([every] if own and not relies else [])]:
            shares = [f"{each.said[name] / each.worlds:.3f}" if each.said.get(name) else "–" for name in SAID]
            lines.append(f"| {each.name} | {' | '.join(shares)} | {each.worlds:,} |")
        lines.append("")
    return "\n".join(lines)


_PREFACE = """## The verdict on declared contexts

The verdict says "relies on context" only if unusual contexts have a gap and the interaction of class and context has
one too (`oochub.stats.effect_of_side`). Here reports are made of own data with three classes and three contexts:
`oochub.load` decides on the training rows what is usual, `oochub.evaluate` scores {test} answers. The columns are the
share of draws in which the head of the report says each: the model *relies* on context; it is *slight*ly worse;
contexts are *harder* or *easier* regardless of class; it does *better* in unusual contexts; it cannot be told
(*untold*); the effect is smaller than 2 points (*no effect*); there is no clear sign (*unclear*); the rows are *too
few*; or no row has a side, and all rows stand against the worst *group*. "Relies" and "better" may be said in at most
5% of the draws in which no context is used.
"""


def run(path: Path = WORLDS, *, times: int = TIMES, only: str = "") -> dict[str, Told]:
    """Draws what is missing, some of each world in turn, and writes each world down anew as its draws grow.

    Args:
        path: See `read`.
        times: Draws of each world.
        only: A part of the name of a world.
    """
    datasets.disable_progress_bars()
    told = read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for done in range(0, times, _TOGETHER):
        for world in EVERY:
            earlier = told.get(world.name, Told(world.name, 0, {}))
            if only in world.name and earlier.worlds == done:
                more = tell(world, range(done, min(done + _TOGETHER, times)))
                counts = dict(Counter(earlier.said) + Counter(more.said))
                total = told[world.name] = Told(world.name, earlier.worlds + more.worlds, counts)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(total._asdict()) + "\n")
                print(total, flush=True)  # noqa: T201
    return told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=TIMES, help="draws of each world")
    parser.add_argument("--only", default="", help="a part of the name of a world")
    parser.add_argument("--out", type=Path, default=WORLDS, help="the file of lines")
    given = parser.parse_args()
    print("\n".join(faults(run(given.out, times=given.times, only=given.only))) or "no fault")  # noqa: T201
