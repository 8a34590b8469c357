"""What a comparison is given: reports told from predictions, and found in folders and in those of sweeps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError, choose_wording
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report
from oochub.storage.artifacts import PREDICTIONS, REPORT
from oochub.storage.parquet_file import read_parquet

_RUNS = "runs.parquet"  # of a sweep, one row per run
_COLUMNS = ["stage", "task", "method", "setting", "selected", "path", "left_out"]


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
        made = choose_wording("oochub.evaluate(predictions)", f"oochub evaluate {named} --out report.json")
        raise OochubError(
            "Predictions can only be compared with predictions, and reports with reports, got "
            f"{_describe_given(predictions[0])} and {_describe_given(others[0])}. Make a report from the "
            f"predictions: {made}."
        )
    if len(predictions) == 1:
        raise OochubError(
            "A single file of predictions has nothing to be compared with. Name that of another model too, for the "
            "same examples."
        )
    reports = [
        report
        for each in others
        for report in (_find_reports(each) if isinstance(each, Path) and each.is_dir() else [each])
    ]
    return ComparedFiles(tuple(reports), tuple(predictions))


def _parse_path(source: str | Path) -> Path:
    return Path(source).expanduser()


def _is_of_predictions(path: Path) -> bool:
    is_named = path.suffix.lower() in PREDICTIONS.suffixes
    return is_named and (not path.is_dir() or bool(PREDICTIONS.recognizes(path)))  # or one of parts


def _describe_given(given: Any) -> str:
    return str(given) if isinstance(given, Path) else "a report" if isinstance(given, Report) else "predictions"


def _find_reports(folder: Path) -> list[Path]:
    sweeps = [note.parent for note in sorted(folder.rglob("sweep.json")) if (note.parent / _RUNS).is_file()]
    chosen = {sweep: _list_selected_runs(sweep) for sweep in sweeps}
    candidates = [path for path in sorted(folder.rglob("*.json")) if path.is_file()]
    for sweep, runs in chosen.items():
        candidates = [path for path in candidates if path.parent in runs or sweep not in path.parents]
    found = [path for path in candidates if REPORT.recognizes(path)]
    if not found and sweeps:
        raise OochubError(
            f"The sweep in {sweeps[0]} has no report of a final run with a selected setting. Run `oochub sweep` again "
            "with the same --out: it goes on, and its page names what failed."
        )
    if not found:
        raise OochubError(
            f"There is no report in {folder} or in its folders. `oochub evaluate PREDICTIONS --out "
            f"{folder / 'report.json'}` makes one."
        )
    return found


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
