"""Writes the table of docs/check.md on several looks: how often a model exactly at its bound ever passes.

A world is a set that grows, checked as its rows come; the true number lies at the bound.

`python docs/make/looks_page.py` draws 4,000 worlds a kind (about five minutes), keeps the numbers in
docs/check/looks.json and writes the table; `--page` writes the table of the numbers that are there.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

from oochub.stats.confidence_sequence import MeanEvidence, ShareEvidence, make_difference, make_interval
from oochub.stats.estimation import difference
from oochub.stats.proportion import adjusted_wald, clopper_pearson, wilson

DOCS = Path(__file__).parents[1]
PAGE, NUMBERS = DOCS / "check.md", DOCS / "check" / "looks.json"
BEGIN, END = "<!-- made by docs/make/looks_page.py -->", "<!-- end of the looks -->"
WORLDS, ROWS, CLUSTERS = 4_000, 1_000, 200
BAR = -math.log(0.025)
_BLOCK = 250  # worlds at a time
_FIRST = 20  # rows or clusters before which nobody looks with a fixed interval

Array = np.ndarray
Random = np.random.Generator


class World(NamedTuple):
    """What grows.

    Attributes:
        title: The rule in words.
        passes: Of a generator and a number of worlds: whether each world (n,) ever passes, with the confidence
            sequence at every look, and with the fixed interval.
        looks: When one looks.
        widths: The width of the confidence sequence at 1,000 rows, or all clusters, over that of the fixed interval.
    """

    title: str
    passes: Callable[[Random, int], tuple[Array, Array]]
    looks: str
    widths: Callable[[], float]


def bet(values: Array, mean: float) -> Array:
    """`MeanEvidence.log_above` of numbers in [0, 1] (worlds, n) after each of them."""
    stakes = np.geomspace(min(0.02, 0.99 / mean), 0.99 / mean, 40)
    total = np.full(values.shape, -np.inf)
    for stake in stakes:
        total = np.logaddexp(total, np.cumsum(np.log1p(stake * (values - mean)), axis=1))
    return np.logaddexp(math.log(0.9) + total - math.log(40), math.log(0.1))


def mix(ones: Array, n: Array, mean: float | Array) -> Array:
    """`ShareEvidence.log_above` of many counts."""
    own, other, zeros = 20 * mean, 20 * (1 - mean), n - ones
    above = special.betainc(other + zeros, own + ones, 1 - mean) / special.betainc(other, own, 1 - mean)
    log = special.betaln(own + ones, other + zeros) - special.betaln(own, other) + np.log(np.maximum(above, 1e-300))
    log = log - ones * np.log(mean) - zeros * np.log1p(-mean)
    return np.logaddexp(math.log(0.9) + log, math.log(0.1))


def share(mean: float) -> World:
    """Accuracy of independent rows at its bound."""
    n = np.arange(1, ROWS + 1)

    def passes(rng: Random, worlds: int) -> tuple[Array, Array]:
        ones = np.cumsum(rng.random((worlds, ROWS)) < mean, axis=1)
        exact = special.betaincinv(ones, np.maximum(n - ones, 0) + 1.0, 0.025)  # Clopper and Pearson's lower end
        return (mix(ones, n, mean) >= BAR).any(axis=1), (exact[:, _FIRST:] > mean).any(axis=1)

    ones = round(mean * ROWS)
    found, fixed = make_interval(ShareEvidence(ones, ROWS)), clopper_pearson(ones, ROWS)
    return World(
        f"accuracy at least {mean:.0%}", passes, "after each of 1,000 rows", lambda: width(found) / width(fixed)
    )


def gap(inside: float, outside: float) -> World:
    """The difference of two shares, of which half of the rows are on either side."""
    n, true = np.arange(5, ROWS // 2 + 1, 5), outside - inside
    means = np.linspace(max(0, -true) + 0.005, min(1, 1 - true) - 0.005, 60)

    def passes(rng: Random, worlds: int) -> tuple[Array, Array]:
        one, other = (np.cumsum(rng.random((worlds, ROWS // 2)) < mean, axis=1)[:, n - 1] for mean in (outside, inside))
        smallest = np.full(one.shape, np.inf)
        for mean in means:
            smallest = np.minimum(smallest, mix(one, n, mean + true) + mix(n - other, n, 1 - mean))
        p, q = one / n, other / n
        lows = _wilson_ends(one, n)[0], _wilson_ends(other, n)[1]
        fixed = p - q - np.sqrt((p - lows[0]) ** 2 + (lows[1] - q) ** 2)
        return (smallest >= BAR).any(axis=1), (fixed[:, n >= _FIRST] > true).any(axis=1)

    sides = ShareEvidence(round(outside * ROWS / 2), ROWS // 2), ShareEvidence(round(inside * ROWS / 2), ROWS // 2)
    fixed = difference(*(wilson(side.ones, side.n) for side in sides))
    return World(
        f"gap at least {100 * true:.0f} points",
        passes,
        "after each 5 rows a side, to 500",
        lambda: width(make_difference(*sides)) / width(fixed),
    )


def paired(won: float, lost: float) -> World:
    """The change of a share of the same rows: how many only the new model gets right, and only the old one."""
    n = np.arange(1, ROWS + 1)

    def passes(rng: Random, worlds: int) -> tuple[Array, Array]:
        drawn = rng.random((worlds, ROWS))
        up, down = drawn < won, drawn > 1 - lost
        sequence = bet((1.0 + up - down.astype(float)) / 2, (1 + won - lost) / 2)
        more, less = np.cumsum(up, axis=1), np.cumsum(down, axis=1)
        shift = (more - less) / (n + 2)
        spread = np.sqrt(np.maximum((more + less + 1) / (n + 2) - shift**2, 0) / (n + 2))
        low = shift - 1.959964 * spread  # the adjusted Wald interval of Agresti and Min
        return (sequence >= BAR).any(axis=1), (low[:, _FIRST:] > won - lost).any(axis=1)

    counts = [round(part * ROWS) for part in (won, lost, 1 - won - lost)]
    low, high = adjusted_wald(counts[0], counts[1], ROWS, 0.025)
    found = make_interval(MeanEvidence(np.repeat([1.0, -1.0, 0.0], counts), -1, 1))
    return World(
        f"{100 * (lost - won):.0f} points worse, paired: {won:.0%} of rows won, {lost:.0%} lost",
        passes,
        "after each of 1,000 rows",
        lambda: width(found) / (high - low),
    )


def bounded(first: float, second: float) -> World:
    """A mean of numbers in [0, 1] of a beta distribution."""
    mean, n = first / (first + second), np.arange(1, ROWS + 1)

    def passes(rng: Random, worlds: int) -> tuple[Array, Array]:
        values = rng.beta(first, second, (worlds, ROWS))
        return (bet(values, mean) >= BAR).any(axis=1), (_t_low(values, n)[:, _FIRST:] > mean).any(axis=1)

    values = np.random.default_rng(0).beta(first, second, ROWS)
    found = make_interval(MeanEvidence(values, 0, 1))
    fixed = 2 * 1.962 * values.std(ddof=1) / math.sqrt(ROWS)
    title = f"a mean of numbers in [0, 1], beta({first:g}, {second:g})"
    return World(title, passes, "after each of 1,000 rows", lambda: width(found) / fixed)


def clusters(mean: float, tie: float) -> World:
    """Accuracy in clusters of 1 to 9 rows that share what makes them easy."""
    n = np.arange(1, CLUSTERS + 1)

    def draw(rng: Random, worlds: int) -> Array:
        sizes = rng.integers(1, 10, (worlds, CLUSTERS))
        chance = rng.beta(mean * (1 / tie - 1), (1 - mean) * (1 / tie - 1), (worlds, CLUSTERS))
        return rng.binomial(sizes, chance) / sizes

    def passes(rng: Random, worlds: int) -> tuple[Array, Array]:
        values = draw(rng, worlds)
        return (bet(values, mean) >= BAR).any(axis=1), (_t_low(values, n)[:, _FIRST:] > mean).any(axis=1)

    values = draw(np.random.default_rng(0), 1)[0]
    found = make_interval(MeanEvidence(values, 0, 1))
    fixed = 2 * 1.972 * values.std(ddof=1) / math.sqrt(CLUSTERS)
    title = f"accuracy at least {mean:.0%} in clusters of 1 to 9 rows, correlation {tie:g}"
    return World(title, passes, "after each of 200 clusters", lambda: width(found) / fixed)


def width(estimate: "float") -> float:
    """The width of an interval."""
    return estimate.high - estimate.low


def _t_low(values: Array, n: Array) -> Array:
    """The lower end of Student's interval after each number."""
    mean = np.cumsum(values, axis=1) / n
    spread = np.sqrt(np.maximum(np.cumsum(values**2, axis=1) / n - mean**2, 0) * n / np.maximum(n - 1, 1))
    return mean - special.stdtrit(np.maximum(n - 1, 1), 0.975) * spread / np.sqrt(n)


