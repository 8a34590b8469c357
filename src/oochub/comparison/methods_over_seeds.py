"""Methods that were trained with several seeds, tested pair by pair: the places that the tests allow each of them.

The predictions of each run stand beside its report, as in the folder of a sweep. A run contributes its number and what
it would be without each of a hundred groups of its examples (or of clusters, where the benchmark declares them), which
is little, so one file is open at a time; an example is in the same group for all runs and tasks. What varies is in
`oochub.stats.seeded_difference`; pairs are corrected by Holm within a row of a table.
"""

import statistics
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.comparison.model_difference import OF_ROWS, find_side
from oochub.comparison.rank_models import describe_smallest, format_place
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import EvaluationRows, make_evaluation_rows
from oochub.evaluation.group_statistics import compute_group_side, read_row_values
from oochub.evaluation.slices import RowSet, make_row_sets
from oochub.prediction.predictions import Predictions
from oochub.records.document import Block
from oochub.records.sides import GroupsOfRows, WorstOfGroups
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.stats.estimate import Estimate, effective_clusters
from oochub.stats.model_places import PairedGain, RankRange, clear_pairs, find_rank_ranges
from oochub.stats.p_values import adjusted_p_values
from oochub.stats.seeded_difference import GROUPS, METHOD, SeededNumbers, seeded_difference

PREDICTIONS = "predictions.parquet"
"""The predictions of a run, beside its report."""

AVERAGE = "Average"
"""The row of a table that is the mean over its tasks."""

_FEW = 5  # seeds, below which a table says that they say little
_OF_WORST = (
    "the worst of several groups that are alike comes out too low, so its difference from a method with one worst "
    "group comes out too small"
)
_SAME = 1e-6  # relative: the predictions give the number of the report
_TASKS = 4  # rows that are shown beside their average

Seeds = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class MethodPair:
    """The test of two methods.

    Attributes:
        first: Name of the first method.
        second: Name of the second method.
        difference: Second minus first, its interval not corrected.
        p_value: Two-sided p-value of no difference; nan where nothing varies.
        adjusted: The same by Holm's correction over the pairs of the row.
        is_clear: Whether `adjusted` is at most 0.05.
    """

    first: str
    second: str
    difference: Estimate
    p_value: float
    adjusted: float
    is_clear: bool


@dataclass(frozen=True, kw_only=True)
class MethodPlaces:
    """All pairs of the methods of a row, which have two or more seeds each.

    Attributes:
        places: Places that the tests allow each method, the best mean first.
        means: Mean over the seeds of each method.
        pairs: The tests, each pair once.
        smallest: True difference that the median pair would show 8 times in 10; nan where nothing varies.
        seeds: Seeds of the method that has the fewest.
    """

    places: Mapping[str, RankRange]
    means: Mapping[str, float]
    pairs: tuple[MethodPair, ...]
    smallest: float
    seeds: int

    @property
    def leaders(self) -> list[str]:
        """The methods that none is clearly better than."""
        return [name for name, place in self.places.items() if place.best == 1]

    def is_behind_best(self, name: str) -> bool:
        """Whether a method is clearly worse than the one with the best mean."""
        best = next(iter(self.places))
        return name != best and self.find(best, name).is_clear

    def find(self, first: str, second: str) -> MethodPair:
        """The test of a pair, in whatever order it was made."""
        return next(pair for pair in self.pairs if {pair.first, pair.second} == {first, second})


