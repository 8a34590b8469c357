"""`oochub.compare`: two predictions pair by pair, a ranking of three or more, or any number of reports side by side.

If models are compared on the same examples, every difference is paired, and no model is run.

What a comparison is given: reports told from predictions, and found in folders and in those of sweeps.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from oochub import catalog
from oochub.comparison.common_examples import find_flips, pair_rows
from oochub.comparison.comparison import Comparison, comparison
from oochub.comparison.model_difference import (
    Pair,
    compute_numbers,
    compute_side_number,
    find_side,
    make_number,
)
from oochub.comparison.paired_report import PairedReport
from oochub.comparison.rank_models import Ranking, rank_models
from oochub.data.declaration import (
    check_closed_words,
    describe_benchmark,
    describe_metrics,
    describe_model,
    find_declaration,
)
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import EvaluationRows, check_metric, find_epoch_rows
from oochub.evaluation.slices import RowSet, explain_missing_side, is_computed, make_row_sets, pair_sides
from oochub.metric import read_facts
from oochub.prediction.predictions import Predictions
from oochub.records.origin_records import PredictionsSource, Provenance, provenance
from oochub.records.report_records import ComparedNumber, ComparedRows, GroupRow, Side
from oochub.records.sides import GroupsOfRows
from oochub.records.typed_values import read_names
from oochub.report import wording
from oochub.report.report import Report
from oochub.report.report_commands import write_command
from oochub.settings import with_options
from oochub.settings.report_settings import ComparisonSettings
from oochub.stats import RESAMPLES
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import difference
from oochub.stats.p_values import holm, interval_p_value
from oochub.stats.paired_values import FROM_INTERVAL, TestedDifference
from oochub.storage.artifacts import PREDICTIONS, REPORT
from oochub.storage.parquet_file import read_parquet
from oochub.storage.reading import parse_json

_RUNS = "runs.parquet"  # of a sweep, one row per run
_COLUMNS = ["stage", "task", "method", "setting", "selected", "path", "left_out"]


_Names = str | Sequence[str] | None
Compared = Predictions | Report | str | Path
"""Predictions or a report, or the path of either; or a folder that holds reports at any depth."""


_SIDES: tuple[Side, ...] = ("in", "out")


class ComparedFiles(NamedTuple):
    """Reports, or two or more predictions, as they are or their paths; the other kind is empty."""

    reports: tuple[Report | Path, ...]
    predictions: tuple[Predictions | Path, ...]


def compare_files(sources: Sequence[Predictions | Report | str | Path]) -> ComparedFiles:
    """Tells reports from predictions, and finds the reports in folders; what is in a file is not read yet.

    Args:
        sources: Reports, predictions, paths of report.json, of folders that hold some at any depth, or of .parquet
            files of predictions, in the order in which they are compared. The folder of a sweep stands for the reports
            of its final runs with the selected settings.

    Raises:
        OochubError: Both kinds, a single file of predictions, a folder without a report, or anything else.

    >>> compare_files(["a.parquet", "b.parquet"]).predictions
    (PosixPath('a.parquet'), PosixPath('b.parquet'))
    """
    predictions: list[Predictions | Path] = []
    others: list[Report | Path] = []
    for source in sources:
        if isinstance(source, Predictions) or (
            isinstance(source, str | Path) and _is_of_predictions(_parse_path(source))
        ):
            predictions.append(source if isinstance(source, Predictions) else _parse_path(source))
        elif isinstance(source, Report | str | Path):
            others.append(source if isinstance(source, Report) else _parse_path(source))
        else:
            raise OochubError(
                "Only reports or predictions, or paths of such files, can be compared, got a "
                f"{type(source).__name__}. `oochub.predict` makes predictions, `oochub.evaluate` a report from them."
            )
    if predictions and others:
        named = predictions[0] if isinstance(predictions[0], Path) else "PREDICTIONS"
        advice = choose_wording("oochub.evaluate(predictions)", f"oochub evaluate {named} --out report.json")
        raise OochubError(
            "Predictions can only be compared with predictions, and reports with reports, got "
            f"{_describe_given(predictions[0])} and {_describe_given(others[0])}. Make a report from the "
            f"predictions: {advice}."
        )
    if len(predictions) == 1:
        raise OochubError(
            "A single file of predictions has nothing to be compared with. Name that of another model too, for the "
            "same examples."
        )
    reports = [
        report
        for other in others
        for report in (find_reports(other) if isinstance(other, Path) and other.is_dir() else [other])
    ]
    return ComparedFiles(tuple(reports), tuple(predictions))


def _parse_path(source: str | Path) -> Path:
    return Path(source).expanduser()


def _is_of_predictions(path: Path) -> bool:
    is_named = path.suffix.lower() in PREDICTIONS.suffixes
    return is_named and (not path.is_dir() or bool(PREDICTIONS.recognizes(path)))  # or one of parts


def _describe_given(given: Any) -> str:
    return str(given) if isinstance(given, Path) else "a report" if isinstance(given, Report) else "predictions"


def find_reports(folder: Path) -> list[Path]:
    """The reports in a folder, at any depth; of a sweep, those of its final runs with the selected settings.

    Args:
        folder: Folder of a sweep, or another.

    Raises:
        OochubError: It holds none.
    """
    sweeps = _find_sweeps(folder)
    chosen = {sweep: _list_selected_runs(sweep) for sweep in sweeps}
    candidates = [path for path in sorted(folder.rglob("*.json")) if path.is_file()]
    for sweep, runs in chosen.items():
        candidates = [path for path in candidates if path.parent in runs or sweep not in path.parents]
    reports = [path for path in candidates if REPORT.recognizes(path)]
    if not reports and sweeps:
        raise OochubError(
            f"The sweep in {sweeps[0]} has no report of a final run with a selected setting. Run `oochub sweep` "
            "again with the same --out to resume it; its page lists what failed."
        )
    if not reports:
        raise OochubError(
            f"There is no report in {folder} or in its folders. Run `oochub evaluate PREDICTIONS --out "
            f"{folder / 'report.json'}` to create one."
        )
    return reports


def _find_sweeps(folder: Path) -> list[Path]:
    return [note.parent for note in sorted(folder.rglob("sweep.json")) if (note.parent / _RUNS).is_file()]


def _list_selected_runs(sweep: Path) -> set[Path]:
    """The folders of a sweep's final runs with the settings that were selected, or with the only setting there is."""
    table = read_parquet(sweep / _RUNS).table
    if lacking := [name for name in _COLUMNS if name not in table.column_names]:
        raise OochubError(
            f"{sweep / _RUNS} is not the table of a sweep: it has no column {lacking[0]}. Run the sweep again, or name "
            "the reports themselves."
        )
    runs = table.select(_COLUMNS).to_pandas()
    runs = runs[(runs["stage"] == "final") & runs["left_out"].isna()]
    only = runs.groupby(["task", "method"])["setting"].transform("nunique") == 1  # of which one failed run selects none
    return {sweep / path for path in runs.loc[runs["selected"] | only, "path"]}


