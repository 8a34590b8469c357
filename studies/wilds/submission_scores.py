"""WILDS' prediction files become reports and numbers: every metric of each split, over the official replicates."""

import inspect
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasets

from oochub import catalog
from oochub.data.declaration import find_declaration
from oochub.data.load import load
from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_rows import EvaluationColumns, EvaluationRows, check_metric
from oochub.exchange.answers_file import join_answers
from oochub.metric import read_facts
from oochub.output import get_output
from oochub.prediction.predictions import Predictions
from oochub.records.sides import GroupsOfRows, WorstOfGroups
from oochub.records.table import Table
from oochub.storage.artifacts import FileKind, format_csv
from oochub.storage.files import lock_target, write_whole_folder
from oochub.studies.wilds.official_replicates import official_replicates
from oochub.studies.wilds.result_tables import Replicates
from oochub.studies.wilds.submission_file import SubmissionFile

if TYPE_CHECKING:
    import pandas as pd


_WORST = {"camelyon17": "slide", "rxrx1": "cell_type", "fmow": "year", "amazon": "user"}
"""The groups for which WILDS' code gives the worst accuracy beside the headline."""


@dataclass(frozen=True, kw_only=True)
class _Number:
    """A metric of one file: as oochub has it, and as WILDS' code has it."""

    metric: str
    value: float
    wilds: float


def submission_scores(folder: Path, out: Path, *, kind: FileKind, data_dir: str | None = None) -> Table:
    """Scores all prediction files in a folder and those below it.

    All are checked before one is scored. `out` gets `reports/`, the report of each model over the splits that it
    predicted; `numbers.csv`, every metric of every file, by oochub and by WILDS' code, which differ where a group has
    no row; and `scores.csv`, mean and standard deviation (ddof 1) over the replicates.

    Args:
        folder: Folder of the files: one folder per data set, as WILDS takes them, or all in one.
        out: The folder that is written.
        kind: The kind of folder that `out` may replace.
        data_dir: The folder with the raw folders of the data sets; None takes `$OOCHUB_DATA/wilds`.

    Returns:
        The headline of each split; its records are all metrics.

    Raises:
        OochubError: No prediction file, two for one split, a line that is wrong; raw data that are missing.
    """
    files = _find_files(folder)
    answered = [(file, _read_predictions(file, data_dir)) for file in files]
    numbers = {file: _compute_numbers(predictions) for file, predictions in answered}
    runs: dict[tuple[str, str], list[Predictions]] = defaultdict(list)
    for file, predictions in answered:
        runs[file.config, file.replicate].append(predictions)
    table = _build_table(numbers)
    with lock_target(out), write_whole_folder(out, kind=kind) as draft:
        (draft / "reports").mkdir()
        for (config, replicate), parts in runs.items():
            name = config if "_fold_" in config else f"{config}_{replicate.replace(':', '_')}"
            evaluate(parts).save(draft / "reports" / f"{name}.json")
        (draft / "numbers.csv").write_text(format_csv(_make_frame(numbers)), "utf-8")
        (draft / "scores.csv").write_text(format_csv(table.to_frame()), "utf-8")
    return table


def _find_files(folder: Path) -> list[SubmissionFile]:
    written = sorted(folder.rglob("*_pred.*")) if folder.is_dir() else []
    best = [path for path in written if "_epoch:best_pred." in path.name]
    if not best:
        other = f", only of other epochs, first {written[0].name}" if written else ""
        raise OochubError(
            f"{folder} contains no prediction file *_epoch:best_pred.csv{other}. Pass the folder that WILDS' "
            "train.py or oochub wilds submission wrote."
        )
    config_names = list(catalog.get("benchmark", "wilds").configs)
    files = [SubmissionFile.of(path, config_names) for path in best]
    seen: dict[tuple[str, str, str], Path] = {}
    for file in files:
        key = (file.data_set, file.split, file.replicate)
        if key in seen:
            raise OochubError(f"{seen[key]} and {file.path} are for the same split and replicate. Remove one of them.")
        seen[key] = file.path
    return files


def _read_predictions(file: SubmissionFile, data_dir: str | None) -> Predictions:
    data = load(f"wilds/{file.config}", data_dir=data_dir)
    if file.split not in data:
        raise OochubError(f"{file.path}: {file.config} has no split {file.split}, only {', '.join(data)}.")
    rows: datasets.Dataset = data[file.split]
    kind = get_output(catalog.get("benchmark", "wilds").of(file.config).output)
    names = kind.class_names(rows) or ()
    ids = rows.select_columns(["example_id"]).with_format("arrow")[:]["example_id"].to_pylist()
    model = f"{file.data_set} {file.replicate}"
    return join_answers(file.answers(ids, kind.name, names), {file.split: rows}, model_name=model)


