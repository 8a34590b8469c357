"""The rows behind a report: its predictions, found beside it or named, and held to be those that it was made of."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from oochub.data.declaration import find_declaration
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_rows import EvaluationRows, make_evaluation_rows
from oochub.evaluation.row_selection import find_half
from oochub.prediction.predictions import Predictions, concatenate_predictions
from oochub.prediction.present_classes import Classes, find_allowed
from oochub.report.report import Report


class ReportRows(NamedTuple):
    """A report and its rows."""

    report: Report
    evaluated: EvaluationRows


def find_rows(source: str | Path, predictions: Sequence[str | Path] = ()) -> ReportRows:
    """The report of a path with the rows that it was made of; of predictions, the report beside them or a new one.

    Args:
        source: A report.json, or predictions.
        predictions: The files that a report was made of, in its order; none takes those that it names, beside it.

    Raises:
        OochubError: A file that is not there or cannot be read, a report of predictions in memory, or predictions that
            are not those of the report.
    """
    path = Path(source).expanduser()
    is_predictions = path.suffix == ".parquet" or (path / "_manifest.json").is_file()
    if is_predictions and predictions:
        raise OochubError(f"{path} contains predictions itself. Remove {_name_flag()}, or give a report.json.")
    if is_predictions:
        loaded = Predictions.load(path)
        report = _read_report_beside(path, loaded)
        return ReportRows(report, _make_rows(loaded, report))
    report = Report.load(path)
    files = [Path(file).expanduser() for file in predictions] or _list_named_files(path, report)
    for file in files:
        if not file.exists():
            origin = "" if predictions else f", of which {path.name} was made"
            raise OochubError(f"There are no predictions at {file}{origin}. {_advise()}")
    opened = [Predictions.load(file) for file in files]
    first = [part for part in opened if part.metadata.config == opened[0].metadata.config]
    loaded = _choose_task(concatenate_predictions(first), report)
    if loaded.digest != report.provenance.predictions.sha256:
        names = ", ".join(map(str, files))
        raise OochubError(
            f"{path.name} was made of other predictions than {names}: the digests of examples, truth and answers "
            f"differ. Run `oochub evaluate` again, or name the right files with {_name_flag()}."
        )
    return ReportRows(report, _make_rows(loaded, report))


def show_half(found: ReportRows) -> ReportRows:
    """One half of the rows and a report on it; the other half is kept back for a test of what is found.

    Args:
        found: All rows.

    Raises:
        OochubError: The rows are too few for two halves.
    """
    rows = found.evaluated.predictions
    shown = find_half(rows, found.evaluated.benchmark)
    if shown.all() or not shown.any():
        raise OochubError(f"{len(rows):,} rows are too few for two halves. Show all of them, or predict more.")
    note = f"{int(shown.sum()):,} of {len(rows):,} rows are shown; the others are kept back for a test"
    metadata = replace(rows.metadata, notes=(note, *rows.metadata.notes))
    part = replace(rows, metadata=metadata).select(shown)
    report = evaluate(part, classes=_read_classes(found.report))
    return ReportRows(report, _make_rows(part, found.report))


def _name_flag() -> str:
    return choose_wording("predictions=")


def _advise() -> str:
    return f"Name the files behind the report: {choose_wording('predictions=[...]', '--predictions FILE')}."


def _list_named_files(path: Path, report: Report) -> list[Path]:
    names = report.provenance.predictions.file
    if names == "in memory" or "/" in names:
        raise OochubError(f"{path} was made from predictions in memory. {_advise()}")
    whole = path.parent / names
    files = [whole] if whole.exists() else [path.parent / name for name in names.split()]
    if answers := [file for file in files if file.suffix.lower() in (".csv", ".npz")]:
        raise OochubError(
            f"{path} was made from answers of another program, {answers[0].name}. Run its command again with `--keep "
            f"kept.parquet`, which writes them as predictions, and give {_name_flag()} this file."
        )
    return files


def _read_report_beside(path: Path, predictions: Predictions) -> Report:
    """The report.json in the same folder, if it is of these predictions; else a new one."""
    beside = path.parent / "report.json"
    if beside.is_file():
        report = Report.load(beside)
        if report.provenance.predictions.sha256 == predictions.digest:
            return report
    return evaluate(path)


def _choose_task(predictions: Predictions, report: Report) -> Predictions:
    """The task that a report is of, where its predictions hold many."""
    if predictions.metadata.config == report.benchmark.config or "labels" not in predictions.column_names:
        return predictions
    from oochub.evaluation.tasks import task

    chosen: Predictions = task(predictions, report.benchmark.config)
    return chosen


def _make_rows(predictions: Predictions, report: Report) -> EvaluationRows:
    """The rows as the report's own command read them."""
    allowed = find_allowed(predictions, _read_classes(report), None)
    return make_evaluation_rows(predictions, find_declaration(predictions), allowed)[0]


def _read_classes(report: Report) -> Classes:
    words = report.provenance.command.split()
    return "present" if ("--classes", "present") in pairwise(words) else "all"