@with_options("compare", metric=_Names, slice=_Names)
def compare(first: Compared, /, *others: Compared, asked: ComparisonSettings) -> PairedReport | Ranking | Comparison:
    """Compares two predictions of the same examples by paired tests, ranks more by them, or sets reports side by side.

    Args:
        first: Predictions, or the path of a .parquet of them: model A. Or a report, the path of a report.json, or a
            folder that holds some at any depth.
        *others: For predictions, those of model B: every difference is B minus A. With more models, every pair is
            tested and each model gets the places that the tests allow. For reports, any number.
        asked: The options of `ComparisonSettings`.

    Returns:
        For two predictions a PairedReport, see `oochub.comparison.compare`; for more a Ranking, see
        `oochub.comparison.rank_models`; for reports a Comparison, see `oochub.comparison.comparison`. Each has
        `to_html()`, `to_markdown()`, `to_latex()` and `to_csv()`.

    Raises:
        OochubError: Predictions beside reports; a single one, or some of other examples; an option
            of the other kind; a file that is neither; an unknown metric, slice, table or task.

    >>> import numpy as np
    >>> import oochub
    >>> rng = np.random.default_rng(0)
    >>> label = np.arange(200) % 2
    >>> a, b = (
    ...     oochub.Predictions.from_arrays(logits=np.eye(2)[label] * size + rng.normal(size=(200, 2)), label=label)
    ...     for size in (1, 3)
    ... )
    >>> number = oochub.compare(a, b, metric="accuracy").slices[0].numbers["accuracy"]
    >>> number.difference > 0, number.test, number.is_clear
    (True, 'exact McNemar', True)
    """
    given, metric, slice = compare_files((first, *others)), asked.metric, asked.slice
    metrics = None if metric is None else [metric] if isinstance(metric, str) else read_names("metric", metric)
    if given.predictions:
        if {"reported", "table", "version", "rows"} & asked.given().keys():
            named = choose_wording("reported=, table=, version= and rows=")
            raise OochubError(f"{named} apply to reports, got predictions.")
        pair = (
            given.predictions if asked.task is None else [_select_task(part, asked.task) for part in given.predictions]
        )
        if len(pair) > 2:
            slices = None if slice is None else [slice] if isinstance(slice, str) else list(slice)
            return rank_models(pair, metrics=metrics, slices=slices, resamples=asked.resamples, seed=asked.seed)
        if "slice" in asked.given():
            named = choose_wording("slice=")
            raise OochubError(f"{named} does not apply to two predictions: their comparison shows every slice.")
        return _compare_predictions(pair[0], pair[1], metrics=metrics, resamples=asked.resamples, seed=asked.seed)
    if asked.task is not None:
        raise OochubError(f"{choose_wording('task=')} applies to predictions for many tasks; a report covers one.")
    if {"resamples", "seed"} & asked.given().keys():
        raise OochubError("resamples= and seed= apply to predictions; reports have their own intervals.")
    compared = comparison(
        given.reports,
        metric=metrics,
        slice=slice,
        reported=asked.reported,
        table=asked.table,
        version=asked.version,
        rows=asked.rows,
    )
    notes = [note for path in (first, *others) for note in _read_notes(path)]
    return compared.with_notes(list(dict.fromkeys(notes))) if notes else compared