def _wilson_ends(ones: Array, n: Array) -> tuple[Array, Array]:
    z2 = 1.959964**2
    middle = (ones + z2 / 2) / (n + z2)
    half = math.sqrt(z2) / (n + z2) * np.sqrt(ones * (n - ones) / n + z2 / 4)
    return middle - half, middle + half


def list_worlds() -> Iterator[World]:
    """Every kind of rule."""
    yield from (share(0.5), share(0.8), share(0.98))
    yield from (gap(0.9, 0.8), gap(0.7, 0.7), gap(0.98, 0.96))
    yield from (paired(0.04, 0.06), paired(0.0, 0.02), paired(0.1, 0.1))
    yield from (bounded(2.0, 2.0), bounded(0.3, 0.1), bounded(1.0, 30.0))
    yield from (clusters(0.8, 0.3), clusters(0.95, 0.5))


def simulate(world: World, worlds: int, seed: int = 1) -> dict[str, float]:
    """How many worlds ever pass, with the confidence sequence and with the fixed interval, and the width."""
    rng, counts = np.random.default_rng(seed), np.zeros(2, dtype=int)
    for start in range(0, worlds, _BLOCK):
        counts += [int(each.sum()) for each in world.passes(rng, min(_BLOCK, worlds - start))]
    return {"worlds": worlds, "anytime": int(counts[0]), "fixed": int(counts[1]), "width": round(world.widths(), 3)}


def write_table(numbers: dict[str, dict[str, float]]) -> str:
    """The table of the page."""
    lines = [
        "| rule, true at the bound | looks | worlds | ever passes, % | with the fixed interval, % | width at the end |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for world in list_worlds():
        one = numbers[world.title]
        found = wilson(one["anytime"], one["worlds"])
        lines.append(
            f"| {world.title} | {world.looks} | {one['worlds']:,} | {100 * found.value:.1f} "
            f"[{100 * found.low:.1f}, {100 * found.high:.1f}] | {100 * one['fixed'] / one['worlds']:.1f} | "
            f"{one['width']:.2f} |"
        )
    return "\n".join(lines)


def write_page(numbers: dict[str, dict[str, float]]) -> str:
    """The page with the table in its place."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return f"{head}{BEGIN}\n\n{write_table(numbers)}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Simulates what is not there yet, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="Write the page of the numbers that are there.")
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    if not parser.parse_args().page:
        for world in list_worlds():
            if world.title not in numbers:
                numbers[world.title] = simulate(world, WORLDS)
                NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
                sys.stderr.write(f"{world.title} {numbers[world.title]}\n")
    PAGE.write_text(write_page(numbers), "utf-8")


if __name__ == "__main__":
    main()
