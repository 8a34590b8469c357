"""The command `oochub evaluate`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oochub.commands._options import MORE, AsJson, out_console, print_result, writes
from oochub.errors import OochubError
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.storage.artifacts import GROUP_TABLE, PREDICTIONS, REPORT, REPORTS
from oochub.storage.files import check_writable

if TYPE_CHECKING:
    from oochub.report.report import Report

PANEL = "Predict and score"


def evaluate(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "Prediction files of one model, from `oochub predict`; for detectors, one file per set. "
                "With --benchmark: CSV, Parquet or NPZ files from any program, or a format in `oochub "
                "list bridge`."
            )
        ),
    ],
    asked: EvaluationSettings,
    intervals: IntervalSettings,
    data: DataSettings,
    out: Annotated[
        Path | None,
        typer.Option(
            help="JSON file for the report, or a folder for several tasks. If omitted, the report is printed."
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(help="Task of nooch/all: ce_car, gist_car, ..., or every for all of them. Can be repeated."),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            callback=writes(PREDICTIONS),
            rich_help_panel=MORE,
            help="Also save the answers as an oochub prediction file, for `oochub compare`.",
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            callback=writes(GROUP_TABLE),
            rich_help_panel=MORE,
            help="Also write the metrics of every group to this Parquet file; a report only lists the worst and best "
            "of many.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate predictions: metrics with intervals in and out of context, groups, and the worst mistakes."""
    if out is not None:
        check_writable(out, kind=REPORTS if _is_several(task) else REPORT)
    from oochub.evaluation.evaluate import make_evaluation, make_report
    from oochub.evaluation.evaluation import tabulate_groups
    from oochub.evaluation.evaluation_inputs import check_inputs
    from oochub.records.origin_records import Asked

    _check_together(asked, task, groups)
    loading: dict[str, Any] = {name: getattr(data, name) for name in data.keywords()}
    if keep is not None:
        predictions = [_keep_predictions(predictions, keep, asked, loading)]
        asked, loading = replace(asked, benchmark=None, model_name=None, probabilities=False), {}
    if task:
        _evaluate_tasks(predictions, task, asked, intervals, loading=loading, out=out, as_json=as_json)
        return
    parts, asked = check_inputs(predictions, asked)
    evaluation = make_evaluation(parts, asked, intervals, loading)
    table = None if groups is None else tabulate_groups(evaluation)
    report = make_report(parts, evaluation)
    typed = Asked.of(predictions=predictions[0] if len(predictions) == 1 else None, report=out)
    report = replace(report, provenance=replace(report.provenance, asked=typed))
    kept = {} if keep is None else {"predictions": str(keep)}
    if groups is not None:
        from oochub.storage.parquet_file import write_parquet

        kept["groups"] = str(write_parquet(table, groups, kind=GROUP_TABLE))
    if out is None:
        _print({"": report}, as_json)
        if not as_json:
            print_result(kept, as_json)
        return
    report.save(out)
    if not as_json:
        out_console.print(report.to_terminal())
    print_result({"report": str(out), **kept}, as_json)


def _is_several(task: list[str] | None) -> bool:
    """Whether there are several reports."""
    return task is not None and (len(task) > 1 or "every" in task)


def _check_together(asked: EvaluationSettings, task: list[str] | None, groups: Path | None) -> None:
    """Refuses options that exclude each other."""
    if task and (asked.detectors or asked.reference or asked.pairs or asked.probes or asked.classes != "all"):
        raise OochubError(
            "Detectors compare sets, not tasks: remove --task, or --detector, --reference, --pair, --probe and "
            "--classes."
        )
    if task and asked.rows is not None:
        raise OochubError("--rows cannot be combined with --task: it selects the rows of a single report.")
    if groups is not None and asked.rows is not None:
        raise OochubError("--groups writes the groups of all rows: remove --rows or --groups.")
    if task and groups is not None:
        raise OochubError("--groups writes one table: remove --task, or evaluate predictions for one task.")


def _evaluate_tasks(
    predictions: list[Path],
    task: list[str],
    asked: EvaluationSettings,
    intervals: IntervalSettings,
    *,
    loading: Mapping[str, Any],
    out: Path | None,
    as_json: bool,
) -> None:
    """Writes or prints a report for each task."""
    from oochub.evaluation.tasks import evaluate_tasks
    from oochub.report.report import Report
    from oochub.storage.files import make_scratch_folder

    with make_scratch_folder() as scratch:
        written = evaluate_tasks(
            predictions,
            task,
            out or scratch.joinpath("reports" if _is_several(task) else "report.json"),
            source=_name_source(asked, loading),
            metrics=None if asked.metrics is None else list(asked.metrics),
            match=asked.match,
            correction=intervals.correction,
            seed=intervals.seed,
        )
        if out is None:
            _print({name: Report.load(file) for name, file in written.items()}, as_json)
            return
    if len(written) == 1 and not as_json:
        out_console.print(Report.load(*written.values()).to_terminal())
    print_result({"reports": len(written), "report": str(out)}, as_json)


def _print(reports: Mapping[str, "Report"], as_json: bool) -> None:
    """Reports that no file keeps: as tables, each below its task; as whole JSON, several tasks by their names."""
    from oochub.records.schema import to_json

    if as_json:
        whole = {name: to_json(report) for name, report in reports.items()}
        out_console.print_json(json.dumps(next(iter(whole.values())) if len(whole) == 1 else whole))
        return
    for name, report in reports.items():
        if len(reports) > 1:
            out_console.print(f"\n== {name}", markup=False)
        out_console.print(report.to_terminal())


def _name_source(asked: EvaluationSettings, loading: Mapping[str, Any]) -> dict[str, Any]:
    """What answers of another program are of."""
    own = {"benchmark": asked.benchmark, "model_name": asked.model_name, "probabilities": asked.probabilities}
    return {**own, **loading}


def _keep_predictions(answers: list[Path], keep: Path, asked: EvaluationSettings, loading: Mapping[str, Any]) -> Path:
    """The file of predictions that files of answers became."""
    from oochub.evaluation.evaluation_inputs import is_beside, open_parts
    from oochub.prediction.predictions import concatenate_predictions

    if asked.benchmark is None and not any(map(is_beside, answers)):
        raise OochubError("--keep requires --benchmark or a file with additional columns.")
    return concatenate_predictions(open_parts(answers, **_name_source(asked, loading))).save(keep)