class SeededRuns:
    """Runs whose predictions stand beside their reports; each number is computed once, one file is open at a time."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Path, str, str], SeededNumbers | None] = {}
        self._opened: tuple[Path, EvaluationRows] | None = None

    def measure(self, file: Path, metric: str, slice: str, expected: float) -> SeededNumbers | None:
        """The number of one run, with what it is without each group of examples.

        Args:
            file: Its predictions.
            metric: Key of the metric.
            slice: Name of the slice.
            expected: The number in its report.

        Returns:
            None where the predictions cannot be read or do not give the number of the report.
        """
        key = file, metric, slice
        if key not in self._numbers:
            try:
                numbers = self._measure(file, metric, slice)
            except OochubError:
                numbers = None
            is_same = numbers is not None and np.isclose(numbers.values[0], expected, rtol=_SAME, atol=_SAME)
            self._numbers[key] = numbers if is_same else None
        return self._numbers[key]

    def _measure(self, file: Path, metric: str, slice: str) -> SeededNumbers | None:
        if self._opened is None or self._opened[0] != file:
            predictions = Predictions.load(file)
            self._opened = file, make_evaluation_rows(predictions, find_declaration(predictions))[0]
        evaluated = self._opened[1]
        rows = next((rows for rows in make_row_sets(evaluated) if rows.name == slice), None)
        return None if rows is None else leave_groups_out(evaluated, rows, metric)


def place_methods(methods: Mapping[str, SeededNumbers], *, direction: str) -> MethodPlaces | None:
    """Tests all pairs of methods on the same images.

    Args:
        methods: The runs of each method, two or more, by its name.
        direction: Direction of the number, "higher" or "lower".

    Returns:
        None for fewer than two methods, or a number of which neither direction is better.

    >>> runs = {"erm": (0.5, 0.6, 0.7), "dro": (0.8, 0.9, 1.0)}
    >>> runs = {name: SeededNumbers(np.array(of), np.zeros((3, GROUPS)), 100) for name, of in runs.items()}
    >>> found = place_methods(runs, direction="higher")
    >>> found.leaders, round(found.pairs[0].p_value, 3)
    (['dro'], 0.021)
    """
    sign = {"higher": 1, "lower": -1}.get(direction, 0)
    if len(methods) < 2 or not sign:
        return None
    names = [*methods]
    differences = {
        (i, j): seeded_difference(methods[names[i]], methods[names[j]]) for i, j in combinations(range(len(names)), 2)
    }
    gains = {
        pair: PairedGain(sign * pair_difference.difference.value, pair_difference.p_value)
        for pair, pair_difference in differences.items()
    }
    adjusted = adjusted_p_values([gain.p_value for gain in gains.values()])
    tested = zip(differences.items(), adjusted, clear_pairs([*gains.values()]), strict=True)
    means = {name: float(methods[name].values.mean()) for name in names}
    places = dict(zip(names, find_rank_ranges(gains, len(names)), strict=True))
    order = sorted(names, key=lambda name: -sign * means[name])
    smallest = [
        pair_difference.smallest_found(len(differences))
        for pair_difference in differences.values()
        if pair_difference.error > 0
    ]
    return MethodPlaces(
        places={name: places[name] for name in order},
        means=means,
        pairs=tuple(
            MethodPair(
                first=names[i], second=names[j], difference=of_pair.difference, p_value=of_pair.p_value,
                adjusted=of_holm, is_clear=is_clear,
            )
            for ((i, j), of_pair), of_holm, is_clear in tested
        ),
        smallest=statistics.median(smallest) if smallest else float("nan"),
        seeds=min(len(method.values) for method in methods.values()),
    )  # fmt: skip


def place_rows(
    rows: Mapping[str, Mapping[str, Mapping[Seeds, SeededNumbers | None]]], *, direction: str, average: bool
) -> dict[str, MethodPlaces]:
    """The places of the methods in each row of a table.

    Args:
        rows: The runs of each task and method, by their seeds; None for a run that cannot be tested.
        direction: Direction of the number.
        average: Whether the mean over the tasks is a row too, of the methods that have every task with the same seeds.

    Returns:
        The rows in which every method can be tested; their averages under `AVERAGE`.
    """
    places: dict[str, MethodPlaces] = {}
    for task, methods in rows.items():
        joined = {name: join_seeds([run for run in runs.values() if run is not None]) for name, runs in methods.items()}
        if all(None not in runs.values() and len(runs) > 1 for runs in methods.values()):
            placed = place_methods(joined, direction=direction)
            places |= {} if placed is None else {task: placed}
    if average and len(places) == len(rows) > 1:
        together: dict[str, SeededNumbers] = {}
        for name in dict.fromkeys(name for methods in rows.values() for name in methods):
            of_task = [methods.get(name, {}) for methods in rows.values()]
            if all(set(of_task[0]) == set(runs) for runs in of_task):
                seeds = [*of_task[0]]
                together[name] = _average([join_seeds([runs[seed] for seed in seeds]) for runs in of_task])
        placed = place_methods(together, direction=direction)
        places |= {} if placed is None else {AVERAGE: placed}
    return places


def join_seeds(runs: Sequence[Any]) -> SeededNumbers:
    """The runs of a method, its seeds one after the other.

    Args:
        runs: The `SeededNumbers` of each.
    """
    if not runs:
        return SeededNumbers(np.empty(0), np.empty((0, GROUPS)), 0)
    values, left = (np.concatenate(parts) for parts in ([run.values for run in runs], [run.left for run in runs]))
    return SeededNumbers(values, left, min(run.units for run in runs), runs[0].limit)


def _average(tasks: Sequence[SeededNumbers]) -> SeededNumbers:
    """The mean over tasks of each seed's numbers; an image that is in several tasks is left out of all at once."""
    left = np.stack([task.left for task in tasks])
    is_nowhere = np.isnan(left).all(axis=0)
    left = np.where(np.isnan(left), np.stack([task.values for task in tasks])[:, :, None], left).mean(axis=0)
    values = np.mean([task.values for task in tasks], axis=0)
    units = min(task.units for task in tasks)
    return SeededNumbers(values, np.where(is_nowhere, np.nan, left), units, tasks[0].limit)