def _read_notes(source: Compared) -> list[str]:
    """The caveats of the sweeps in a folder, which their tables of runs hold."""
    folder = _parse_path(source) if isinstance(source, str | Path) else None
    if folder is None or not folder.is_dir():
        return []
    reports = []
    for sweep in _find_sweeps(folder):
        about = (read_parquet(sweep / _RUNS).schema.metadata or {}).get(b"oochub", b"{}")
        content = parse_json(about, name=str(sweep / _RUNS))
        notes = content.get("notes", []) if isinstance(content, dict) else []
        reports += [str(note) for note in notes] if isinstance(notes, list) else []
    return reports


def _select_task(part: Predictions | Path, name: str) -> Predictions:
    from oochub.evaluation.tasks import task  # imports `datasets`

    of_task: Predictions = task(Predictions.load(part) if isinstance(part, Path) else part, name)
    return of_task


def _compare_predictions(
    a: Predictions | str | Path,
    b: Predictions | str | Path,
    *,
    metrics: Iterable[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedReport:
    """Compares two predictions of the same examples, joined by split and example_id; every difference is B minus A.

    Each number on each slice and group comes with both models' values, the difference with a paired interval, and a
    p-value whose test is named (`oochub.comparison.model_difference`); `is_clear` is Holm's correction at 5% over the
    slices of a metric, and over the groups. The gaps of the two models are those of their reports; the interval of
    their difference is made of the paired differences on both sides, which are paired too if both sides show the
    same things (`oochub.evaluation.slices`), and else taken as independent.

    Args:
        a: Predictions of the first model, or the path of a Parquet file.
        b: Predictions of the second model on the same examples.
        metrics: Names of metrics; None takes the benchmark's primary metric and those of its metrics that are means
            over rows. Others are bootstrapped, which takes time on many rows.
        resamples: Bootstrap replicates of the intervals that are bootstraps.
        seed: Seed of the bootstrap.

    Returns:
        The PairedReport. Comparing b with a gives the same with every sign turned; a model with itself differs by 0
        with p = 1 and no flip.

    Raises:
        OochubError: Predictions of other examples, truth, classes, benchmark, config or version; an unknown metric, or
            one whose columns the predictions lack.

    >>> a = Predictions.from_arrays(logits=[[1.0, 0.0]] * 6, label=[0, 0, 0, 1, 1, 1], model="a")
    >>> b = Predictions.from_arrays(logits=[[0.0, 1.0]] + [[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3, label=a.label, model="b")
    >>> number = _compare_predictions(a, b, metrics=["accuracy"]).slices[0].numbers["accuracy"]
    >>> round(number.difference, 3), number.p_value, number.test
    (0.333, 0.625, 'exact McNemar')
    """
    Sampling(resamples=resamples, seed=seed)  # checked before anything is read
    metrics = None if metrics is None else read_names("metrics", metrics)
    for part in (a, b):
        if not isinstance(part, Predictions | str | Path):
            raise OochubError(f"A pair must be Predictions or paths of files, got a {type(part).__name__}.")
    opened = [part if isinstance(part, Predictions) else Predictions.load(part) for part in (a, b)]
    files = [[] if isinstance(part, Predictions) else [Path(part).name] for part in (a, b)]
    typed = [f"./{name}" if name.startswith("-") else name for name in (*files[0], *files[1])]  # else it is an option
    command = write_command("compare", *typed) if all(files) else "oochub.compare(a, b)"
    origin, other = (
        _make_provenance(part, " ".join(names), command, resamples, seed)
        for part, names in zip(opened, files, strict=True)
    )
    first, second = map(describe_model, opened)
    pair = pair_rows(*opened, resamples=resamples, seed=seed)
    del opened  # the rows of the second, where those of the pair are in another order
    pa.default_memory_pool().release_unused()
    chosen = _choose_metrics(pair[0], metrics)
    for name, metric in chosen.items():
        check_metric(name, metric, pair[0])
    sets = make_row_sets(pair[0])
    shown = describe_benchmark(pair[0].predictions.metadata, pair[0].benchmark)
    slices = _correct_with_holm([_slice(rows, chosen, pair) for rows in sets])
    return PairedReport(
        benchmark=shown,
        first=first,
        second=second,
        notes=_collect_notes([model.predictions for model in pair]),
        metrics=describe_metrics(chosen | _find_primary(pair[0]) | _group_metric(pair[0])),
        slices=slices,
        groups=_compare_groups(pair, sets),
        group_metric=next(iter(_group_metric(pair[0])), ""),
        gap=_compare_gap(pair, {rows.role: rows for rows in sets}, {part.role: part for part in slices}),
        flips=find_flips(pair, {rows.role: rows.mask for rows in sets}),
        provenance=origin,
        other=other,
    )


def _choose_metrics(evaluated: EvaluationRows, metrics: Iterable[str] | None) -> dict[str, Callable[..., Any]]:
    if metrics is not None:
        return {name: catalog.get("metric", name) for name in metrics}
    declared = {name: catalog.get("metric", name) for name in evaluated.benchmark.metrics}
    facts = {name: read_facts(metric) for name, metric in declared.items()}
    means = {name: declared[name] for name, of in facts.items() if of is not None and of.row_numbers is not None}
    return _find_primary(evaluated) | means


def _find_primary(evaluated: EvaluationRows) -> dict[str, Callable[..., Any]]:
    name = evaluated.benchmark.primary_metric
    return {name: catalog.get("metric", name)}


def _slice(rows: RowSet, metrics: Mapping[str, Callable[..., Any]], pair: Pair) -> ComparedRows:
    side = find_side(rows, pair[0])
    numbers: dict[str, ComparedNumber] = {}
    if isinstance(side, GroupsOfRows):
        numbers[pair[0].benchmark.primary_metric] = compute_side_number(rows, pair)
    else:
        for name, metric in metrics.items():
            if is_computed(name, rows.role):
                numbers |= compute_numbers(name, metric, np.flatnonzero(rows.mask), pair)
    return _compare_set(rows.name, rows.role, rows.title, rows.split, rows.mask, numbers, pair)


def _compare_set(
    name: str, role: Any, title: str, split: str, mask: Any, numbers: Mapping[str, ComparedNumber], pair: Pair
) -> ComparedRows:
    only_first = only_second = None
    if pair[0].predictions.output.one_answer:
        right = [~model.predictions.output.wrong(model.columns) & mask for model in pair]
        only_first, only_second = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    return ComparedRows(
        name=name,
        role=role,
        title=title,
        split=split,
        n=int(mask.sum()),
        numbers=numbers,
        only_first=only_first,
        only_second=only_second,
    )


def _correct_with_holm(parts: Sequence[ComparedRows]) -> tuple[ComparedRows, ...]:
    """The same, with each metric's tests corrected for how many rows of the table have it."""
    numbers: list[dict[str, ComparedNumber]] = [dict(part.numbers) for part in parts]
    for metric in {name: None for of in numbers for name in of}:
        having = [of for of in numbers if metric in of]
        for of, is_clear in zip(having, holm([of[metric].p_value for of in having]), strict=True):
            of[metric] = replace(of[metric], is_clear=is_clear)
    return tuple(replace(part, numbers=of) for part, of in zip(parts, numbers, strict=True))


def _group_metric(evaluated: EvaluationRows) -> dict[str, Callable[..., Any]]:
    """The metric that groups are compared by, by its name; none without groups."""
    names = evaluated.predictions.output.group_metrics[:1]
    has_groups = evaluated.benchmark.group_column in evaluated.columns
    return {name: catalog.get("metric", name) for name in names if has_groups}


def _compare_groups(pair: Pair, sets: Sequence[RowSet]) -> tuple[ComparedRows, ...]:
    evaluated = pair[0]
    if not _group_metric(evaluated):
        return ()
    ((name, metric),) = _group_metric(evaluated).items()
    sides = {rows.role: rows for rows in sets if rows.role in _SIDES}
    if isinstance(evaluated.benchmark.out_of_context, GroupsOfRows):  # both sides are the same rows
        sides.pop("in", None)
    shown = describe_benchmark(evaluated.predictions.metadata, evaluated.benchmark)
    facts, parts = evaluated.predictions.metadata.facts, []
    for rows in sides.values() or sets[:1]:
        for group, members in evaluated.members(rows.mask).items():
            context = evaluated.benchmark.describe_context({"group": group}, facts)
            role = rows.role if rows.role in _SIDES else None
            row = GroupRow(
                group=group, label=group.partition("/")[0], context=context, split=rows.split,
                role=role, trained=None, n=len(members),
            )  # fmt: skip
            mask = np.zeros(len(rows.mask), dtype=bool)
            mask[members] = True
            numbers = compute_numbers(name, metric, members, pair)
            parts.append(_compare_set(group, role, wording.group_words(shown, row), rows.split, mask, numbers, pair))
    return _correct_with_holm(parts)


def _compare_gap(pair: Pair, sets: Mapping[Any, RowSet], slices: Mapping[Any, ComparedRows]) -> ComparedNumber:
    name = pair[0].benchmark.primary_metric
    if not set(_SIDES) <= set(sets):
        n = sum(part.n for role, part in slices.items() if role in _SIDES)
        nothing = Estimate(np.nan, n=n, method="none", reason=explain_missing_side(sets, pair[0].benchmark))
        return make_number(nothing, nothing, TestedDifference(nothing, np.nan, FROM_INTERVAL))
    inside, outside = (
        slices[role].numbers.get(name) or _slice(sets[role], _find_primary(pair[0]), pair).numbers[name]
        for role in _SIDES
    )
    paired = (pair_sides(catalog.get("metric", name), sets, models) for models in (pair[:1], pair[1:], pair))
    first, second, both = (0.0 if number is None else number.correlation for number in paired)
    change = difference(outside.difference, inside.difference, correlation=both)
    return make_number(
        difference(outside.first, inside.first, correlation=first),
        difference(outside.second, inside.second, correlation=second),
        TestedDifference(change, interval_p_value(change), FROM_INTERVAL),
    )


def _collect_notes(parts: Sequence[Predictions]) -> tuple[str, ...]:
    """The notes of both, and what is left out."""
    notes = dict.fromkeys(note for part in parts for note in part.metadata.notes)
    part_notes = (find_epoch_rows(part, find_declaration(part)).note for part in parts)
    notes |= dict.fromkeys(note for note in part_notes if note)
    notes |= dict.fromkeys(note for part in parts for note in check_closed_words(part, find_declaration(part)))
    notes |= dict.fromkeys(_describe_no_class(parts))
    outside = int((~parts[0].output.known(parts[0].label)).sum())
    left_out = [f"{outside:,} rows outside the label set are skipped"] if outside else []
    return (*notes, *left_out)


def _describe_no_class(parts: Sequence[Predictions]) -> Iterator[str]:
    """How many answers of each model are none of the classes."""
    for which, part in zip(("first", "second"), parts, strict=False):
        if part.metadata.no_class_words:
            yield f"{part.metadata.no_class_words} of the {which} model; each counts as wrong"


def _make_provenance(part: Predictions, file: str, command: str, resamples: int, seed: int) -> Provenance:
    return Provenance(
        **provenance(),
        seed=seed,
        resamples=resamples,
        predictions=PredictionsSource(
            file=file or "in memory",
            rows=len(part),
            fingerprint=part.metadata.fingerprint,
            sha256=part.digest,
            integrity=part.integrity,
        ),
        command=command,
        training=part.metadata.training,
        prediction=dict(part.metadata.provenance),
    )
