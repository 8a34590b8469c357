"""Three or more models on the same rows: every pair is tested, and each model gets the places that the tests allow."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special  # scipy.stats has the same, and takes half a second to import

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.evaluation.declaration import describe_benchmark, describe_metrics, describe_model
from oochub.evaluation.evaluation_rows import EvaluationRows, check_metric
from oochub.evaluation.paired_numbers import compute_numbers, compute_side_number, find_side
from oochub.evaluation.paired_rows import pair_rows
from oochub.evaluation.row_sets import RowSet, estimate_side, is_computed, make_row_sets
from oochub.prediction.predictions import Predictions
from oochub.process.follow import follow
from oochub.records.report_records import ComparedNumber
from oochub.records.sides import GroupsOfRows
from oochub.report import wording
from oochub.report.ranked_models import RankedModel, RankedPair, Ranking, RankingTable
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.paired_places import Pair, PairedGain, clear_pairs, find_rank_ranges, smallest_found

MOST = 50
"""Models that are ranked together: 1,225 pairs."""
_RANKED = ("higher", "lower")  # directions of numbers of which one is better


def rank_models(
    given: Sequence[Predictions | Path],
    *,
    metrics: Iterable[str] | None = None,
    slices: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Ranking:
    """Ranks models by paired tests of all pairs, corrected by Holm over the pairs of a table.

    Args:
        given: Three or more predictions of the same examples, or paths of files.
        metrics: Names of metrics, a table each; None takes the benchmark's primary metric.
        slices: Names of slices, a table each; None takes the rows out of context, or all rows where there are none.
        resamples: Bootstrap replicates of the differences that are bootstrapped.
        seed: Seed of the bootstrap and of random signs.

    Raises:
        OochubError: Other examples, truths or sides; more than `MOST` models; an unknown metric or slice; a metric of
            which neither direction is better.
    """
    Sampling(resamples=resamples, seed=seed)  # checked before anything is read
    if len(given) > MOST:
        raise OochubError(f"At most {MOST} models can be ranked together, got {len(given)}. Leave some out.")
    opened = [part if isinstance(part, Predictions) else Predictions.load(part) for part in given]
    models = _align(opened, resamples=resamples, seed=seed)
    first = models[0]
    names = [first.benchmark.primary_metric] if metrics is None else list(dict.fromkeys(metrics))
    chosen = {name: catalog.get("metric", name) for name in names}
    described = describe_metrics(chosen)
    for name, metric in chosen.items():
        check_metric(name, metric, first)
        if not any(each.direction in _RANKED for key, each in described.items() if key.partition(".")[0] == name):
            raise OochubError(f"Neither a high nor a low {name} is better, so it ranks no model. Name another metric.")
    tables = [
        table
        for rows in _choose_sets(make_row_sets(first), slices)
        for name, metric in chosen.items()
        for table in _rank(rows, name, metric, models)
    ]
    if not tables:
        raise OochubError(
            f"{', '.join(names)} cannot be measured on these rows. Name another metric, or another slice."
        )
    metadata = first.predictions.metadata
    return Ranking(
        benchmark=describe_benchmark(metadata, first.benchmark),
        models=tuple(map(describe_model, opened)),
        names=_name_models(opened, given),
        metrics=described,
        tables=tuple(tables),
        notes=tuple(dict.fromkeys(note for part in opened for note in part.metadata.notes)),
    )


def _align(opened: Sequence[Predictions], *, resamples: int, seed: int) -> list[EvaluationRows]:
    """The rows of all models in the order of the first; a row that one of them leaves out is left out of all."""
    pairs = [pair_rows(opened[0], other, resamples=resamples, seed=seed) for other in opened[1:]]
    rows = [pairs[0][0], *(pair[1] for pair in pairs)]
    known = np.logical_and.reduce([each.known for pair in pairs for each in pair])
    return [replace(each, known=known) for each in rows]


def _choose_sets(sets: Sequence[RowSet], slices: Sequence[str] | None) -> list[RowSet]:
    if slices is None:
        return [next((rows for rows in sets if rows.role == "out"), sets[0])]
    named = {rows.title: rows for rows in sets if rows.role in ("in", "out")} | {rows.name: rows for rows in sets}
    for name in slices:
        if name not in named:
            raise unknown_name("slice of these predictions", name, named)
    return [named[name] for name in dict.fromkeys(slices)]


def _rank(rows: RowSet, name: str, metric: Callable[..., Any], models: Sequence[EvaluationRows]) -> list[RankingTable]:
    """A table for each number that the metric gives on these rows; none where it is not computed there."""
    side = find_side(rows, models[0])
    if not is_computed(name, rows.role) or (
        isinstance(side, GroupsOfRows) and name != models[0].benchmark.primary_metric
    ):
        return []
    members = np.flatnonzero(rows.mask)
    is_groups = isinstance(side, GroupsOfRows)
    values = [estimate_side(rows, metric, each) if is_groups else each.of(metric, members) for each in models]
    numbers: dict[str, dict[Pair, ComparedNumber]] = {}
    pairs = list(combinations(range(len(models)), 2))
    for i, j in follow(pairs, desc=f"Testing {name}", unit="pair", delay=2, disable=None):
        pair, own = (models[i], models[j]), (values[i], values[j])
        if isinstance(side, GroupsOfRows):
            found = {name: compute_side_number(rows, side, pair, own)}
        else:
            found = compute_numbers(name, metric, members, pair, own)
        for key, number in found.items():
            numbers.setdefault(key, {})[i, j] = number
    described = describe_metrics({name: metric})
    directions = {key: (described.get(key) or described[name]).direction for key in numbers}
    return [
        _make_table(rows, key, of, len(models), directions[key])
        for key, of in numbers.items()
        if directions[key] in _RANKED
    ]


def _make_table(
    rows: RowSet, metric: str, numbers: dict[Pair, ComparedNumber], models: int, direction: str
) -> RankingTable:
    sign = -1 if direction == "lower" else 1
    gains = {pair: PairedGain(sign * float(each.difference), each.p_value) for pair, each in numbers.items()}
    places = find_rank_ranges(gains, models)
    clear = clear_pairs(list(gains.values()))
    own: dict[int, Estimate] = {}
    for (i, j), number in numbers.items():
        own[i], own[j] = number.first, number.second
    ranked = [RankedModel(model=k, number=own[k], best=places[k].best, worst=places[k].worst) for k in range(models)]
    ordered = sorted(ranked, key=lambda each: (each.best + each.worst, _sort_key(each.number, sign)))
    tested = [
        RankedPair(
            first=i, second=j, difference=number.difference, p_value=number.p_value, test=number.test,
            is_clear=is_clear,
        )
        for ((i, j), number), is_clear in zip(numbers.items(), clear, strict=True)
    ]  # fmt: skip
    return RankingTable(
        metric=metric,
        slice=rows.name,
        role=rows.role,
        title=rows.title,
        split=rows.split,
        n=int(rows.mask.sum()),
        models=tuple(ordered),
        pairs=tuple(tested),
        smallest=smallest_found([_measure_error(each.difference) for each in tested], tests=len(tested)),
    )


def _sort_key(number: Estimate, sign: int) -> float:
    return float("inf") if np.isnan(number.value) else -sign * number.value


def _measure_error(difference: Estimate) -> float:
    """The standard error that a 95% interval stands for; nan without one."""
    return (difference.high - difference.low) / (2 * float(special.ndtri(0.975)))


def _name_models(opened: Sequence[Predictions], given: Sequence[Predictions | Path]) -> tuple[str, ...]:
    """Each model's name; where some share one, the name of the file, or a number."""
    names = [wording.name(wording.name_model(describe_model(part)), 60) for part in opened]
    shared = {name for name, count in Counter(names).items() if count > 1}
    files = [wording.name(part.stem, 60) if isinstance(part, Path) else "" for part in given]
    are_told = len(set(files)) == len(files)
    return tuple(
        name if name not in shared else files[k] if are_told else f"{name} ({k + 1})" for k, name in enumerate(names)
    )