def leave_groups_out(evaluated: EvaluationRows, rows: RowSet, key: str) -> SeededNumbers:
    """The number of one run on some rows, and without each group of them in turn.

    Args:
        evaluated: Rows of the run.
        rows: Some of them.
        key: Key of the metric.
    """
    members = np.flatnonzero(rows.mask)
    column = evaluated.benchmark.cluster
    unit = evaluated.predictions.column("example_id") if column is None else evaluated.columns[column]
    names, codes = np.unique(np.asarray(unit)[members].astype(str), return_inverse=True)
    group = np.array([zlib.crc32(name.encode()) % GROUPS for name in names])[codes]
    name, _, part = key.partition(".")
    metric, side = catalog.get("metric", name), find_side(rows, evaluated)
    is_of_groups = isinstance(side, GroupsOfRows) and name == evaluated.benchmark.primary_metric

    def value(places: NDArray[np.int64]) -> float:
        if is_of_groups:
            mask = np.zeros(len(rows.mask), np.bool_)
            mask[places] = True
            return compute_group_side(side, metric, mask, evaluated)
        measured: Any = evaluated.value(metric, places)
        return float(measured[part] if part else measured)

    left = np.full(GROUPS, np.nan)
    columns = {column: evaluated.columns[column][members] for column in OF_ROWS if column in evaluated.columns}
    by_row = None if is_of_groups else read_row_values(metric, columns)
    sizes = np.bincount(group, minlength=GROUPS)
    there = np.flatnonzero((sizes > 0) & (sizes < len(group)))
    if by_row is not None:
        sums = np.bincount(group, by_row, minlength=GROUPS)
        left[there] = (by_row.sum() - sums[there]) / (len(group) - sizes[there])
    else:
        left[there] = [value(members[group != k]) for k in there]
    is_of_worst = name == "worst_group" or (is_of_groups and isinstance(side, WorstOfGroups))
    limit = _OF_WORST if is_of_worst else ""
    return SeededNumbers(np.array([value(members)]), left[None], effective_clusters(codes), limit)


def write_headline(row: str, placed: MethodPlaces, *, where: str, unit: str) -> str:
    """Which method is better, or what could have been seen.

    Args:
        row: Row of the table: a task, or `AVERAGE`.
        placed: Places of its methods.
        where: The rows, in words: "out of context".
        unit: Unit of the metric.
    """
    where = f"{where} on average over the tasks" if row == AVERAGE else where
    leaders, count = [wording.name(name, 60) for name in placed.leaders], len(placed.places)
    if len(leaders) == count:
        could = describe_smallest(placed.smallest, unit)
        return f"No method of {count} is clearly better than another {where}." + (f" {could}" if could else "")
    if len(leaders) > 1:
        return f"Any of {len(leaders)} methods may be the best {where}: {wording.join_names(leaders)}."
    best, *others = placed.places
    if len(others) > 1:
        return f"{leaders[0]} is clearly better than each of the {len(others)} other methods {where}."
    pair = placed.find(best, others[0])
    sign = 1 if pair.second == best else -1
    gain = format_numbers.points(sign * pair.difference.value, unit)
    return (
        f"{leaders[0]} is clearly better than {wording.name(others[0], 60)} {where}: {gain}"
        f"{format_numbers.points_word(unit)} ({format_numbers.p_value(pair.adjusted)}, {placed.seeds} seeds)."
    )