def _compute_numbers(predictions: Predictions) -> list[_Number]:
    """Every number of the declared metrics on all rows of a file; the headline first."""
    declared, kind = find_declaration(predictions), predictions.output
    columns = EvaluationColumns(predictions, kind.arrays(predictions))
    evaluated = EvaluationRows(
        predictions=predictions, benchmark=declared, columns=columns, known=kind.known(predictions.label)
    )
    numbers = []
    for name in dict.fromkeys((declared.primary_metric, *declared.metrics)):
        metric = catalog.get("metric", name)
        check_metric(name, metric, evaluated)
        arrays, options = evaluated.arrays(metric, evaluated.known), evaluated.options(metric)
        ours = _flatten_number(name, metric(**arrays, **options))
        has_form = "form" in inspect.signature(metric).parameters
        as_wilds = _flatten_number(name, metric(**arrays, **options, form="wilds")) if has_form else ours
        numbers += [_Number(metric=metric, value=value, wilds=as_wilds[metric]) for metric, value in ours.items()]
    split, side = str(columns["split"][0]), declared.out_of_context
    column = _WORST.get(str(predictions.metadata.config))
    if column is not None:
        worst = WorstOfGroups(name=f"worst {column.replace('_', ' ')}", split=split, column=column)
        numbers.append(_compute_over_groups("accuracy", worst, evaluated))
    if isinstance(side, GroupsOfRows):
        return [_compute_over_groups(declared.primary_metric, replace(side, split=split), evaluated), *numbers]
    return numbers


def _flatten_number(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        return {name: float(value)}
    return {f"{name}.{key}": float(score) for key, score in value.items() if not key.endswith(("_group", "_n"))}


def _compute_over_groups(name: str, side: GroupsOfRows, evaluated: EvaluationRows) -> _Number:
    """A metric's statistic over groups, such as the accuracy of the worst region."""
    metric = catalog.get("metric", name)
    facts, metadata = read_facts(metric), evaluated.predictions.metadata
    rows = {group: some[evaluated.known[some]] for group, some in side.rows_of_groups(evaluated.columns).items()}
    values = {group: float(evaluated.value(metric, some)) for group, some in rows.items() if len(some)}
    value = side.statistic(list(values.values()), higher_is_better=facts is None or facts.direction != "lower")
    is_empty = bool(set(metadata.facts.trained_groups or ()) - values.keys())
    counts_empty = metadata.config == "civilcomments"  # the one data set where WILDS does not leave them out
    return _Number(metric=f"{name}, {side.name}", value=value, wilds=0.0 if is_empty and counts_empty else value)


def _make_frame(numbers: Mapping[SubmissionFile, Sequence[_Number]]) -> "pd.DataFrame":
    """A row for each metric of each file."""
    import pandas as pd

    return pd.DataFrame(
        [
            {"data_set": file.data_set, "split": file.split, "replicate": file.replicate, **asdict(number)}
            for file, of_file in numbers.items()
            for number in of_file
        ]
    )


def _build_table(numbers: Mapping[SubmissionFile, Sequence[_Number]]) -> Table:
    """Mean and standard deviation of each metric over the replicates; a row for the headlines alone."""
    gathered: dict[tuple[str, str, str], list[_Number]] = defaultdict(list)
    headlines = set()
    for file, of_file in numbers.items():
        headlines |= {(file.data_set, number.metric) for number in of_file[:1]}
        for number in of_file:
            gathered[file.data_set, file.split, number.metric].append(number)
    records: list[dict[str, Any]] = []
    for (data_set, split, metric), of in gathered.items():
        ours, theirs = Replicates.of([number.value for number in of]), Replicates.of([score.wilds for score in of])
        records.append(
            {
                "data_set": data_set,
                "split": split,
                "metric": metric,
                "mean": ours.mean,
                "sd": ours.sd,
                "wilds_mean": theirs.mean,
                "wilds_sd": theirs.sd,
                "replicates": ours.n,
                "official_replicates": official_replicates(data_set),
            }
        )
    shown = [record for record in records if (record["data_set"], record["metric"]) in headlines]
    few = sorted({str(row["data_set"]) for row in shown if row["replicates"] != row["official_replicates"]})
    return Table(
        heads=("Dataset", "Split", "Metric", "Mean", "SD", "By WILDS' code", "Replicates"),
        rows=tuple(
            (
                *(str(row[name]) for name in ("data_set", "split", "metric")),
                *(_format_value(row[name]) for name in ("mean", "sd", "wilds_mean")),
                f"{row['replicates']} of {row['official_replicates']}",
            )
            for row in shown
        ),
        title="Prediction files of WILDS",
        sentences=(f"Not the official number of replicates: {', '.join(few)}.",) if few else (),
        left=frozenset({0, 1, 2}),
        records=tuple(records),
    )


def _format_value(value: Any) -> str:
    return "n/a" if math.isnan(value) else f"{value:.4f}".replace("-", "\u2212")
