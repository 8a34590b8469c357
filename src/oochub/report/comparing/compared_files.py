"""What is compared: reports, folders of them, or two predictions of the same examples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oochub.errors import OochubError, either
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report
from oochub.storage.artifacts import PREDICTIONS, REPORT


class ComparedFiles(NamedTuple):
    """Of one kind, as they are or their paths: reports, or two predictions; the other is empty."""

    reports: tuple[Report | Path, ...]
    predictions: tuple[Predictions | Path, ...]


def compared_files(sources: Sequence[Predictions | Report | str | Path]) -> ComparedFiles:
    """Tells reports from predictions, and finds the reports in folders; what is in a file is not read yet.

    Args:
        sources: Reports, predictions, paths of report.json, of folders that hold some at any depth, or of .parquet
            files of predictions, in the order in which they are compared.

    Raises:
        OochubError: Both kinds, one or more than two predictions, a folder without a report, or anything else.

    >>> compared_files(["a.parquet", "b.parquet"]).predictions
    (PosixPath('a.parquet'), PosixPath('b.parquet'))
    """
    predictions: list[Predictions | Path] = []
    others: list[Report | Path] = []
    for source in sources:
        if isinstance(source, Predictions) or (isinstance(source, str | Path) and _is_of_predictions(_path(source))):
            predictions.append(source if isinstance(source, Predictions) else _path(source))
        elif isinstance(source, Report | str | Path):
            others.append(source if isinstance(source, Report) else _path(source))
        else:
            raise OochubError(
                f"Reports or predictions are compared, or the paths of such files, got a {type(source).__name__}. "
                "`oochub.predict` makes predictions, `oochub.evaluate` a report of them."
            )
    if predictions and others:
        named = predictions[0] if isinstance(predictions[0], Path) else "PREDICTIONS"
        made = either("oochub.evaluate(predictions)", f"oochub evaluate {named} --out report.json")
        raise OochubError(
            f"Predictions are compared with predictions, reports with reports, got {_words(predictions[0])} and "
            f"{_words(others[0])}. Make a report of the predictions: {made}."
        )
    if predictions and len(predictions) != 2:
        raise OochubError(
            f"Exactly two predictions are compared, example by example, got {len(predictions)}. For more models make a "
            f"report of each with `{either('oochub.evaluate', 'oochub evaluate')}`, and compare the reports."
        )
    reports = [
        report
        for each in others
        for report in (_reports_in(each) if isinstance(each, Path) and each.is_dir() else [each])
    ]
    return ComparedFiles(tuple(reports), tuple(predictions))


def _path(source: str | Path) -> Path:
    return Path(source).expanduser()


def _is_of_predictions(path: Path) -> bool:
    is_named = path.suffix.lower() in PREDICTIONS.suffixes
    return is_named and (not path.is_dir() or PREDICTIONS.recognizes(path))  # or one of parts


def _words(given: Any) -> str:
    return str(given) if isinstance(given, Path) else "a report" if isinstance(given, Report) else "predictions"


def _reports_in(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*.json")) if path.is_file() and REPORT.recognizes(path)]
    if not found:
        raise OochubError(
            f"There is no report in {folder} or in its folders. `oochub evaluate PREDICTIONS --out "
            f"{folder / 'report.json'}` makes one."
        )
    return found