def format_places(
    rows: Mapping[str, MethodPlaces], *, heading: str, metric: str, unit: str, images: str = "images"
) -> Block:
    """The places as a table, with what was tested below it; of more than four tasks the average alone.

    Args:
        rows: The places in each row.
        heading: Title of the table.
        metric: Head of the column of means.
        unit: Unit of the metric.
        images: What the examples are called.
    """
    shown = {AVERAGE: rows[AVERAGE]} if len(rows) > _TASKS + 1 and AVERAGE in rows else dict(rows)
    limits, lines = Footnotes(), []
    for row, placed in shown.items():
        best = next(iter(placed.places))
        for name, place in placed.places.items():
            cells = (format_place(*place), format_numbers.quantity(placed.means[name], unit))
            behind = ("", "") if name == best else _write_pair(placed.find(best, name), name, unit, limits)
            lines.append((*([row] if len(shown) > 1 else []), name, *cells, *behind))
    heads = ("Method", "Place", metric, "minus the best\n(95% interval)", "p (Holm)")
    pairs = [pair for placed in shown.values() for pair in placed.pairs]
    below = [
        f"{sum(pair.is_clear for pair in pairs)} of {len(pairs)} pairs differ clearly. What varies is the seed and the "
        f"{images}, which all runs share ({METHOD}, corrected by Holm over the pairs of a "
        f"{'row' if len(shown) > 1 else 'table'}); all true places of a {'row' if len(shown) > 1 else 'table'} lie in "
        "these ranges at once with 95%."
    ]
    below += describe_few_seeds([*shown.values()], unit)
    text = Table(
        title=heading,
        heads=(*(["Task"] if len(shown) > 1 else []), *heads),
        rows=tuple(lines),
        left=frozenset({0, 1}) if len(shown) > 1 else frozenset({0}),
        footnotes=limits.lines,
    )
    return Block(table=text, below=tuple(below))


def describe_few_seeds(rows: Sequence[MethodPlaces], unit: str) -> list[str]:
    """What could have been seen, and that few seeds say little; nothing where nothing varies.

    Args:
        rows: The places in each row of a table; the row that shows least counts.
        unit: Unit of the metric.
    """
    clear = [placed for placed in rows if placed.smallest > 0]
    could = describe_smallest(max((placed.smallest for placed in clear), default=float("nan")), unit)
    fewest = min(placed.seeds for placed in rows)
    return [f"{fewest} seeds say little. {could}" if fewest < _FEW else could] if could else []


def _write_pair(pair: MethodPair, name: str, unit: str, limits: Footnotes) -> tuple[str, str]:
    """The method minus the best and its p-value."""
    difference = pair.difference
    if pair.second != name:
        difference = Estimate.from_dict(
            {**difference.to_dict(), "value": -difference.value, "low": -difference.high, "high": -difference.low}
        )
    cell = limits.cell(difference, unit, signed=True).replace("\n", " (", 1)
    p_value = format_numbers.p_value(pair.adjusted).removeprefix("p ").removeprefix("= ")
    return f"{cell})" if "(" in cell else cell, p_value


def list_pairs(rows: Mapping[str, MethodPlaces], **same: Any) -> list[dict[str, Any]]:
    """Every pair as JSON types, at full precision.

    Args:
        rows: The places in each row.
        **same: What each record begins with.
    """
    return [
        {
            **same,
            "row": row,
            "first": pair.first,
            "second": pair.second,
            **{name: value for name, value in pair.difference.to_dict().items() if name not in ("n", "method")},
            "p_value": pair.p_value,
            "p_holm": pair.adjusted,
            "is_clear": pair.is_clear,
            "seeds": placed.seeds,
            "smallest_found": placed.smallest,
        }
        for row, placed in rows.items()
        for pair in placed.pairs
    ]
